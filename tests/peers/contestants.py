"""How each contestant is started for one turn, and its settings. A turn is one sweep in new processes."""

import json
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MPI_TESTS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "sendrecv", "latency")
IN_PLACE_ONLY = ("broadcast",)


@dataclass(frozen=True)
class Turn:
    transport: str
    ranks: int
    tests: tuple
    sizes: tuple
    seconds: float
    samples: int  # 0: as many as fit into the seconds

    def words(self):
        """The command line of the peer programs."""
        return [
            "--tests",
            ",".join(self.tests),
            "--sizes",
            ",".join(map(str, self.sizes)),
            "--seconds",
            str(self.seconds),
            "--samples",
            str(self.samples),
        ]

    def limit(self):
        """So many seconds, and a turn hangs."""
        return 60 + len(self.tests) * len(self.sizes) * (5 + 20 * self.seconds)


class TurnFailed(Exception):
    """A contestant did not bring its rows; the text says why."""


def _end(processes):
    """Ends whatever of them still runs, with all that they started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, number)
        for process in processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass


def _wait(processes, limit):
    """Waits until all have ended, or the first ended badly: that one, or None."""
    selector = selectors.DefaultSelector()
    for process in processes:
        selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, process)
    try:
        deadline = time.monotonic() + limit
        while selector.get_map():
            events = selector.select(deadline - time.monotonic())
            if not events:
                raise TurnFailed(f"did not end within {limit:.0f} s")
            for key, _ in events:
                selector.unregister(key.fd)
                os.close(key.fd)
                if key.data.wait() != 0:
                    return key.data
        return None
    finally:
        for key in list(selector.get_map().values()):
            os.close(key.fd)
        selector.close()


def run_together(commands, limit):
    """Runs commands (words, environment) side by side; returns what the first printed. All end together."""
    with ExitStack() as stack:
        files, processes = [], []
        stack.callback(_end, processes)
        for words, environment in commands:
            files.append([stack.enter_context(tempfile.TemporaryFile("w+", errors="replace")) for _ in range(2)])
            processes.append(
                subprocess.Popen(
                    [str(word) for word in words],
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=files[-1][0],
                    stderr=files[-1][1],
                    start_new_session=True,
                )
            )
        failed = _wait(processes, limit)
        if failed:
            said = files[processes.index(failed)][1]
            said.seek(0)
            lines = [line.strip() for line in said if line.strip(" \n-")]
            raise TurnFailed(f"status {failed.returncode}: {' / '.join(lines[-3:]) or 'nothing said'}")
        files[0][0].seek(0)
        return files[0][0].read()


def rows_of_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def segments(sizes):
    """Sizes as sweeps (first, last, factor) of `rondo bench`, which multiplies by a whole number."""
    sweeps = []
    for size in sizes:
        if sweeps:
            first, last, factor = sweeps[-1]
            ratio = size // last if size % last == 0 else 0
            if 2 <= ratio <= 1024 and (factor is None or ratio == factor):
                sweeps[-1] = (first, size, ratio)
                continue
        sweeps.append((size, size, None))
    return [(first, last, factor or 2) for first, last, factor in sweeps]


@dataclass(frozen=True)
class Rondo:
    command: Path
    name = "rondo"
    transports = ("shm", "tcp")
    tests = MPI_TESTS

    def settings(self, turn):
        return f"rondo run -n {turn.ranks} --backend {turn.transport}, with the settings of the environment"

    def rows(self, turn):
        rows = []
        for place in ("out", "in"):
            tests = [test for test in turn.tests if (test in IN_PLACE_ONLY) == (place == "in")]
            for first, last, factor in segments(turn.sizes) if tests else ():
                effort = ["-n", turn.samples] if turn.samples else ["--seconds", turn.seconds]
                text = run_together(
                    [
                        (
                            [
                                self.command,
                                "run",
                                "-n",
                                turn.ranks,
                                "--backend",
                                turn.transport,
                                "--no-prefix",
                                "--",
                                self.command,
                                "bench",
                                *tests,
                                "-b",
                                first,
                                "-e",
                                last,
                                "-f",
                                factor,
                                "--place",
                                place,
                                "--json",
                                *effort,
                            ],
                            {},
                        )
                    ],
                    turn.limit(),
                )
                rows += json.loads(text)["rows"]
        return rows


@dataclass(frozen=True)
class OpenMpi:
    program: Path
    name = "openmpi"
    transports = ("shm", "tcp")
    tests = MPI_TESTS

    def _flags(self, turn):
        flags = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp"] if turn.transport == "tcp" else []
        if os.geteuid() == 0:
            flags.append("--allow-run-as-root")
        # More ranks than cores: nobody is bound, and who waits yields; both follow from --oversubscribe.
        if turn.ranks > len(os.sched_getaffinity(0)):
            flags += ["--oversubscribe", "--bind-to", "none"]
        return flags

    def settings(self, turn):
        return " ".join(["mpirun.openmpi", "-n", str(turn.ranks), *self._flags(turn)])

    def rows(self, turn):
        words = ["mpirun.openmpi", "-n", turn.ranks, *self._flags(turn), self.program, *turn.words()]
        return rows_of_lines(run_together([(words, {})], turn.limit()))


@dataclass(frozen=True)
class Mpich:
    program: Path
    name = "mpich"
    transports = ("shm", "tcp")
    tests = MPI_TESTS

    def _environment(self, turn):
        # MPICH's own shared memory is off with NOLOCAL; that of UCX, which then carries everything, needs UCX_TLS.
        return (
            {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
            if turn.transport == "tcp"
            else {}
        )

    def _flags(self, turn):
        return ["-bind-to", "core"] if turn.ranks <= len(os.sched_getaffinity(0)) else []

    def settings(self, turn):
        variables = [f"{name}={value}" for name, value in self._environment(turn).items()]
        return " ".join([*variables, "mpirun.mpich", "-n", str(turn.ranks), *self._flags(turn)])

    def rows(self, turn):
        words = ["mpirun.mpich", "-n", turn.ranks, *self._flags(turn), self.program, *turn.words()]
        return rows_of_lines(run_together([(words, self._environment(turn))], turn.limit()))


@dataclass(frozen=True)
class Gloo:
    program: Path
    name = "gloo"
    transports = ("tcp",)
    tests = ("all_reduce", "all_gather", "all_to_all", "broadcast")

    def settings(self, turn):
        return (
            "all_reduce: the faster of the ring and of halving and doubling, whose pairs are driven by the caller, "
            "with busy polling where every rank has a core"
        )

    def rows(self, turn):
        with tempfile.TemporaryDirectory() as store:
            words = [self.program, *turn.words(), "--store", store, "--ranks", turn.ranks, "--rank"]
            return rows_of_lines(run_together([(words + [rank], {}) for rank in range(turn.ranks)], turn.limit()))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@dataclass(frozen=True)
class Mlx:
    python: Path
    name = "mlx"
    transports = ("tcp",)
    tests = ("all_reduce", "all_gather")

    def settings(self, turn):
        return "mlx.core.distributed, backend ring, one connection per neighbour; each call evaluated, from Python"

    def rows(self, turn):
        with tempfile.TemporaryDirectory() as folder:
            hosts = Path(folder) / "hosts.json"
            hosts.write_text(json.dumps([[f"127.0.0.1:{port}"] for port in free_ports(turn.ranks)]), encoding="utf-8")
            words = [self.python, HERE / "mlx_peer.py", *turn.words()]
            ranks = [(words, {"MLX_HOSTFILE": str(hosts), "MLX_RANK": str(rank)}) for rank in range(turn.ranks)]
            return rows_of_lines(run_together(ranks, turn.limit()))


@dataclass(frozen=True)
class NumPy:
    python: Path
    name = "numpy"
    transports = ("shm", "tcp")
    tests = ("all_reduce",)

    def settings(self, turn):
        return "np.add(a, b, out=c) in one process: a reference, not a peer"

    def rows(self, turn):
        return rows_of_lines(run_together([([self.python, HERE / "numpy_peer.py", *turn.words()], {})], turn.limit()))
