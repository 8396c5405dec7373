#include "op/npy_dict.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <stdexcept>

namespace rondo::tools::op {

namespace {

constexpr std::size_t most_axes = 64;  // what NumPy itself can hold

/// Walks over the text; every step looks where it is first.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  NpyDict read() {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) wrong("nothing but blanks behind the dictionary");
    if (!descr_) missing("descr");
    if (!order_) missing("fortran_order");
    if (!shape_) missing("shape");
    return {*descr_, *order_, *shape_};
  }

 private:
  [[noreturn]] void wrong(std::string_view expected) const {
    throw std::runtime_error(fmt::format("its header is damaged at character {}: expected {}, found {}", at_,
                                         expected,
                                         at_ < text_.size() ? quote(text_.substr(at_, 20)) : "its end"));
  }
  [[noreturn]] static void missing(std::string_view key) {
    throw std::runtime_error(fmt::format("its header has no '{}'", key));
  }

  static bool blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  void skip_blanks() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(fmt::format("'{}'", c));
  }

  void read_entry() {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view key = read_string();
    const bool again =
        (key == "descr" && descr_) || (key == "fortran_order" && order_) || (key == "shape" && shape_);
    if (again || (key != "descr" && key != "fortran_order" && key != "shape")) {
      at_ = begin;
      wrong("the keys descr, fortran_order and shape, each once");
    }
    expect(':');
    if (key == "descr") {
      read_descr();
    } else if (key == "fortran_order") {
      order_ = read_truth();
    } else {
      shape_ = read_shape();
    }
  }

  std::string_view read_string() {
    skip_blanks();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"') wrong("a string");
    const std::size_t end = text_.find(mark, at_ + 1);
    const std::string_view inside =
        end == std::string_view::npos ? std::string_view("\\") : text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) wrong("a string without backslashes that ends");
    at_ = end + 1;
    return inside;
  }

  // A structured type is refused whatever it holds: where it ends does not matter, so it is not read.
  void read_descr() {
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      std::string_view rest = text_.substr(at_);
      rest = rest.substr(0, rest.find("'fortran_order'"));
      while (!rest.empty() && (blank(rest.back()) || rest.back() == ',')) rest.remove_suffix(1);
      throw std::runtime_error(fmt::format("its type is structured, {}; expected a plain one", quote(rest)));
    }
    descr_ = read_string();
  }

  bool read_truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    wrong("True or False");
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!take(')')) {
      if (shape.size() == most_axes) wrong(fmt::format("at most {} axes", most_axes));
      shape.push_back(read_extent());
      if (take(',')) continue;
      if (shape.size() == 1) wrong("',': (3,) is a shape, (3) is none");
      expect(')');
      break;
    }
    return shape;
  }

  std::int64_t read_extent() {
    skip_blanks();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) wrong("an extent, 0 or more");
    at_ += static_cast<std::size_t>(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long, as Python 2 wrote it
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

NpyDict parse_npy_dict(std::string_view text) { return DictReader(text).read(); }

std::string quote(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string out;
  for (const char c : text.substr(0, most)) {
    const bool plain = c >= 0x20 && c < 0x7F;
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("\"{}{}\"", out, text.size() > most ? "..." : "");
}

}  // namespace rondo::tools::op
