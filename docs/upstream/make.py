"""Write what is offered to other projects, from this project's own tables.

Usage: python docs/upstream/make.py

Writes ``scrapy_lint_entry.py`` and ``test_protego_rfc9309.py`` beside it. ``README.rst`` says where
each belongs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "tests"))

from cases import Case, rfc9309  # noqa: E402 -- the tables are with the tests
from protego import Protego  # noqa: E402

from scrapy_mandelbot.config import setting_defaults  # noqa: E402

SET_BY_THE_ADDON = (
    *("DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "MANDELBOT_INNER_PRIORITY_QUEUE"),
    *("MANDELBOT_INNER_SCHEDULER", "ROBOTSTXT_OBEY", "ROBOTSTXT_PARSER", "SCHEDULER"),
    *("SCHEDULER_PRIORITY_QUEUE", "SPIDER_MIDDLEWARES"),
)
SITE = "https://www.site.example"


def linter_entry() -> str:
    """Return the entries of scrapy-lint's data."""
    own = [name for name in setting_defaults() if name.startswith("MANDELBOT_")]
    own += [name for name in SET_BY_THE_ADDON if name.startswith("MANDELBOT_")]
    settings = "\n".join(
        f'    "{name}": Setting(package="scrapy-mandelbot"),' for name in sorted(set(own))
    )
    of_addon = "\n".join(f'                "{name}",' for name in SET_BY_THE_ADDON)
    return f'''"""For scrapy-lint: written by make.py, not by hand."""

from scrapy_lint.addons import Addon, VersionedSettings
from scrapy_lint.settings import Setting

# scrapy_lint/data/addons.py
ADDONS = {{
    "scrapy_mandelbot.Addon": Addon(
        package="scrapy-mandelbot",
        settings=VersionedSettings(
            settings={{
{of_addon}
            }},
        ),
    ),
}}

# scrapy_lint/data/settings.py
SETTINGS = {{
    # scrapy-mandelbot add-on settings, by name
{settings}
}}
'''


def protego_tests() -> str:
    """Return tests of RFC 9309 for Protego; what it does otherwise today is a strict xfail."""
    rows = []
    for case in rfc9309.CASES:
        if case.gap or not isinstance(case.agent, str) or not _is_text(case.octets):
            continue
        for urls, allowed in ((case.allowed, True), (case.forbidden, False)):
            rows += [_row(case, url, allowed=allowed) for url in urls]
    return (
        '"""RFC 9309 by its sections: a file, a robot, a URL, and whether it may be fetched."""\n\n'
        "import pytest\n\nfrom protego import Protego\n\nCASES = [\n"
        + "\n".join(rows)
        + '\n]\n\n\n@pytest.mark.parametrize(("body", "agent", "url", "allowed"), CASES)\n'
        "def test_rfc9309(body, agent, url, allowed):\n"
        "    assert Protego.parse(body).can_fetch(url, agent) is allowed\n"
    )


def _is_text(octets: bytes) -> bool:
    """Return whether Protego can be given it."""
    return "\ufffd" not in octets.decode("utf-8", "replace")


def _row(case: Case, url: str, *, allowed: bool) -> str:
    body = case.octets.decode("utf-8")
    whole = url if "://" in url else SITE + url
    marks = ""
    if Protego.parse(body).can_fetch(whole, case.agent) is not allowed:
        marks = f"\n        marks=pytest.mark.xfail(strict=True, reason={case.says!r}),"
    section = re.match(r"[\d.]+", case.section)
    return (
        f"    # {section[0].rstrip('.') if section else case.section}: {case.says}\n"
        f"    pytest.param(\n        {body!r},\n        {case.agent!r},\n"
        f"        {whole!r},\n        {allowed},{marks}\n    ),"
    )


FILES = {"scrapy_lint_entry.py": linter_entry, "test_protego_rfc9309.py": protego_tests}

if __name__ == "__main__":
    for name, text in FILES.items():
        (HERE / name).write_text(text(), encoding="utf-8")
