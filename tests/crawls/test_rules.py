"""robots.txt as the middleware gets and obeys it, over real HTTP. (Mandelbot)"""

from __future__ import annotations

from itertools import count

import pytest
import scrapy
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from mandelbot import OutcomeKind
from mandelbot.answers.failures import failure_of
from mandelbot.answers.outcome import Failure
from scrapy.http import TextResponse
from scrapy.robotstxt import RobotParser
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")

RULES = b"User-agent: *\nDisallow: /page/1\nAllow: /page/10\n"


def site(webs, pages: int = 12, host: str = "127.0.0.1"):
    web = webs(host)
    web.chain(pages)
    return web


@ensureDeferred
async def test_mandelbot_rules_are_obeyed_and_explained(webs):
    """The longest path decides; what is forbidden is not asked for, and the log says
    which line.
    """
    web = site(webs)
    web.pages["/robots.txt"] = Answer(RULES)

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert web.asked("/page/1") == web.asked("/page/11") == 0
    assert web.asked("/page/10") == web.asked("/page/2") == 1
    assert web.asked("/robots.txt") == 1
    assert result.stats["robotstxt/forbidden"] == 2
    heard = result.signals("request_forbidden")
    assert {(one["verdict"].rule.line, one["verdict"].rule.path) for one in heard} == {
        (2, "/page/1")
    }
    line, _ = result.logged("Forbidden by robots.txt")
    assert f"{web.url}/robots.txt: forbidden by line 2: Disallow: /page/1" in line


@ensureDeferred
async def test_a_delay_that_is_not_obeyed_is_logged_by_a_crawl_of_one_page(webs):
    """When the file has been read, not with the second request."""
    web = site(webs, 0)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 60\n")
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert len(result.items) == 1
    assert result.stats["mandelbot/pace/not_obeyed"] == 1
    assert len(result.logged(f"{web.url}: 60 s between requests")) == 1


FOR_SCRAPY = (
    b"User-agent: GPTBot\nUser-agent: Scrapy\nDisallow: /\n\nUser-agent: *\nAllow: /\n"
)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (FOR_SCRAPY, "forbidden by line 3: Disallow: / (agent Scrapy)"),
        (
            b"User-agent: *\nDisallow: /*\n",
            "forbidden by line 2: Disallow: /* (agent *)",
        ),
        (b"User-agent: *\nDisallow: /\nAllow: /page/9\n", None),
        (b"User-agent: *\nDisallow: /page\nDisallow: /$\n", None),
    ],
)
@ensureDeferred
async def test_a_site_that_forbids_all_by_one_rule_is_reported_once(webs, body, line):
    """With the rule, its line and its agent, at INFO: of the default User-Agent by its
    name.
    """
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(body)
    urls = [f"{web.url}/page/{number}" for number in range(3)]
    settings = {"USER_AGENT": "Scrapy/2.19 (+https://scrapy.org)", "LOG_LEVEL": "INFO"}
    result = await crawl(LinksSpider, settings, start_urls=urls)
    assert result.stats["robotstxt/forbidden"] == 3
    said = result.logged("Every page of")
    text = (
        f"Every page of {web.url} is forbidden ({web.url}/robots.txt: {line}); see"
        " docs/"
    )
    assert [one.partition("went")[0] for one in said] == [text] * (line is not None)


@pytest.mark.parametrize(
    ("body", "settings", "line"),
    [
        (b"Useragent: *\nDisalow: /p/\n", {}, "line 2 'Disalow: /p/'|Disallow"),
        (
            b"USERAGENT : *\nDisallow: /p/ # x\n",
            {},
            "line 1 'USERAGENT : *'|User-agent",
        ),
        (b"User-agent: *\r\rDisalow: /p/ # x\r", {}, "line 3 'Disalow: /p/'|Disallow"),
        (b"# Disalow: /p/\nUser-agent: *\nDisallowed: /p/\nSite-map: /s\n", {}, None),
        (b"Useragent: *\nDisalow: /p/\n", {"MANDELBOT_DIALECT": "google"}, None),
        (
            b"Useragent: *\nDisalow: /p/\n",
            {"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"},
            None,
        ),
    ],
)
@ensureDeferred
async def test_a_misspelt_line_that_other_parsers_obey_is_reported_once(
    webs, body, settings, line
):
    """Stock Scrapy obeys it, and this crawl does not, unless Google's spellings are
    set.
    """
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(body)
    result = await crawl(
        LinksSpider, settings, start_urls=[web.url + "/", web.url + "/page/1"]
    )
    said = [one for one in result.logged("The robots.txt of") if "is not read" in one]
    named, _, field = (line or "").partition("|")
    text = (
        f"The robots.txt of {web.url}: {named} is not read (Google's and Scrapy's"
        f" parsers read it as {field}); set MANDELBOT_DIALECT = 'google' to obey it"
    )
    assert said == [text] * (line is not None)


