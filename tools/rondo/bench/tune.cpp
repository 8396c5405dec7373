#include "bench/tune.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <set>
#include <stdexcept>

#include "base/fd.hpp"
#include "bench/contenders.hpp"
#include "bench/facts.hpp"
#include "bench/floor.hpp"
#include "bench/measure.hpp"
#include "bench/workload.hpp"
#include "rondo/info.hpp"

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr int interrupted = 130;
/// A candidate that is less than 7 % faster may be so by chance.
constexpr double needed = 0.93;

/// A collective with one kind of elements: those that must be combined once allow fewer algorithms.
struct Subject {
  BenchVerb verb;
  std::string name;
  bool combined_once = false;
  DType dtype = DType::float32;
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const BenchVerb verb :
       {BenchVerb::all_reduce, BenchVerb::reduce_scatter, BenchVerb::reduce, BenchVerb::all_gather,
        BenchVerb::broadcast, BenchVerb::gather, BenchVerb::scatter, BenchVerb::all_to_all}) {
    const std::string name(info_of(verb).name);
    all.push_back({verb, name});
    if (info_of(verb).reduces) all.push_back({verb, name, true, DType::float16});
  }
  return all;
}

/// What the shipped table knows for a subject.
std::vector<std::string> candidates(const Subject& subject, bool shared_memory) {
  std::vector<std::string> names;
  for (const SelectionRow& row : selection_table()) {
    if (row.collective != subject.name || (row.shared_memory && *row.shared_memory && !shared_memory))
      continue;
    if (subject.combined_once && row.combined_once && !*row.combined_once) continue;
    if (std::find(names.begin(), names.end(), row.algorithm) == names.end()) names.push_back(row.algorithm);
  }
  return names;
}

Json row_of(const Subject& subject, const std::string& algorithm, bool shared_memory) {
  Json row{{"collective", subject.name}, {"algorithm", algorithm}, {"arena", shared_memory}};
  if (info_of(subject.verb).reduces) row["combined once"] = subject.combined_once;
  return row;
}

/// A file that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "rondo-tune-XXXXXX").string();
    const base::Fd made(::mkstemp(pattern.data()));
    if (!made)
      throw std::runtime_error(fmt::format("{}: cannot be written: {}", pattern, base::error_words(errno)));
    path_ = pattern;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { (void)std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Groups over one backend: one by the shipped table, one for every algorithm that always takes it where it
/// can.
class Groups {
 public:
  Groups(const Group& control, Backend backend) : config_(Config::from_env()) {
    config_.backend = backend;
    config_.tuning.clear();
    shipped_.push_back(join_over(control, config_));
    shared_memory_ = shipped_.front().backend() == Backend::shm && config_.arena_bytes > 0;
    std::set<std::string> names;
    for (const Subject& subject : subjects()) {
      for (const std::string& each : candidates(subject, shared_memory_)) names.insert(each);
    }
    for (const std::string& name : names) always_.push_back({name, join_always(control, name)});
  }

  const Group& shipped() const { return shipped_.front(); }
  bool shared_memory() const noexcept { return shared_memory_; }
  const Group& always(const std::string& algorithm) const {
    return std::find_if(always_.begin(), always_.end(),
                        [&](const Contender& each) { return each.name == algorithm; })
        ->group;
  }

 private:
  Group join_always(const Group& control, const std::string& algorithm) {
    Json rows = Json::array();
    for (const Subject& subject : subjects()) {
      const auto known = candidates(subject, shared_memory_);
      if (std::find(known.begin(), known.end(), algorithm) != known.end())
        rows.push_back(row_of(subject, algorithm, shared_memory_));
    }
    const TemporaryFile file(Json{{"rondo tuning", 1}, {"rows", rows}}.dump());
    config_.tuning = file.path();
    return join_over(control, config_);
  }

  Config config_;
  bool shared_memory_ = false;
  std::vector<Group> shipped_;  // one, once it is made
  std::vector<Contender> always_;
};

/// One subject over one backend.
class Tuner {
 public:
  Tuner(const Group& control, const Groups& groups, const Subject& subject, const BenchOptions& options)
      : control_(control),
        groups_(groups),
        subject_(subject),
        options_(options),
        names_(candidates(subject, groups.shared_memory())) {}

  /// False when it was ended early. `tell` is given a line for every size.
  bool measure_all(const std::function<bool()>& stop, const std::function<void(const std::string&)>& tell) {
    if (names_.size() < 2) return true;
    BenchOptions sweep = options_;
    sweep.dtype = subject_.dtype;
    for (const std::size_t count : counts_of_sweep(sweep, subject_.verb, control_.size())) {
      const auto timings = measure_size(count, stop);
      if (timings.front().stopped) return false;
      TuneSize size;
      size.bytes = selected_bytes(count);
      size.shipped = timings.front().median;
      for (std::size_t i = 1; i < timings.size(); ++i) size.algorithms.push_back(timings[i].median);
      tell(line_of(size));
      sizes_.push_back(std::move(size));
    }
    return true;
  }

  void append_rows(Json& rows) const {
    for (const TuneRange& range : better_choices(sizes_, needed)) {
      Json row = row_of(subject_, names_[range.algorithm], groups_.shared_memory());
      row["ranks"] = {control_.size(), control_.size()};
      if (range.from > 0) row["from"] = range.from;
      if (range.up_to) row["up to"] = *range.up_to;
      rows.push_back(std::move(row));
    }
  }

 private:
  std::vector<Timing> measure_size(std::size_t count, const std::function<bool()>& stop) const {
    const Case what{
        subject_.verb, subject_.dtype, ReduceOp::sum, 0, count, subject_.verb == BenchVerb::broadcast};
    std::vector<std::unique_ptr<Workload>> work;
    std::vector<std::function<void()>> calls;
    const auto add = [&](const Group& group) {
      work.push_back(std::make_unique<Workload>(group, what));
      work.back()->prepare();
      calls.emplace_back([workload = work.back().get()] { workload->call(); });
    };
    add(groups_.shipped());
    for (const std::string& name : names_) add(groups_.always(name));
    return measure(control_, calls, options_.effort, stop);
  }

  /// The bytes by which the table selects: a rank's part for gather and scatter, else the size column.
  std::size_t selected_bytes(std::size_t count) const {
    const bool part = subject_.verb == BenchVerb::gather || subject_.verb == BenchVerb::scatter;
    return part ? count * size_of(subject_.dtype)
                : bytes_for(subject_.verb, count, subject_.dtype, control_.size());
  }

  std::string line_of(const TuneSize& size) const {
    std::string text = fmt::format("{} {}, {} B: shipped {:.2f} us", subject_.name, to_string(subject_.dtype),
                                   size.bytes, size.shipped * 1e6);
    for (std::size_t i = 0; i < names_.size(); ++i)
      text += fmt::format(", {} {:.2f}", names_[i], size.algorithms[i] * 1e6);
    return text;
  }

  const Group& control_;
  const Groups& groups_;
  const Subject subject_;
  const BenchOptions& options_;
  const std::vector<std::string> names_;
  std::vector<TuneSize> sizes_;
};

void check_options(const BenchOptions& options, const Group& control) {
  if (!options.tests.empty())
    throw std::invalid_argument(
        fmt::format("--tune measures all collectives, but a test is given: {}", options.tests.front()));
  if (options.output.empty()) throw std::invalid_argument("--tune needs -o FILE");
  if (options.threads > 0)
    throw std::invalid_argument("--tune needs processes (rondo run), but --ranks takes threads");
  if (control.size() < 2)
    throw std::invalid_argument("--tune needs at least 2 ranks: rondo run -n COUNT -- rondo bench --tune");
  check_sizes(options);
}

// Whole or not at all.
void replace(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream file(beside, std::ios::trunc);
  file << text << std::flush;
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    throw std::runtime_error(fmt::format("-o {}: cannot be written: {}", path, base::error_words(errno)));
  }
}

}  // namespace

