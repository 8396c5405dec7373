#!/usr/bin/env python3
"""bench_command.py RONDO: runs `rondo bench` as a user would, and reads what it prints. Times are not judged."""

import csv
import json
import os
import re
import subprocess
import sys

RONDO = sys.argv[1]
QUICK = ["-n", "2", "-m", "2", "-w", "1"]
TESTS = ["all_reduce", "reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "gather", "scatter", "barrier",
         "sendrecv", "latency", "bandwidth"]
IN_PLACE = {"all_reduce", "reduce", "all_gather", "broadcast", "gather", "scatter"}
COLUMNS = ["test", "size", "count", "type", "redop", "root", "place", "min_us", "median_us", "p99_us", "algbw_GBps",
           "busbw_GBps", "wrong", "samples", "batch", "slow_rank", "rank_median_us", "floor_us", "backend", "ratio"]
OVERLAPPING = {"broadcast", "reduce", "gather", "scatter", "bandwidth"}
CORES = len(os.sched_getaffinity(0))
FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, **{
    name: lambda n: (n - 1) / n for name in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")}}


def run(*words):
    return subprocess.run([RONDO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def job(ranks, backend, *words):
    return run("run", "-n", str(ranks), "--backend", backend, "--no-prefix", "--timeout", "100s", "--", RONDO, "bench", *words)


def expect(condition, *what):
    if not condition:
        raise AssertionError(what)


def check_document(text, ranks, backend):
    document = json.loads(text)
    header = document["header"]
    expect(header["ranks"] == ranks and header["ranks on this host"] == ranks, header)
    expect(header["backend"] == backend, header)
    expect(header["mode"].startswith("back-to-back"), header)
    for fact in ("rondo bench", "host", "system", "processor", "usable cores", "clock read (ns)", "settings"):
        expect(fact in header, fact, header)
    expect(document["wrong"] == 0 and document["interrupted"] is False and document["error"] is None, document)
    rows = document["rows"]
    here = [test for test in TESTS if ranks > 1 or TESTS.index(test) < 9]
    expect([test for test in here if any(row["test"] == test for row in rows)] == here, rows)
    for row in rows:
        expect(list(row) == COLUMNS, row)
        expect(row["wrong"] == 0, row)
        expect(0 <= row["min_us"] <= row["median_us"] <= row["p99_us"], row)
        expect(len(row["rank_median_us"]) == ranks, row)
        expect(row["rank_median_us"][row["slow_rank"]] == max(row["rank_median_us"]), row)
        expect(row["backend"] == backend and row["ratio"] is None, row)
        expect((row["floor_us"] is None) == (ranks == 1 or CORES == 1 or row["test"] in OVERLAPPING and row["size"] < 4096), row)
        expect(row["floor_us"] is None or row["floor_us"] > 0, row)
        expect(row["samples"] == 2 and row["batch"] == 2, row)
        expect(row["place"] == "out" or row["test"] in IN_PLACE, row)
        factor = FACTOR.get(row["test"], lambda n: 1)(ranks)
        expect(abs(row["busbw_GBps"] - row["algbw_GBps"] * factor) <= 1e-9 * row["algbw_GBps"], row)
        expect((row["redop"] is not None) == (row["test"] in ("all_reduce", "reduce", "reduce_scatter")), row)
    for test in IN_PLACE:
        expect(any(row["test"] == test and row["place"] == "in" for row in rows), test)
    expect(len({row["size"] for row in rows if row["test"] == "all_reduce"}) == 4, rows)


def every_collective_on_every_backend():
    for backend in ("shm", "tcp"):
        for ranks in (1, 2, 3):
            done = job(ranks, backend, "all", "-b", "4", "-e", "300K", "-f", "40", "-r", str(ranks - 1), "--json", *QUICK)
            expect(done.returncode == 0, backend, ranks, done)
            check_document(done.stdout, ranks, backend)


def table_and_csv():
    done = job(2, "shm", "all_sum", "-b", "4", "-e", "64", *QUICK)
    expect(done.returncode == 0, done)
    lines = done.stdout.splitlines()
    titles = [line for line in lines if line.startswith("#") and "busbw(GB/s)" in line]
    expect(len(titles) == 1, lines)
    rows = [line.split() for line in lines if not line.startswith("#")]
    expect([row[0] for row in rows] == ["4", "4", "16", "16", "64", "64"], lines)
    expect([row[5] for row in rows] == ["out", "in"] * 3, lines)
    expect(all(len(row) == len(titles[0].split()) - 1 and row[3] == "sum" and row[12] == "0" for row in rows), lines)
    expect(lines[-1] == "# wrong elements: 0, OK", lines)

    done = run("bench", "--ranks", "3", "all_max", "-d", "float16", "-b", "2K", "-e", "2K", "--fenced", "--check", "0", "--csv", *QUICK)
    expect(done.returncode == 0, done)
    expect("# mode: fenced" in done.stdout, done)
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))
    expect([(row["place"], row["redop"], row["type"], row["size"], row["wrong"]) for row in rows] ==
           [("out", "max", "float16", "2048", "-"), ("in", "max", "float16", "2048", "-")], rows)


def backends_in_turn():
    words = ["all_sum", "latency", "-b", "4", "-e", "16", "--backends", "shm,tcp,shm", "--json"]
    done = job(2, "any", *words, *QUICK, "--progress", "--floor", "0")
    expect(done.returncode == 0, done)
    document = json.loads(done.stdout)
    expect(document["header"]["backend"] == "shm, tcp, shm#2, which take turns", document["header"])
    rows = document["rows"]
    expect([row["backend"] for row in rows] == ["shm", "tcp", "shm#2"] * 6, rows)
    for first, *others in zip(rows[0::3], rows[1::3], rows[2::3]):
        expect(first["ratio"] is None and first["wrong"] == 0 and first["floor_us"] is None, first)
        for row in others:
            expect(row["wrong"] == 0 and (row["test"], row["size"], row["place"]) == (first["test"], first["size"], first["place"]), row)
            expect(abs(row["ratio"] - row["median_us"] / first["median_us"]) <= 1e-9 * row["ratio"], row, first)
    expect("rondo bench: row 1 of 6: all_sum 4 B out of place" in done.stderr, done)
    done = job(2, "any", *words[:-1], *QUICK)
    expect(done.returncode == 0 and done.stderr == "", done)
    titles = [line.split() for line in done.stdout.splitlines() if "busbw(GB/s)" in line]
    expect(len(titles) == 2 and titles[0][-2:] == ["backend", "ratio"], titles)
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    expect([line[-2] for line in lines] == ["shm", "tcp", "shm#2"] * 6 and {line[-1] for line in lines[0::3]} == {"1"}, lines)
    expect(all(len(line) == len(titles[0]) - 1 for line in lines), lines)
    done = job(2, "any", "all_sum", "--backends", "shm,sim")
    expect(done.returncode == 2 and done.stderr.count("--backends sim: ") == 1, done)


def the_cores_are_probed():
    done = job(2, "shm", "barrier", *QUICK)
    before = [line for line in done.stdout.splitlines() if line.startswith("# cores: ")]
    after = [line for line in done.stdout.splitlines() if line.startswith("# cores at the end: ")]
    expect(len(before) == 1 and len(after) == (1 if CORES > 1 else 0), done)
    expect(all(re.search(": (near|far): [0-9]+ ns$|one core only", line) for line in before + after), done)


def adaptive_effort():
    done = run("bench", "--ranks", "2", "barrier", "--seconds", "0.02", "--json")
    row = json.loads(done.stdout)["rows"][0]
    expect(done.returncode == 0 and row["samples"] >= 10 and row["batch"] >= 1 and row["size"] == 0, done)


def floor():
    done = run("bench", "floor", "-b", "64", "-e", "4K", "-f", "8", "--seconds", "0.002", "--json")
    expect(done.returncode == 0, done)
    document = json.loads(done.stdout)
    for name in ("memcpy_one_core", "memcpy_all_cores", "add_one_core", "add_all_cores"):
        points = document["curves"][name]
        expect([point["size"] for point in points] == [64, 512, 4096], points)
        expect(all(point["us"] > 0 and point["GBps"] > 0 for point in points), points)
    expect(document["us"]["clock_read"] > 0 and document["us"]["system_call"] > 0, document)
    done = job(2, "shm", "floor", "-e", "64", "--seconds", "0.002", "--csv")  # one rank measures
    expect(done.returncode == 0 and done.stdout.count("what,size,us,GBps") == 1, done)
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))
    expect(sorted(row["size"] for row in rows if row["what"] == "memcpy_one_core") == ["16", "4", "64"], rows)
    done = run("bench", "floor", "all_sum")
    expect(done.returncode == 2 and "floor stands alone" in done.stderr, done)


