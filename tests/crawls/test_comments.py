"""What an owner tells a robot's people by Comment (An Extended Standard for Robot
Exclusion).
"""

from __future__ import annotations

import logging

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer

pytestmark = pytest.mark.usefixtures("loop_is_turned")

COMMENTS = (
    b"User-agent: Examplebot\nComment: Please come at night.\nComment: Ask\x1b[2Jus.\n"
    b"Disallow: /x\n\nUser-agent: *\nDisallow: /y\n"
)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"USER_AGENT": "Examplebot/1.0 (+https://example.com)"}, 1),
        ({"ROBOTSTXT_USER_AGENT": "Examplebot"}, 1),
        ({"USER_AGENT": "Otherbot"}, 0),
    ],
)
@ensureDeferred
async def test_extended2_comments_are_logged_once_a_site(webs, settings, told):
    """At INFO, once, only where the robot's group has some; and nothing in it moves a
    cursor.
    """
    web = webs()
    web.chain(3)
    web.pages["/robots.txt"] = Answer(COMMENTS)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    said = "Please come at night. / Ask\\x1b[2Jus."
    line = f"{web.url} has a comment for this robot in its robots.txt: {said}"
    assert [one for one in result.messages if "has a comment" in one] == [line] * told


@ensureDeferred
async def test_extended2_comments_of_a_kept_copy_are_told_in_each_run(webs, tmp_path):
    """Whoever runs the spider today sees them too, though nothing was fetched."""
    web = webs()
    web.chain(1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nComment: " + b"a" * 1000)
    settings = {
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
        "LOG_LEVEL": logging.INFO,
    }
    for _ in range(2):
        result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
        assert [one[-20:] for one in result.messages if "has a comment" in one] == [
            "a" * 19 + "…"
        ]
    assert web.asked("/robots.txt") == 1
