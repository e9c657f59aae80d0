"""docs/versions.rst lists each draft that is cited, with its date."""

from __future__ import annotations

import re

from pages import DOCS, ROOT

PAGE = (DOCS / "versions.rst").read_text("utf-8")
LISTED = dict(
    re.findall(
        r"^   (draft-[a-z-]+(?:-\d\d)?); (20\d\d-\d\d-\d\d);", PAGE, re.MULTILINE
    )
)
CITED = re.compile(
    r"\bdraft-(?:ietf-|illyes-|kelley-|canel-|koster-)[a-z-]+[a-z](?:-\d\d)?"
)
FOLDERS = (
    "docs",
    "packages/mandelbot/docs",
    "scrapy_mandelbot",
    "packages/mandelbot/src",
    "benchmarks",
)
READ_IN_SEVERAL_VERSIONS = {"draft-ietf-aipref-attach", "draft-ietf-aipref-vocab"}


def sources():
    for folder in FOLDERS:
        for kind in ("*.py", "*.rst"):
            yield from (ROOT / folder).rglob(kind)


def cited() -> dict[str, set[str]]:
    """Each draft as it is cited, with the files that do."""
    found: dict[str, set[str]] = {}
    for path in sources():
        if path == DOCS / "versions.rst":
            continue
        text = path.read_text("utf-8")
        without_addresses = re.sub(r"https?://\S+", "", text)
        for name in CITED.findall(without_addresses):
            found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def test_each_draft_that_is_cited_is_listed_with_its_number_and_date():
    """A number is left out only of those that are read in several versions."""
    names = cited()
    assert {name: names[name] for name in names.keys() - LISTED.keys()} == {}
    assert {name for name in LISTED if not name[-2:].isdigit()} == (
        READ_IN_SEVERAL_VERSIONS
    )


def test_what_is_listed_is_cited():
    assert LISTED.keys() - cited().keys() == set()
