"""The lines that the page shows."""

from __future__ import annotations

from scrapy_mandelbot.commands.reports.page.shown_lines import page_lines
from scrapy_mandelbot.robotstxt import RobotsTxt


def test_the_corrected_file_is_shown_whole():
    """However much of a file counts: it is longer than the original, and it is saved whole."""
    count = 60_000
    text = "User-agent: *\n" + "Disallow: /abc\n" * count
    assert len(text) > 512_000
    robots = RobotsTxt.parse(text.encode(), max_bytes=1_000_000)
    before, after = page_lines(robots, {"text": text}, [])
    assert len(before) == len(after) == count + 1
    assert not any(line.is_changed for line in (*before, *after))
