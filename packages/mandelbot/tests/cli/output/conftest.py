"""Pages to be looked at in a browser."""

from __future__ import annotations

from datetime import datetime

import pytest

from mandelbot import DIALECTS
from mandelbot.cli.output import check_report as findings
from mandelbot.cli.output import fix_report as correction
from mandelbot.cli.output.robots_page import RobotsPageData, render
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.fix import normalize


@pytest.fixture
def page():
    """Make the page of a file."""

    def make(body, agent="Examplebot", *, dialect="mandelbot", urls=(), **came):
        rules = Rules(came.pop("source", "robots.txt"), body, **came)
        reads, corrected = DIALECTS.get(dialect, dialect), None
        if rules.read(reads)[0] is not None:
            normal = normalize(body, reads)
            corrected = correction.corrected(rules, normal, reads.name)
        subject = RobotsPageData(
            rules=rules,
            checked=findings.check(rules),
            corrected=corrected,
            dialect=reads,
            agents=[agent] if isinstance(agent, str) else agent,
            urls=urls,
        )
        return render(subject, datetime(2026, 11, 20, 12, 30))  # noqa: DTZ001 - UTC, as it says

    return make


@pytest.fixture
def shown(browser, page, tmp_path):
    """Make the page of a file, and load it."""

    def show(*arguments, **options):
        path = tmp_path / "page.html"
        path.write_text(page(*arguments, **options), encoding="ascii")
        browser.show(path)
        return browser

    return show
