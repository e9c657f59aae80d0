"""``scrapy robots explain`` and ``compare``: who may fetch what, and why."""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from webs import Answer

BODY = b"""\
User-agent: Examplebot
Robot-version: 2.0
Comment: Please write to us first.
Allow: /shop/open
Disallow: /shop

User-agent: *
Disallow: /private
Allow: /private/press
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "robots.txt").write_bytes(BODY)


@ensureDeferred
async def test_project_settings_apply_as_in_a_crawl(webs, robots_later, project):
    """A status that pauses a crawl of the project is no word on the rules."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 403)
    assert (await robots_later("explain", web.url + "/a")).returncode == 0
    with project.open("a") as file:
        file.write("MANDELBOT_PAUSE_HTTP_CODES = [503, 429, 403]\n")
    run = await robots_later("explain", web.url + "/a")
    assert run.returncode == 1
    assert "  unknown: 403, asks for a pause\n" in run.stdout.decode()
