#!/usr/bin/env python3
"""bench_page.py RONDO: `rondo bench --html --svg --from`, as a user calls it. What it draws is read with Python's own parsers."""

import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

RONDO = sys.argv[1]
SVG = "{http://www.w3.org/2000/svg}"


def rondo(*words):
    return subprocess.run([RONDO, "bench", *words], capture_output=True, text=True, timeout=120)


def titles(root):
    return sorted(each.text for each in root.iter(f"{SVG}title"))


class Page(html.parser.HTMLParser):
    """Tags must close in the order in which they opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.outside = [], 0, []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.rows += tag == "tr"
        self.outside += [value for name, value in attributes if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def mistake(expected, *words):
    result = rondo(*words)
    assert result.returncode == 2, (words, result)
    assert expected in result.stderr, (words, result.stderr)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    stored, page, picture, again = (str(folder / name) for name in ("run.json", "run.html", "run.svg", "again.svg"))
    ran = rondo("--ranks", "2", "all_sum", "sendrecv", "barrier", "-b", "4", "-e", "4K", "-n", "10", "--json", "-o", stored,
                "--html", page, "--svg", picture)
    assert ran.returncode == 0, ran
    document = json.loads(pathlib.Path(stored).read_text())
    sized = [row for row in document["rows"] if row["size"] > 0]
    root = xml.parse(picture).getroot()
    assert len(titles(root)) == 2 * len(sized), (len(titles(root)), len(sized))
    for panel in root.iter(f"{SVG}g"):
        of_test = [row for row in sized if row["test"] == panel.get("data-test")]
        assert len(titles(panel)) == len(of_test) > 0, panel.attrib
    width, height = (float(root.get(name)) for name in ("width", "height"))
    for each in root.iter():
        for x, y in (("x", "y"), ("cx", "cy")):
            if each.get(x) is not None and each.get(y) is not None:
                assert 0 <= float(each.get(x)) <= width and 0 <= float(each.get(y)) <= height, each.attrib

    parsed = Page(pathlib.Path(page).read_text())
    assert parsed.rows == 1 + len(document["rows"]), parsed.rows
    assert parsed.outside == [], parsed.outside

    assert rondo("--from", stored, "--svg", again).returncode == 0
    assert pathlib.Path(again).read_text() == pathlib.Path(picture).read_text()

    mistake("--from needs --html FILE or --svg FILE", "--from", stored)
    mistake("--from measures nothing, but a test is given: all_sum", "all_sum", "--from", stored, "--svg", again)
    mistake("absent.json: cannot be read: No such file or directory", "--from", str(folder / "absent.json"), "--svg", again)
    mistake("--svg /nonexistent/a.svg: cannot be written: No such file or directory", "--ranks", "2", "all_sum", "--svg",
            "/nonexistent/a.svg")
    broken = folder / "broken.json"
    broken.write_text('{"header": {}, "rows": [')
    mistake("broken.json: no JSON at byte 25", "--from", str(broken), "--html", page)
    broken.write_text('{"header": {}, "rows": [1e999]}')
    mistake("broken.json: a number in it is out of range", "--from", str(broken), "--html", page)
    broken.write_text('{"header": {}, "rows": [{"test": "all_sum"}]}')
    mistake('broken.json: row 1 has no "backend"', "--from", str(broken), "--html", page)
    Page(pathlib.Path(page).read_text())  # what was there is still there
print("bench_page: ok")
