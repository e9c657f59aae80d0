"""Sites that ask for a pace, over real HTTP: what their own logs say."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro
from webs import Answer, Closed, html

from scrapy_mandelbot import status
from scrapy_mandelbot.report.crawl_page import in_short

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]

OBEY = {"MANDELBOT_PACE": "obey"}
HAIR = 0.002  # seconds; two readings of a clock


def site(
    webs, robots: str = "", pages: int = 5, host: str = "127.0.0.1", delay: float = 0.0
):
    web = webs(host)
    web.chain(pages)
    for page in web.pages.values():
        page.delay = delay
    web.pages["/robots.txt"] = Answer(f"User-agent: *\n{robots}".encode())
    return web


def gaps(web) -> list[float]:
    """Return the seconds between the requests that reached a site."""
    return [later - earlier for earlier, later in pairwise(hit.at for hit in web.hits)]


@pytest.mark.parametrize(
    ("robots", "delay"),
    [
        ("Crawl-delay: 0.5\n", 0.5),
        ("Request-rate: 2/1s\n", 0.5),
        ("Crawl-delay: 0.3\nRequest-rate: 2/1s\n", 0.5),
    ],
    ids=["Crawl-delay", "Request-rate", "both"],
)
@ensureDeferred
async def test_a_site_is_asked_at_its_pace_and_others_are_not_slowed(
    webs, robots, delay
):
    """No two requests reach it closer than asked; a site that runs free is done long
    before.
    """
    web, free = site(webs, robots), site(webs, "", 60, "127.0.0.2")

    result = await crawl(LinksSpider, OBEY, start_urls=[web.url + "/", free.url + "/"])

    assert len(result.items) == 6 + 61
    assert len(web.hits) == 7
    assert min(gaps(web)) >= delay - HAIR
    assert max(gaps(web)) < delay + HAIR
    assert max(hit.at for hit in free.hits) < web.hits[3].at
    assert result.stats["mandelbot/pace/sites"] == 1
    assert result.stats["mandelbot/pace/waited"] >= 5
    assert result.stats["mandelbot/pace/seconds"] >= 5 * delay - 0.5
    assert "mandelbot/pause/count" not in result.stats
    (line,) = result.logged("Pace of ")
    assert line.startswith(f"Pace of {web.url}: ")
    assert "(robots.txt line" in line


@ensureDeferred
async def test_mandelbot_a_delay_by_hand(webs):
    """MANDELBOT_CRAWL_DELAYS holds whatever the file says, and the robots.txt counts;
    by host.
    """
    web = site(webs, "Crawl-delay: 60\n")
    settings = {"MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": 0.4}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(web.hits) == 7
    assert min(gaps(web)) >= 0.4 - HAIR
    assert result.logged("Pace of ") == [
        f"Pace of {web.url}: 0.4 s between requests (set manually)"
    ]


@ensureDeferred
async def test_a_delay_by_hand_beats_the_file_that_is_obeyed(webs):
    """Also a shorter one, also for one site of a host."""
    web = site(webs, "Crawl-delay: 60\n", 3)
    delays = {"127.0.0.1": 50, web.url: 0.2}
    await crawl(
        LinksSpider,
        {**OBEY, "MANDELBOT_CRAWL_DELAYS": delays},
        start_urls=[web.url + "/"],
    )
    assert len(web.hits) == 5
    assert 0.2 - HAIR <= min(gaps(web)) <= max(gaps(web)) < 1


@ensureDeferred
async def test_the_delay_of_one_site_alone_is_obeyed(webs):
    """Named in MANDELBOT_CRAWL_DELAYS; of the other site it is only reported."""
    obeyed = site(webs, "Crawl-delay: 0.3\n", 3)
    other = site(webs, "Crawl-delay: 60\n", 3)
    settings = {"MANDELBOT_CRAWL_DELAYS": {obeyed.url: "obey"}}
    urls = [obeyed.url + "/", other.url + "/"]
    result = await crawl(LinksSpider, settings, start_urls=urls)
    assert len(obeyed.hits) == len(other.hits) == 5
    assert min(gaps(obeyed)) >= 0.3 - HAIR
    assert [line for line in result.logged("Pace of ") if obeyed.url in line]
    assert [line for line in result.messages if f"{other.url}: 60 s" in line]


@ensureDeferred
async def test_the_delay_of_one_site_alone_is_not_obeyed(webs):
    """MANDELBOT_PACE obeys all but the one that is named."""
    web = site(webs, "Crawl-delay: 60\n", 3)
    settings = {**OBEY, "MANDELBOT_CRAWL_DELAYS": {web.url: "manual"}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(web.hits) == 5
    assert result.stats["mandelbot/pace/not_obeyed"] == 1


@ensureDeferred
async def test_a_delay_by_hand_holds_without_robots_txt(webs):
    """ROBOTSTXT_OBEY = False: nobody asks for the file, the delay stays."""
    web = site(webs, "", 3)
    settings = {"ROBOTSTXT_OBEY": False, "MANDELBOT_CRAWL_DELAYS": {web.url: 0.3}}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert web.hits[0].path == "/"
    assert len(web.hits) == 4
    assert min(gaps(web)) >= 0.3 - HAIR


@ensureDeferred
async def test_mandelbot_files_are_not_obeyed_unless_asked(webs):
    """ "Mandelbot doesn't currently support Crawl-delay": by hand only."""
    web = site(webs, "Crawl-delay: 60\nVisit-time: 0000-0000\n")
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert len(result.items) == 6
    assert [name for name in result.stats if name.startswith("mandelbot/pace/")] == [
        "mandelbot/pace/not_obeyed"
    ]
    (line,) = [one for one in result.messages if "is not obeyed" in one]
    assert line.startswith(
        f"{web.url}: 60 s between requests, Visit-time 0000-0000 (robot"
    )
    assert line.endswith('is not obeyed; set MANDELBOT_PACE = "obey" to obey it')
    (row,) = [
        one for one in result.messages if one.startswith("What happened at the sites")
    ]
    assert "not obeyed" in row


@pytest.mark.parametrize("has_report", [False, True])
@pytest.mark.parametrize(
    ("settings", "answer_in"),
    [({"CONCURRENT_REQUESTS_PER_DOMAIN": 1}, 0.4), ({}, 3.2)],
    ids=["one at a time", "eight at a time"],
)
@ensureDeferred
async def test_what_a_delay_that_is_not_obeyed_cost_stands_in_the_table(
    webs, tmp_path, settings, answer_in, has_report
):
    """By the site's log; the same in end table, report and status."""
    web, free = site(webs, "Crawl-delay: 2\n"), site(webs, "", 5, "127.0.0.2")
    web.pages["/"] = html(*(f"/{number}" for number in range(120)))
    web.pages |= {f"/{number}": Answer(b"", delay=answer_in) for number in range(120)}
    path, details = tmp_path / "report.json", []

    class Asking(LinksSpider):
        def parse(self, response):
            details.extend(
                one.details for one in status(self.crawler).sites if one.site == web.url
            )
            return super().parse(response)

    settings = settings | ({"MANDELBOT_REPORT": str(path)} if has_report else {})
    result = await crawl(Asking, settings, start_urls=[web.url + "/", free.url + "/"])

    seen = gaps(web)[1:]  # without robots.txt
    seen = sum(min(gap, 2) for gap in seen) / len(seen)
    (table,) = result.logged("What happened at the sites")
    (row,) = (one for one in table.splitlines() if web.url in one)
    came = float(re.search(r"  2 s, not obeyed: (\S+) s\b", row)[1])
    assert came == pytest.approx(seen, rel=0.1)
    assert table.count("obeyed") == 1, "the other site asks for nothing"
    assert re.fullmatch(
        r"Crawl-delay 2 s asked for; requests came every \S+ s", details[-1]
    )
    if has_report:
        report = json.loads(path.read_text())
        assert (
            f"{web.url}: Crawl-delay 2 s asked for; requests came every {came:g} s."
            in str(list(in_short(report)))
        )


