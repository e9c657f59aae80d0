"""The robot name of a request, wherever it is used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import pytest
import scrapy
from crawlers import get_crawler
from crawling import LinksSpider, crawl, ensureDeferred
from hypothesis import given
from hypothesis import strategies as st
from mandelbot import RobotTags
from scrapy.http import HtmlResponse
from webs import html

from scrapy_mandelbot import RobotsTxtMiddleware, RobotTagsMiddleware
from scrapy_mandelbot.crawl import Crawl

URL = "https://example.com/page"
USER_AGENT = {"USER_AGENT": "Settingsbot/1.0 (+https://example.com)"}
EVERYBODY = {
    "USER_AGENT": "Settingsbot",
    "ROBOTSTXT_USER_AGENT": "Robotsbot",
    "DEFAULT_REQUEST_HEADERS": {"User-Agent": "Headersbot"},
}
NOBODY = {**EVERYBODY, "ROBOTSTXT_USER_AGENT": None}
PROJECT = {
    "ROBOTSTXT_OBEY": True,
    "MANDELBOT_PACE": "obey",
    "MANDELBOT_STORE": "memory",
}
UNSET = object()


class Case(NamedTuple):
    """A request of some project, and its robot name."""

    sentence: str
    expected: str | tuple[str, ...]
    settings: dict[str, object] = USER_AGENT
    header: object = UNSET
    of_the_spider: object = UNSET

    def crawler(self):
        """Return the project's crawler, with its spider."""
        crawler = get_crawler(LinksSpider, {**PROJECT, **self.settings})
        crawler.spider = crawler._create_spider()
        if self.of_the_spider is not UNSET:
            crawler.spider.user_agent = self.of_the_spider
        return crawler

    def request(self):
        """Return the request."""
        return scrapy.Request(
            URL, headers={} if self.header is UNSET else {"user-agent": self.header}
        )


CASES = [
    Case(
        "The setting names the robot, whatever the request says.",
        "Robotsbot",
        EVERYBODY,
        "Own",
    ),
    Case(
        "The setting may name several, tried in order.",
        ("OncePerSite", "Robotsbot"),
        {**USER_AGENT, "ROBOTSTXT_USER_AGENT": ["OncePerSite", "Robotsbot"]},
        "Ownbot/2.0",
    ),
    Case(
        "The request's own header comes next.",
        "Ownbot/2.0",
        NOBODY,
        "Ownbot/2.0",
        "Spiderbot",
    ),
    Case("A header may be bytes.", "Ownbot", USER_AGENT, b"Ownbot"),
    Case("A header may be in UTF-8.", "Bötbot", USER_AGENT, "Bötbot".encode()),
    Case("A header may be in no encoding.", "Bötbot", USER_AGENT, b"B\xf6tbot"),
    Case("Of several headers the last is sent.", "Two", USER_AGENT, ["One", "Two"]),
    Case(
        "Without a header, the one that Scrapy sets first: that of"
        " DEFAULT_REQUEST_HEADERS.",
        "Headersbot",
        NOBODY,
        of_the_spider="Spiderbot",
    ),
    Case(
        "Its name may be in any case, and bytes.",
        "Headersbot",
        {**USER_AGENT, "DEFAULT_REQUEST_HEADERS": {b"user-AGENT": b"Headersbot"}},
    ),
    Case("Then the one that the spider names.", "Spiderbot", of_the_spider="Spiderbot"),
    Case("Then USER_AGENT.", USER_AGENT["USER_AGENT"]),
    Case("An empty header names nobody.", USER_AGENT["USER_AGENT"], header=b""),
    Case(
        "A header that is withheld names nobody.", USER_AGENT["USER_AGENT"], header=None
    ),
    Case("A spider may name nobody.", USER_AGENT["USER_AGENT"], of_the_spider=None),
    Case("A spider may name nonsense.", USER_AGENT["USER_AGENT"], of_the_spider=7),
    Case(
        "Headers of the project that name nobody are passed over.",
        USER_AGENT["USER_AGENT"],
        {
            **USER_AGENT,
            "DEFAULT_REQUEST_HEADERS": {"User-Agent": None, "Accept": "*/*"},
        },
    ),
    Case("Where nobody is named, what is said to all counts.", "", {"USER_AGENT": ""}),
]


async def rules(case, asked):
    """Decide as the downloader middleware does."""
    parser = SimpleNamespace(allowed=lambda _url, agent: asked.append(agent) or True)
    RobotsTxtMiddleware(case.crawler()).process_request_2(parser, case.request())


