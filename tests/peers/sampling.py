"""What the peers in Python share: the method and the options of sampling.hpp."""

import argparse
import json
import math
import time

LEAST_SAMPLE = 20e-6
ROUND_SECONDS = 0.1  # so often the ranks tell each other their times


def options():
    """The command line of a peer program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", type=lambda text: text.split(","), required=True)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], required=True)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--samples", type=int, default=0)
    return parser.parse_args()


def _seconds_of(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def _whole(value, least, most):
    return int(min(max(value, least), most))


def _estimate(call, slowest, seconds):
    calls = 1
    while True:
        took = slowest([_seconds_of(call, calls)])[0]
        if took >= seconds / 10 or calls >= 4096:
            return max(took / calls, 1e-9)
        calls *= 2


def measure(call, slowest, effort):
    """Times `call` as `rondo bench` does; `slowest` gives the largest of all ranks for each time of a list."""
    for _ in range(3):
        call()
    guess = _estimate(call, slowest, effort.seconds)
    batch = _whole(math.ceil(LEAST_SAMPLE / guess), 1, 4096)
    sample = guess * batch
    wanted = effort.samples or _whole(effort.seconds / sample, 10, 5000)
    per_round = _whole(ROUND_SECONDS / sample, 1, wanted)
    samples = []
    while len(samples) < wanted:
        samples += slowest([_seconds_of(call, batch) / batch for _ in range(min(per_round, wanted - len(samples)))])
    samples.sort()
    count = len(samples)
    return {
        "min_us": samples[0] * 1e6,
        "median_us": (samples[(count - 1) // 2] + samples[count // 2]) / 2 * 1e6,
        "p99_us": samples[(99 * count + 99) // 100 - 1] * 1e6,
        "samples": count,
        "batch": batch,
    }


def count_of(size, parts):
    """Elements of one rank's part for a size: of the vector, or of the parts of all ranks together."""
    return max(1, size // 4 // parts)


def print_row(test, size, timing, wrong, note=""):
    """A row as a line of JSON, in the names of `rondo bench --json`."""
    print(json.dumps({"test": test, "size": size, **timing, "wrong": wrong, "note": note}), flush=True)
