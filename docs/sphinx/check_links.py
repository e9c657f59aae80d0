"""Checks the links of built pages, offline.

Usage: python docs/sphinx/check_links.py build/docs

A link within the pages has to lead to a file, and its anchor to an element. Of a link
to elsewhere the form is looked at, and nothing is asked for. No page may need the
network to be read: scripts, style sheets, fonts and pictures are among the pages.
Prints what does not hold; exits with 1 if anything is.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("object", "data")}
ELSEWHERE = re.compile(
    r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/[\w./~%+()@,:=-]*)?(\?\S*)?(#\S+)?"
)
LOADED_BY_STYLE = re.compile(r"""(?:@import|url\()\s*["']?(?!data:)(https?:)?//""")


class Page(HTMLParser):
    """The ids of a page, and what it links to or loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is or names."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif (tag, name) in LOADED and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def broken(folder: Path) -> list[str]:
    """Return a line for each link that does not hold."""
    pages = {path: Page(path) for path in sorted(folder.resolve().rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                why = "loaded from the network" if link in page.loaded else _form(link)
            else:
                why = _target(pages, path, parts.path, parts.fragment)
            if why:
                found.append(f"{path.name}: {link}: {why}")
    found.extend(
        f"{style.name}: loads from the network"
        for style in folder.rglob("*.css")
        if LOADED_BY_STYLE.search(style.read_text(encoding="utf-8"))
    )
    return found


def _form(link: str) -> str:
    return "" if ELSEWHERE.fullmatch(link) else "not the form of a link"


def _target(pages: dict[Path, Page], path: Path, file: str, fragment: str) -> str:
    target = (path.parent / unquote(file)).resolve() if file else path
    if not target.is_file():
        return "no such file"
    page = pages.get(target)
    if fragment and page and unquote(fragment) not in page.ids:
        return "no such anchor"
    return ""


def main() -> int:
    """Check the folder that is named."""
    folder = Path(sys.argv[1])
    found = broken(folder)
    for line in found:
        print(line)
    print(f"{len(list(folder.rglob('*.html')))} pages, {len(found)} links do not hold.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
