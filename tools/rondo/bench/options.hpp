#pragma once
/// What `rondo bench` was asked for.

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.hpp"
#include "bench/verb.hpp"
#include "rondo/config.hpp"

namespace rondo::tools::bench {

enum class Format : std::uint8_t { table, csv, json };
enum class Placement : std::uint8_t { out, in, both };

struct BenchOptions {
  std::vector<std::string> tests;  ///< names; "all" is one
  std::size_t least_bytes = 4;
  std::optional<std::size_t> most_bytes;  ///< default: 16 MiB, or least_bytes when that is more
  std::size_t factor = 4;
  DType dtype = DType::float32;
  std::optional<ReduceOp> op;
  int root = 0;
  Placement placement = Placement::both;
  bool shared_memory = false;  ///< tensors of Group::allocate
  Effort effort;
  bool check = true;
  std::vector<Backend> backends;  ///< that take turns; none: the job's own
  bool floors = true;             ///< with every row, where there are floors
  bool progress = false;          ///< also where standard error is no terminal
  Format format = Format::table;
  std::string output;  ///< a file instead of standard output
  std::string html;    ///< a page with the curves, besides
  std::string svg;     ///< the curves alone
  bool tune = false;   ///< write a table of algorithms instead of measuring tests
  std::string from;    ///< a document of --json to draw, instead of a measurement
  int threads = 0;     ///< so many ranks as threads of this process; 0: the job of the environment
};

/// A test as asked for: its name and what that means.
struct BenchTest {
  std::string name;
  BenchVerb verb;
  ReduceOp op;
};

/// Adds the subcommand `bench`, which fills `options` when it is parsed.
CLI::App* add_bench(CLI::App& app, BenchOptions& options);

/// "4", "16K", "2M", "1G", also "16KiB": powers of 1024. Nothing when it is no size, or none up to 1 TiB.
std::optional<std::size_t> parse_size(std::string_view text);

/// Throws std::invalid_argument when -e is less than -b.
void check_sizes(const BenchOptions& options);

/// The tests of the names. Throws std::invalid_argument that says what does not fit together, also with a
/// group of `ranks`: an unknown name, two reductions for one test, a reduction that the type does not have, a
/// root that is none, too few ranks. Of "all" it leaves out what cannot be.
std::vector<BenchTest> choose_tests(const BenchOptions& options, int ranks);

/// Counts of one test from -b to -e by -f; equal ones are there once.
std::vector<std::size_t> counts_of_sweep(const BenchOptions& options, BenchVerb verb, int ranks);

}  // namespace rondo::tools::bench
