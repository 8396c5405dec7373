#include "collective/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/fd.hpp"
#include "rondo/error.hpp"

namespace rondo::collective {

namespace {

using Json = nlohmann::json;
using transport::Verb;

constexpr int version = 1;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::invalid_argument, where + ": " + what);
}

// Algorithms that a table may name for a collective.
std::span<const Algorithm> algorithms_of(Verb verb) {
  static constexpr std::array all_reduce{Algorithm::ring, Algorithm::recursive_doubling, Algorithm::one_shot,
                                         Algorithm::direct, Algorithm::flat};
  static constexpr std::array by_segments{Algorithm::ring, Algorithm::direct, Algorithm::flat};
  static constexpr std::array broadcast{Algorithm::binomial, Algorithm::flat};
  static constexpr std::array reduce{Algorithm::binomial, Algorithm::direct, Algorithm::flat};
  static constexpr std::array rooted{Algorithm::linear, Algorithm::flat};
  static constexpr std::array exchange{Algorithm::pairwise, Algorithm::flat};
  static constexpr std::array barrier{Algorithm::dissemination, Algorithm::flat};
  switch (verb) {
    case Verb::all_reduce:
      return all_reduce;
    case Verb::all_gather:
    case Verb::all_gather_v:
    case Verb::reduce_scatter:
    case Verb::reduce_scatter_v:
      return by_segments;
    case Verb::broadcast:
      return broadcast;
    case Verb::reduce:
      return reduce;
    case Verb::gather:
    case Verb::scatter:
      return rooted;
    case Verb::all_to_all:
      return exchange;
    case Verb::barrier:
      return barrier;
    case Verb::none:
    case Verb::gather_v:
    case Verb::scatter_v:
    case Verb::all_to_all_v:
    case Verb::split:
    case Verb::plan:
      return {};
  }
  return {};
}

constexpr std::array verbs{Verb::all_reduce,       Verb::all_gather, Verb::all_gather_v, Verb::reduce_scatter,
                           Verb::reduce_scatter_v, Verb::broadcast,  Verb::reduce,       Verb::gather,
                           Verb::scatter,          Verb::all_to_all, Verb::barrier};

bool reduces(Verb verb) {
  return verb == Verb::all_reduce || verb == Verb::reduce || verb == Verb::reduce_scatter ||
         verb == Verb::reduce_scatter_v;
}
bool combines_at_once(Algorithm algorithm) {
  return algorithm == Algorithm::one_shot || algorithm == Algorithm::direct || algorithm == Algorithm::flat;
}

template <class List>
std::string names_of(const List& list) {
  std::string text;
  for (const auto each : list) {
    if (!text.empty()) text += ", ";
    text += to_string(each);
  }
  return text;
}

// One row of a file.
class RowReader {
 public:
  RowReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) refuse(where_, fmt::format("{} is no object", json_.dump()));
    constexpr std::array<std::string_view, 7> known{"collective", "algorithm", "from",         "up to",
                                                    "ranks",      "arena",     "combined once"};
    for (const auto& [name, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        refuse(where_,
               fmt::format("unknown member \"{}\", expected one of {}", name, fmt::join(known, ", ")));
    }
  }

  Row read() const {
    Row row{};
    row.verb = one_of("collective", verbs);
    row.algorithm = one_of("algorithm", algorithms_of(row.verb));
    row.bytes_from = bytes("from").value_or(0);
    row.bytes_to = bytes("up to").value_or(std::numeric_limits<std::size_t>::max());
    if (row.bytes_from > row.bytes_to)
      refuse(where_, fmt::format("\"from\" is {}, more than \"up to\" {}", row.bytes_from, row.bytes_to));
    ranks(row);
    row.arena = flag("arena");
    row.combines_once = flag("combined once");
    check(row);
    return row;
  }

 private:
  const Json* member(const char* name) const {
    const auto at = json_.find(name);
    return at == json_.end() ? nullptr : &*at;
  }

  template <class List>
  typename List::value_type one_of(const char* name, const List& list) const {
    const Json* const value = member(name);
    if (value == nullptr) refuse(where_, fmt::format("no \"{}\"", name));
    if (value->is_string()) {
      for (const auto each : list) {
        if (to_string(each) == value->get_ref<const std::string&>()) return each;
      }
    }
    refuse(where_, fmt::format("\"{}\" is {}, expected one of {}", name, value->dump(), names_of(list)));
  }

  std::optional<std::size_t> bytes(const char* name) const {
    const Json* const value = member(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_unsigned())
      refuse(where_, fmt::format("\"{}\" is {}, expected a number of bytes", name, value->dump()));
    return value->get<std::size_t>();
  }

  void ranks(Row& row) const {
    constexpr std::uint64_t most = std::numeric_limits<int>::max();
    row.size_from = 2;
    row.size_to = static_cast<int>(most);
    const Json* const value = member("ranks");
    if (value == nullptr) return;
    const bool pair = value->is_array() && value->size() == 2 && (*value)[0].is_number_unsigned() &&
                      (*value)[1].is_number_unsigned();
    const auto at = [&](std::size_t i) { return (*value)[i].get<std::uint64_t>(); };
    if (!pair || at(0) < 2 || at(0) > at(1) || at(1) > most)
      refuse(where_, fmt::format("\"ranks\" is {}, expected [from, to] with 2 <= from <= to", value->dump()));
    row.size_from = static_cast<int>(at(0));
    row.size_to = static_cast<int>(at(1));
  }

  int flag(const char* name) const {
    const Json* const value = member(name);
    if (value == nullptr) return -1;
    if (!value->is_boolean())
      refuse(where_, fmt::format("\"{}\" is {}, expected true or false", name, value->dump()));
    return value->get<bool>() ? 1 : 0;
  }

  void check(const Row& row) const {
    if (row.algorithm == Algorithm::flat && row.arena != 1) refuse(where_, "flat needs \"arena\": true");
    if (reduces(row.verb) && !combines_at_once(row.algorithm) && row.combines_once != 0) {
      refuse(where_, fmt::format("{} combines elements step by step, so it needs \"combined once\": false",
                                 to_string(row.algorithm)));
    }
  }

  const Json& json_;
  std::string where_;
};

}  // namespace

std::vector<Row> parse_tuning(std::string_view text, const std::string& name) {
  Json file;
  try {
    file = Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(name, fmt::format("no JSON at byte {}", error.byte));
  } catch (const Json::out_of_range&) {
    refuse(name, "a number in it is out of range");
  }
  if (!file.is_object()) refuse(name, "expected an object with \"rondo tuning\" and \"rows\"");
  const auto kind = file.find("rondo tuning");
  if (kind == file.end() || *kind != version)
    refuse(name, fmt::format("\"rondo tuning\" is {}, expected {}",
                             kind == file.end() ? "absent" : kind->dump(), version));
  const auto rows = file.find("rows");
  if (rows == file.end() || !rows->is_array()) refuse(name, "\"rows\" is no list");
  std::vector<Row> table;
  for (std::size_t i = 0; i < rows->size(); ++i)
    table.push_back(RowReader((*rows)[i], fmt::format("{}, row {}", name, i + 1)).read());
  return table;
}

std::vector<Row> table_with(const std::string& path) {
  std::vector<Row> table;
  if (!path.empty()) {
    const std::string name = fmt::format("RONDO_TUNING=\"{}\"", path);
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) refuse(name, base::error_words(errno));
    table = parse_tuning(text.view(), name);
  }
  const std::span<const Row> shipped = default_table();
  table.insert(table.end(), shipped.begin(), shipped.end());
  return table;
}

}  // namespace rondo::collective
