"""A User-Agent that does not identify the crawl is logged once, at its start."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from test_mistakes import logged
from webs import Answer, html

WARNED = {"MANDELBOT_IDENTITY_WARNINGS": True}
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/141.0.0.0 Safari/537.36"
)

GOOD = [
    {"USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)"},
    {"USER_AGENT": "Examplebot/1.0 (bot@example.com)"},
    {
        "USER_AGENT": (
            "Mozilla/5.0 (compatible; Examplebot/0.1;"
            " +https://www.example.com/bot.html)"
        )
    },
    {
        "USER_AGENT": CHROME,
        "DEFAULT_REQUEST_HEADERS": {"user-agent": "E/1 (+http://e.example/)"},
    },
    {"USER_AGENT": "E/1 (+https://e.example/)", "MANDELBOT_PURPOSE": "train-ai"},
    {"USER_AGENT": CHROME, "MANDELBOT_IDENTITY_WARNINGS": False},
    {
        # What gives each request one of its own is the project's.
        "USER_AGENT": CHROME,
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None
        },
    },
]


@pytest.mark.parametrize("settings", GOOD, ids=str)
def test_a_user_agent_with_a_contact_gets_no_warning(settings):
    """By URL or address; with a purpose by the URL of a page that says so."""
    assert logged({**WARNED, **settings}) == []


BAD = [
    (
        {},
        (
            "USER_AGENT is Scrapy's default: site owners cannot identify your crawl,"
            " and many forbid"
        ),
    ),
    ({"USER_AGENT": CHROME}, "USER_AGENT claims to be a browser"),
    ({"USER_AGENT": "Examplebot/1.0"}, "USER_AGENT has no contact"),
    ({"USER_AGENT": "Examplebot/1.0 (+here)\x1b[2J"}, "USER_AGENT has no contact"),
    (
        {
            "DEFAULT_REQUEST_HEADERS": {"User-Agent": "curl/8"},
            "USER_AGENT": "E (+https://e.ex)",
        },
        "USER_AGENT has no contact",
    ),
    (
        {"USER_AGENT": "E/1 (bot@example.com)", "MANDELBOT_PURPOSE": "train-ai"},
        (
            "USER_AGENT has no URL of a page that explains what you use pages for"
            " (train-ai)"
        ),
    ),
]


@pytest.mark.parametrize(("settings", "begins"), BAD, ids=str)
def test_a_user_agent_without_a_contact_gets_one_warning(settings, begins):
    """With what to set, or that it is meant."""
    ((_, line),) = logged({**WARNED, **settings})
    assert line.startswith(begins)
    assert "MANDELBOT_IDENTITY_WARNINGS = False to silence this" in line
    assert "\x1b" not in line


def test_an_unused_key_gets_a_warning():
    """It looks as if it were."""
    ((_, line),) = logged({"MANDELBOT_SIGN_KEY": "robot.pem"})
    assert (
        line
        == "MANDELBOT_SIGN_KEY is set, but MANDELBOT_SIGN is not: no request is signed."
    )


@ensureDeferred
async def test_a_spiders_own_user_agent_counts_and_gets_one_warning(webs):
    """As Scrapy's UserAgentMiddleware reads it."""
    web = webs()
    web.pages = {"/robots.txt": Answer(b""), "/": html("/1"), "/1": html()}

    class Named(LinksSpider):
        user_agent = "Examplebot/1.0"

    crawled = await crawl(Named, WARNED, start_urls=[web.url + "/"])
    assert len(crawled.logged("USER_AGENT has no contact")) == 1