@ensureDeferred
async def test_a_delay_that_is_not_obeyed_is_told_of_in_any_encoding(webs):
    """A file may be UTF-16."""
    web = site(webs, "")
    web.pages["/robots.txt"].body = "User-agent: *\nCrawl-delay: 7\n".encode("utf-16")
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    (line,) = [one for one in result.messages if "is not obeyed" in one]
    assert "7 s between requests" in line


@ensureDeferred
async def test_slow_answers_count_from_their_end(webs):
    """A request that is long on its way, or long in answering, is followed no sooner
    than asked.
    """
    web = site(webs, "Crawl-delay: 0.3\n", 3, delay=0.3)
    await crawl(LinksSpider, OBEY, start_urls=[web.url + "/"])
    assert min(gaps(web)[1:]) >= 0.6 - HAIR


@ensureDeferred
async def test_forbidden_requests_cost_no_turn(webs):
    """What is never sent need not wait."""
    web = site(webs, "Crawl-delay: 0.5\nDisallow: /page\nAllow: /page/39\n", 40)
    result = await crawl(LinksSpider, OBEY, start_urls=[web.url + "/"])
    assert len(result.items) == 2
    assert result.stats["robotstxt/forbidden"] == 39
    assert min(gaps(web)) >= 0.5 - HAIR
    assert web.hits[-1].at - web.hits[0].at < 2


