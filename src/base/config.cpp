#include "rondo/config.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <span>
#include <vector>

#include "base/config_parse.hpp"

namespace rondo {

namespace {

constexpr std::string_view digits = "0123456789";

/// A whole number that fills all of `text`: digits only, no sign.
bool parse_whole(std::string_view text, std::uint64_t& value) {
  if (text.empty() || text.find_first_not_of(digits) != std::string_view::npos) return false;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

bool parse_int(std::string_view text, int least, std::optional<int>& value) {
  std::uint64_t whole = 0;
  if (!parse_whole(text, whole) || whole > std::uint64_t{std::numeric_limits<int>::max()}) return false;
  if (static_cast<int>(whole) < least) return false;
  value = static_cast<int>(whole);
  return true;
}

std::optional<std::string> print_int(std::optional<int> value) {
  if (!value) return std::nullopt;
  return std::to_string(*value);
}

struct Unit {
  std::string_view suffix;
  std::uint64_t worth;
};

/// Takes the suffix of `text` away and tells what it is worth; 1 x `plain` without one.
std::uint64_t take_suffix(std::string_view& text, std::span<const Unit> units, std::uint64_t plain) {
  for (const Unit& unit : units)
    if (text.ends_with(unit.suffix)) {
      text.remove_suffix(unit.suffix.size());
      return unit.worth;
    }
  return plain;
}

// Longer suffixes stand before those that they end with.
constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;
constexpr std::array<Unit, 3> time_units = {
    {{"ms", 1'000'000}, {"min", 60 * nanoseconds_per_second}, {"s", nanoseconds_per_second}}};

bool parse_time(std::string_view text, Duration& value) {
  const std::uint64_t unit = take_suffix(text, time_units, nanoseconds_per_second);
  std::uint64_t whole = 0;
  std::uint64_t billionths = 0;  // of the unit
  const std::size_t point = text.find('.');
  if (!parse_whole(text.substr(0, point), whole)) return false;
  if (point != std::string_view::npos) {
    std::string fraction(text.substr(point + 1));
    if (fraction.empty() || fraction.size() > 9) return false;
    fraction.resize(9, '0');
    if (!parse_whole(fraction, billionths)) return false;
  }
  const std::uint64_t part =
      billionths * (unit / 1000) / 1'000'000;  // cannot overflow: below 6e16 on the way
  constexpr auto most = static_cast<std::uint64_t>(Duration::max().count());
  if (whole > (most - part) / unit) return false;
  const std::uint64_t total = whole * unit + part;
  if (total == 0) return false;
  value = Duration(static_cast<Duration::rep>(total));
  return true;
}

std::string print_time(Duration value) {
  const bool negative = value < Duration::zero();
  std::uint64_t total = static_cast<std::uint64_t>(value.count());
  if (negative) total = 0 - total;
  std::string text(negative ? "-" : "");
  text += std::to_string(total / nanoseconds_per_second);
  if (const std::uint64_t rest = total % nanoseconds_per_second; rest != 0) {
    const std::string fraction = std::to_string(nanoseconds_per_second + rest).substr(1);  // nine digits
    text += '.' + fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  return text + 's';
}

constexpr std::array<Unit, 3> byte_units = {
    {{"KiB", std::uint64_t{1} << 10}, {"MiB", std::uint64_t{1} << 20}, {"GiB", std::uint64_t{1} << 30}}};
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

bool parse_bytes(std::string_view text, std::size_t& value) {
  const std::uint64_t unit = take_suffix(text, byte_units, 1);
  std::uint64_t whole = 0;
  if (!parse_whole(text, whole) || whole > most_bytes / unit) return false;
  value = static_cast<std::size_t>(whole * unit);
  return true;
}

std::string print_bytes(std::size_t value) {
  const Unit* best = nullptr;
  for (const Unit& unit : byte_units)
    if (value != 0 && value % unit.worth == 0) best = &unit;
  if (best == nullptr) return std::to_string(value);
  return std::to_string(value / best->worth) + std::string(best->suffix);
}

bool parse_checks(std::string_view text, Config& config) {
  config.check_agreement = config.check_payload = false;
  if (text.empty()) return true;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item == "agreement")
      config.check_agreement = true;
    else if (item == "payload")
      config.check_payload = true;
    else
      return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

std::string print_checks(const Config& config) {
  std::string text = config.check_agreement ? "agreement" : "";
  if (config.check_payload) text += text.empty() ? "payload" : ",payload";
  return text;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool parse_line(std::string_view text, std::string& value) {
  for (const char c : text)
    if (is_control(c)) return false;
  value = text;
  return true;
}

std::optional<std::string> print_line(const std::string& value) {
  if (value.empty()) return std::nullopt;
  return value;
}

bool parse_log(std::string_view text, bool& value) {
  if (text != "off" && text != "warn") return false;
  value = text == "warn";
  return true;
}

bool parse_ring_wire(std::string_view text, RingWire& value) {
  if (text != "rondo" && text != "mlx") return false;
  value = text == "mlx" ? RingWire::mlx : RingWire::rondo;
  return true;
}

using Text = std::string_view;
using Printed = std::optional<std::string>;  // nothing: not set

struct Setting {
  const char* name;
  const char* field;
  const char* what;  // for documentation
  const char* expected;
  bool (*parse)(Text, Config&);
  Printed (*print)(const Config&);
  const char* twin = nullptr;  // another library's name for it, read when `name` is not set
};

constexpr const char* a_time = "a time greater than 0 such as 60, 1.5s, 250ms or 2min";
constexpr const char* some_bytes = "a number of bytes up to 1024GiB such as 4096, 64KiB or 1MiB";

// parse_backend says itself what it expected.
constexpr std::array<Setting, 19> settings = {{
    {"RONDO_BACKEND", "backend",
     "What carries the bytes of groups; `any` takes shm where all ranks are on one host, else tcp", "",
     [](Text t, Config& c) {
       c.backend = parse_backend(t);
       return true;
     },
     [](const Config& c) -> Printed { return std::string(to_string(c.backend)); }},
    {"RONDO_RANK", "rank", "This process's number in its job. Without it, `MLX_RANK`",
     "a whole number from 0 to 2147483647", [](Text t, Config& c) { return parse_int(t, 0, c.rank); },
     [](const Config& c) { return print_int(c.rank); }, "MLX_RANK"},
    {"RONDO_SIZE", "size", "How many processes the job has", "a whole number from 1 to 2147483647",
     [](Text t, Config& c) { return parse_int(t, 1, c.size); },
     [](const Config& c) { return print_int(c.size); }},
    {"RONDO_RENDEZVOUS", "rendezvous",
     "Where the processes meet: `host:port`, served by rank 0 or by the launcher, or `file:DIRECTORY`, "
     "shared by all",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.rendezvous); },
     [](const Config& c) { return print_line(c.rendezvous); }},
    {"RONDO_HOSTFILE", "hostfile",
     "The file that lists the addresses of a ring, in the form that MLX reads. Without it, `MLX_HOSTFILE`",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.hostfile); },
     [](const Config& c) { return print_line(c.hostfile); }, "MLX_HOSTFILE"},
    {"RONDO_RING_WIRE", "ring_wire",
     "What the ranks of a ring say to each other: rondo's frames, or the bare bytes of MLX, for rings that "
     "hold MLX processes",
     "rondo or mlx", [](Text t, Config& c) { return parse_ring_wire(t, c.ring_wire); },
     [](const Config& c) -> Printed { return c.ring_wire == RingWire::mlx ? "mlx" : "rondo"; }},
    {"RONDO_LAUNCHER", "launcher",
     "`host:port` of the launcher's control connections; the launcher then serves the rendezvous. Set by "
     "`rondo run`",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.launcher); },
     [](const Config& c) { return print_line(c.launcher); }},
    {"RONDO_SECRET_FD", "secret_fd", "A descriptor from which the job's secret is read, at offset 0",
     "a whole number from 0 to 2147483647", [](Text t, Config& c) { return parse_int(t, 0, c.secret_fd); },
     [](const Config& c) { return print_int(c.secret_fd); }},
    {"RONDO_SECRET_FILE", "secret_file", "A file of mode 600 from which the job's secret is read",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.secret_file); },
     [](const Config& c) { return print_line(c.secret_file); }},
    {"RONDO_INTERFACE", "interface",
     "Which address others are told: interface names, prefixes, networks such as `10.0.0.0/8`, "
     "`^exclusions`; unset: by route",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.interface); },
     [](const Config& c) { return print_line(c.interface); }},
    {"RONDO_TIMEOUT", "timeout", "Limit of each blocking call", a_time,
     [](Text t, Config& c) { return parse_time(t, c.timeout); },
     [](const Config& c) -> Printed { return print_time(c.timeout); }},
    {"RONDO_INIT_TIMEOUT", "init_timeout", "Limit of set-up", a_time,
     [](Text t, Config& c) { return parse_time(t, c.init_timeout); },
     [](const Config& c) -> Printed { return print_time(c.init_timeout); }},
    {"RONDO_CHECK", "check_agreement, check_payload",
     "`agreement` compares calls before data moves; `payload` sends a checksum with every payload",
     "a comma list of agreement and payload", parse_checks,
     [](const Config& c) -> Printed { return print_checks(c); }},
    {"RONDO_EAGER_BYTES", "eager_bytes", "Larger messages wait for their receive", some_bytes,
     [](Text t, Config& c) { return parse_bytes(t, c.eager_bytes); },
     [](const Config& c) -> Printed { return print_bytes(c.eager_bytes); }},
    {"RONDO_CREDIT_BYTES", "credit_bytes", "Most bytes of messages sent to a rank and not yet matched there",
     some_bytes, [](Text t, Config& c) { return parse_bytes(t, c.credit_bytes); },
     [](const Config& c) -> Printed { return print_bytes(c.credit_bytes); }},
    {"RONDO_ARENA_BYTES", "arena_bytes",
     "Shared memory of each rank of a group, for flat algorithms; 0: none", some_bytes,
     [](Text t, Config& c) { return parse_bytes(t, c.arena_bytes); },
     [](const Config& c) -> Printed { return print_bytes(c.arena_bytes); }},
    {"RONDO_SINGLE_COPY_BYTES", "single_copy_bytes",
     "From this many bytes on ranks of one host read each other's memory where the system lets them and "
     "where "
     "it is faster; 0: never",
     some_bytes, [](Text t, Config& c) { return parse_bytes(t, c.single_copy_bytes); },
     [](const Config& c) -> Printed { return print_bytes(c.single_copy_bytes); }},
    {"RONDO_TUNING", "tuning",
     "A file with rows of the selection table, as `rondo bench --tune` writes it; they stand before the "
     "shipped ones",
     "one line of text", [](Text t, Config& c) { return parse_line(t, c.tuning); },
     [](const Config& c) { return print_line(c.tuning); }},
    {"RONDO_LOG", "log", "Warnings on standard error, or none", "off or warn",
     [](Text t, Config& c) { return parse_log(t, c.log); },
     [](const Config& c) -> Printed { return c.log ? "warn" : "off"; }},
}};

