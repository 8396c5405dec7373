#pragma once
/// What a rank writes into its file of a rendezvous in a directory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/secret.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

struct FileRecord {
  std::uint32_t exchange = 0;
  int rank = -1;
  bool done = false;       ///< has read all others
  control::Nonce nonce{};  ///< of the process that wrote it
  std::vector<control::Nonce>
      seen;  ///< nonces of all ranks; zeros: not seen yet. Its length is the job's size.
  Blob blob;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// Largest file that a rank of a job of this size writes.
std::size_t most_file_bytes(int size) noexcept;

/// Signed for this job.
std::string encode(const FileRecord& record, const control::JobId& job, std::string_view secret);

enum class FileState : std::uint8_t {
  sound,
  malformed,  ///< cut, or written by something else
  unsigned_,  ///< well formed, but by somebody who does not know the secret, or of another job
};
/// Reads what anybody may have written. `record` is only to be believed when it is sound.
FileState decode(std::string_view text, const control::JobId& job, std::string_view secret,
                 FileRecord& record);

}  // namespace rondo::rendezvous
