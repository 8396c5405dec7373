#pragma once
/// Everything: `#include <rondo/rondo.hpp>`.

#include "rondo/call.hpp"    // IWYU pragma: export
#include "rondo/config.hpp"  // IWYU pragma: export
#include "rondo/dtype.hpp"   // IWYU pragma: export
#include "rondo/error.hpp"   // IWYU pragma: export
#include "rondo/group.hpp"   // IWYU pragma: export
#include "rondo/info.hpp"    // IWYU pragma: export
#include "rondo/tensor.hpp"  // IWYU pragma: export
#include "rondo/view.hpp"    // IWYU pragma: export
