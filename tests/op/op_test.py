#!/usr/bin/env python3
"""op_test.py RONDO CLASS...: tests of `rondo op` with real jobs; NumPy says what is right."""

import ctypes
import io
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import numpy as np

from op_case import DTYPES, OpCase, array, reduced

SIZES = (1, 2, 3, 4)
BACKENDS = ("shm", "tcp")
IN, OUT = "in{rank}.npy", "out{rank}.npy"


class Collectives(OpCase):
    """Every operation, over every transport and size; each time with another type."""

    def every(self, check):
        for number, (backend, size) in enumerate(itertools.product(BACKENDS, SIZES)):
            for path in self.folder.iterdir():
                path.unlink()
            dtype = DTYPES[(number * 3 + len(check.__name__)) % len(DTYPES)]
            with self.subTest(backend=backend, size=size, dtype=dtype.name):
                check(backend, size, dtype)

    def given(self, size, dtype, shape):
        arrays = [array(dtype, shape, rank) for rank in range(size)]
        self.save(arrays)
        return arrays

    def test_all_gather(self):
        def all_gather(backend, size, dtype):
            arrays = self.given(size, dtype, (3, 5))
            self.done(size, "all_gather", IN, "-o", OUT, backend=backend)
            self.each_is([np.concatenate(arrays)] * size)
        self.every(all_gather)

    def test_gather(self):
        def gather(backend, size, dtype):
            arrays = self.given(size, dtype, (2, 7))
            root = size - 1
            self.done(size, "gather", IN, "-o", "out.npy", "--root", root, backend=backend)
            self.same("out.npy", np.concatenate(arrays))
            self.done(size, "gather", IN, "-o", OUT, "--root", root, backend=backend)
            self.each_is([np.concatenate(arrays) if rank == root else None for rank in range(size)])
        self.every(gather)

    def test_uneven_gathers(self):
        def uneven(backend, size, dtype):
            arrays = [array(dtype, ((rank + 2) % 3, 3), rank) for rank in range(size)]
            self.save(arrays)
            for piece in ("64MiB", 5 * size * dtype.itemsize):
                self.done(size, "all_gather_v", IN, "-o", OUT, "--piece", piece, backend=backend)
                self.each_is([np.concatenate(arrays)] * size)
                self.done(size, "gather_v", IN, "-o", "out.npy", "--piece", piece, backend=backend)
                self.each_is([np.concatenate(arrays)], "out.npy")
        self.every(uneven)

    def test_scatter(self):
        def scatter(backend, size, dtype):
            whole, root = array(dtype, (2 * size, 3), 1), size - 1
            np.save(self.folder / "in.npy", whole)
            self.done(size, "scatter", "in.npy", "-o", OUT, "--root", root, backend=backend)
            self.each_is(np.split(whole, size))
            counts = [(rank + 2) % 3 for rank in range(size)]
            rows = sum(counts)
            np.save(self.folder / "in.npy", whole[:rows])
            words = ",".join(map(str, counts))
            self.done(size, "scatter_v", "in.npy", "-o", OUT, "--root", root, "--counts", words, backend=backend)
            self.each_is(np.split(whole[:rows], np.cumsum(counts)[:-1]))
        self.every(scatter)

    def test_broadcast_and_sendrecv(self):
        def broadcast(backend, size, dtype):
            whole, root = array(dtype, (3, 1, 5), 2), size // 2
            np.save(self.folder / "in.npy", whole)
            self.done(size, "broadcast", "in.npy", "-o", OUT, "--root", root, "--piece", 30, backend=backend)
            self.each_is([whole] * size)
            self.done(size, "broadcast", "in.npy", "-o", "out.npy", "--root", root, backend=backend)
            self.each_is([whole], "out.npy")
            if size > 1:
                self.done(size, "sendrecv", "in.npy", "-o", OUT, "--from", root, "--to", 0, backend=backend)
                self.each_is([whole])
        self.every(broadcast)

    def test_all_to_all(self):
        def all_to_all(backend, size, dtype):
            arrays = self.given(size, dtype, (2 * size, 3))
            expected = [np.concatenate([np.split(one, size)[rank] for one in arrays]) for rank in range(size)]
            for piece in ("64MiB", 4 * size * dtype.itemsize):
                self.done(size, "all_to_all", IN, "-o", OUT, "--piece", piece, backend=backend)
                self.each_is(expected)
        self.every(all_to_all)

    def test_all_to_all_v(self):
        def all_to_all_v(backend, size, dtype):
            send = [[(2 * a + b) % 3 + (a == b) for b in range(size)] for a in range(size)]
            arrays = [array(dtype, (sum(send[a]), 2), a) for a in range(size)]
            self.save(arrays)
            parts = [np.split(arrays[a], np.cumsum(send[a])[:-1]) for a in range(size)]
            expected = [np.concatenate([parts[a][b] for a in range(size)]) for b in range(size)]
            lists = "/".join(",".join(map(str, counts)) for counts in send)
            for piece in ("64MiB", 3 * size * dtype.itemsize):
                self.done(size, "all_to_all_v", IN, "-o", OUT, "--send-counts", lists, "--piece", piece,
                          backend=backend)
                self.each_is(expected)
        self.every(all_to_all_v)

    def test_all_to_all_v_with_one_list_for_all(self):
        arrays = [array(np.dtype("int32"), (6, 2), rank) for rank in range(3)]
        self.save(arrays)
        self.done(3, "all_to_all_v", IN, "-o", OUT, "--send-counts", "1,0,5")
        self.each_is([np.concatenate([np.split(one, [1, 1])[rank] for one in arrays]) for rank in range(3)])

    def test_reduce_and_reduce_scatter(self):
        def reduce(backend, size, dtype):
            dtype = np.dtype("float16") if dtype.kind == "b" else dtype
            arrays = self.given(size, dtype, (2 * size, 5))
            root, total = size - 1, reduced("sum", arrays)
            self.done(size, "reduce", IN, "-o", "out.npy", "--root", root, backend=backend)
            self.each_is([total], "out.npy")
            for piece in ("64MiB", 6 * size * dtype.itemsize):
                self.done(size, "sum_scatter", IN, "-o", OUT, "--piece", piece, backend=backend)
                self.each_is(np.split(total, size))
            counts = [0] * (size - 1) + [2 * size]
            words = ",".join(map(str, counts))
            self.done(size, "sum_scatter_v", IN, "-o", OUT, "--counts", words, backend=backend)
            self.each_is(np.split(total, np.cumsum(counts)[:-1]))
            self.done(size, "reduce_scatter", IN, "-o", OUT, "--op", "product", backend=backend)
            self.each_is(np.split(reduced("product", arrays), size))
        self.every(reduce)

    def test_all_sum(self):
        def all_sum(backend, size, dtype):
            dtype = np.dtype("float16") if dtype.kind == "b" else dtype
            arrays = self.given(size, dtype, (5, 3, 2))
            self.done(size, "all_sum", IN, "-o", OUT, backend=backend)
            self.each_is([reduced("sum", arrays)] * size)
            self.done(size, "all_sum", IN, "-o", "out.npy", "--piece", 7 * dtype.itemsize, backend=backend)
            self.each_is([reduced("sum", arrays)], "out.npy")
        self.every(all_sum)

    def test_every_type(self):
        for dtype in DTYPES:
            arrays = [array(dtype, (6, 3), rank) for rank in range(3)]
            self.save(arrays)
            with self.subTest(dtype=dtype.name):
                verb, op = ("all_reduce", "bit_xor") if dtype.kind == "b" else ("all_sum", "sum")
                self.done(3, verb, IN, "-o", OUT, *(("--op", op) if verb == "all_reduce" else ()))
                self.each_is([reduced(op, arrays)] * 3)
                self.done(3, "all_gather", IN, "-o", "out.npy")
                self.each_is([np.concatenate(arrays)], "out.npy")

    def test_every_reduction(self):
        verbs = {"sum": "all_sum", "product": "all_prod", "min": "all_min", "max": "all_max", "mean": "all_mean"}
        small = np.array([[1, 2, 3, 1], [2, 2, 1, 5], [3, 1, 0, 2]])
        for op, dtype in [("product", "int16"), ("product", "float16"), ("min", "float32"), ("max", "uint64"),
                          ("mean", "float16"), ("mean", "float32"), ("mean", "complex128"), ("bit_and", "uint8"),
                          ("bit_or", "int64"), ("bit_xor", "int32"), ("logical_and", "float64"),
                          ("logical_or", "int8"), ("min", "bool"), ("max", "bool")]:
            arrays = [row.astype(dtype) for row in small]
            self.save(arrays)
            with self.subTest(op=op, dtype=dtype):
                self.done(3, "all_reduce", IN, "-o", OUT, "--op", op)
                self.each_is([reduced(op, arrays)] * 3)
                if op in verbs:
                    self.done(3, verbs[op], IN, "-o", "out.npy")
                    self.each_is([reduced(op, arrays)], "out.npy")

    def test_barrier(self):
        for backend in BACKENDS:
            self.done(3, "barrier", backend=backend)

    def test_alone_without_a_job(self):
        one = array(np.dtype("float32"), (4,), 0)
        self.save([one])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RONDO_")}
        subprocess.run([self.rondo, "op", "all_sum", IN, "-o", "out{size}.npy"], cwd=self.folder, check=True,
                       env=environment)
        self.same("out1.npy", one)


