#!/usr/bin/env python3
"""What the book says of itself, checked: what it shows of the code, and the programs it lists.

pages.py generated DUMPS [--write] PAGE...   every `<!-- generated: NAME -->` holds what the program DUMPS prints for NAME;
                                             --write puts it there
pages.py extract FOLDER PAGE...              writes every listing into FOLDER as NAME.cpp and NAME.out; prints the names, with ;
pages.py run EXPECTED COMMAND...             runs it: status 0, and the lines of EXPECTED, in any order
pages.py links PAGE...                       every relative link leads to a file, and to a heading of it

A listing is `<!-- listing: NAME -->`, a fence of cpp, and a fence with what it prints. A generated part ends at
`<!-- end -->`; it is a fence, or a table as it is.
"""

import re
import subprocess
import sys
from pathlib import Path

GENERATED = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->", re.S)
LISTING = re.compile(r"<!-- listing: (\w+) -->\n+```cpp\n(.*?)```\n(.*?)(?=<!-- listing|\Z)", re.S)
FENCE = re.compile(r"```(?:text|console)?\n(.*?)```", re.S)


def as_markdown(text):
    return text if text.startswith("|") else f"```text\n{text}```\n"


def generated(dumps, write, pages):
    bad = seen = 0
    for page in pages:
        def current(part):
            nonlocal bad, seen
            seen += 1
            made = subprocess.run([dumps, part[1]], check=True, capture_output=True, text=True).stdout
            # A table needs an empty line around it, or it counts as part of the comment.
            wanted = f"\n{as_markdown(made)}\n"
            if part[2] != wanted and not write:
                print(f"{page}: {part[1]} is not what the code says now; `{dumps} {part[1]}` prints\n{made}")
                bad += 1
            return f"<!-- generated: {part[1]} -->\n{wanted}<!-- end -->"

        text = page.read_text()
        fresh = GENERATED.sub(current, text)
        if write and fresh != text:
            page.write_text(fresh)
    if seen == 0:
        print("no page has a generated part")
    return 1 if bad or seen == 0 else 0


def extract(folder, pages):
    names = []
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        text = page.read_text()
        found = LISTING.findall(text)
        if len(found) != text.count("<!-- listing: "):
            sys.exit(f"{page}: a listing is not followed by a fence of cpp")
        for name, source, rest in found:
            output = FENCE.match(rest.lstrip("\n"))
            if output is None:
                sys.exit(f"{page}: listing {name} is not followed by what it prints")
            if name in names:
                sys.exit(f"{page}: listing {name} is there twice")
            names.append(name)
            for path, content in ((folder / f"{name}.cpp", source), (folder / f"{name}.out", output[1])):
                if not path.exists() or path.read_text() != content:
                    path.write_text(content)
    print(";".join(names), end="")
    return 0


def run(expected, command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    got, wanted = sorted(done.stdout.splitlines()), sorted(Path(expected).read_text().splitlines())
    if done.returncode == 0 and got == wanted:
        return 0
    print(f"status {done.returncode}\n--- the page says\n" + "\n".join(wanted) + "\n--- it prints\n" + "\n".join(got))
    print(done.stderr)
    return 1


def anchors(page):
    without_code = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for heading in re.findall(r"^#+ +(.*)$", without_code, re.M):
        yield re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def links(pages):
    bad = 0
    for page in pages:
        without_code = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)]+)\)", without_code):
            if re.match(r"\w+:", target):
                continue
            path, _, anchor = target.partition("#")
            other = page.parent / path if path else page
            if path.startswith("api/"):  # made by scripts/docs
                continue
            if not other.exists() or (anchor and anchor not in anchors(other)):
                print(f"{page}: {target} leads nowhere")
                bad += 1
    return 1 if bad else 0


def main(arguments):
    verb, rest = arguments[0], arguments[1:]
    if verb == "generated":
        write = "--write" in rest
        rest = [each for each in rest if each != "--write"]
        return generated(rest[0], write, [Path(each) for each in rest[1:]])
    if verb == "extract":
        return extract(Path(rest[0]), [Path(each) for each in rest[1:]])
    if verb == "run":
        return run(rest[0], rest[1:])
    if verb == "links":
        return links([Path(each) for each in rest])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["--help"]))
