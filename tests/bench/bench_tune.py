#!/usr/bin/env python3
"""bench_tune.py RONDO: `rondo bench --tune` writes a table that RONDO_TUNING takes; mistakes are told in words."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RONDO = sys.argv[1]


def run(*words, **variables):
    return subprocess.run([RONDO, *words], capture_output=True, text=True, timeout=200, env={**os.environ, **variables})


def tuned(path, backend):
    return run("run", "-n", "2", "--no-prefix", "--backend", backend, "--", RONDO, "bench", "--tune", "-o", str(path), "-b", "64",
               "-e", "64K", "-f", "1024", "-n", "10", "-m", "1")


def mistake(expected, *words, **variables):
    result = run(*words, **variables)
    assert result.returncode == 2, (words, result)
    assert expected in result.stderr, (words, result.stderr)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for backend in ("shm", "tcp"):
        path = folder / f"{backend}.json"
        result = tuned(path, backend)
        assert result.returncode == 0, result
        assert "all_reduce float32, 64 B: shipped " in result.stdout and "ring " in result.stdout, result.stdout
        table = json.loads(path.read_text())
        assert table["rondo tuning"] == 1 and table["measured on"]["ranks"] == 2, table
        assert all(row["ranks"] == [2, 2] and row["arena"] == (backend == "shm") for row in table["rows"]), table
        used = run("run", "-n", "2", "--", RONDO, "bench", "all_sum", "all_gather", "-b", "64", "-e", "64K", "-f", "32", "-n", "3",
                   RONDO_TUNING=str(path), RONDO_BACKEND=backend)
        assert used.returncode == 0 and "wrong elements: 0, OK" in used.stdout, used
        assert "RONDO_TUNING=" in used.stdout, used.stdout
    assert sorted(each.name for each in folder.iterdir()) == ["shm.json", "tcp.json"], list(folder.iterdir())

    # A table of one row is what runs, and what `rondo info` shows.
    path = folder / "one.json"
    path.write_text('{"rondo tuning": 1, "rows": [{"collective": "all_reduce", "algorithm": "direct", "from": 1000, "up to": 2048}]}')
    shown = json.loads(run("info", "--json", RONDO_TUNING=str(path)).stdout)["selection"][0]
    assert shown == {"collective": "all_reduce", "least bytes": 1000, "most bytes": 2048, "least ranks": 2, "most ranks": None,
                     "shared memory": None, "combined once": None, "algorithm": "direct"}, shown
    path.write_text('{"rondo tuning": 1, "rows": [{"collective": "all_reduce", "algorithm": "fast"}]}')
    told = run("run", "-n", "2", "--", RONDO, "bench", "all_sum", RONDO_TUNING=str(path))
    assert told.returncode != 0, told
    assert 'row 1: "algorithm" is "fast", expected one of ring, recursive_doubling' in told.stderr + told.stdout, told

    broken = json.loads(run("info", "--json", RONDO_TUNING=str(path)).stdout)
    assert '"algorithm" is "fast"' in broken["selection problem"] and len(broken["selection"]) > 20, broken["selection problem"]
    assert "; the shipped table:" in run("info", RONDO_TUNING=str(path)).stdout

    job = ("run", "-n", "2", "--no-prefix", "--", RONDO, "bench")
    mistake("--tune needs -o FILE", *job, "--tune")
    mistake("--tune measures all collectives, but a test is given: all_sum", *job, "all_sum", "--tune", "-o", str(path))
    mistake("--tune needs at least 2 ranks", "bench", "--tune", "-o", str(path))
print("bench_tune: ok")
