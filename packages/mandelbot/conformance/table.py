"""Print the table of README.rst: how many answers of each parser are as expected::

    pip install mandelbot protego robotexclusionrulesparser robotspy \
        gpyrobotstxt jwm.robotstxt fast-robotstxt && npm install robots-parser
    python conformance/table.py

The documents expect them. Parsers that are not installed are left out. Columns are
files of ``cases``.
"""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from run import score

HERE = Path(__file__).parent
PACKAGES = {
    "mandelbot": "mandelbot",
    "protego": "protego",
    "robotexclusionrulesparser": "robotexclusionrulesparser",
    "robotspy": "robotspy",
    "gpyrobotstxt": "gpyrobotstxt",
    "jwm_robotstxt": "jwm.robotstxt",
    "fast_robotstxt": "fast-robotstxt",
}
COLUMNS = ("mandelbot", "rfc9309", "google", "rep1994", "decided")
NAMES = {"mandelbot", "rfc9309", "google"}


def installed(package):
    """Return the version of a Python package; an empty string: it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        print(f"({package} is not installed)", file=sys.stderr)
        return ""


def commands():
    """Yield the name and version of each parser that is installed, and its command."""
    ask = f"{sys.executable} {HERE / 'parsers.py'}"
    for name, package in PACKAGES.items():
        if number := installed(package):
            yield f"{package} {number}", f"{ask} {name}"
    yield f"urllib of Python {platform.python_version()}", f"{ask} urllib"
    about = HERE / "node_modules" / "robots-parser" / "package.json"
    if about.exists():
        number = json.loads(about.read_text("utf-8"))["version"]
        yield f"robots-parser {number} (npm)", f"node {HERE / 'robots_parser.mjs'}"


def main():
    """Print the table as reStructuredText."""
    rows = []
    for name, command in commands():
        scores, _ = score(command, NAMES)
        rows.append((name, *("{} of {}".format(*scores[column]) for column in COLUMNS)))
    rows = [
        ("parser", *COLUMNS),
        *sorted(rows, key=lambda row: -int(row[2].split()[0])),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    texts = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    print(line, texts[0], line, *texts[1:], line, sep="\n")


if __name__ == "__main__":
    main()
