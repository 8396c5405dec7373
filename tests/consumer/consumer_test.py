"""Installs rondo into a folder of its own and uses it from there, as others do: find_package, pkg-config, the command, the Debian
package.

usage: consumer_test.py --source DIR --build DIR --work DIR --compiler C++ [--shared] ... CLASS...

Without --shared what was built in --build is installed; with it, a shared library is built in --work first. The classes are those of
this file. With RONDO_TEST_LONG the package is also installed on a bare Debian, where debootstrap can make one.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).parent
OPTIONS = None  # what the command line says
TEXT_OF_APP = """\
sums 35 35 35
kind invalid_argument of send
runtime_error: .*"pigeon".*
own error: 23, shard 23 is lost
"""
ALONE = TEXT_OF_APP + r"rank 0 of 1: 0\.5 8" + "\n"


def run(*command, env=None, status=0, cwd=None):
    """Runs a command and returns what it wrote to standard output; raises with all of it when the status is another."""
    words = [str(word) for word in command]
    done = subprocess.run(words, env={**os.environ, **(env or {})}, cwd=cwd, capture_output=True, text=True, timeout=1500)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(words)}\nended with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if status else "")


class Installation:
    """The build that is tried, and its installation, made once; moved after it was made, because an installed tree may be."""

    def __init__(self):
        work = OPTIONS.work
        for old in ["first", "moved"]:
            shutil.rmtree(work / old, ignore_errors=True)
        self.build = build_shared() if OPTIONS.shared else OPTIONS.build
        cache = (self.build / "CMakeCache.txt").read_text()
        self.is_shared = re.search(r"^BUILD_SHARED_LIBS:BOOL=(ON|TRUE|1)$", cache, re.M) is not None
        libdir = re.search(r"^CMAKE_INSTALL_LIBDIR:\w+=(.*)$", cache, re.M)[1]
        run("cmake", "--install", self.build, "--prefix", work / "first")
        (work / "first").rename(work / "moved")
        self.prefix = work / "moved"
        self.libdir = self.prefix / libdir
        self.env = {"PKG_CONFIG_PATH": str(self.libdir / "pkgconfig"), "LD_LIBRARY_PATH": str(self.libdir)}
        self.rondo = self.prefix / "bin" / "rondo"

    @cached_property
    def app(self):
        """The user's program, found with find_package."""
        configure_app("found", self.prefix)
        run("cmake", "--build", OPTIONS.work / "found")
        return OPTIONS.work / "found" / "app"


def configure_app(folder, prefix, *more, status=0):
    shutil.rmtree(OPTIONS.work / folder, ignore_errors=True)
    return run("cmake", "-S", HERE / "app", "-B", OPTIONS.work / folder, "-G", OPTIONS.generator, "-DCMAKE_BUILD_TYPE=Debug",
               f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}", f"-DCMAKE_PREFIX_PATH={prefix}", *more, status=status)


def build_shared():
    build = OPTIONS.work / "build"
    run("cmake", "-S", OPTIONS.source, "-B", build, "-G", OPTIONS.generator, f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}",
        f"-DCMAKE_BUILD_TYPE={OPTIONS.type}", "-DCMAKE_INSTALL_PREFIX=/usr", "-DBUILD_SHARED_LIBS=ON", "-DRONDO_WERROR=ON",
        "-DRONDO_TESTS=OFF", "-DRONDO_EXAMPLES=OFF")
    run("cmake", "--build", build, "--parallel", os.environ.get("RONDO_JOBS", str(len(os.sched_getaffinity(0)))))
    return build


