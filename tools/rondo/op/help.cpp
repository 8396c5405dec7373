#include "op/help.hpp"

namespace rondo::tools::op {

const char* const op_help = R"(rondo op - a collective on NumPy's .npy files

Usage:
  rondo run -n COUNT -- rondo op OPERATION INPUT -o OUTPUT [OPTIONS]

In file names, {rank} and {size} stand for the number of the rank and of the ranks. When OUTPUT has no {rank},
one rank writes: the root, else rank 0. Alone, without rondo run, it is a group of one.

Operations (n ranks; rows are slices along the first axis):
  all_sum, all_prod, all_min, all_max, all_mean   element by element, the result on every rank
  all_reduce [--op NAME]             the same with any reduction
  reduce [--op NAME] [--root R]      the result on the root
  all_gather, all_gather_v           the files of all ranks, one behind the other; _v: rows may differ in number
  gather, gather_v [--root R]        the same on the root
  sum_scatter                        the sum, cut into n parts of rows, one for each rank
  reduce_scatter [--op NAME]         the same with any reduction
  sum_scatter_v, reduce_scatter_v --counts LIST   parts of these numbers of rows
  broadcast [--root R]               the root's file to all; only the root reads
  scatter [--root R]                 the root's file in n parts of rows, one to each rank; only the root reads
  scatter_v --counts LIST            parts of these numbers of rows
  all_to_all                         n parts of rows: part d to rank d
  all_to_all_v --send-counts LISTS   parts of these numbers of rows
  sendrecv --from A --to B           rank A's file to rank B
  barrier                            waits for all ranks; takes no files

Options:
  -o, --output NAME     What is made. It has its name only when every rank has all of its result on the disk.
  --op NAME             sum (the default), product, min, max, mean, bit_and, bit_or, bit_xor, logical_and,
                        logical_or.
  --root R              The root; 0.
  --counts LIST         Rows for each rank: 2,0,3.
  --send-counts LISTS   Rows for each rank: one list that holds for all ranks, or one for each: 1,2/0,3.
  --piece BYTES         What a rank has under way at once, such as 16MiB; 64MiB. Files may be larger than memory.
  --progress            Tells on standard error how far it is, also when that is no terminal.
  -h, --help            Print this.

Files: versions 1.0 to 3.0, little-endian, C order, of bool, integers, float16 to float64, complex64 and
complex128, with at most 8 axes.

Exit status: 0 done; 1 failed; 2 wrong usage.
)";

}  // namespace rondo::tools::op
