#pragma once
/// How processes end, in words and as an exit status.

#include <string>

namespace rondo::tools::run {

/// "SIGKILL"; "signal 64" where there is no name.
std::string signal_name(int signal);

/// Of a status that waitpid gave: "exited with status 3", "killed by signal 9 (SIGKILL)".
std::string ending_of(int wait_status);
/// As a part of a sentence about a rank: "exited with status 3", "was killed by signal 9 (SIGKILL)".
std::string sentence_of(int wait_status);

/// What a shell would say: the exit status, or 128 + the signal.
int exit_status_of(int wait_status);

}  // namespace rondo::tools::run
