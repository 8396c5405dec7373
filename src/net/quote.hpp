#pragma once
/// Text of others as it stands in messages.

#include <string>
#include <string_view>

namespace rondo::net {

/// In quotes, on one line, of bounded length, whatever it holds.
inline std::string quote(std::string_view text) {
  constexpr std::size_t longest = 300;
  std::string out = "\"";
  for (const char c : text.substr(0, longest))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > longest ? "...\"" : "\"");
}

}  // namespace rondo::net
