#include "run/lines.hpp"

namespace rondo::tools::run {

void LineCutter::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const std::size_t room = most_ - kept_.size();
    const std::size_t end = bytes.find('\n');
    if (end != std::string_view::npos && end <= room) {
      put(bytes.substr(0, end), true, out);
      bytes.remove_prefix(end + 1);
    } else if (bytes.size() > room) {
      put(bytes.substr(0, room), false, out);
      bytes.remove_prefix(room);
    } else {
      kept_ += bytes;
      return;
    }
  }
}

void LineCutter::finish(std::string& out) {
  if (!kept_.empty()) put({}, false, out);
}

void LineCutter::put(std::string_view rest, bool ended, std::string& out) {
  out += prefix_;
  out += kept_;
  out += rest;
  // With prefixes, what follows is another line in any case.
  if (ended || !prefix_.empty()) out += '\n';
  kept_.clear();
}

}  // namespace rondo::tools::run
