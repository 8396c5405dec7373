#include "bench/help.hpp"

namespace rondo::tools::bench {

const char* const bench_help = R"(rondo bench - measure collectives and messages

Usage:
  rondo run -n COUNT -- rondo bench TEST... [OPTIONS]
  rondo bench --ranks COUNT TEST... [OPTIONS]
  rondo run -n COUNT -- rondo bench --tune -o FILE [--backends A,B,C] [-b SIZE] [-e SIZE] [-f COUNT] [--seconds SECONDS]
  rondo bench --from FILE [--html FILE] [--svg FILE]
  rondo bench floor [-b SIZE] [-e SIZE] [-f COUNT] [--seconds SECONDS] [--json | --csv] [-o FILE]

Every rank runs the same tests; rank 0 prints. Without a job and without --ranks there is one rank.

Tests:
  all_reduce (all_sum, all_max, all_min), reduce, all_gather, reduce_scatter (sum_scatter), all_to_all,
  broadcast, gather, scatter, barrier
  sendrecv    every rank sends to the next and receives from the one before
  latency     ping-pong of rank 0 and rank 1; the time is half of a round trip
  bandwidth   rank 0 sends up to 64 messages to rank 1 at once (64 MiB at most), then waits for an answer; the
              time is that of one message
  all         all of these that the options allow
  floor       stands alone: what this machine's cores, memory and sockets do by themselves, which nothing that runs
              on it can go below; up to 64M

Sizes:
  -b, --min-bytes SIZE  The first size. Default: 4.
  -e, --max-bytes SIZE  The last size. Default: 16M.
  -f, --factor COUNT    From one size to the next. Default: 4.

  A SIZE is 4, 64K, 16M, 1G or 16MiB, in powers of 1024. It is that of one rank's vector; of all ranks' parts
  together for all_gather, reduce_scatter, all_to_all, gather and scatter. It is cut to whole elements, one at least.

Call:
  -d, --dtype NAME      Element type. Default: float32.
  --op NAME             Reduction of all_reduce, reduce and reduce_scatter. Default: sum.
  -r, --root RANK       Root of reduce, broadcast, gather and scatter. Default: 0.
  --place WHERE         out (from one memory to another), in (in place), or both (default).
  --memory WHOSE        own (each rank's; default), or shared: tensors of Group::allocate, which the ranks of a host
                        read in place.

Effort:
  -n, --samples COUNT   Samples per row. Default: as many as fit into --seconds, from 10 to 5000.
  -m, --batch COUNT     Calls per sample. Default: as many as last 20 us.
  -w, --warm-up COUNT   Calls before anything is timed. Default: 3.
  --seconds SECONDS     How long to measure for a row. Default: 0.2.
  --backends A,B,C      Measure over each of these in turn, A B C A B C, with the ratio of the medians to A's. A name
                        that comes again (shm,shm) shows how much of a ratio is noise.
  --floor 0|1           Measure the machine's own floors first, and show them beside every row. Default: 1.
  --fenced              One call per sample, and a barrier before each. Default: back to back.
  -c, --check 0|1       Compare every result, bit by bit. Default: 1.

Output:
  --json                One JSON document at the end.
  --csv                 Comma-separated values.
  -o, --output FILE     Into a file instead of standard output.
  --html FILE           Besides, a page with the curves: time and bus bandwidth over the size, logarithmic, a line for
                        every backend, and the floor. It needs nothing besides itself.
  --svg FILE            Besides, the curves as a picture.
  --from FILE           Measure nothing: draw what --json has written to FILE, into --html or --svg.
  --tune                Measure every algorithm of every collective with this many ranks, over --backends (default: the
                        job's own), and write the rows in which one is clearly better than the shipped table's to -o
                        FILE. RONDO_TUNING=FILE then uses them.
  --progress            Tell on standard error which row is measured, also when that is no terminal.
  --ranks COUNT         As threads of this process instead of a job (backend sim).
  -h, --help            Print this.

Columns:
  size, count, type, redop, root, place; the least, the median and the 99th percentile of the time of a call on the
  slowest rank; algbw = size / median; busbw = algbw x 2(n-1)/n for all_reduce, x (n-1)/n where the size is that of
  all parts, x 1 else; slow, the rank whose own median is the largest; the number of wrong elements on all ranks;
  floor, what the machine's own floors allow the call, and how many times that the median is.

  INT and TERM end it early; what has been measured is printed.

Exit status:
  0    all results were right
  1    a result was wrong, or the job failed
  2    wrong usage
  130  ended early

Examples:
  rondo run -n 2 --no-prefix -- rondo bench all_sum -b 4 -e 16M -f 4
  rondo run -n 4 --backend tcp -- rondo bench latency bandwidth -d uint8 --json -o result.json
)";

}  // namespace rondo::tools::bench
