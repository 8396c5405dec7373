#include "bench/floor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "bench/facts.hpp"

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr double micro = 1e6;
constexpr double giga = 1e9;
constexpr std::size_t default_most = std::size_t{64} << 20;
constexpr int interrupted_status = 130;  // as a shell says it of SIGINT

double rate_at(const FloorColumn& column, const Curve::Point& point) {
  return static_cast<double>(point.bytes) / point.seconds * column.at_once;
}

std::string stream_name(std::string_view kind, const SocketFloor::Stream& stream) {
  return stream.how.empty() ? std::string(kind) : fmt::format("{} ({})", kind, stream.how);
}

struct NamedStream {
  std::string name;
  double rate;
};
std::vector<NamedStream> streams_of(const Floors& floors) {
  std::vector<NamedStream> named;
  for (const auto& each : floors.tcp.streams) named.push_back({stream_name("tcp", each), each.rate});
  for (const auto& each : floors.local.streams) named.push_back({stream_name("unix", each), each.rate});
  return named;
}

std::set<std::size_t> sizes_of(const std::vector<FloorColumn>& columns) {
  std::set<std::size_t> sizes;
  for (const FloorColumn& column : columns)
    for (const Curve::Point& point : column.curve->points()) sizes.insert(point.bytes);
  return sizes;
}

// One table over sizes; `text` of a point.
template <class Text>
void print_sizes(const std::vector<FloorColumn>& columns, std::string_view title, std::ostream& out,
                 const Text& text) {
  out << fmt::format("#\n# {}\n# {:>10}", title, "size(B)");
  for (const FloorColumn& column : columns) out << fmt::format(" {:>15}", column.title);
  out << "\n";
  for (const std::size_t size : sizes_of(columns)) {
    out << fmt::format("{:>12}", size);
    for (const FloorColumn& column : columns) {
      const Curve::Point* const point = column.curve->find(size);
      out << fmt::format(" {:>15}", point == nullptr ? "-" : text(column, *point));
    }
    out << "\n";
  }
}

void print_table(const Floors& floors, std::ostream& out) {
  out << fmt::format("#\n# {:<38} {:>10}\n", "one way, or one call", "time(us)");
  for (const FloorFigure& each : figures_of(floors))
    if (each.seconds) out << fmt::format("{:<40} {:>10.3f}\n", each.title, *each.seconds * micro);
  if (const auto streams = streams_of(floors); !streams.empty()) {
    out << fmt::format("#\n# {:<38} {:>10}\n", "bare stream, one way", "GB/s");
    for (const NamedStream& each : streams)
      out << fmt::format("{:<40} {:>10.3f}\n", each.name, each.rate / giga);
  }
  const auto columns = columns_of(floors);
  print_sizes(columns, "time in us", out, [](const FloorColumn&, const Curve::Point& point) {
    return fmt::format("{:.3f}", point.seconds * micro);
  });
  print_sizes(columns, "rate in GB/s: of all cores together; of each direction of an exchange", out,
              [](const FloorColumn& column, const Curve::Point& point) {
                return fmt::format("{:.3f}", rate_at(column, point) / giga);
              });
}

void print_csv(const Floors& floors, std::ostream& out) {
  out << "what,size,us,GBps\n";
  for (const FloorFigure& each : figures_of(floors))
    if (each.seconds) out << fmt::format("{},,{:.4f},\n", each.name, *each.seconds * micro);
  for (const NamedStream& each : streams_of(floors))
    out << fmt::format("stream {},,,{:.4f}\n", each.name, each.rate / giga);
  for (const FloorColumn& column : columns_of(floors))
    for (const Curve::Point& point : column.curve->points())
      out << fmt::format("{},{},{:.4f},{:.4f}\n", column.name, point.bytes, point.seconds * micro,
                         rate_at(column, point) / giga);
}