class Shapes(OpCase):
    def test_nothing(self):
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 5)):
            arrays = [np.zeros(shape, np.float32)] * 3
            self.save(arrays)
            with self.subTest(shape=shape):
                self.done(3, "all_sum", IN, "-o", OUT)
                self.each_is(arrays)
                self.done(3, "all_gather", IN, "-o", OUT)
                self.each_is([np.concatenate(arrays)] * 3)
                self.done(3, "broadcast", IN, "-o", OUT)
                self.each_is(arrays)
        self.save([np.zeros((0, 3), np.int16)] * 2)
        self.done(2, "all_to_all", IN, "-o", OUT)
        self.each_is([np.zeros((0, 3), np.int16)] * 2)

    def test_scalars(self):
        arrays = [np.array(rank + 1.5) for rank in range(3)]
        self.save(arrays)
        self.done(3, "all_sum", IN, "-o", OUT)
        self.each_is([np.array(7.5)] * 3)
        self.done(3, "all_gather", IN, "-o", OUT)
        self.each_is([np.array([1.5, 2.5, 3.5])] * 3)
        self.refused(3, "all_gather_v", IN, "-o", OUT, words=["in0.npy", "scalar"])
        self.refused(3, "sum_scatter", IN, "-o", OUT, words=["in0.npy", "scalar"])
        self.refused(3, "all_to_all", IN, "-o", OUT, words=["in0.npy", "scalar"])

    def test_eight_axes(self):
        arrays = [array(np.dtype("uint16"), (1, 2, 1, 3, 1, 2, 1, 2), rank) for rank in range(2)]
        self.save(arrays)
        self.done(2, "all_max", IN, "-o", OUT)
        self.each_is([reduced("max", arrays)] * 2)
        self.save([np.zeros((1,) * 9)] * 2)
        self.refused(2, "all_max", IN, "-o", OUT, words=["in0.npy", "9 axes", "at most 8"])

    def test_larger_than_a_piece_and_than_the_arena(self):
        arrays = [np.arange(700_001, dtype=np.int64) * (rank + 1) for rank in range(3)]
        self.save(arrays)
        for piece in ("64MiB", "1MiB", "100KiB"):
            for backend in BACKENDS:
                self.done(3, "all_sum", IN, "-o", "out.npy", "--piece", piece, backend=backend)
                self.each_is([sum(arrays)], "out.npy")
                self.done(3, "all_gather", IN, "-o", "out.npy", "--piece", piece, backend=backend)
                self.each_is([np.concatenate(arrays)], "out.npy")

    def test_the_input_may_be_replaced(self):
        arrays = [array(np.dtype("int32"), (5,), rank) for rank in range(2)]
        self.save(arrays)
        self.done(2, "all_sum", IN, "-o", IN)
        for rank in range(2):
            self.same(f"in{rank}.npy", sum(arrays))

    def test_what_a_file_is_made_as(self):
        self.save([np.arange(3)] * 2)
        (self.folder / "in_old.npy").write_bytes(b"old")
        (self.folder / "in_link.npy").symlink_to("in_old.npy")
        self.done(2, "all_sum", IN, "-o", "in_link.npy")
        self.assertTrue((self.folder / "in_link.npy").is_symlink())
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.folder / "in_link.npy").stat().st_mode & 0o777, 0o666 & ~mask)
        self.same("in_old.npy", np.arange(3) * 2)
        (self.folder / "in_link.npy").unlink()
        (self.folder / "in_folder").mkdir()
        (self.folder / "in_link.npy").symlink_to("in_folder/in_between.npy")  # which is a link to nothing yet
        (self.folder / "in_folder" / "in_between.npy").symlink_to("in_new.npy")
        self.done(2, "all_sum", IN, "-o", "in_link.npy")
        self.assertEqual(sorted(os.listdir(self.folder / "in_folder")), ["in_between.npy", "in_new.npy"])
        self.assertTrue((self.folder / "in_folder" / "in_between.npy").is_symlink())
        self.same("in_folder/in_new.npy", np.arange(3) * 2)