def wrong_usage():
    for words, text in [
            ((), "no test given"),
            (("all_sums",), 'unknown test "all_sums"'),
            (("all_sum", "-b", "4k"), '--min-bytes: expected a size from 1 to 1024G such as 4, 64K, 16M or 1GiB, got "4k"'),
            (("all_sum", "-b", "64", "-e", "4"), "-e 4 is less than -b 64"),
            (("all_sum", "-d", "float8_e4m3"), "sum is not defined on float8_e4m3"),
            (("all_sum", "--what"), 'unknown option: "--what"'),
            (("all_sum", "--backends", "shm,,tcp"), '--backends: expected a comma list of any, ring, mpi, jaccl, nccl, tcp, shm, sim, got "shm,,tcp"'),
            (("all_sum", "--backends", "shm", "--ranks", "2"), "--backends needs processes (rondo run), but --ranks takes threads"),
            (("all_sum", "--floor", "yes"), '--floor: expected 0 or 1, got "yes"'),
            (("latency",), "latency needs 2 ranks, there is 1"),
            (("all_sum", "-o", "/nowhere/result"), "-o /nowhere/result: cannot be written: No such file or directory"),
            (("all_sum", "--json", "--csv"), "--json excludes --csv")]:
        done = run("bench", *words)
        expect(done.returncode == 2, words, done)
        expect(done.stderr.startswith("rondo bench: ") and text in done.stderr, words, done)
        expect(done.stdout == "", words, done)
    done = job(3, "shm", "broadcast", "-r", "3")  # one rank says it
    expect(done.returncode == 2 and done.stderr.count("--root 3: expected a rank from 0 to 2") == 1, done)
    done = run("bench", "--help")
    expect(done.returncode == 0 and done.stdout.startswith("rondo bench - "), done)


for test in (every_collective_on_every_backend, table_and_csv, backends_in_turn, the_cores_are_probed, adaptive_effort, floor, wrong_usage):
    test()
    print("passed:", test.__name__)