Json json_of(const Floors& floors) {
  Json document;
  for (const FloorFigure& each : figures_of(floors))
    document["us"][std::string(each.name)] = each.seconds ? Json(*each.seconds * micro) : Json();
  document["streams_GBps"] = Json::object();
  for (const NamedStream& each : streams_of(floors)) document["streams_GBps"][each.name] = each.rate / giga;
  document["curves"] = Json::object();
  for (const FloorColumn& column : columns_of(floors)) {
    Json points = Json::array();
    for (const Curve::Point& point : column.curve->points())
      points.push_back(
          {{"size", point.bytes}, {"us", point.seconds * micro}, {"GBps", rate_at(column, point) / giga}});
    document["curves"][std::string(column.name)] = std::move(points);
  }
  return document;
}

Json floor_header(const Floors& floors) {
  Json facts = machine_facts();
  facts["cores used"] = floors.cores;
  facts["cores"] = trip_text(floors.trip);
  facts["figures"] = "the least of several samples, each the mean of 20 us or more; 1 GB/s = 1e9 B/s";
  return facts;
}

}  // namespace

std::vector<FloorFigure> figures_of(const Floors& floors) {
  const auto measured = [](double seconds) { return seconds > 0 ? std::optional(seconds) : std::nullopt; };
  return {
      {"clock_read", "a look at the clock", measured(floors.clock)},
      {"system_call", "a system call", measured(floors.system_call)},
      {"cross_core_trip", "cross-core trip", floors.trip},
      {"futex_wake", "futex wake-up, on another core", floors.futex},
      {"futex_wake_one_core", "futex wake-up, on the same core", floors.futex_one_core},
      {"tcp_polled", "loopback TCP, 4 B, busy-polled", floors.tcp.trip.polled},
      {"tcp_blocking", "loopback TCP, 4 B, blocking", floors.tcp.trip.blocking},
      {"unix_polled", "AF_UNIX, 4 B, busy-polled", floors.local.trip.polled},
      {"unix_blocking", "AF_UNIX, 4 B, blocking", floors.local.trip.blocking},
  };
}

std::vector<FloorColumn> columns_of(const Floors& floors) {
  std::vector<FloorColumn> columns = {
      {"memcpy_one_core", "memcpy:1", &floors.copy_one, 1},
      {"memcpy_all_cores", "memcpy:all", &floors.copy_all, floors.cores},
      {"add_one_core", "add:1", &floors.add_one, 1},
      {"add_all_cores", "add:all", &floors.add_all, floors.cores},
      {"process_vm_readv", "vm_readv", &floors.pull, 1},
      {"tcp_exchange", "tcp exchange", &floors.tcp.exchange, 1},
      {"unix_exchange", "unix exchange", &floors.local.exchange, 1},
  };
  std::erase_if(columns, [](const FloorColumn& each) { return each.curve->empty(); });
  return columns;
}

void print_floors(const Floors& floors, const BenchOptions& options, bool interrupted, std::ostream& out) {
  const Json header = floor_header(floors);
  if (options.format == Format::json) {
    Json document = {{"header", header}};
    document.update(json_of(floors));
    document["interrupted"] = interrupted;
    out << document.dump(2, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
    return;
  }
  out << header_text(header);
  if (options.format == Format::csv)
    print_csv(floors, out);
  else
    print_table(floors, out);
  if (interrupted) out << "# interrupted\n";
  out << std::flush;
}

int bench_floor(const BenchOptions& options, std::ostream& out, const std::function<bool()>& stop) {
  if (options.tests.size() != 1)
    throw std::invalid_argument("floor stands alone: rondo bench floor measures the machine, not a group");
  check_sizes(options);
  FloorPlan plan;
  plan.seconds = options.effort.seconds / 10;
  const std::size_t most = options.most_bytes.value_or(std::max(default_most, options.least_bytes));
  for (std::size_t bytes = options.least_bytes; bytes <= most; bytes *= options.factor)
    plan.sizes.push_back(bytes);
  bool interrupted = false;
  const Floors floors = measure_floors(plan, [&] { return interrupted = interrupted || stop(); });
  print_floors(floors, options, interrupted, out);
  return interrupted ? interrupted_status : 0;
}

}  // namespace rondo::tools::bench