/// The value as it stands in messages: one line, whatever it holds.
std::string quote(Text text) {
  std::string out = "\"";
  for (const char c : text) out += is_control(c) ? '?' : c;
  return out + '"';
}

void set(const Setting& setting, const char* name, Text text, Config& config) {
  std::string why = std::string("expected ") + setting.expected;
  try {
    if (setting.parse(text, config)) return;
  } catch (const Error& error) {
    why = error.what();
  }
  throw Error(ErrorKind::invalid_argument, std::string(name) + '=' + quote(text) + ": " + why);
}

}  // namespace

Config Config::from_env() {
  return base::parse_config([](const char* name) -> const char* { return std::getenv(name); });
}

std::string to_string(const Config& config) {
  std::string text;
  for (const Setting& setting : settings)
    if (const Printed value = setting.print(config)) text += std::string(setting.name) + '=' + *value + '\n';
  return text;
}

std::ostream& operator<<(std::ostream& out, const Config& config) { return out << to_string(config); }

namespace base {

Config parse_config(const Lookup& lookup) {
  Config config;
  for (const Setting& setting : settings) {
    if (const char* value = lookup(setting.name)) {
      set(setting, setting.name, value, config);
    } else if (setting.twin != nullptr) {
      if (const char* its = lookup(setting.twin)) set(setting, setting.twin, its, config);
    }
  }
  return config;
}

void validate(const Config& config) {
  Config scratch;
  for (const Setting& setting : settings)
    if (const Printed value = setting.print(config)) set(setting, setting.name, *value, scratch);
  if (config.rank && config.size && *config.rank >= *config.size)
    throw Error(ErrorKind::invalid_argument, "RONDO_RANK=" + quote(*print_int(config.rank)) +
                                                 " and RONDO_SIZE=" + quote(*print_int(config.size)) +
                                                 ": the rank must be less than the size");
}

std::vector<SettingInfo> describe_settings() {
  std::string backends = "one of";
  for (int i = 0; i < backend_count; ++i)
    backends += (i == 0 ? " " : ", ") + std::string(to_string(static_cast<Backend>(i)));
  const Config defaults;
  std::vector<SettingInfo> infos;
  for (const Setting& each : settings) {
    const std::string expected = each.expected;
    infos.push_back(
        {each.name, each.field, each.what, expected.empty() ? backends : expected, each.print(defaults)});
  }
  return infos;
}

std::string incomplete_reason(const Config& config) {
  std::vector<std::string> missing;
  if (!config.rank) missing.emplace_back("RONDO_RANK");
  if (!config.size) missing.emplace_back("RONDO_SIZE");
  if (config.rendezvous.empty()) missing.emplace_back("RONDO_RENDEZVOUS");
  if (missing.empty()) return {};
  std::string text = missing.front();
  for (std::size_t i = 1; i < missing.size(); ++i)
    text += (i + 1 == missing.size() ? " and " : ", ") + missing[i];
  return text + (missing.size() == 1 ? " is not set" : " are not set");
}

}  // namespace base

}  // namespace rondo