class Large(OpCase):
    """Files larger than what a rank may hold: what it holds does not grow with them."""

    def sparse(self, name, rows, columns):
        """Zeros that take no space, but for a few numbers at the beginning, in the middle and at the end."""
        count = rows * columns
        with open(self.folder / name, "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)})
            begin = file.tell()
            file.truncate(begin + 4 * count)
            for place in (0, count // 2, count - 3):
                file.seek(begin + 4 * place)
                file.write(np.array([place % 97 + 1, 2, 3], "<f4").tobytes())

    def peak(self, size, *arguments):
        """Runs it, and tells the most bytes of memory that any of its processes held."""
        # What this test itself has held would count for what it starts, so another process starts it.
        meter = ("import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode; "
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)")
        result = subprocess.run([sys.executable, "-S", "-c", meter, *self.command(size, list(arguments))], cwd=self.folder,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return int(result.stdout) * 1024

    def places(self, name, rows, columns):
        """What is not zero in the file, read a piece at a time."""
        found = np.load(self.folder / name, mmap_mode="r")
        self.assertEqual((found.dtype, found.shape), (np.float32, (rows, columns)))
        flat, step, places = found.reshape(-1), 1 << 24, {}
        for begin in range(0, flat.size, step):
            piece = flat[begin:begin + step]
            places.update((begin + int(at), float(piece[at])) for at in np.flatnonzero(piece))
        return places

    def check(self, megabytes, limit):
        rows, columns = 8, megabytes << 15  # 8 x 4 x 2^15 bytes are 1 MiB
        for rank in range(2):
            self.sparse(f"in{rank}.npy", rows, columns)
        given = self.places("in0.npy", rows, columns)
        self.assertEqual(len(given), 9)
        half = rows * columns // 2
        for verb, expected in (
                ("all_sum", [{place: 2 * value for place, value in given.items()}] * 2),
                ("all_to_all", [{**{p: v for p, v in given.items() if p < half},
                                 **{p + half: v for p, v in given.items() if p < half}},
                                {**{p - half: v for p, v in given.items() if p >= half},
                                 **{p: v for p, v in given.items() if p >= half}}])):
            with self.subTest(verb=verb):
                peak = self.peak(2, verb, IN, "-o", OUT, "--piece", "4M")
                self.assertLess(peak, limit, f"{verb} of files of {megabytes} MiB")
                for rank in range(2):
                    self.assertEqual(self.places(f"out{rank}.npy", rows, columns), expected[rank])
                    (self.folder / f"out{rank}.npy").unlink()

    def test_memory_does_not_grow_with_the_files(self):
        self.check(megabytes=192, limit=128 << 20)

    @unittest.skipUnless("RONDO_TEST_LONG" in os.environ, "writes 10 GiB: only with scripts/test --all (RONDO_TEST_LONG)")
    def test_files_of_gigabytes(self):
        if shutil.disk_usage(self.folder).free < 8 << 30:
            self.skipTest("needs 8 GiB of disk")
        self.check(megabytes=2560, limit=128 << 20)


class Headers(OpCase):
    """Headers that are right, though NumPy writes them otherwise, and many that are wrong."""

    DICT = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }"

    def write(self, text=DICT, version=(1, 0), length=None, data=b"\1\0\2\0\3\0", magic=b"\x93NUMPY", pad=True):
        width = 2 if version[0] == 1 else 4
        text = text.encode("latin1")
        if pad:
            text += b" " * (-(8 + width + len(text) + 1) % 64) + b"\n"
        size = (len(text) if length is None else length).to_bytes(width, "little")
        (self.folder / "in.npy").write_bytes(magic + bytes(version) + size + text + data)

    def test_versions(self):
        one = array(np.dtype("float64"), (3, 2), 1)
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.folder / "in.npy", "wb") as file:
                np.lib.format.write_array(file, one, version=version)
            self.done(1, "all_sum", "in.npy", "-o", "out.npy")
            self.same("out.npy", one)

    def test_right_ones(self):
        for text in ("{'shape': (3,), 'fortran_order': False, 'descr': '<i2'}",
                     '{"descr":"<i2","fortran_order":False,"shape":(3,)}',
                     " { 'descr' : '=i2' , 'fortran_order' : False , 'shape' : ( 3 , ) } ",
                     "{'descr': '<i2', 'fortran_order': False, 'shape': (3L,), }"):
            self.write(text)
            self.done(1, "all_gather", "in.npy", "-o", "out.npy")
            self.same("out.npy", np.array([1, 2, 3], np.int16))

    def test_what_is_written_is_what_numpy_writes(self):
        for dtype in DTYPES:
            for shape in ((), (3,), (2, 3), (1,) * 8):
                one = array(dtype, shape, 0)
                self.save([one])
                self.done(1, "broadcast", IN, "-o", "out.npy")
                with open(self.folder / "out.npy", "rb") as file:
                    self.assertEqual(np.lib.format.read_magic(file), (1, 0))
                    self.assertEqual(np.lib.format.read_array_header_1_0(file), (shape, False, dtype))
                    self.assertEqual(file.tell() % 64, 0)
                self.same("out.npy", one)

    def refuses(self, *words):
        with self.subTest(words=words):
            self.refused(1, "all_gather", "in.npy", "-o", "out.npy", words=["in.npy: ", *words])

    def test_wrong_ones(self):
        plain = self.DICT
        for text, words in (
                ("", "'{'"), ("{", "a string"), ("[]", "'{'"), ("{}", "no 'descr'"),
                (plain.replace("'descr': '<i2', ", ""), "no 'descr'"),
                (plain.replace("'fortran_order': False, ", ""), "no 'fortran_order'"),
                (plain.replace("'shape': (3,), ", ""), "no 'shape'"),
                (plain.replace("}", "'shape': (3,)}"), "each once"),
                (plain.replace("}", "'more': 1}"), "each once"),
                (plain + "x", "nothing but blanks"), (plain.replace("False", "0"), "True or False"),
                (plain.replace("(3,)", "(3)"), "(3,) is a shape"), (plain.replace("(3,)", "[3]"), "'('"),
                (plain.replace("(3,)", "(-3,)"), "extent"), (plain.replace("(3,)", "(3.0,)"), "expected ','"),
                (plain.replace("(3,)", "(0x3,)"), "expected ','"), (plain.replace("(3,)", "(None,)"), "extent"),
                (plain.replace("(3,)", "(,)"), "extent"), (plain.replace("(3,)", "(3,,)"), "extent"),
                (plain.replace("(3,)", "(9223372036854775808,)"), "extent"),
                (plain.replace("(3,)", "(9223372036854775807, 4)"), "more bytes than can be counted"),
                (plain.replace("(3,)", "(4294967296, 4294967296, 4294967296)"), "more bytes than can be counted"),
                (plain.replace("(3,)", "(" + "1, " * 65 + ")"), "at most 64 axes"),
                (plain.replace("'<i2'", "'<i2"), "expected '}'"), (plain.replace("'<i2'", "5"), "a string"), (plain.replace("'<i2'", "'\\x3ci2'"), "backslash"),
                (plain.replace("<i2", "i2"), "not the name"), (plain.replace("<i2", ""), "not the name"),
                (plain.replace("<i2", "|i2"), "no byte order"), (plain.replace("<i2", "<i3"), "expected bool"),
                (plain.replace("<i2", "<f16"), "expected bool"), (plain.replace("<i2", "?i2"), "not the name"),
                ("{'descr': [('\x1b[31m', '<i2')], " + plain[17:], "\\x1b[31m")):
            self.write(text)
            self.refuses(words)

    def test_wrong_sizes(self):
        self.write(data=b"\1\0\2\0\3")
        self.refuses("5 bytes", "promises 6", "int16 [3]")
        self.write(data=b"\1\0\2\0\3\0\4")
        self.refuses("7 bytes", "promises 6")
        self.write(length=60000)
        self.refuses("within its header", "which ends at 60010")
        self.write(version=(2, 0), length=0xFFFFFFFF)
        self.refuses("header has 4294967295 bytes", "at most 65535")
        self.write(self.DICT.replace("(3,)", "(4611686018427387900,)"))
        self.refuses("6 bytes", "promises 9223372036854775800")
        self.write(self.DICT + " " * (1 - len(self.DICT) % 2), pad=False)
        self.refuses("begin at byte", "multiple of 2")

    def test_beginnings(self):
        self.write(version=(4, 0))
        self.refuses("version 4.0", "expected 1.0, 2.0 or 3.0")
        self.write(version=(1, 1))
        self.refuses("version 1.1")
        self.write(magic=b"\x93NUMPX")
        self.refuses("no .npy file")
        self.write()
        whole = (self.folder / "in.npy").read_bytes()
        for end in (*range(1, 12), 40, 127):
            (self.folder / "in.npy").write_bytes(whole[:end])
            self.refuses(f"ends after {end} bytes, within its header")
        (self.folder / "in.npy").write_bytes(b"")
        self.refuses("is empty")
        archive = io.BytesIO()
        np.savez(archive, one=np.arange(3))
        (self.folder / "in.npy").write_bytes(archive.getvalue())
        self.refuses("archive (.npz)", "numpy.save")

    def test_damage_is_never_worse_than_an_error(self):
        self.write()
        whole = (self.folder / "in.npy").read_bytes()
        random = np.random.default_rng(7)
        for _ in range(60):
            damaged = bytearray(whole)
            for place in random.integers(0, 75, 3):
                damaged[place] = random.integers(0, 256)
            (self.folder / "in.npy").write_bytes(damaged)
            result = self.op(1, "all_gather", "in.npy", "-o", "out.npy")
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode == 0:
                self.same("out.npy", np.load(self.folder / "in.npy"))


class Refusals(OpCase):
    """Files that NumPy can write and rondo does not take."""

    def test_types(self):
        for one, words in (
                (np.array([{}, 1], object), ["|O", "Python objects"]),
                (np.array(["a", "bc"]), ["<U2", "strings"]), (np.array([b"abc"]), ["|S3", "strings"]),
                (np.zeros(2, [("a", "<f4"), ("b", "<i2")]), ["structured", "('a', '<f4')"]),
                (np.zeros(2, "V2"), ["|V2", "bfloat16"]), (np.zeros(2, ">f8"), [">f8", "big-endian"]),
                (np.zeros(2, "M8[s]"), ["<M8[s]", "dates"]), (np.zeros(2, np.longdouble), ["expected bool"]),
                (np.asfortranarray(np.zeros((2, 3))), ["Fortran order", "expected C order"])):
            np.save(self.folder / "in.npy", one, allow_pickle=True)
            with self.subTest(words=words):
                self.refused(2, "all_gather", "in.npy", "-o", OUT, words=["in.npy: ", *words])

    def test_reductions_that_are_not_defined(self):
        for dtype, op in (("bool", "sum"), ("int32", "mean"), ("complex64", "max"), ("float32", "bit_and")):
            self.save([np.ones(3, dtype)] * 2)
            self.refused(2, "all_reduce", IN, "-o", OUT, "--op", op, words=[f"{op} of {dtype} is not defined"])
            self.save([np.ones(0, dtype)] * 2)
            self.refused(2, "all_reduce", IN, "-o", OUT, "--op", op, words=[f"{op} of {dtype} is not defined"])

    def test_ranks_that_differ(self):
        for backend in BACKENDS:
            self.save([np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 2))])
            for verb in ("all_sum", "reduce", "all_gather", "sum_scatter", "all_to_all"):
                said = self.refused(3, verb, IN, "-o", OUT, backend=backend, words=[
                    "in2.npy on rank 2 is float64 [3, 2]", "in0.npy on rank 0 is float64 [2, 3]"])
                self.assertEqual(said.count("expected the same type and shape"), 3, said)
            self.save([np.zeros((2, 3)), np.zeros((2, 3), np.float32)])
            self.refused(2, "all_gather_v", IN, "-o", OUT, backend=backend, words=["float32 [2, 3]", "float64 [2, 3]"])
            self.save([np.zeros((2, 3)), np.zeros((2, 4))])
            self.refused(2, "gather_v", IN, "-o", OUT, backend=backend, words=["[2, 4]", "[2, 3]"])

    def test_rows_that_do_not_fit(self):
        self.save([np.zeros((5, 2))] * 3)
        for verb in ("scatter", "sum_scatter", "all_to_all"):
            self.refused(3, verb, IN, "-o", OUT, words=["5 rows", "3 equal parts"])
        self.refused(3, "scatter_v", IN, "-o", OUT, "--counts", "1,2,3", words=["in0.npy has 5 rows", "together 6"])
        self.refused(3, "all_to_all_v", IN, "-o", OUT, "--send-counts", "1,2,1", words=["has 5 rows", "together 4"])
        most = "9223372036854775807"
        self.refused(3, "sum_scatter_v", IN, "-o", OUT, "--counts", f"{most},{most},{most}",
                     words=["has 5 rows", "more than can be counted"])

    def test_inputs_that_are_no_files(self):
        (self.folder / "in_folder").mkdir()
        os.mkfifo(self.folder / "in_pipe")
        self.refused(2, "all_sum", "in_folder", "-o", OUT, words=["in_folder: is a folder"])
        self.refused(2, "all_sum", "in_pipe", "-o", OUT, words=["in_pipe: is no regular file"])

    def test_outputs_that_cannot_be(self):
        self.save([np.zeros(3)] * 2)
        (self.folder / "in_folder").mkdir()
        self.refused(2, "all_sum", IN, "-o", "in_folder", words=["in_folder: is a folder"])
        self.refused(2, "all_sum", IN, "-o", "/dev/null", words=["/dev/null: is no regular file"])
        self.refused(2, "all_sum", IN, "-o", "no_folder/x{rank}.npy", words=[
            "no_folder/x0.npy: cannot be made, there is no folder no_folder: No such file"])
        self.refused(2, "all_sum", IN, "-o", "in0.npy/x{rank}.npy", words=["in0.npy/x0.npy", "in0.npy is no folder"])
        (self.folder / "in_round.npy").symlink_to("in_round.npy")
        self.refused(2, "all_sum", IN, "-o", "in_round.npy", words=["in_round.npy", "symbolic links"])