@ensureDeferred
async def test_too_many_wildcards_forbid_long_urls(webs):
    """One warning names the site; its short URLs, and other sites, are crawled."""
    web, other = site(webs, 3), site(webs, 3, "127.0.0.2")
    stars = "".join(f"Disallow: /*a*a*a{number:x}b\n" for number in range(10_000))
    web.pages["/robots.txt"] = Answer(f"User-agent: *\n{stars}".encode())
    long = [
        f"{where.url}/{'a' * 2_000}{number}"
        for where in (web, other)
        for number in range(4)
    ]
    for where in (web, other):
        where.pages |= {f"/{'a' * 2_000}{number}": html() for number in range(4)}

    result = await crawl(
        LinksSpider, start_urls=[web.url + "/", other.url + "/", *long]
    )

    assert len(result.items) == 4 + 4 + 4
    assert result.stats["robotstxt/forbidden"] == 4
    assert result.stats["mandelbot/robots/costly"] == 1
    assert (
        len(
            result.logged(
                f"The robots.txt of {web.url} has too many rules with wildcards"
            )
        )
        == 1
    )


@pytest.mark.parametrize("status", [200, 204, 206])
@ensureDeferred
async def test_mandelbot_2xx_has_rules(webs, status):
    """A success is read as rules."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"" if status == 204 else RULES, status)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert len(result.items) == (4 if status == 204 else 3)
    assert result.signals("robots_fetched")[0]["outcome"].kind is OutcomeKind.RULES


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
@ensureDeferred
async def test_mandelbot_4xx_allows_all(webs, status):
    """No robots.txt: every URL may be crawled, whatever the body of the error page
    says.
    """
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n", status)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    assert result.signals("robots_fetched")[0]["outcome"].kind is OutcomeKind.ALLOW_ALL


@ensureDeferred
async def test_mandelbot_3xx_is_followed_across_sites(webs):
    """Redirects are followed, off site too, and the end result is the robots.txt of the
    site.
    """
    web, other = site(webs, 3), site(webs, 3, "127.0.0.2")
    web.pages["/robots.txt"] = Answer(b"", 301, {"Location": "/elsewhere.txt"})
    web.pages["/elsewhere.txt"] = Answer(
        b"", 302, {"Location": other.url + "/rules.txt"}
    )
    other.pages["/rules.txt"] = Answer(RULES)

    class Spider(LinksSpider):
        allowed_domains = ["127.0.0.1"]

    result = await crawl(Spider, start_urls=[web.url + "/"])

    assert len(result.items) == 3
    assert web.asked("/page/1") == 0
    assert [hit.path for hit in other.hits] == ["/rules.txt"]
    assert result.signals("robots_fetched")[0]["site"] == web.url


@ensureDeferred
async def test_redirects_that_lead_nowhere_are_as_no_file(webs):
    """More hops than ten end as if there were no robots.txt."""
    long = site(webs, 2)
    for hop in range(20):
        long.pages[f"/hop/{hop}"] = Answer(b"", 302, {"Location": f"/hop/{hop + 1}"})
    long.pages["/robots.txt"] = Answer(b"", 302, {"Location": "/hop/0"})

    result = await crawl(LinksSpider, start_urls=[long.url + "/"])

    assert len(result.items) == 3
    assert sum(hit.path.startswith("/hop") for hit in long.hits) == 10


@ensureDeferred
async def test_mandelbot_each_site_has_its_own_file(webs):
    """Another port is another site, with its own robots.txt."""
    one, other = site(webs, 3), site(webs, 3)
    one.pages["/robots.txt"] = Answer(RULES)
    other.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/2\n")
    await crawl(LinksSpider, start_urls=[one.url + "/", other.url + "/"])
    assert (one.asked("/page/1"), one.asked("/page/2")) == (0, 1)
    assert (other.asked("/page/1"), other.asked("/page/2")) == (1, 0)


@ensureDeferred
async def test_one_fetch_shared_and_one_request_of_an_unknown_site(webs):
    """A slow robots.txt holds one place, not all: the rest stays in the queue."""
    slow, quick = site(webs, 0), site(webs, 20, "127.0.0.2")
    for number in range(30):
        slow.pages[f"/start/{number}"] = html()
    slow.pages["/robots.txt"] = Answer(b"", delay=1.0)

    class Spider(LinksSpider):
        async def start(self):
            for number in range(30):
                yield scrapy.Request(f"{slow.url}/start/{number}", self.parse)
            yield scrapy.Request(quick.url + "/", self.parse)

    result = await crawl(Spider, {"CONCURRENT_REQUESTS": 4})

    assert len(result.items) == 30 + 21
    assert slow.asked("/robots.txt") == 1
    assert slow.hits[0].at - max(hit.at for hit in quick.hits) < 1.0
    first_page_of_the_slow = min(
        hit.at for hit in slow.hits if hit.path != "/robots.txt"
    )
    assert max(hit.at for hit in quick.hits) < first_page_of_the_slow


class Turns:
    """A download handler that answers after some turns of the loop, and counts."""

    lazy = False
    under_way = most = 0
    numbers = count()

    @classmethod
    def from_crawler(cls, _crawler):
        return cls()

    async def download_request(self, request):
        Turns.under_way += 1
        Turns.most = max(self.most, self.under_way)
        for _ in range(1 + next(self.numbers) % 7):
            answered = Deferred()
            call_later(0, answered.callback, None)
            await maybe_deferred_to_future(answered)
        Turns.under_way -= 1
        return TextResponse(request.url, body=RULES, request=request)

    async def close(self):
        """There is nothing to close."""


@ensureDeferred
async def test_no_more_are_sent_at_a_time_than_concurrent_requests():
    """A page and the robots.txt that it waits for count as one, until the file is
    there.
    """
    settings = {"CONCURRENT_REQUESTS": 8, "DOWNLOAD_HANDLERS": {"http": Turns}}
    urls = [f"http://site{number}.example/" for number in range(300)]
    await crawl(FailuresSpider, settings, start_urls=urls)
    assert Turns.most == 8


@ensureDeferred
async def test_dont_obey_robotstxt_keeps_its_meaning(webs):
    """A request with the meta key is sent whatever the rules say, and fetches none."""
    web = site(webs, 1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")

    class Spider(LinksSpider):
        async def start(self):
            yield scrapy.Request(
                web.url + "/page/0", meta={"dont_obey_robotstxt": True}
            )

    result = await crawl(Spider)
    assert len(result.items) == 1
    assert web.asked("/robots.txt") == 0


@ensureDeferred
async def test_robotstxt_obey_off_keeps_its_meaning(webs):
    """Rules are not applied and not asked for; a 503 still pauses."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    said = iter([503])
    web.refuse = lambda _: Answer(b"", status) if (status := next(said, None)) else None
    result = await crawl(
        LinksSpider, {"ROBOTSTXT_OBEY": False}, start_urls=[web.url + "/"]
    )
    assert len(result.items) == 4
    assert web.asked("/robots.txt") == 0
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_switched_off_is_exactly_stock(webs):
    """MANDELBOT_ENABLED = False for a spider.

    Scrapy's own components, and none of ours.
    """
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(RULES)

    class Off(LinksSpider):
        custom_settings = {"MANDELBOT_ENABLED": False}

    result = await crawl(Off, start_urls=[web.url + "/"])

    settings = result.crawler.settings
    assert not settings.getbool("ROBOTSTXT_OBEY")
    assert (
        settings["SCHEDULER_PRIORITY_QUEUE"]
        == "scrapy.pqueues.DownloaderAwarePriorityQueue"
    )
    middlewares = result.crawler.engine.downloader.middleware.middlewares
    assert not [
        one
        for one in middlewares
        if type(one).__module__.startswith("scrapy_mandelbot")
    ]
    assert len(result.items) == 4
    assert not any(name.startswith("mandelbot") for name in result.stats)


