#include "run/help.hpp"

namespace rondo::tools::run {

const char* const run_help = R"(rondo run - start a program as the ranks of a job on this host

Usage:
  rondo run -n COUNT [OPTIONS] -- PROGRAM [ARGUMENTS]

PROGRAM is started COUNT times. Each process is told its place, so that rondo::init() joins the job. The
arguments are passed on as they are; there is no shell between.

Options:
  -n COUNT             How many ranks.
  --env NAME=VALUE     A variable for every rank, besides those of this environment. May be repeated.
  --backend NAME       What carries the bytes: any, shm, tcp, ... (sets RONDO_BACKEND).
  --no-prefix          Print the lines of the ranks as they are, without "[rank] " before each.
  --timeout TIME       Limit of the whole job. When it runs out, all ranks are ended. Default: none.
  --on-failure WHAT    When a rank fails, tell the others, and
                         stop      end them: SIGTERM after --grace, SIGKILL after --kill-after (default)
                         continue  let them go on
  --grace TIME         How long the others may take to end by themselves after a failure. Default: 2s.
  --kill-after TIME    How long ranks may take to end after a failure, after SIGINT or SIGTERM, or after the
                       time limit, before they are killed. Default: 10s.
  -v, --verbose        Tell how every rank begins and ends.
  -h, --help           Print this.

  A TIME is 60, 1.5s, 250ms or 2min; a number alone means seconds.

Input and output:
  Standard input goes to rank 0; the others read from /dev/null. Output of all ranks comes in whole lines,
  those of standard error on standard error. A line of more than 256 KiB comes in pieces.

Signals:
  INT, TERM, HUP, QUIT, USR1 and USR2 are passed on to all ranks. A second INT or TERM kills them. Nothing that
  the ranks have started is left behind, also when rondo run itself is killed.

Exit status:
  0    all ranks ended with 0
  N    the status of the first rank that failed; 128 + the signal if it was killed. With --on-failure continue:
       of the first that failed among the others, else 0
  2    wrong usage
  124  the time limit ran out
  126  the program cannot be run
  127  there is no such program

Examples:
  rondo run -n 4 -- ./train --epochs 20
  rondo run -n 2 --backend tcp --env RONDO_TIMEOUT=5s -- ./program
  rondo run -n 8 --timeout 30min --no-prefix -- ./program > result.txt
)";

}  // namespace rondo::tools::run