std::vector<TuneRange> better_choices(const std::vector<TuneSize>& sizes, double least) {
  const auto between = [](std::size_t a, std::size_t b) {
    return static_cast<std::size_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
  };
  std::vector<TuneRange> ranges;
  bool open = false;  // the last range reaches up to the size before
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& times = sizes[i].algorithms;
    const auto best = std::min_element(times.begin(), times.end());
    const bool better = best != times.end() && *best < least * sizes[i].shipped;
    const auto index = static_cast<std::size_t>(best - times.begin());
    const std::size_t border = i > 0 ? between(sizes[i - 1].bytes, sizes[i].bytes) : 0;
    if (open && better && ranges.back().algorithm == index) continue;
    if (open) ranges.back().up_to = border;
    open = better;
    if (better) ranges.push_back({i > 0 ? border + 1 : 0, std::nullopt, index});
  }
  return ranges;
}

int bench_tune(const Group& control, const BenchOptions& options, std::ostream& out,
               const std::function<bool()>& stop) {
  check_options(options, control);
  const bool tells = control.rank() == 0;
  const auto tell = [&](const std::string& line) {
    if (tells) out << line << "\n" << std::flush;
  };
  const std::optional<double> trip = tells ? cross_core_trip() : std::nullopt;
  Json rows = Json::array();
  std::vector<Backend> backends = options.backends;
  if (backends.empty()) backends.push_back(control.backend());
  for (const Backend backend : backends) {
    const Groups groups(control, backend);
    tell(fmt::format("# {}, {} ranks", to_string(backend), control.size()));
    for (const Subject& subject : subjects()) {
      Tuner tuner(control, groups, subject, options);
      if (!tuner.measure_all(stop, tell)) {
        tell(fmt::format("# ended early; {} is as it was", options.output));
        return interrupted;
      }
      tuner.append_rows(rows);
    }
  }
  if (!tells) return 0;
  Json document{{"rondo tuning", 1}, {"measured on", machine_facts()}};
  document["measured on"]["cores"] = trip_text(trip);
  document["measured on"]["ranks"] = control.size();
  document["rows"] = rows;
  replace(options.output, document.dump(2) + "\n");
  tell(fmt::format("# {} rows better than the shipped table; RONDO_TUNING={} uses them", rows.size(),
                   options.output));
  return 0;
}

}  // namespace rondo::tools::bench
