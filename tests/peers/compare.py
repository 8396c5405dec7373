"""Compares rondo with its peers; scripts/compare-peers is how to start it, and --help tells the options."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import prepare
import tables
from contestants import MPI_TESTS, Turn, TurnFailed

ALIASES = {"all_sum": "all_reduce", "sum_scatter": "reduce_scatter"}
UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def list_of(one):
    """A parser of comma-separated values, each once."""

    def parse(text):
        return tuple(dict.fromkeys(one(word) for word in text.split(",")))

    return parse


def choice(*names):
    def parse(word):
        if word not in names:
            raise argparse.ArgumentTypeError(f'"{word}": expected one of {", ".join(names)}')
        return word

    return parse


def size(word):
    match = re.fullmatch(r"(\d+)([KMG]?)", word, re.IGNORECASE)
    value = int(match[1]) * UNITS[match[2].upper()] if match else 0
    if not 4 <= value <= 2**30 or value % 4:
        raise argparse.ArgumentTypeError(f'"{word}": expected bytes, a multiple of 4 up to 1G, such as 4, 64K or 16M')
    return value


def number(least, most, kind=int):
    def parse(word):
        try:
            value = kind(word)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f'"{word}": expected a number from {least} to {most}')
        return value

    return parse


def parse_options(words):
    parser = argparse.ArgumentParser(
        prog="scripts/compare-peers",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="rondo and its peers in interleaved rounds on this machine: medians of the rounds' medians.",
        epilog="Status 0 when all was measured, targets met or not; 1 when rondo failed or a result was wrong;\n"
        "2 for wrong usage; 130 when it was interrupted: what there is is printed. docs/performance.md explains.",
    )
    test = lambda word: choice(*MPI_TESTS)(ALIASES.get(word, word))
    parser.add_argument("--ranks", metavar="N,...", type=list_of(number(2, 64)), default=(2,), help="default: 2")
    parser.add_argument(
        "--transport",
        metavar="T,...",
        type=list_of(choice("shm", "tcp")),
        default=("shm", "tcp"),
        help="default: shm,tcp",
    )
    parser.add_argument(
        "--sizes",
        metavar="S,...",
        type=list_of(size),
        default=tuple(4 << (2 * step) for step in range(12)),
        help="bytes, K, M and G in powers of 1024; default: 4 to 16M by factors of 4",
    )
    parser.add_argument(
        "--tests",
        metavar="T,...",
        type=list_of(test),
        default=("all_reduce",),
        help=f"default: all_sum, which is all_reduce; of {', '.join(MPI_TESTS)}",
    )
    parser.add_argument(
        "--rounds", metavar="N", type=number(1, 1000), default=5, help="turns of each contestant; default: 5"
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=number(0.001, 60, float),
        default=0.1,
        help="how long to measure for a row in a turn, from 10 to 5000 samples; default: 0.1",
    )
    parser.add_argument(
        "--samples", metavar="N", type=number(1, 100000), default=0, help="so many samples instead, the same for all"
    )
    parser.add_argument(
        "--peers",
        metavar="P,...",
        type=list_of(choice(*prepare.MAKERS)),
        default=tuple(prepare.MAKERS),
        help=f"default: {','.join(prepare.MAKERS)}",
    )
    parser.add_argument(
        "--build",
        metavar="DIR",
        help="a build folder that holds bin/rondo; default: build/release, which is built first",
    )
    parser.add_argument("--json", metavar="FILE", help="every row of every round, with versions, settings and tables")
    options = parser.parse_args(words)
    options.sizes = tuple(sorted(options.sizes))
    return options


def trip(probe):
    """The cross-core trip in ns, or None where it cannot be probed."""
    if probe is None:
        return None
    done = subprocess.run([probe], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def loopback_bytes():
    """Bytes that the loopback interface has carried."""
    for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines():
        name, colon, counters = line.partition(":")
        if colon and name.strip() == "lo":
            return int(counters.split()[0])
    return None


def take_turn(contestant, turn):
    """The rows of a turn. Over tcp the bytes must have been seen on the loopback interface."""
    before = loopback_bytes()
    rows = contestant.rows(turn)
    after = loopback_bytes()
    least = sum(row["size"] * row["samples"] * row["batch"] for row in rows)
    if (
        turn.transport == "tcp"
        and contestant.name not in tables.REFERENCES
        and None not in (before, after)
        and after - before < least
    ):
        raise TurnFailed(
            f"did not use TCP: {least} bytes must have moved, the loopback interface saw {after - before}"
        )
    return rows


class Comparison:
    """Rounds of turns, and what came of them."""

    def __init__(self, options, contestants, probe):
        self.options = options
        self.contestants = contestants
        self.probe = probe
        self.rounds = []
        self.failures = []
        self.settings = {}

    def run(self):
        for number_of_round in range(self.options.rounds):
            for ranks in self.options.ranks:
                for transport in self.options.transport:
                    self._round(number_of_round, ranks, transport)

    def _round(self, number_of_round, ranks, transport):
        before = trip(self.probe)
        this = {
            "round": number_of_round + 1,
            "ranks": ranks,
            "transport": transport,
            "trips_ns": [before, None],
            "turns": {},
        }
        self.rounds.append(this)  # now, so that an interrupted round is not lost
        # Every round begins with another one, so that nobody always comes after the same.
        start = number_of_round % len(self.contestants)
        for contestant in self.contestants[start:] + self.contestants[:start]:
            tests = tuple(test for test in self.options.tests if test in contestant.tests)
            if transport not in contestant.transports or not tests:
                continue
            turn = Turn(transport, ranks, tests, self.options.sizes, self.options.seconds, self.options.samples)
            progress(
                f"round {number_of_round + 1} of {self.options.rounds}: {contestant.name}, {transport}, {ranks} ranks"
            )
            self.settings[f"{contestant.name}, {transport}, {ranks} ranks"] = contestant.settings(turn)
            try:
                this["turns"][contestant.name] = take_turn(contestant, turn)
            except TurnFailed as error:
                self.failures.append(
                    {
                        "contestant": contestant.name,
                        "round": this["round"],
                        "transport": transport,
                        "ranks": ranks,
                        "reason": str(error),
                    }
                )
        this["trips_ns"][1] = trip(self.probe)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def machine():
    processor = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor[1] if processor else "unknown",
        "load": "%.1f" % os.getloadavg()[0],
        "usable cores": len(os.sched_getaffinity(0)),
        "congestion control": control.read_text(encoding="utf-8").strip() if control.exists() else "unknown",
    }


def report(facts, found, comparison, skipped):
    """What is printed at the end."""
    print(
        "{processor}, {usable cores} usable cores, {system}, {congestion control}, load when it began: {load}".format(
            **facts["machine"]
        )
    )
    print(", ".join(f"{name} {version}" for name, version in facts["versions"].items()))
    print(
        "float32, sum, out of place; medians of the rounds' medians, slowest rank; GB/s is busbw; "
        "ratio is rondo's time / the best peer's"
    )
    for table in found:
        print()
        print("\n".join(tables.text_of(table)))
        for note in tables.notes_of(table):
            print(f"  {note}")
    print()
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}")
    for failure in comparison.failures:
        print("failed: {contestant}, round {round}, {transport}, {ranks} ranks: {reason}".format(**failure))
    lines = [line for table in found for line in table["lines"] if line["met"] is not None]
    print(f"targets: {sum(line['met'] for line in lines)} met, {sum(not line['met'] for line in lines)} missed")


def main():
    options = parse_options(sys.argv[1:])
    try:
        contestants, skipped, probe = prepare.prepare(options.peers, options.build)
    except prepare.Absent as error:
        sys.exit(f"compare-peers: {error}")
    facts = {"machine": machine(), "versions": prepare.versions(contestants, options.build), "options": vars(options)}
    comparison = Comparison(options, contestants, probe)
    interrupted = False
    try:
        comparison.run()
    except KeyboardInterrupt:
        interrupted = True
    progress("")
    found = tables.tables_of(comparison.rounds, [each.name for each in contestants])
    report(facts, found, comparison, skipped)
    if options.json:
        document = {
            **facts,
            "settings": comparison.settings,
            "skipped": skipped,
            "failures": comparison.failures,
            "interrupted": interrupted,
            "rounds": comparison.rounds,
            "tables": found,
        }
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if interrupted:
        return 130
    wrong = any(row["wrong"] for each in comparison.rounds for rows in each["turns"].values() for row in rows)
    return 1 if wrong or any(failure["contestant"] == tables.OURS for failure in comparison.failures) else 0


if __name__ == "__main__":
    sys.exit(main())