class Usage(OpCase):
    def test_command_line(self):
        for words, arguments in (
                ("no operation given", []), ('no operation "all_som"', ["all_som", "a", "-o", "b"]),
                ("needs an input", ["all_sum", "-o", "b"]), ("needs -o", ["all_sum", "a"]),
                ("all_sum takes no --op", ["all_sum", "a", "-o", "b", "--op", "min"]),
                ("all_sum takes no --root", ["all_sum", "a", "-o", "b", "--root", "0"]),
                ("broadcast takes no --counts", ["broadcast", "a", "-o", "b", "--counts", "1"]),
                ("scatter_v needs --counts", ["scatter_v", "a", "-o", "b"]),
                ("all_to_all_v needs --send-counts", ["all_to_all_v", "a", "-o", "b"]),
                ("sendrecv needs --to", ["sendrecv", "a", "-o", "b", "--from", "0"]),
                ('got "least"', ["all_reduce", "a", "-o", "b", "--op", "least"]),
                ('got "1,,2"', ["scatter_v", "a", "-o", "b", "--counts", "1,,2"]),
                ('got "1,-2"', ["scatter_v", "a", "-o", "b", "--counts=1,-2"]),
                ('got "1/x"', ["all_to_all_v", "a", "-o", "b", "--send-counts", "1/x"]),
                *((f'--piece: expected a size from 1 to 1024G such as 64K, 16M or 1GiB, got "{size}"',
                   ["all_sum", "a", "-o", "b", f"--piece={size}"])
                  for size in ("0", "much", "-1", "1025GiB", "16MB", "16m", "18446744073709551616", "1.5M", "K")),
                ('--root: expected a rank such as 0, got "one"', ["reduce", "a", "-o", "b", "--root", "one"]),
                ('--to: expected a rank such as 0, got "1.5"', ["sendrecv", "a", "-o", "b", "--from=0", "--to=1.5"]),
                ('--from: expected a rank such as 0, got "x"', ["sendrecv", "a", "-o", "b", "--from=x", "--to=1"]),
                ("--output is given more than once", ["all_sum", "a", "-o", "b", "-o", "c"]),
                ("--progress takes no value", ["all_sum", "a", "-o", "b", "--progress=yes"]),
                ("--counts needs a value", ["scatter_v", "a", "-o", "b", "--counts"]),
                ("barrier takes no files", ["barrier", "a"]), ("--least", ["all_sum", "a", "--least"])):
            result = subprocess.run([self.rondo, "op", *arguments], capture_output=True, text=True, timeout=60)
            with self.subTest(words=words):
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertTrue(result.stderr.startswith("rondo op: "), result.stderr)
                self.assertIn(words, result.stderr)

    def test_what_does_not_fit_the_group(self):
        self.save([np.zeros(6)] * 3)
        for words, arguments in (
                (["--root 3", "group of 3"], ["reduce", IN, "-o", OUT, "--root", "3"]),
                (["--root -1", "group of 3"], ["broadcast", IN, "-o", OUT, "--root=-1"]),
                (["--to 3"], ["sendrecv", IN, "-o", OUT, "--from", "0", "--to", "3"]),
                (["both 1"], ["sendrecv", IN, "-o", OUT, "--from", "1", "--to", "1"]),
                (["--counts has 2 numbers"], ["scatter_v", IN, "-o", OUT, "--counts", "3,3"]),
                (["--send-counts has 2 numbers"], ["all_to_all_v", IN, "-o", OUT, "--send-counts", "3,3"]),
                (["2 lists"], ["all_to_all_v", IN, "-o", OUT, "--send-counts", "2,2,2/2,2,2"]),
                (["needs {rank}"], ["scatter", IN, "-o", "out.npy"]),
                (["needs {rank}"], ["sum_scatter", IN, "-o", "out{size}.npy"])):
            self.refused(3, *arguments, words=words, status=2)

    def test_help(self):
        result = subprocess.run([self.rondo, "op", "--help"], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in ("all_sum", "sendrecv", "--send-counts", "Exit status"):
            self.assertIn(name, result.stdout)


class Failures(OpCase):
    """Whatever happens: a name has a whole file, or what it had before."""

    def test_a_missing_file_on_one_rank(self):
        self.save([np.zeros(3)] * 4)
        (self.folder / "in2.npy").unlink()
        for backend in BACKENDS:
            said = self.refused(4, "all_sum", IN, "-o", OUT, backend=backend,
                                words=["in2.npy: No such file or directory"])
            lines = [line for line in said.splitlines() if "] rondo op: " in line]
            self.assertEqual(sorted(line[:3] for line in lines), ["[0]", "[1]", "[2]", "[3]"], said)
            for line in lines:
                self.assertIn("in2.npy", line)

    def test_an_output_that_one_rank_cannot_make(self):
        self.save([np.zeros(3)] * 3)
        for rank in (0, 2):
            (self.folder / f"in_{rank}").mkdir()
        said = self.refused(3, "all_sum", IN, "-o", "in_{rank}/out.npy", words=["in_1/out.npy", "No such file"])
        self.assertIn("[0] rondo op: ", said)
        self.assertEqual([os.listdir(self.folder / f"in_{rank}") for rank in (0, 2)], [[], []])

    def test_a_folder_that_may_not_be_written(self):
        self.save([np.zeros(3)] * 2)
        self.folder.chmod(0o555)

        def as_anybody():
            ctypes.CDLL(None).prctl(24, 1)  # PR_CAPBSET_DROP: root's right to write everywhere

        try:
            self.refused(2, "all_sum", IN, "-o", OUT, words=["out0.npy", "Permission denied"], preexec_fn=as_anybody)
        finally:
            self.folder.chmod(0o755)

    def test_a_file_that_may_not_grow(self):
        self.save([np.zeros(100_000)] * 2)
        (self.folder / "in_old.npy").write_bytes(b"old")

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        self.refused(2, "all_sum", IN, "-o", "in_old.npy", backend="tcp", preexec_fn=limited,
                     words=["in_old.npy: no room for 800128 bytes", "File too large"])
        self.assertEqual((self.folder / "in_old.npy").read_bytes(), b"old")

    def started(self):
        """A job that would take long, once it has told how far it is."""
        self.save([np.zeros(50_000_000, np.uint8)] * 2)
        (self.folder / "out1.npy").write_bytes(b"old")
        job = subprocess.Popen(self.command(2, ["all_sum", IN, "-o", OUT, "--piece", "1", "--progress"]),
                               cwd=self.folder, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        line = job.stderr.readline()
        self.assertRegex(line, r"^\[0\] rondo op: all_sum: \d+ of 50000000 pieces, ")
        self.assertEqual(sum(".partial-" in name for name in self.names()), 2)
        return job

    def ended(self, job):
        said = job.communicate(timeout=60)[1]
        self.assertFalse((self.folder / "out0.npy").exists())
        self.assertEqual((self.folder / "out1.npy").read_bytes(), b"old")
        return said

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                job = self.started()
                job.send_signal(number)
                self.ended(job)
                self.assertEqual(job.returncode, 128 + number)
                self.assertEqual(self.names(), ["in0.npy", "in1.npy", "out1.npy"])

    def test_a_killed_rank(self):
        job = self.started()
        rank = int(next(name for name in self.names() if name.startswith("out1.npy.partial")).split("-")[1])
        os.kill(rank, signal.SIGKILL)
        said = self.ended(job)
        self.assertIn("rank 1 was killed by signal 9", said)
        self.assertRegex(said, r"\[0\] rondo op: .*all_sum.*rank 1")
        self.assertEqual([name.split("-")[0] for name in self.names()],
                         ["in0.npy", "in1.npy", "out1.npy", "out1.npy.partial"])

    def test_a_killed_launcher(self):
        job = self.started()
        job.kill()
        self.ended(job)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    OpCase.rondo = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
