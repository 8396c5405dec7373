"""Mixed rings of MLX and rondo: every arrangement, one and two connections per neighbour. What comes out must be equal in
every bit to what a ring of MLX alone gives.

    mixed_rings.py PEER BUILD [--all]

PEER: the program of ring_peer.cpp. BUILD: a folder for the virtual environment, which is made at the first run. Ends with
`N passed, N failed`, or `skipped: why` with status 77 where MLX cannot be installed."""

import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.32.4"  # seen working
HERE = Path(__file__).parent
LIMIT = 60  # seconds for one ring


def environment(build):
    python = build / "mlx" / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-c", "import mlx.core, numpy"], capture_output=True).returncode:
        steps = ([sys.executable, "-m", "venv", build / "mlx"], [python, "-m", "pip", "install", "-q", f"mlx[cpu]=={VERSION}", "numpy"])
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode:
                print(f"skipped: mlx[cpu] {VERSION} cannot be installed: {(done.stderr.strip().splitlines() or ['no words'])[-1]}")
                sys.exit(77)
    return python


def hostfile(path, ranks, cables):
    """Ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(ranks * cables)]
    names = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    path.write_text(json.dumps([names[rank * cables : (rank + 1) * cables] for rank in range(ranks)]))


def run(commands, cables, counts):
    """What every rank wrote, or words about what went wrong."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        hostfile(root / "hosts.json", len(commands), cables)
        processes = []
        for rank, command in enumerate(commands):
            folder = root / str(rank)
            folder.mkdir()
            env = dict(os.environ, MLX_RANK=str(rank), MLX_HOSTFILE=str(root / "hosts.json"), RONDO_RING_WIRE="mlx")
            words = [*command, folder, *map(str, counts)]
            processes.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        try:
            for rank, process in enumerate(processes):
                words, _ = process.communicate(timeout=LIMIT)
                if process.returncode:
                    return f"rank {rank} ended with {process.returncode}: {words.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            return f"not over after {LIMIT} s"
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return [{each.name: each.read_bytes() for each in (root / str(rank)).iterdir()} for rank in range(len(commands))]


def difference(expected, got):
    if isinstance(got, str):
        return got
    for rank, (theirs, ours) in enumerate(zip(expected, got)):
        if theirs.keys() != ours.keys():
            return f"rank {rank} did other work"
        for name, data in theirs.items():
            if ours[name] != data:
                return f"rank {rank}: {name} differs"
    return None


def main():
    peer, build = sys.argv[1], Path(sys.argv[2])
    thorough = "--all" in sys.argv[3:]
    kinds = {"mlx": [environment(build), HERE / "ring_peer.py"], "rondo": [peer]}
    counts = [0, 1, 2, 3, 5, 1000, 300_001] + ([10_000_000] if thorough else [])
    passed = failed = 0
    for ranks, cables in itertools.product((2, 3, 4) if thorough else (2, 3), (1, 2)):
        expected = None
        for arrangement in itertools.product(("mlx", "rondo"), repeat=ranks):
            name = f"{'-'.join(arrangement)}, {cables} per neighbour"
            got = run([kinds[kind] for kind in arrangement], cables, counts)
            if expected is None:
                # MLX alone: what all others must equal.
                if isinstance(got, str):
                    print(f"{name}: {got}")
                    failed += 1
                    break
                expected = got
                continue
            wrong = difference(expected, got)
            passed, failed = (passed, failed + 1) if wrong else (passed + 1, failed)
            print(f"{name}: {wrong or 'equal'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