@ensureDeferred
async def test_cached_pages_cost_no_turn(webs, tmp_path):
    """A second crawl with the HTTP cache, which has robots.txt too, sends nothing."""
    web = site(webs, "Crawl-delay: 0.3\n", 5)
    settings = {**OBEY, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    before = len(web.hits)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 6
    assert [hit.path for hit in web.hits[before:]] == []
    assert result.seconds < 1.2


@ensureDeferred
async def test_a_copy_of_a_former_run_has_the_pace_from_the_first_request_on(
    webs, tmp_path
):
    """The rules are in the store: nothing is sent back, nothing comes too soon."""
    web = site(webs, "Crawl-delay: 0.3\n", 4)
    settings = {**OBEY, "MANDELBOT_STORE": str(tmp_path / "store.db")}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    del web.hits[:]
    starts = [web.url + f"/page/{number}" for number in range(4)]
    result = await crawl(LinksSpider, settings, start_urls=starts)
    assert len(web.hits) == 4
    assert min(gaps(web)) >= 0.3 - HAIR
    assert "mandelbot/pace/sent_back" not in result.stats


@ensureDeferred
async def test_media_requests_take_turns_with_pages(webs, tmp_path):
    """Files of a pipeline wait for their turn, however many are ahead, longer than any
    pause.
    """
    web = site(webs, "Crawl-delay: 0.2\n", 3)
    for number in range(8):
        web.pages[f"/file/{number}"] = Answer(b"content %d" % number)

    class Spider(LinksSpider):
        def parse(self, response):
            yield from super().parse(response)
            if response.url.endswith("/"):
                yield {
                    "url": "files",
                    "file_urls": [response.urljoin(f"/file/{n}") for n in range(8)],
                }

    settings = {
        **OBEY,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path),
        "MANDELBOT_PAUSE_OPTIONS": {"wait": 0.5},
        "CONCURRENT_REQUESTS": 2,
    }
    result = await crawl(Spider, settings, start_urls=[web.url + "/"])

    files = next(item for item in result.items if item["url"] == "files")["files"]
    assert len(files) == 8
    assert len(web.hits) == 1 + 4 + 8
    assert min(gaps(web)) >= 0.2 - HAIR


@ensureDeferred
async def test_inline_requests_take_turns(webs):
    """``await engine.download_async()`` waits for its turn, be there a pause on the
    way.
    """
    web = site(webs, "Crawl-delay: 0.2\n", 4)
    web.refuse = Closed(seconds=0.5, after=2, retry_after="1", robots_too=False)

    class Spider(scrapy.Spider):
        name = "inline"
        start_urls = [web.url + "/"]

        async def parse(self, response):
            for number in range(4):
                request = scrapy.Request(response.urljoin(f"/page/{number}"))
                page = await self.crawler.engine.download_async(request)
                yield {"url": page.url, "status": page.status}

    result = await crawl(Spider, OBEY)
    assert [item["status"] for item in result.items] == [200] * 4
    assert min(gaps(web)) >= 0.2 - HAIR


