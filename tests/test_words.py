"""The package and its documentation use the words of the field, listed in
``words.tsv``.

``python tests/test_words.py`` counts the hits of each pattern in the documentation and
the code; ``python tests/test_words.py docs/jobs.rst scrapy_mandelbot/job`` lists those
of files and folders.

A row of the list has a pattern (case does not matter, a space matches any white space),
what to write instead, and where the pattern holds:

- ``all``: the package and the documentation
- ``docs``: the documentation
- ``docstrings``: the package
- ``code names``: modules, classes and functions of the package, ``_`` as a space
- ``names``: modules, classes and functions of the package that are named exactly so

Names that users read or type are exempt: literals in the documentation, strings of one
word in the package (settings, stats, keys of reports, reasons for the end of a crawl).
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support.package_source import statements

ROOT = Path(__file__).parents[1]
PACKAGE = "scrapy_mandelbot"
_SOURCE = "DeviantArt on its tag noai, 11 November 2022"
ALLOWED: dict[tuple[str, str], str] = {
    ("packages/mandelbot/docs/usage.rst", "Tell AI datasets they can't use"): _SOURCE,
    (
        "packages/mandelbot/src/mandelbot/preferences/statements.py",
        "Tell AI datasets they can",
    ): _SOURCE,
    (
        "packages/mandelbot/src/mandelbot/tags/directives.py",
        '"Tell AI datasets',
    ): _SOURCE,
    ("scrapy_mandelbot/job/feeds.py", "file.tell()"): "Python, io",
}
"""Quotations: a file and the quoted text, with its source."""


@dataclass(frozen=True)
class Word:
    """A row of the list."""

    pattern: str
    instead: str
    where: str

    @property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(" ", r"\s+"), re.IGNORECASE)


@dataclass(frozen=True)
class Hit:
    """A place where a banned word stands."""

    word: Word
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: write {self.word.instead}"


def read_words() -> list[Word]:
    text = (Path(__file__).with_name("words.tsv")).read_text("utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Word(**row) for row in rows]


WORDS = read_words()
DOCS, CODE = {"all", "docs"}, {"all", "docstrings"}
NAMES = {"code names", "names"}


@cache
def texts() -> dict[str, str]:
    """Read the files by their path: the package, the documentation, and the pages
    beside it.
    """
    paths = [
        *ROOT.glob("*.rst"),
        ROOT / "sample_project" / "README.rst",
        *(ROOT / "docs").rglob("*.rst"),
        *(ROOT / "packages/mandelbot/docs").rglob("*.rst"),
        *(
            one
            for top in (PACKAGE, "packages/mandelbot/src/mandelbot")
            for one in (ROOT / top).rglob("*")
            if one.suffix not in {".pyc", ".so"}
        ),
    ]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in sorted(paths)
        if path.is_file()
    }


def hits(file: str, text: str, words: list[Word] = WORDS) -> list[Hit]:
    """Return the hits of a text, in the order of the list."""
    is_page = file.endswith(".rst")
    searched = without_exempt(file, text, is_page=is_page)
    found = [
        Hit(word, file, text.count("\n", 0, one.start()) + 1, line_around(text, one))
        for word in words
        if word.where in (DOCS if is_page else CODE)
        for one in word.regex.finditer(searched)
    ]
    if file.endswith(".py"):
        of_names = [word for word in words if word.where in NAMES]
        found += [
            Hit(word, file, line, name)
            for name, line in defined_names(file, text)
            for word in of_names
            if is_name(word, name.strip("_"))
        ]
    return found


def is_name(word: Word, name: str) -> bool:
    """Return whether a name is what a word of `NAMES` says, or has it as a phrase."""
    if word.where == "code names":
        return word.regex.search(name.replace("_", " ")) is not None
    return re.fullmatch(word.pattern, name) is not None


def without_exempt(file: str, text: str, *, is_page: bool) -> str:
    """Blank what is exempt; every other character stays where it is."""
    if is_page:
        text = re.sub(r"(?<!:)``[^`]+``", blank, text)
    else:
        text = re.sub(r'"[\w./:%-]+"', blank, text)
    for where, quoted in ALLOWED:
        if where == file:
            text = text.replace(quoted, re.sub(r"\S", "-", quoted))
    return text


def blank(match: re.Match[str]) -> str:
    return re.sub(r"\S", "-", match[0])


def line_around(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return " ".join(text[start : end if end >= 0 else None].split())[:100]


def defined_names(file: str, text: str) -> list[tuple[str, int]]:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in statements(ast.parse(text)) if isinstance(node, kinds)]
    return [(Path(file).stem, 1), *((node.name, node.lineno) for node in nodes)]


def room(file: str) -> str:
    """Return the folder of the package that a file is in, or the page that it is."""
    parts = file.split("/")
    if parts[0] != PACKAGE:
        return file
    return "/".join(parts[:2]) if len(parts) > 2 else PACKAGE


ROOMS = defaultdict(list)
for one in texts():
    ROOMS[room(one)].append(one)


@pytest.mark.parametrize("files", ROOMS.values(), ids=list(ROOMS))
def test_no_banned_word(files):
    """Each hit is listed with its place and what to write instead."""
    found = [str(hit) for file in files for hit in hits(file, texts()[file])]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_each_quotation_still_stands_in_its_file():
    """One that is gone leaves the list."""
    assert [key for key in ALLOWED if key[1] not in texts().get(key[0], "")] == []


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("docs/a.rst", "It is told.", [1]),
        ("docs/a.rst", "x\nThings of other\npeople's making.", [2]),
        ("docs/a.rst", "The key ``told`` of the report.", []),
        ("docs/a.rst", "The setting ``MANDELBOT_SIGN``; *by hand*.", [1]),
        ("a.py", 'def a():\n    """Have it ring."""', [2]),
        ("a.py", 'def a():\n    """Having it is fine."""', []),
        ("a.py", 'key = "told"', []),
        ("a.py", 'text = "It was told."', [1]),
        ("a.py", "class PauseLaw:\n    pass", [1, 1]),
        ("a.py", "\n\ndef _let_go():\n    pass", [3]),
        ("a.py", "flaw = 1\nDelawares = 2", []),
        ("a.py", "def day_in_words():\n    return [word for word in words]", [1]),
        ("neighbours.py", "", [1]),
    ],
)
def test_hits(file, text, lines):
    """Phrases are found across lines; names that users read are exempt."""
    assert [hit.line for hit in hits(file, text)] == lines


def main() -> None:
    places = [one.strip("/") for one in sys.argv[1:]]
    found = [hit for file, text in texts().items() for hit in hits(file, text)]
    if places:
        for hit in found:
            if any(hit.file == one or hit.file.startswith(f"{one}/") for one in places):
                print(hit)
        return
    print(f"{'docs':>6} {'code':>6}  pattern (where): write")
    for word in WORDS:
        in_docs = sum(hit.word == word and hit.file.endswith(".rst") for hit in found)
        in_code = sum(hit.word == word for hit in found) - in_docs
        print(f"{in_docs:6} {in_code:6}  {word.pattern} ({word.where}): {word.instead}")
    in_docs = sum(hit.file.endswith(".rst") for hit in found)
    print(f"{in_docs:6} {len(found) - in_docs:6}  all")
    of_pages = ("docs/", "packages/mandelbot/docs/", "README")
    pages = [text for file, text in texts().items() if file.startswith(of_pages)]
    count = sum(len(text.split()) for text in pages)
    print(f"{count:,} words in the pages of both sites and README.rst")


if __name__ == "__main__":
    main()
