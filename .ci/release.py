"""Look whether a release may be published, and show what is new in it.

Usage: python .ci/release.py check TAG
       python .ci/release.py notes

``check`` wants the tag to be ``v`` and the version of ``scrapy_mandelbot/_version.py``,
which is the library's, too, and within what ``setup.cfg`` takes of it; the newest
section of ``CHANGES.rst`` to be of that version and to have a date, no fragment to be
left in ``changelog.d``, no address in ``setup.cfg`` to be a placeholder, and no page to
say that nothing is published.
``notes`` prints that section.

Exits with 0 if all of this holds, with 1 if it does not, with 2 if called otherwise.
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECTION = re.compile(
    r"^(?P<version>\d\S*) \((?P<date>[^)]+)\)\n-+\n(?P<text>.*?)(?=^\d\S* \(|\Z)",
    re.MULTILINE | re.DOTALL,
)
PLACEHOLDER = re.compile(r"\.(?:example|invalid|test)(?:[:/\s]|$)")

UNPUBLISHED = "The package index has no release yet"

PACKAGES = ("scrapy_mandelbot", "packages/mandelbot/src/mandelbot")


def version(package: str = PACKAGES[0]) -> str:
    """Return the version of a package that is built."""
    source = (ROOT / package / "_version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    return str(found)


def newest(changes: str) -> tuple[str, str, str]:
    """Return the version, date and text of the newest section of the changes."""
    section = SECTION.search(changes)
    if section is None:
        return "", "", ""
    return section["version"], section["date"], section["text"].strip()


def fragments() -> list[str]:
    """Return the names of the fragments that no section of the changes has yet."""
    return sorted(path.name for path in (ROOT / "changelog.d").glob("*.rst"))


def pages_before_a_release() -> list[str]:
    """Return the pages that say that nothing is published."""
    found = []
    documents = [ROOT / "README.rst", *ROOT.glob("packages/*/README.rst")]
    for folder in (ROOT / "docs", ROOT / "packages" / "mandelbot" / "docs"):
        documents += folder.rglob("*.rst")
    for path in documents:
        words = path.read_text(encoding="utf-8").split()
        if UNPUBLISHED in " ".join(words):
            found.append(path.relative_to(ROOT).as_posix())
    return sorted(found)


def of_the_library(built: str, library: str, needed: str) -> list[str]:
    """Return what keeps the two distributions from being released together."""
    found = []
    if library != built:
        found.append(f"the library is {library}, and the add-on {built}")
    taken = f"mandelbot == {built}"
    if taken not in needed.strip().splitlines():
        found.append(f"setup.cfg does not take {taken}")
    return found


def problems(
    tag: str, built: str, changes: str, address: str, left: list[str]
) -> list[str]:
    """Return what keeps a tag from being published."""
    found = []
    of, date, text = newest(changes)
    if tag != f"v{built}":
        found.append(f"the tag is {tag}, and the version v{built}")
    if of != built:
        found.append(
            f"the newest section of CHANGES.rst is {of or 'none'}, not {built}"
        )
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        found.append(f"CHANGES.rst gives {built} no date, but ({date})")
    if not text:
        found.append(f"CHANGES.rst says nothing of {built}")
    if left:
        found.append(f"changelog.d still has {', '.join(left)}: run towncrier build")
    if PLACEHOLDER.search(address):
        found.append(
            f"the url or author_email of setup.cfg is a placeholder: {address}"
        )
    return found


def main(arguments: list[str]) -> int:
    """Do what was asked for."""
    changes = (ROOT / "CHANGES.rst").read_text(encoding="utf-8")
    if arguments == ["notes"]:
        print(newest(changes)[2])
        return 0
    if len(arguments) != 2 or arguments[0] != "check":  # noqa: PLR2004 -- a verb and a tag
        print(__doc__, file=sys.stderr)
        return 2
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    addresses = "{url} {author_email}".format(**config["metadata"])
    found = problems(arguments[1], version(), changes, addresses, fragments())
    needed = config["options"]["install_requires"]
    found += of_the_library(version(), version(PACKAGES[1]), needed)
    for page in pages_before_a_release():
        found.append(f"{page} says {UNPUBLISHED!r}")
    for problem in found:
        print(f"Not to be published: {problem}.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
