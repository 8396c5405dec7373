#!/usr/bin/env python3
"""Plants one mistake at a time in a copy of the sources and requires the named tests to fail.

A test that ends by its watchdog, a crash or a time-out has caught the mistake as well. A mistake whose text is no longer found
exactly once is an error: the table below must follow the sources.

usage: run.py [--list] [--only NAME]... [--folder FOLDER] [--jobs N]
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ["CMakeLists.txt", "cmake", "include", "src", "tests"]
TEST_LIMIT = 60  # seconds for one test, by its own watchdog
RUN_LIMIT = 300  # seconds for one program


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    program: str
    filter: str


MUTANTS = [
    Mutant(
        "ring: the wrong segment is reduced",
        "src/collective/ring.hpp",
        "return modulo(rank - step - 2, n); }",
        "return modulo(rank - step - 3, n); }",
        "conformance_tests",
        "Worlds/Large.AllReduce/run_wires_3",
    ),
    Mutant(
        "ring: the wrong segment is passed on",
        "src/collective/ring.hpp",
        "constexpr int gather_sends(int rank, int step, int n) noexcept { return modulo(rank - step, n); }",
        "constexpr int gather_sends(int rank, int step, int n) noexcept { return modulo(rank - step + 1, n); }",
        "conformance_tests",
        "Worlds/Large.AllReduce/run_wires_3",
    ),
    Mutant(
        "ring: one reduction is skipped",
        "src/collective/ring_phase.hpp",
        "combine(reduction, placed(i), operands, i >= last_step ? reduction.divisor : 0);",
        "if (i != 1) combine(reduction, placed(i), operands, i >= last_step ? reduction.divisor : 0);",
        "conformance_tests",
        "Worlds/Large.AllReduce/run_wires_3",
    ),
    Mutant(
        "flat: one rank's vector is left out",
        "src/collective/flat.cpp",
        "for (int r = 0; r < n; ++r) operands[r] = region(channel, r, 0).data() + offset;",
        "for (int r = 0; r < n; ++r) operands[r] = region(channel, r > 1 ? 1 : r, 0).data() + offset;",
        "conformance_tests",
        "Worlds/Reductions.AllReduceOfEveryTypeAndOperation/run_arena_3",
    ),
    Mutant(
        "doubling: a mean is divided in every round",
        "src/collective/all_reduce.cpp",
        "last ? reduction.divisor : 0",
        "reduction.divisor",
        "conformance_tests",
        "Worlds/Large.AllReduce/run_wires_4:Worlds/Reductions.AllReduce*/run_wires_4:Worlds/Middle.*/run_wires_4",
    ),
    Mutant(
        "tree: the wrong child",
        "src/collective/tree.hpp",
        "return to_rank(from_root(rank, root, n) + (1 << index), root, n);",
        "return to_rank(from_root(rank, root, n) + (index > 1 ? 3 : 1 << index), root, n);",
        "conformance_tests",
        "Worlds/Movement.Broadcast/run_wires_5",
    ),
    Mutant(
        "barrier: the wrong peer",
        "src/collective/barrier.cpp",
        "channel.recv(receive, ring::modulo(channel.rank() - distance, n), {});",
        "channel.recv(receive, ring::modulo(channel.rank() + distance, n), {});",
        "conformance_tests",
        "Worlds/Movement.Barrier/run_wires_5",
    ),
    Mutant(
        "barrier: a round too few",
        "src/collective/barrier.cpp",
        "distance < n; distance *= 2",
        "2 * distance < n; distance *= 2",
        "conformance_tests",
        "Worlds/Movement.Barrier/run_wires_*",
    ),
    Mutant(
        "a call is counted before it is checked",
        "src/backend/backend.cpp",
        "checked(name_of(call), [&] { validate(call, seat()); });",
        "base::Deadline early(scheduler_, this->timeout());\n  { Order::Turn counted(order_, early); }\n"
        "  checked(name_of(call), [&] { validate(call, seat()); });",
        "sim_tests",
        "Order.ARefusedCallIsNotCounted",
    ),
    Mutant(
        "stamps on wires are not compared",
        "src/transport/collective_lane.cpp",
        "if (theirs != *current_) found(",
        "if (theirs.verb != current_->verb) found(",
        "sim_tests",
        "Order.EveryDisagreement*",
    ),
    Mutant(
        "stamps in the arena are not compared",
        "src/transport/collective_lane.cpp",
        "if (std::memcmp(line.data(), mine.data(), Header::fixed_bytes) == 0) continue;",
        "if (line.size() == Header::fixed_bytes) continue;",
        "sim_tests",
        "Order.EveryDisagreement*",
    ),
    Mutant(
        "stamps of ranks that only wait are not compared",
        "src/transport/collective_lane.cpp",
        "check(rank, stamp_of(header));",
        "",
        "sim_tests",
        "Order.EveryDisagreement*",
    ),
    Mutant(
        "messages match whatever their tag",
        "src/transport/match.cpp",
        "(receiving.envelope_.tag == any_tag || receiving.envelope_.tag == tag);",
        "(receiving.envelope_.tag == any_tag || tag >= 0);",
        "conformance_tests",
        "Worlds/Messages.*/run_wires_2",
    ),
    Mutant(
        "messages of another shape are taken",
        "src/transport/match.cpp",
        "if (agree(receiving.envelope_, envelope)) return true;",
        "if (agree(receiving.envelope_, envelope) || receiving.envelope_.bytes == envelope.bytes) return true;",
        "acceptance_tests",
        "Acceptance.A13_*",
    ),
    Mutant(
        "a receive taken back keeps its place",
        "src/transport/match.cpp",
        "    case Receiving::State::posted:\n      std::erase(posted_, &receiving);\n      break;",
        "    case Receiving::State::posted:\n      break;",
        "conformance_tests",
        "Worlds/Messages.ARequestTakenBack*/run_wires_2",
    ),
    Mutant(
        "byte ring: a write wraps a byte too early",
        "src/transport/byte_ring.cpp",
        "capacity_ - begin);\n  std::memcpy(memory_ + begin, from.data(), until_wrap);",
        "capacity_ - begin - 1);\n  std::memcpy(memory_ + begin, from.data(), until_wrap);",
        "unit_tests",
        "ByteRing.wraps_*",
    ),
    Mutant(
        "byte ring: a count that makes no sense is believed",
        "src/transport/byte_ring.cpp",
        "if (there > capacity_) return closed;",
        "",
        "unit_tests",
        "ByteRing.counts_*",
    ),
    Mutant(
        "byte ring: a writer that finds no room does not say so",
        "src/transport/byte_ring.cpp",
        "state_.writer_waits.store(true, ordered);",
        "",
        "unit_tests",
        "ByteRing.says_whom_to_wake",
    ),
    Mutant(
        "bell: a nudge does not see the last sleeper",
        "src/base/bell.hpp",
        "if (sleepers.load(std::memory_order_seq_cst) > 0) ring();",
        "if (sleepers.load(std::memory_order_seq_cst) > 1) ring();",
        "unit_tests",
        "Bell.*",
    ),
    Mutant(
        "event: who has slept in poll() tells nobody that its place is free",
        "src/base/scheduler.cpp",
        "event.ring();\n    return over;",
        "return over;",
        "unit_tests",
        "Event.what_poll_sees_*",
    ),
    Mutant(
        "segment: memory without a seal is taken",
        "src/transport/shm/segment.cpp",
        "seals < 0 || (seals & F_SEAL_SHRINK) == 0",
        "seals < 0",
        "unit_tests",
        "Segment.what_is_no_segment_is_refused",
    ),
]


def tree_at(folder: Path) -> Path:
    """A fresh copy of the sources; unchanged files keep their times, so that only changes are built."""
    tree = folder / "tree"
    for name in COPIED:
        source, target = ROOT / name, tree / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            continue
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
    return tree


def build(folder: Path, program: str, jobs: int) -> bool:
    command = ["cmake", "--build", str(folder / "build"), "-j", str(jobs), "--target", program]
    with open(folder / "build.log", "w", encoding="utf-8") as log:
        return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode == 0


def passes(folder: Path, program: str, tests: str) -> bool:
    """Whether tests ran and all of them passed."""
    environment = dict(os.environ, RONDO_TEST_LIMIT=str(TEST_LIMIT))
    command = [str(folder / "build" / "tests" / program), f"--gtest_filter={tests}"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    if "0 tests from 0 test suites ran" in done.stdout:
        sys.exit(f"no test of {program} is called {tests}")
    return done.returncode == 0


def plant(tree: Path, mutant: Mutant) -> str:
    """Changes the file; gives back what it was."""
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    times = text.count(mutant.old)
    if times != 1:
        sys.exit(f"{mutant.name}: its text stands {times} times in {mutant.file}, expected once")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return text


def verdict(folder: Path, tree: Path, mutant: Mutant, jobs: int) -> bool:
    original = plant(tree, mutant)
    try:
        if not build(folder, mutant.program, jobs):
            print((folder / "build.log").read_text(encoding="utf-8")[-3000:])
            sys.exit(f"{mutant.name}: does not compile")
        return not passes(folder, mutant.program, mutant.filter)
    finally:
        (tree / mutant.file).write_text(original, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the mistakes and stop")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only mistakes with NAME in their name")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants", help="where to copy and build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.only or any(part in m.name for part in arguments.only)]
    if arguments.list:
        print("\n".join(m.name for m in chosen))
        return

    folder = arguments.folder.resolve()
    tree = tree_at(folder)
    subprocess.run(
        ["cmake", "-S", str(tree), "-B", str(folder / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
         "-DRONDO_EXAMPLES=OFF"],
        stdout=subprocess.DEVNULL, check=True,
    )
    for program in sorted({m.program for m in chosen}):
        tests = ":".join(m.filter for m in chosen if m.program == program)
        if not build(folder, program, arguments.jobs) or not passes(folder, program, tests):
            sys.exit(f"{program} does not pass before anything is planted (see {folder}/build.log)")

    survivors = 0
    for mutant in chosen:
        start = time.monotonic()
        caught = verdict(folder, tree, mutant, arguments.jobs)
        survivors += not caught
        print(f"  {'caught  ' if caught else 'SURVIVED'}  {mutant.name}  ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen) - survivors} caught, {survivors} survived")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
