"""Count the words of prose of each page, in the order of the sidebar.

Usage: python docs/words.py

Prints the pages of the add-on's site and those of the library's, each with its part of
the sidebar and its words, and their sums. Tables, code, drawings, lists of pages,
included files and comments are left out: they are looked up, not read. `TO_READ` are
the pages of a user, which should stay below `GOAL`; reference counts apart.

The last line counts the names of the reference that a user may have to learn.

Exits with 1 if a page is in no part of the sidebar.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
SITES = {
    "The add-on": DOCS,
    "The library": DOCS.parent / "packages" / "mandelbot" / "docs",
}
"""The folder of each site."""
TO_READ = (
    *("start", "recipes", "went_wrong", "pauses", "pace", "sitemaps"),
    *("report", "status", "services"),
)
"""What a user reads: pages, and folders of pages."""
GOAL = 16_000
NAMES = {
    "settings": ("settings", r"^((?:MANDELBOT|ROBOTSTXT)_[A-Z_]+)\n~+$"),
    "their keys": ("settings", r"^``[a-z_]+`` \("),
    "meta keys": ("meta", r"^``[a-z_]+``"),
    "hooks": ("hooks", r"^``[a-z_]+``"),
    "metrics": ("status", r"^``mandelbot\.[a-z_.]+``"),
    "stats": ("stats", r"^``mandelbot/[a-z0-9_/]+``"),
}
"""Kinds of names, each with its page and how an entry begins there."""
PROSE = frozenset(
    {"note", "tip", "hint", "important", "warning", "seealso", "glossary"}
)
"""Directives whose body is prose."""
_DIRECTIVE = re.compile(r"( *)\.\.(?: +([\w-]+)::|(?= |$))")
_BORDER = re.compile(r" *=+(?: +=+)+ *")
_FIELD = re.compile(r" *:[\w -]+:( |$)")
_WORD = re.compile(r"\S*\w\S*")


class Page(NamedTuple):
    """A page of the sidebar."""

    part: str
    name: str
    words: int


def indent_of(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip(" "))


def prose(text: str) -> str:
    """Return the lines of a page that are prose."""
    kept: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        directive = _DIRECTIVE.match(line)
        if directive and directive[2] not in PROSE:
            at = _after_block(lines, at, indent_of(line))
        elif directive or _FIELD.match(line):
            continue
        elif _BORDER.fullmatch(line):
            at = _after_table(lines, at)
        elif line.lstrip().startswith(("+-", "+=", "|", ">>>")):
            at = _after_paragraph(lines, at)
        else:
            kept.append(line)
            if line.rstrip().endswith("::"):
                at = _after_block(lines, at, indent_of(line))
    return "\n".join(kept)


def _after_block(lines: list[str], at: int, indent: int) -> int:
    """Return the line after those that are indented more, or empty."""
    while at < len(lines) and (not lines[at].strip() or indent_of(lines[at]) > indent):
        at += 1
    return at


def _after_table(lines: list[str], at: int) -> int:
    """Return the line after the border that ends a table: nothing is below it."""
    while at < len(lines):
        at += 1
        is_border = _BORDER.fullmatch(lines[at - 1])
        is_last = at == len(lines) or not lines[at].strip()
        if is_border and is_last:
            break
    return at


def _after_paragraph(lines: list[str], at: int) -> int:
    while at < len(lines) and lines[at].strip():
        at += 1
    return at


def words_in(text: str) -> int:
    """Return how many words of prose a page has."""
    return len(_WORD.findall(prose(text)))


def toctrees(text: str) -> dict[str, list[str]]:
    """Return the pages of each list of pages, by its caption."""
    found: dict[str, list[str]] = {}
    for options, names in re.findall(
        r"\.\. toctree::\n((?: +:.*\n)*)\n((?: +\S+\n)+)", text
    ):
        caption = re.search(r":caption: (.*)", options)
        found.setdefault(caption[1] if caption else "", []).extend(names.split())
    return found


def pages(folder: Path) -> list[Page]:
    """Return all pages of a site, in the order of the sidebar."""
    index = (folder / "index.rst").read_text("utf-8")
    found = [Page("", "index", words_in(index))]
    for part, names in toctrees(index).items():
        for name in names:
            text = (folder / f"{name}.rst").read_text("utf-8")
            found.append(Page(part, name, words_in(text)))
            inner_folder = name.rpartition("/")[0]
            for inner in toctrees(text).get("", []):
                path = f"{inner_folder}/{inner}"
                inner_text = (folder / f"{path}.rst").read_text("utf-8")
                found.append(Page(part, path, words_in(inner_text)))
    return found


def is_read(page: Page) -> bool:
    """Return whether a user reads it, rather than look something up in it."""
    return page.name.partition("/")[0] in TO_READ


def names() -> dict[str, int]:
    """Return how many names of each kind the reference has."""
    found = {}
    for kind, (page, entry) in NAMES.items():
        text = (DOCS / f"{page}.rst").read_text("utf-8")
        found[kind] = len(re.findall(entry, text, re.MULTILINE))
    return found


def main() -> int:
    """Print the words of all pages."""
    nowhere = []
    for title, folder in SITES.items():
        tree = pages(folder)
        print(f"{title}: {sum(page.words for page in tree):,} words")
        for page in tree:
            print(f"{page.words:8,}  {page.name:28}  {page.part}")
        listed = {folder / f"{page.name}.rst" for page in tree}
        nowhere += sorted({*folder.rglob("*.rst")} - listed)
    read = sum(page.words for page in pages(DOCS) if is_read(page))
    print(f"To read ({', '.join(TO_READ)}): {read:,} words; the goal is {GOAL:,}")
    counts = (f"{count} {kind}" for kind, count in names().items())
    print(f"Names: {', '.join(counts)}")
    for path in nowhere:
        print(f"{path} is in no part of the sidebar", file=sys.stderr)
    return 1 if nowhere else 0


if __name__ == "__main__":
    sys.exit(main())
