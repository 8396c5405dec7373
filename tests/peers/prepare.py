"""Builds rondo and the peers' programs in build/peers. What cannot be had is skipped, with the reason."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from contestants import HERE, Gloo, Mlx, Mpich, NumPy, OpenMpi, Rondo

ROOT = HERE.parent.parent
FOLDER = ROOT / "build" / "peers"
DEBIAN_PYTHON = "/usr/bin/python3"  # the one that finds Debian's NumPy


class Absent(Exception):
    """Something cannot be had; the text says why."""


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _run(words, limit=None):
    """Runs a command; Absent says how it ended otherwise."""
    try:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Absent(f"{words[0]}: {error}") from None
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Absent(f"{Path(words[0]).name}: {' / '.join(lines[-2:]) or f'status {done.returncode}'}")
    return done.stdout


def install_packages():
    """The Debian packages of the peers; without them the peers are skipped one by one."""
    try:
        _run([ROOT / "scripts" / "setup", "peers"])
    except Absent as error:
        _say(f"not all packages are there: {error}")


def build_rondo(build):
    """The command of rondo: in the build folder that was named, or built as a release."""
    if build is None:
        _say("building rondo (release)")
        _run([ROOT / "scripts" / "setup", "build"])
        _run(["cmake", "--preset", "release", "-DRONDO_TESTS=OFF", "-DRONDO_WERROR=OFF"])
        _run(["cmake", "--build", "--preset", "release", "--target", "rondo_command"])
        build = ROOT / "build" / "release"
    command = Path(build).resolve() / "bin" / "rondo"
    if not os.access(command, os.X_OK):
        raise Absent(f"there is no {command}")
    return command


def compile_program(compiler, source, *options, name=None):
    """A program of this folder, compiled when it is not there or older than its sources."""
    target = FOLDER / (name or Path(source).stem)
    sources = [HERE / source, HERE / "sampling.hpp"]
    if not target.exists() or any(each.stat().st_mtime > target.stat().st_mtime for each in sources):
        if not shutil.which(compiler):
            raise Absent(f"{compiler} is not installed")
        FOLDER.mkdir(parents=True, exist_ok=True)
        _run([compiler, "-O3", "-march=native", "-std=c++20", "-Wall", "-Wextra", "-o", target, sources[0], *options])
    return target


def _mpi(kind, contestant):
    if not shutil.which(f"mpirun.{kind}"):
        raise Absent(f"mpirun.{kind} is not installed")
    return contestant(compile_program(f"mpicxx.{kind}", "mpi_peer.cpp", name=f"mpi_peer.{kind}"))


def _gloo():
    return Gloo(compile_program("g++", "gloo_peer.cpp", "-lgloo"))


def _mlx():
    environment = FOLDER / "venv"
    python = environment / "bin" / "python"
    try:
        _run([python, "-c", "import mlx.core"])
    except Absent:
        _say("installing MLX in a virtual environment")
        _run([sys.executable, "-m", "venv", "--clear", environment])
        _run(
            [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--retries",
                "1",
                "--timeout",
                "20",
                "mlx[cpu]",
            ],
            600,
        )
        _run([python, "-c", "import mlx.core"])
    return Mlx(python)


def _numpy():
    for python in (DEBIAN_PYTHON, sys.executable):
        try:
            _run([python, "-c", "import numpy"])
            return NumPy(Path(python))
        except Absent as error:
            reason = error
    raise reason


MAKERS = {
    "openmpi": lambda: _mpi("openmpi", OpenMpi),
    "mpich": lambda: _mpi("mpich", Mpich),
    "gloo": _gloo,
    "mlx": _mlx,
    "numpy": _numpy,
}


def prepare(peers, build):
    """The contestants, rondo first; the skipped peers, with reasons; the probe of the cross-core trip, if any."""
    install_packages()
    contestants, skipped = [Rondo(build_rondo(build))], {}
    for name in peers:
        try:
            contestants.append(MAKERS[name]())
        except Absent as error:
            skipped[name] = str(error)
            _say(f"skipped: {name}: {error}")
    try:
        probe = compile_program("g++", "trip.cpp", "-pthread")
    except Absent as error:
        _say(f"the cross-core trip is not probed: {error}")
        probe = None
    return contestants, skipped, probe


def _first_line(words):
    try:
        return (_run(words).splitlines() or [""])[0].strip()
    except Absent:
        return "unknown"


def versions(contestants, build):
    """Which version of each contestant was measured. `build`: where rondo was taken from, None for these sources."""
    result = {}
    for each in contestants:
        if each.name == "rondo":
            result["rondo"] = _first_line([each.command, "--version"])
        elif each.name == "openmpi":
            result["openmpi"] = _first_line(["mpirun.openmpi", "--version"])
        elif each.name in ("mlx", "numpy"):
            module = {"mlx": "mlx.core", "numpy": "numpy"}[each.name]
            result[each.name] = _first_line([each.python, "-c", f"import {module} as m; print(m.__version__)"])
        else:
            package = {"mpich": "mpich", "gloo": "libgloo-dev"}[each.name]
            result[each.name] = _first_line(["dpkg-query", "-W", "-f", "${Version}", package])
    if build:
        return result | {"build": str(build)}
    return result | {"commit": _first_line(["git", "describe", "--always", "--dirty"])}
