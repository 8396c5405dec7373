#pragma once
/// Who came and who did not, in words.

#include <string>
#include <string_view>
#include <vector>

namespace rondo::rendezvous {

/// The numbers of the places that are false, in order.
std::vector<int> missing_in(const std::vector<bool>& present);

/// "2 of 3 joined, missing rank 2"; "4 of 8 joined, missing ranks 1, 3, 4, 6"; at most 16 by name.
std::string roll_text(const std::vector<bool>& present, std::string_view verb = "joined");

}  // namespace rondo::rendezvous