@ensureDeferred
async def test_crawlers_in_one_process_do_not_disturb_each_other(webs):
    """Two crawls of one site at once, with other settings: each obeys its own."""
    from twisted.internet.defer import Deferred, DeferredList

    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(
        b"User-agent: one\nDisallow: /page/1\n\nUser-agent: two\nDisallow: /page/2\n"
    )
    runs = [
        Deferred.fromCoroutine(
            crawl(
                LinksSpider,
                {"ROBOTSTXT_USER_AGENT": agent, **extra},
                start_urls=[web.url + "/"],
            )
        )
        for agent, extra in [
            ("one", {}),
            ("two", {"MANDELBOT_PAUSE_HTTP_CODES": []}),
            ("three", {"ROBOTSTXT_OBEY": False}),
        ]
    ]
    results = [result for _, result in await DeferredList(runs, fireOnOneErrback=True)]
    found = [{url.rpartition("/")[2] for url in result.urls()} for result in results]
    assert found == [{"", "0", "2"}, {"", "0", "1"}, {"", "0", "1", "2"}]


@pytest.mark.parametrize(
    ("agent", "forbidden"),
    [("Examplebot", "/page/0"), (["News", "Examplebot"], "/page/1"), (None, "/page/2")],
)
@ensureDeferred
async def test_robotstxt_user_agent(webs, agent, forbidden):
    """A token, a list of tokens, or None: from the request's own User-Agent header."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(
        b"User-agent: Examplebot\nDisallow: /page/0\n\n"
        b"User-agent: News\nDisallow: /page/1\n\n"
        b"User-agent: Crawler\nDisallow: /page/2\n"
    )
    await crawl(
        LinksSpider,
        {
            "ROBOTSTXT_USER_AGENT": agent,
            "USER_AGENT": "Mozilla/5.0 (compatible; Crawler/1.0)",
        },
        start_urls=[web.url + "/"],
    )
    missing = {f"/page/{n}" for n in range(3)} - {hit.path for hit in web.hits}
    assert missing == {forbidden}


@ensureDeferred
async def test_sitemaps_are_discovered_once(webs):
    """The absolute URLs of all Sitemap lines, once per site and run."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(
        b"Sitemap: http://127.0.0.1/one.xml\nUser-agent: *\nSitemap:"
        b" /two.xml\nDisallow: /x\nSitemap: http://[broken\nSitemap:"
        b" http://127.0.0.1/one.xml\n"
    )
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    (heard,) = result.signals("sitemaps_discovered")
    assert heard == {
        "site": web.url,
        "urls": ("http://127.0.0.1/one.xml", web.url + "/two.xml"),
    }
    assert result.stats["mandelbot/sitemaps/discovered"] == 2


