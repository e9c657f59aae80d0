"""Write the examples of ``findings.rst`` for ``mandelbot rule``.

Usage: python packages/mandelbot/docs/examples.py

The page has the examples, and tests run them; ``findings/examples.json`` of the package
is written from it, so that the command prints what the page shows.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

PAGE = Path(__file__).parent / "findings.rst"
FILE = Path(__file__).parents[1] / "src" / "mandelbot" / "findings" / "examples.json"
SECTION = re.compile(
    r"^([a-z0-9-]+)\n~+\n\n((?:.*\n)*?)(?=^[\w-]+\n[~-]+\n|\Z)", re.MULTILINE
)
_BLOCK = r"((?: {4}.*\n|\n)+)"
OF_FILE = re.compile(
    rf"^(?:Line (\d+)|Whole file)::\n\n{_BLOCK}(?:Clean::\n\n{_BLOCK})?", re.MULTILINE
)
OF_DELIVERY = re.compile(r"^\| Found: ``(.+)``\n\| Clean: ``(.+)``$", re.MULTILINE)


def examples(page: str) -> dict[str, dict[str, str | int | None]]:
    """Return the example of each finding: what has it, in which line, and what has not.

    Of a file: its lines, ``line`` is None for the whole file. Of a delivery: arguments
    of ``Delivery``, without ``line``.

    Raises:
        ValueError: if an entry of the page has no example.
    """
    default = page.partition("it is this::\n\n")[2].partition("\n\n\n")[0]
    found: dict[str, dict[str, str | int | None]] = {}
    for code, section in SECTION.findall(page):
        of_file, of_delivery = OF_FILE.search(section), OF_DELIVERY.search(section)
        if of_file:
            line, bad, good = of_file.groups()
            found[code] = {
                "line": int(line) if line else None,
                "found": _text(bad),
                "clean": _text(good or default),
            }
        elif of_delivery:
            found[code] = {"found": of_delivery[1], "clean": of_delivery[2]}
        else:
            raise ValueError(f"{PAGE.name}: {code} has no example")
    return found


def _text(block: str) -> str:
    return dedent(block).strip("\n") + "\n"


def written(page: str) -> str:
    """Return the file for a page."""
    return json.dumps(examples(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
