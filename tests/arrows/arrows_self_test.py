#!/usr/bin/env python3
"""Plants every violation that arrows.py should find, one at a time, and code that it should let pass."""

import sys
import tempfile
from pathlib import Path

from arrows import violations

CLEAN = {
    "include/rondo/view.hpp": '#include <vector>\n#include "rondo/dtype.hpp"\n',
    "include/rondo/group.hpp": '#include "rondo/tensor.hpp"\n',
    "src/base/scheduler.cpp": "#include <thread>\nstd::condition_variable sleep;\nauto t = std::chrono::steady_clock::now();\n",
    "src/base/config.cpp": 'const char* x = std::getenv("X");\n',
    "src/tensor/tensor.cpp": '#include "base/check.hpp"\n#include "rondo/tensor.hpp"\n#include <hwy/highway.h>\n#include "hwy/highway.h"\n',
    "src/transport/sim/sim.cpp": '#include "transport/sim/sim.hpp"\n#include "transport/header.hpp"\n',
    "src/collective/ring.cpp": '#include "tensor/reduce.hpp"\n#include "transport/channel.hpp"\n',
    "src/collective/ring_test.cpp": '#include "transport/sim/sim.hpp"\n#include "rondo/group.hpp"\nstd::thread t;\n',
    "src/collective/channel_fake.hpp": "std::condition_variable arrived_;\n",
    "src/backend/registry.cpp": '#include "backend/mesh/mesh.hpp"\n#include "backend/solo/solo.hpp"\n',
    "src/backend/mesh/mesh.cpp": '#include "transport/sim/sim.hpp"\n#include "collective/select.hpp"\n',
    "src/api/group.cpp": '#include "rondo/group.hpp"\n#include "backend/backend.hpp"\n',
    "examples/digits/main.cpp": '#include "rondo/rondo.hpp"\n#include "train.hpp"\nauto t = std::chrono::steady_clock::now();\n',
    "src/base/words.cpp": '// getenv("X") in a comment\n/* default:\n default: */\nauto s = "std::thread getenv";\n'
                          "switch (x) {\n  case 16:\n    break;\n  default:\n    break;\n}\n"
                          "using T = std::chrono::steady_clock;\nauto id = std::thread::id();\n",
}

PLANTED = [  # file, content, line, part of the rule
    ("src/base/x.cpp", '#include "tensor/reduce.hpp"\n', 1, "base may not include tensor/reduce.hpp"),
    ("src/base/x.cpp", '\n#include "rondo/tensor.hpp"\n', 2, "base may not include rondo/tensor.hpp"),
    ("src/base/x.cpp", "#include <hwy/highway.h>\n", 1, "base may not include <hwy/highway.h>"),
    ("src/transport/x.cpp", '#include "tensor/reduce.hpp"\n', 1, "transport may not include tensor"),
    ("src/transport/x.cpp", '#include "transport/sim/sim.hpp"\n', 1, "common files of transport"),
    ("src/transport/sim/x.cpp", '#include "transport/fault/fault.hpp"\n', 1, "kinds of transport"),
    ("src/collective/x.cpp", '#include "transport/match.hpp"\n', 1, "collective may not include transport/match.hpp"),
    ("src/collective/x.cpp", '#include "net/stream.hpp"\n', 1, "collective may not include net/stream.hpp"),
    ("src/collective/x.hpp", '#include "rondo/group.hpp"\n', 1, "collective may not include rondo/group.hpp"),
    ("src/backend/mesh/x.cpp", '#include "backend/solo/solo.hpp"\n', 1, "kinds of backend"),
    ("src/backend/x.cpp", '#include "backend/solo/solo.hpp"\n', 1, "common files of backend"),
    ("src/backend/x.cpp", '#include "rondo/group.hpp"\n', 1, "backend may not include rondo/group.hpp"),
    ("src/lazy/x.cpp", '#include "backend/mesh/mesh.hpp"\n', 1, "lazy may not include backend/mesh"),
    ("src/lazy/x.cpp", '#include "transport/header.hpp"\n', 1, "lazy may not include transport"),
    ("src/api/x.cpp", '#include "collective/channel_fake.hpp"\n', 1, "is for tests only"),
    ("src/api/x.cpp", '#include "header.hpp"\n', 1, "names no room"),
    ("src/cellar/x.cpp", "int x;\n", 1, "no room that the table of arrows names"),
    ("include/rondo/x.hpp", '#include "base/check.hpp"\n', 1, "include may not include base/check.hpp"),
    ("include/rondo/x.hpp", "#include <fmt/format.h>\n", 1, "include may not include <fmt/format.h>"),
    ("include/rondo/x.hpp", "#include <unistd.h>\n", 1, "the face includes the standard library"),
    ("examples/x.cpp", '#include "base/check.hpp"\n', 1, "examples may not include base/check.hpp"),
    ("tools/x.cpp", '#include "transport/header.hpp"\n', 1, "tools may not include transport/header.hpp"),
    ("src/api/x.cpp", "\n\nauto x = getenv(name);\n", 3, "getenv belongs in"),
    ("examples/x.cpp", "auto x = std::getenv(name);\n", 1, "getenv belongs in"),
    ("src/transport/x.cpp", "std::this_thread::sleep_for(1ms);\n", 1, "sleeps and reads clocks"),
    ("src/transport/x.cpp", "auto now = Clock::now() + std::chrono::steady_clock::now();\n", 1, "sleeps and reads clocks"),
    ("src/backend/x.hpp", "std::condition_variable_any sleep_;\n", 1, "sleeps and reads clocks"),
    ("src/api/x.cpp", "std::jthread worker(f);\n", 1, "starts threads"),
    ("src/tensor/x.cpp", "switch (x) {\n  case Op::sum: break;\n  default: break;\n}\n", 3, "no default"),
    ("src/tensor/x.cpp", "switch (x) {\n  case sum:\n    y();\n    break;\n  default:\n    z();\n}\n", 5, "no default"),
    ("src/tensor/x.cpp", "int x = 60'000;  // don't\nauto y = getenv(z);\n", 2, "getenv belongs in"),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return violations(root)[0]


def main():
    wrong = [f"clean code was refused: {line}" for line in check(CLEAN)]
    for name, content, line, rule in PLANTED:
        found = check({**CLEAN, name: content})
        if len(found) != 1 or not found[0].startswith(f"{name}:{line}: ") or rule not in found[0]:
            wrong.append(f"planted in {name}: {content!r}; expected one violation with {rule!r}, got {found}")
    for line in wrong:
        print(line)
    print(f"{len(PLANTED)} planted, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