@ensureDeferred
async def test_sitemaps_off_says_nothing(webs):
    """MANDELBOT_SITEMAPS = "off": no signal."""
    web = site(webs, 1)
    web.pages["/robots.txt"] = Answer(b"Sitemap: /one.xml\n")
    result = await crawl(
        LinksSpider, {"MANDELBOT_SITEMAPS": "off"}, start_urls=[web.url + "/"]
    )
    assert result.signals("sitemaps_discovered") == []


@ensureDeferred
async def test_a_host_that_does_not_exist_is_no_site_to_be_polite_to():
    """Its request fails with what the resolver says, within seconds."""
    result = await crawl(FailuresSpider, start_urls=["http://nowhere.invalid/"])
    assert [failure_of(one.value) for one in result.failures] == [Failure.NO_SUCH_HOST]
    assert "mandelbot/pause/given_up" not in result.stats
    assert result.stats["mandelbot/robots/unanswered"] == 1


@ensureDeferred
async def test_another_parser_is_used_where_the_project_says_so(webs):
    """ROBOTSTXT_PARSER: the rules are its; a verdict has no line."""
    web = site(webs, 12)
    web.pages["/robots.txt"] = Answer(RULES)
    result = await crawl(
        LinksSpider,
        {"ROBOTSTXT_PARSER": "scrapy.robotstxt.PythonRobotParser"},
        start_urls=[web.url + "/"],
    )
    assert web.asked("/page/1") == 0
    assert result.stats["robotstxt/forbidden"] >= 2
    assert result.signals("request_forbidden") == []


class BrokenParser(RobotParser):
    """Reads nothing but an empty file."""

    @classmethod
    def from_crawler(cls, crawler, robotstxt_body):
        if robotstxt_body:
            raise ValueError("too hard")
        return cls()

    def allowed(self, url, user_agent):
        return True


@ensureDeferred
async def test_a_parser_that_fails_costs_no_request(webs):
    """The project's own parser raises: said in the log, and the site is crawled."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(RULES)
    settings = {"ROBOTSTXT_PARSER": BrokenParser}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    told = (
        f"ROBOTSTXT_PARSER failed on the robots.txt of {web.url}, which is not obeyed"
    )
    assert len(result.logged(told)) == 1