def npy_of_int32(*values):
    """A .npy file, without NumPy."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + struct.pack(f"<{len(values)}i", *values)


class Case(unittest.TestCase):
    installed = None

    def setUp(self):
        if Case.installed is None:
            Case.installed = Installation()
        self.it = Case.installed

    def expect(self, text, pattern):
        self.assertIsNotNone(re.fullmatch(pattern, text), f"got:\n{text}\nexpected:\n{pattern}")


class Installed(Case):
    """From a folder that only knows where rondo was installed."""

    def test_find_package(self):
        self.expect(run(self.it.app), ALONE)

    def test_a_version_that_is_not_there_is_refused(self):
        self.assertIn("0.2", configure_app("refused", self.it.prefix, "-DAPP_RONDO_VERSION=0.2", status=1))

    def test_pkg_config(self):
        ways = [["--cflags", "--libs"]] if self.it.is_shared else [["--cflags", "--libs"], ["--static", "--cflags", "--libs"]]
        for flags in ways:
            with self.subTest(flags=flags):
                words = run("pkg-config", *flags, "rondo", env=self.it.env).split()
                self.assertIn("-lrondo", words)
                app = OPTIONS.work / "app"
                app.unlink(missing_ok=True)
                run(OPTIONS.compiler, "-std=c++20", HERE / "app" / "main.cpp", "-o", app, *words)
                self.expect(run(app, env=self.it.env), ALONE)

    def test_a_file_of_every_kind_is_there(self):
        library = "librondo.so" if self.it.is_shared else "librondo.a"
        for path in [self.it.libdir / library, self.it.libdir / "cmake/rondo/rondoConfigVersion.cmake",
                     self.it.prefix / "share/doc/rondo/copyright", self.it.prefix / "share/doc/rondo/guide.md"]:
            self.assertTrue(path.exists(), path)
        headers = {path.name for path in (OPTIONS.source / "include/rondo").iterdir()}
        self.assertEqual(headers, {path.name for path in (self.it.prefix / "include/rondo").iterdir()})

    def test_each_header_stands_alone(self):
        includes = "".join(f"#include <rondo/{path.name}>\n" for path in sorted((self.it.prefix / "include/rondo").iterdir()))
        for line in includes.splitlines():
            done = subprocess.run([OPTIONS.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "-I",
                                   self.it.prefix / "include", "-"], input=line + "\n", capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")

    def test_the_command_starts_processes_of_a_users_program(self):
        if not self.it.rondo.exists():
            self.skipTest("built without RONDO_TOOLS")
        text = run(self.it.rondo, "run", "-n", "3", "--no-prefix", "--", self.it.app)
        for rank in range(3):
            self.assertIn(f"rank {rank} of 3: 4.5 24\n", text)


class Subdirectory(unittest.TestCase):
    def test_sources_among_ones_own(self):
        build = OPTIONS.work / "subdirectory"
        shutil.rmtree(build, ignore_errors=True)
        run("cmake", "-S", HERE / "subdirectory", "-B", build, "-G", OPTIONS.generator, f"-DRONDO_SOURCE={OPTIONS.source}",
            f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}")
        # Neither tests nor the command are asked of a user; compiling is what the other tests do.
        self.assertNotIn("unit_tests", run("cmake", "--build", build, "--target", "help"))


class Shared(Case):
    """The border of the shared library."""

    def test_soname(self):
        library = (self.it.libdir / "librondo.so").resolve()
        self.assertEqual(library.name, "librondo.so.0.1.0")
        self.assertRegex(run("readelf", "-d", library), r"SONAME.*\[librondo\.so\.0\.1\]")

    def test_exports_the_face_alone(self):
        lines = run("nm", "-DC", "--defined-only", self.it.libdir / "librondo.so").splitlines()
        names = [re.sub(r"^\w* *\w ", "", line) for line in lines]
        for wanted in ["rondo::init(bool, rondo::Backend)", "typeinfo for rondo::Error", "rondo::Group::rank() const"]:
            self.assertIn(wanted, names)
        rooms = "|".join(sorted({path.name for path in (OPTIONS.source / "src").iterdir()} - {"api"}))
        of_the_face = re.compile(rf"(typeinfo (name )?for |vtable for )?rondo::(?!({rooms})::)")
        self.assertEqual([name for name in names if not of_the_face.match(name)], [])


class Package(Case):
    """The Debian package of the shared library."""

    def package(self):
        if shutil.which("dpkg-shlibdeps") is None:
            self.skipTest("no dpkg-shlibdeps (package dpkg-dev)")
        folder = OPTIONS.work / "package"
        shutil.rmtree(folder, ignore_errors=True)
        run("cpack", "-G", "DEB", "-B", folder, cwd=self.it.build)
        [deb] = folder.glob("*.deb")
        return deb

    def test_what_it_holds_and_needs(self):
        deb = self.package()
        self.assertRegex(deb.name, r"^rondo_0\.1\.0_\w+\.deb$")
        needs = run("dpkg-deb", "-f", deb, "Depends")
        for library in ["libc6", "libfmt", "libhwy", "libssl", "libstdc", "libxxhash"]:
            self.assertIn(library, needs)
        holds = run("dpkg-deb", "-c", deb)
        for path in ["/usr/bin/rondo", "/librondo.so.0.1", "/usr/include/rondo/rondo.hpp", "/rondo.pc", "/usr/share/doc/rondo/copyright",
                     "/usr/share/doc/rondo/changelog.gz"]:
            self.assertIn(path, holds)
        if shutil.which("help2man"):
            for page in ["rondo", "rondo-run", "rondo-op", "rondo-bench", "rondo-info"]:
                self.assertIn(f"/usr/share/man/man1/{page}.1.gz", holds)

    def test_debians_checker_has_nothing_to_say(self):
        if shutil.which("lintian") is None or shutil.which("help2man") is None:
            self.skipTest("no lintian, or no help2man, without which there are no manual pages")
        self.assertEqual(run("lintian", "--allow-root", self.package()), "")

    def test_installs_and_runs_on_a_bare_debian(self):
        if "RONDO_TEST_LONG" not in os.environ:
            self.skipTest("takes minutes: only with scripts/test --all (RONDO_TEST_LONG)")
        root = self.bare_root()
        deb = self.package()
        self.addCleanup(run, "rm", "-rf", "--one-file-system", root)
        needs = re.findall(r"lib[\w.+-]+", run("dpkg-deb", "-f", deb, "Depends"))
        try:
            run("debootstrap", "--variant=minbase", f"--include={','.join(needs)}", "bookworm", root)
        except AssertionError as error:
            self.skipTest(f"debootstrap made no root: {str(error).splitlines()[-1]}")
        inside = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", root]
        shutil.copy(deb, root / "tmp")
        run(*inside, "dpkg", "-i", f"/tmp/{deb.name}")
        app = root / "tmp" / "app"
        words = run("pkg-config", "--cflags", "--libs", "rondo", env=self.it.env).split()
        run(OPTIONS.compiler, "-std=c++20", HERE / "app" / "main.cpp", "-o", app, *words)
        self.expect(run(*inside, "/tmp/app"), ALONE)
        text = run(*inside, "rondo", "run", "-n", "3", "--no-prefix", "--", "/tmp/app")
        for rank in range(3):
            self.assertIn(f"rank {rank} of 3: 4.5 24\n", text)
        self.the_command(root, inside)
        run(*inside, "dpkg", "--purge", "rondo")
        self.assertFalse((root / "usr/bin/rondo").exists())

    def the_command(self, root, inside):
        self.assertEqual(run(*inside, "rondo", "--version"), "rondo 0.1.0\n")
        self.assertRegex(run(*inside, "rondo", "info"), r"\n  shm +available\n")
        self.assertIn("wrong elements: 0, OK", run(*inside, "rondo", "run", "-n", "4", "--", "rondo", "bench", "all_sum", "-e", "64K"))
        for rank in range(2):
            (root / f"tmp/in{rank}.npy").write_bytes(npy_of_int32(70 + rank, -5))
        run(*inside, "rondo", "run", "-n", "2", "--", "rondo", "op", "all_sum", "/tmp/in{rank}.npy", "-o", "/tmp/out{rank}.npy")
        for rank in range(2):
            self.assertEqual((root / f"tmp/out{rank}.npy").read_bytes()[128:], npy_of_int32(141, -10)[-8:])

    def bare_root(self):
        if shutil.which("debootstrap") is None:
            self.skipTest("no debootstrap")
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs root, and to be let mount")
        run("rm", "-rf", "--one-file-system", OPTIONS.work / "root")
        return OPTIONS.work / "root"


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["source", "build", "work"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--type", default="RelWithDebInfo")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("classes", nargs="+")
    OPTIONS = parser.parse_args()
    for name in ["source", "build", "work"]:
        setattr(OPTIONS, name, getattr(OPTIONS, name).resolve())
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], "-v", *OPTIONS.classes])


if __name__ == "__main__":
    main()