async def queue(case, asked):
    """Decide as the queue does."""
    crawl = Crawl.of(case.crawler())
    parser = SimpleNamespace(allowed=lambda _url, agent: asked.append(agent) or True)
    crawl.fetcher.known = lambda _site: SimpleNamespace(parser=parser, is_large=False)
    assert not crawl.forbids(case.request())


async def pace(case, asked):
    """Learn the crawl delay of the site."""
    crawl = Crawl.of(case.crawler())
    file = SimpleNamespace(parser=True, robots=None, until=0.0)
    crawl.fetcher.known = lambda _site: file
    crawl.throttle.paces.learn = lambda _site, _robots, agent, _until: asked.append(
        agent
    )
    crawl.learn_pace(case.request(), crawl.sites.of("https://example.com"))


async def comments(case, asked):
    """Look whether the owner says something to the robot's people."""
    crawler = case.crawler()
    robots = SimpleNamespace(comments=asked.append, mentioned=("comment",))
    file = SimpleNamespace(
        parser=True, robots=robots, cached_at=None, sitemaps=(), names_sitemaps=False
    )
    await Crawl.of(crawler).fetcher.announce(
        "https://example.com", case.request(), file
    )


async def tags(case, asked):
    """Read a page's robot tags."""
    response = HtmlResponse(URL, request=case.request())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "scrapy_mandelbot.spidermiddlewares.robot_tags.robot_tags",
            lambda _headers, _body, agent: asked.append(agent) or RobotTags(),
        )
        RobotTagsMiddleware(case.crawler()).process_spider_input(response)


def sentence(case):
    return case.sentence


@pytest.mark.parametrize("case", CASES, ids=sentence)
def test_the_rule(case):
    """The first that names a robot: the setting, the header, or its default."""
    assert Crawl.of(case.crawler()).agents.of(case.request()) == case.expected


@pytest.mark.parametrize(
    "ask", [rules, queue, pace, comments, tags], ids=lambda ask: ask.__name__
)
@pytest.mark.parametrize("case", CASES, ids=sentence)
@ensureDeferred
async def test_all_go_by_it(case, ask):
    """The rules, in the queue and on the way out, the pace, comments and tags are one
    robot's.
    """
    asked = []
    await ask(case, asked)
    assert asked == [case.expected]


def test_the_spiders_name_is_read_once():
    """As UserAgentMiddleware reads it, which sends it: as the spider opens."""
    crawler = Case("", "", of_the_spider="Spiderbot").crawler()
    agents = Crawl.of(crawler).agents
    spider, crawler.spider = crawler.spider, None
    assert agents.of(scrapy.Request(URL)) == USER_AGENT["USER_AGENT"]
    crawler.spider = spider
    assert agents.of(scrapy.Request(URL)) == "Spiderbot"
    spider.user_agent = "Laterbot"
    assert agents.of(scrapy.Request(URL)) == "Spiderbot"


def test_a_response_without_a_request():
    """It has the name of requests without a header."""
    case = Case("", "Settingsbot", NOBODY | {"DEFAULT_REQUEST_HEADERS": {}})
    assert Crawl.of(case.crawler()).agents.of(None) == case.expected


@given(st.binary())
def test_no_header_raises(header):
    """Whatever a spider writes there is read as a text, and names a robot unless it is
    empty.
    """
    request = scrapy.Request(URL, headers={"User-Agent": header})
    agent = AGENTS.of(request)
    assert isinstance(agent, str)
    assert (agent == USER_AGENT["USER_AGENT"]) is (not header)


AGENTS = Crawl.of(Case("", "").crawler()).agents
SENT = [
    case
    for case in CASES
    if case.header is UNSET
    and case.expected
    and case.of_the_spider in {UNSET, "Spiderbot"}
    and not case.settings.get("ROBOTSTXT_USER_AGENT")
]


@pytest.mark.parametrize("case", SENT, ids=sentence)
@ensureDeferred
async def test_it_is_the_robot_that_the_site_sees(webs, case):
    """The name of a request without a header is the one that Scrapy then sends."""

    class Spider(LinksSpider):
        """Names a robot, in some of the cases."""

    if case.of_the_spider is not UNSET:
        Spider.user_agent = case.of_the_spider
    web = webs()
    web.pages["/"] = html()
    await crawl(Spider, case.settings, start_urls=[web.url + "/"])
    sent = [hit.headers["user-agent"] for hit in web.hits if hit.path == "/"]
    assert sent == [case.expected]
