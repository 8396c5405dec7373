#pragma once
/// One operation, from the files to the files.

#include "op/options.hpp"
#include "op/temporaries.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::op {

/// Collective. Throws UsageError, rondo::Error or std::runtime_error; then this rank has made no file. A file
/// of any rank gets its name after all ranks have theirs on the disk.
void perform(const Group& group, const OpOptions& options, Temporaries& temporaries);

}  // namespace rondo::tools::op