@ensureDeferred
async def test_probes_count_and_a_pause_is_kept_too(webs):
    """A 503 in between: nothing comes closer than asked, before and after, and nothing
    is lost.
    """
    web = site(webs, "Crawl-delay: 0.3\n", 5)
    web.refuse = closed = Closed(
        seconds=0.9, after=3, retry_after="1", robots_too=False
    )
    result = await crawl(LinksSpider, OBEY, start_urls=[web.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 6
    assert min(gaps(web)) >= 0.3 - HAIR
    assert not [
        hit for hit in web.hits if closed.began + 0.1 < hit.at < closed.began + 1 - HAIR
    ]
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_a_robots_txt_elsewhere_counts_where_it_is_asked_for(webs):
    """A robots.txt that is redirected to a site with a pace waits for a turn there."""
    web = site(webs, "Crawl-delay: 0.4\n", 4)
    other = site(webs, "", 2, "127.0.0.2")
    other.pages["/robots.txt"] = Answer(b"", 301, {"Location": web.url + "/robots.txt"})

    class Spider(LinksSpider):
        def parse(self, response):
            yield from super().parse(response)
            if response.url == web.url + "/":
                yield scrapy.Request(other.url + "/", super().parse)

    await crawl(Spider, OBEY, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 2
    assert len(other.hits) == 4
    assert min(gaps(web)) >= 0.4 - HAIR
    assert min(gaps(other)[1:]) >= 0.4 - HAIR, "the redirected file's pace is its own"


@ensureDeferred
async def test_the_slowest_of_all_wins(webs):
    """DOWNLOAD_DELAY, DOWNLOAD_SLOTS and AutoThrottle keep working on top of a pace."""
    web = site(webs, "Crawl-delay: 0.1\n", 3)
    slots = {"127.0.0.1": {"delay": 0.5, "randomize_delay": False, "concurrency": 2}}
    await crawl(
        LinksSpider, {**OBEY, "DOWNLOAD_SLOTS": slots}, start_urls=[web.url + "/"]
    )
    assert min(gaps(web)[1:]) >= 0.5 - 0.02

    web = site(webs, "Crawl-delay: 0.4\n", 3)
    throttle = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.05}
    await crawl(LinksSpider, {**OBEY, **throttle}, start_urls=[web.url + "/"])
    assert min(gaps(web)) >= 0.4 - HAIR


@ensureDeferred
async def test_who_asks_for_too_much_gets_the_longest_and_a_warning(webs):
    """MANDELBOT_PACE_OPTIONS["longest"], told once a site."""
    web = site(webs, "Crawl-delay: 86400\nRequest-rate: nonsense\n", 3)
    settings = {**OBEY, "MANDELBOT_PACE_OPTIONS": {"longest": 0.2}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    assert min(gaps(web)) >= 0.2 - HAIR
    (line,) = result.logged(f"{web.url}: 86400 s between requests is capped")
    assert line.endswith('is capped at 0.2 s (MANDELBOT_PACE_OPTIONS["longest"])')
    (line,) = result.logged(
        f"Ignored an invalid pace in the robots.txt of {web.url}, line"
    )
    assert line.endswith(", line 3")
    assert result.stats["mandelbot/pace/capped"] == 1
    assert result.stats["mandelbot/pace/unreadable"] == 1


@ensureDeferred
async def test_the_pace_is_the_agents(webs):
    """The group of ROBOTSTXT_USER_AGENT counts, as for the rules."""
    web = site(
        webs,
        "Crawl-delay: 60\nAllow: /\n\nUser-agent: Examplebot\nCrawl-delay: 0.2\n",
        3,
    )
    settings = {**OBEY, "ROBOTSTXT_USER_AGENT": "Examplebot"}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert "0.2 s between requests" in result.logged("Pace of ")[0]
    assert len(web.hits) == 5


@ensureDeferred
async def test_the_rule_of_thumb_and_the_window(webs):
    """Both are options: a page of a quarter second is followed by ten seconds, capped
    here.
    """
    web = site(webs, "Disallow: /private\n", 3)
    settings = {**OBEY, "MANDELBOT_PACE_OPTIONS": {"fetch_time": True, "longest": 0.3}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert "twice the fetch time" in result.logged("Pace of ")[0]
    assert min(gaps(web)) >= 0.3 - HAIR

    result = await crawl(
        LinksSpider, settings, start_urls=["http://no-such-host.invalid/"]
    )
    assert not result.logged("Pace of "), "who cannot be asked has no pace"

    web = site(webs, "Crawl-delay: 0.5\n", 3)
    settings = {**OBEY, "MANDELBOT_PACE_OPTIONS": {"crawl_delay": "window"}}
    began = TIME.now() - TIME.elapsed()
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    windows = [(began + hit.at) // 0.5 for hit in web.hits]
    assert len(web.hits) == len(set(windows)) == 5


@ensureDeferred
async def test_a_site_that_keeps_a_pace_is_no_paused_site(webs, tmp_path):
    """Nobody closes the spider or gives the site up because it is slow."""
    web = site(webs, "Crawl-delay: 0.4\n", 4)
    settings = {
        **OBEY,
        "JOBDIR": str(tmp_path),
        "MANDELBOT_PAUSE_IDLE": "close",
        "MANDELBOT_PAUSE_OPTIONS": {"total": 0.2},
    }
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    assert len(result.items) == 5
    assert not result.signals("site_paused")


@ensureDeferred
async def test_a_spider_that_is_stopped_does_not_wait_for_turns(webs):
    """Closing, nobody waits for an hour; the requests in the queue stay there."""
    web = site(webs, "Crawl-delay: 30\n", 3)
    refused = []

    class Spider(LinksSpider):
        def robots_fetched(self, site, robots, outcome):
            from twisted.internet import reactor

            reactor.callLater(0.5, self.stop)

        def stop(self):
            file = scrapy.Request(web.url + "/page/1", callback=NO_CALLBACK)
            waiting = deferred_from_coro(self.crawler.engine.download_async(file))
            waiting.addErrback(refused.append)
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="enough"))

    began = TIME.elapsed()
    result = await crawl(Spider, OBEY, start_urls=[web.url + "/"])
    assert TIME.elapsed() - began < 5
    assert result.stats["finish_reason"] == "enough"
    assert refused[0].check(IgnoreRequest)
    assert len(web.hits) == 1
