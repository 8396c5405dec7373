"""What the tests of `rondo op` share: a folder, jobs in it, arrays, and NumPy's results."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

DTYPES = [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128")]


def array(dtype, shape, rank):
    """Distinct values for every rank and place, whose sums are exact."""
    count = int(np.prod(shape, dtype=np.int64))
    base = np.arange(count, dtype=np.int64) + 100 * rank + 1
    if dtype.kind == "b":
        values = (base * (rank + 2)) % 3 == 0
    elif dtype.kind == "c":
        values = (base + 1j * (base + 0.5)).astype(dtype)
    else:
        values = base.astype(dtype)
    return values.reshape(shape)


def halves(array_of_complex):
    """A view of real numbers, where there are complex ones."""
    dtype = array_of_complex.dtype
    return array_of_complex.view(dtype.type(0).real.dtype) if dtype.kind == "c" else array_of_complex


def reduced(op, arrays):
    """NumPy's word on a reduction."""
    dtype = arrays[0].dtype
    stack = np.stack(arrays)
    functions = {"min": np.min, "max": np.max, "bit_and": np.bitwise_and.reduce, "bit_or": np.bitwise_or.reduce,
                 "bit_xor": np.bitwise_xor.reduce, "logical_and": np.logical_and.reduce,
                 "logical_or": np.logical_or.reduce}
    if op in functions:
        return functions[op](stack, axis=0).astype(dtype)
    wide = np.float32 if dtype == np.float16 else dtype
    result = getattr(np, "prod" if op == "product" else "sum")(stack, axis=0, dtype=wide)
    if op == "mean":
        parts = halves(np.atleast_1d(result))
        result = (parts / parts.dtype.type(len(arrays))).view(wide).reshape(result.shape)
    return np.asarray(result).astype(dtype)


class OpCase(unittest.TestCase):
    rondo = None  # the command, set by main

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rondo-op-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, size, arguments, backend="shm", run=()):
        return [self.rondo, "run", "-n", str(size), "--backend", backend, *run, "--", self.rondo, "op", *arguments]

    def op(self, size, *arguments, backend="shm", **options):
        """Runs `rondo op` on `size` ranks and gives what came of it."""
        arguments = [str(one) for one in arguments]
        return subprocess.run(self.command(size, arguments, backend), cwd=self.folder, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL, **options)

    def done(self, size, *arguments, **options):
        result = self.op(size, *arguments, **options)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), arguments)

    def refused(self, size, *arguments, words, status=1, **options):
        """Ends with the status; some rank says all of `words` in one line that begins with `rondo op: `."""
        before = self.names()
        result = self.op(size, *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        own = [line.split("] ", 1)[-1] for line in result.stderr.splitlines()]
        own = [line for line in own if line.startswith("rondo op: ")]
        self.assertTrue(any(all(word in line for word in words) for line in own), f"{words} in {result.stderr}")
        self.assertEqual(self.names(), before, "files were made or have gone")
        return result.stderr

    def save(self, arrays, name="in{rank}.npy"):
        for rank, one in enumerate(arrays):
            np.save(self.folder / name.format(rank=rank), one)

    def names(self):
        return sorted(os.listdir(self.folder))

    def same(self, name, expected):
        """The file holds exactly `expected`, and has the shape and type; it is then removed."""
        path = self.folder / name
        found = np.load(path, allow_pickle=False)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape), name)
        self.assertEqual(found.tobytes(), np.ascontiguousarray(expected).tobytes(), f"{name}: {found} {expected}")
        path.unlink()

    def each_is(self, expected, name="out{rank}.npy"):
        """One file for every entry that is not None; nothing else but the inputs."""
        for rank, one in enumerate(expected):
            if one is not None:
                self.same(name.format(rank=rank), one)
        self.assertEqual([left for left in self.names() if not left.startswith("in")], [])
