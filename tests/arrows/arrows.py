#!/usr/bin/env python3
"""arrows.py ROOT: checks who includes whom, and a few rules of the house that a text search can check.

Prints `file:line: rule` for every violation; ends with status 1 when there is one. Tests are not looked at: they
may include everything.
"""

import re
import sys
from pathlib import Path

# What a room may include besides itself, the standard library and the value headers: a room, or single headers of one.
ROOMS = {
    "base": [],
    "tensor": ["base"],
    "net": ["base"],
    "rendezvous": ["base", "net", "control/handshake.hpp", "control/hall.hpp", "control/secret.hpp"],
    "control": ["base", "net", "rendezvous"],
    "transport": ["base", "net", "rendezvous", "control"],
    "collective": ["base", "tensor/reduce.hpp", "transport/transport.hpp", "transport/channel.hpp",
                   "transport/header.hpp", "transport/arena.hpp"],
    "backend": ["base", "tensor", "net", "rendezvous", "control", "transport", "collective"],
    "lazy": ["base", "tensor", "backend/backend.hpp"],
    "api": ["base", "tensor", "net", "rendezvous", "control", "transport", "collective", "backend", "lazy"],
    "tools": ["base", "net", "rendezvous", "control"],
    "examples": [],
    "include": [],
}
# Rooms with kinds of one thing in folders of their own, and the common files that may name them: the registry, and the makers of
# meshes over a world or a job.
KINDS = {"transport": (), "backend": ("registry", "sim_worlds", "jobs")}

VALUE_HEADERS = {"error", "dtype", "view", "call", "config", "export"}
# The face: headers of include/rondo that hold more than values, and who may include them.
FACE = {
    "tensor": {"include", "tensor", "lazy", "api", "tools", "examples"},
    "group": {"include", "api", "tools", "examples"},
    "info": {"include", "api", "tools", "examples"},
    "stream": {"include", "lazy", "api", "tools", "examples"},
    "ops": {"include", "api", "tools", "examples"},
    "rondo": {"tools", "examples"},
}
# Third-party headers in angle brackets, and who may include them.
LIBRARIES = {
    "hwy/": {"tensor"},
    "xxhash.h": {"transport"},
    "openssl/": {"control"},
    "nlohmann/": {"collective", "rendezvous", "tools"},
    "fmt/": set(ROOMS) - {"include"},
}

GETENV_FILE = "src/base/config.cpp"
WORDS = [  # pattern, folders, files that may, rule
    (r"\b(secure_)?getenv\b", ("src", "include", "tools", "examples"), re.escape(GETENV_FILE),
     f"getenv belongs in {GETENV_FILE}"),
    (r"\bthis_thread::sleep|\b(nano|u)sleep\b|\b\w*clock::now\b|\bclock_gettime\b|\bcondition_variable", ("src", "include"),
     r"src/base/\w*scheduler\w*\.[ch]pp", "only base/scheduler sleeps and reads clocks"),
    (r"\bstd::j?thread\b(?!::)|\bpthread_create\b", ("src", "include"), r"src/base/\w*scheduler\w*\.[ch]pp",
     "only base/scheduler starts threads"),
]

NO_DEFAULT = "a switch over an enum has no default, so that the compiler names what is missing"
CASE = re.compile(r"^\s*case\s+(.*?)\s*:(?!:)")
DEFAULT = re.compile(r"^\s*default\s*:")
# Files for tests only, which stand beside the sources and may include everything.
FOR_TESTS = re.compile(r".*_test|.*_fake|test_support")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STRING = re.compile(r'"(?:\\.|[^"\\])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\])*\'')


def code_lines(text):
    """The lines of a file without comments; strings are kept."""
    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, blank, text, flags=re.DOTALL).split("\n")


def place_of(path):
    """Room and kind (or None) of a path relative to the root."""
    parts = path.parts
    if parts[0] != "src":
        return parts[0], None
    room = parts[1]
    return room, parts[2] if room in KINDS and len(parts) > 3 else None


def check_include(path, quoted, name):
    """The rule that `#include name` breaks in the file, or None."""
    room, kind = place_of(path)
    folder, slash, rest = name.partition("/")
    if quoted and FOR_TESTS.fullmatch(Path(name).stem):
        return f"{name} is for tests only"
    if folder == "rondo" and slash:
        header = rest.removesuffix(".hpp")
        if header in VALUE_HEADERS or room in FACE.get(header, set()):
            return None
        return f"{room} may not include {name}"
    for prefix, rooms in LIBRARIES.items():
        if name.startswith(prefix):
            return None if room in rooms else f"{room} may not include <{name}>"
    if not quoted:
        if room == "include" and ("/" in name or "." in name):
            return "the face includes the standard library and itself only"
        return None
    if room in ("examples", "tools") and folder not in ROOMS:
        return None  # a neighbour in the same folder
    if not slash or folder not in ROOMS:
        return f'"{name}" names no room; write "room/header.hpp"'
    if folder != room and folder not in ROOMS[room] and name not in ROOMS[room]:
        return f"{room} may not include {name}"
    if folder in KINDS and rest.count("/"):
        other = rest.split("/")[0]
        if folder == room and other != kind:
            if kind is not None:
                return f"kinds of {room} may not include each other"
            if path.stem not in KINDS[room]:
                return f"common files of {room} may not include its kinds"
    return None


def check_file(root, path):
    """(line number, rule) of every violation in a file."""
    room, _ = place_of(path)
    if room not in ROOMS:
        yield 1, f"{path.parent} is no room that the table of arrows names"
        return
    label = "none"  # of the case before
    for number, line in enumerate(code_lines((root / path).read_text(encoding="utf-8")), 1):
        include = INCLUDE.match(line)
        if include:
            rule = check_include(path, include.group(1) == '"', include.group(2))
            if rule:
                yield number, rule
            continue  # #include <condition_variable> moves nothing; its use does
        case = CASE.match(line)
        if case:
            label = case.group(1)
        if DEFAULT.match(line) and path.parts[0] == "src" and not re.match(r"['\d-]", label):
            yield number, NO_DEFAULT
        bare = STRING.sub('""', line)
        for pattern, folders, allowed, rule in WORDS:
            if path.parts[0] in folders and re.search(pattern, bare) and not re.fullmatch(allowed, path.as_posix()):
                yield number, rule


def violations(root):
    """Lines `file:line: rule`, and the number of files looked at."""
    found, files = [], 0
    for folder in ("src", "include", "tools", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".hpp") or FOR_TESTS.fullmatch(path.stem):
                continue
            files += 1
            relative = path.relative_to(root)
            found += [f"{relative.as_posix()}:{line}: {rule}" for line, rule in check_file(root, relative)]
    return found, files


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, files = violations(Path(sys.argv[1]))
    for line in found:
        print(line)
    if files == 0:
        sys.exit("no source files found")
    print(f"{files} files, {len(found)} violations")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
