#!/usr/bin/env python3
"""bench_command.py RONDO: runs `rondo bench` as a user would, and reads what it prints. Times are not judged."""

import csv
import json
import subprocess
import sys

RONDO = sys.argv[1]
QUICK = ["-n", "2", "-m", "2", "-w", "1"]
TESTS = ["all_reduce", "reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "gather", "scatter", "barrier",
         "sendrecv", "latency", "bandwidth"]
IN_PLACE = {"all_reduce", "reduce", "all_gather", "broadcast", "gather", "scatter"}
COLUMNS = ["test", "size", "count", "type", "redop", "root", "place", "min_us", "median_us", "p99_us", "algbw_GBps",
           "busbw_GBps", "wrong", "samples", "batch"]
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
    expect(all(len(row) == len(titles[0].split()) - 1 and row[3] == "sum" and row[-1] == "0" for row in rows), lines)
    expect(lines[-1] == "# wrong elements: 0, OK", lines)

    done = run("bench", "--ranks", "3", "all_max", "-d", "float16", "-b", "2K", "-e", "2K", "--fenced", "--check", "0", "--csv", *QUICK)
    expect(done.returncode == 0, done)
    expect("# mode: fenced" in done.stdout, done)
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))
    expect([(row["place"], row["redop"], row["type"], row["size"], row["wrong"]) for row in rows] ==
           [("out", "max", "float16", "2048", "-"), ("in", "max", "float16", "2048", "-")], rows)


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
            (("latency",), "latency needs 2 ranks, there is 1"),
            (("all_sum", "-o", "/nowhere/result"), "-o /nowhere/result: the file cannot be written")]:
        done = run("bench", *words)
        expect(done.returncode == 2, words, done)
        expect(done.stderr.startswith("rondo bench: ") and text in done.stderr, words, done)
        expect(done.stdout == "", words, done)
    done = job(3, "shm", "broadcast", "-r", "3")  # one rank says it
    expect(done.returncode == 2 and done.stderr.count("--root 3: expected a rank from 0 to 2") == 1, done)
    done = run("bench", "--help")
    expect(done.returncode == 0 and done.stdout.startswith("rondo bench - "), done)


for test in (every_collective_on_every_backend, table_and_csv, adaptive_effort, floor, wrong_usage):
    test()
    print("passed:", test.__name__)
