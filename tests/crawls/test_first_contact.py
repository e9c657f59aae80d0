"""A host that does not answer when a crawl first meets it, and does later."""

from __future__ import annotations

import re
import socket
from datetime import datetime

import pytest
import scrapy
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.error import DNSLookupError
from twisted.internet.task import deferLater
from webs import Answer, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}


def up_after(seconds, web):
    """Return what takes a site down until so many seconds after the start."""

    def before(crawler):
        from twisted.internet import reactor

        web.drop()
        reactor.callLater(seconds, web.listen_again)

    return before


def later(seconds):
    from twisted.internet import reactor

    return maybe_deferred_to_future(deferLater(reactor, seconds, lambda: None))


@ensureDeferred
async def test_a_site_that_is_restarted_as_the_crawl_begins_is_crawled(webs):
    """Connections are refused for six seconds: no page is lost."""
    web = site(webs, 10)
    result = await crawl(
        LinksSpider, IN_MEMORY, start_urls=[web.url + "/"], before=up_after(6, web)
    )
    assert result.urls() == web.urls(10)
    assert result.seconds < 30


@ensureDeferred
async def test_a_host_is_tried_for_two_minutes_while_other_sites_are_crawled(webs):
    """It is there after 100 s: the sixth try finds it."""
    web = site(webs, 3)
    other = site(webs, 70, "127.0.0.2")
    settings = {**IN_MEMORY, "MANDELBOT_CRAWL_DELAYS": {other.host: 2}}
    urls = [web.url + "/", other.url + "/"]
    result = await crawl(
        LinksSpider, settings, start_urls=urls, before=up_after(100, web)
    )
    assert result.urls() == sorted(web.urls(3) + other.urls(70))
    assert result.stats["mandelbot/robots/fetched"] == 7


@ensureDeferred
async def test_a_crawl_of_dead_hosts_alone_ends_after_the_fifth_try(webs):
    """After waits of 1, 3, 9 and 27 s; nothing waits for the last one of 81 s."""
    dead = [webs(f"127.0.1.{number}") for number in range(1, 4)]
    urls = [one.url + "/" for one in dead]
    for one in dead:
        one.close()
    result = await crawl(FailuresSpider, IN_MEMORY, start_urls=urls)
    assert len(result.failures) == 3
    assert 40 <= result.seconds < 70
    assert result.stats["mandelbot/robots/fetched"] == 15
    assert result.stats["mandelbot/robots/unanswered"] == 3


@ensureDeferred
async def test_the_log_names_the_first_five_dead_hosts(webs, caplog):
    """A broad crawl meets thousands; at the end each is counted."""
    dead = [webs(f"127.0.1.{number}") for number in range(1, 8)]
    urls = [one.url + "/" for one in dead]
    for one in dead:
        one.close()
    await crawl(FailuresSpider, IN_MEMORY, start_urls=urls)
    tried = [
        record.levelname
        for record in caplog.records
        if "does not answer yet" in record.getMessage()
    ]
    assert tried.count("INFO") == 5


@ensureDeferred
async def test_the_last_wait_ends_with_the_other_work(webs):
    """The other site is done after a minute, and so is the crawl."""
    dead = webs("127.0.1.1")
    other = site(webs, 30, "127.0.0.2")
    urls = [dead.url + "/", other.url + "/"]
    dead.close()
    settings = {**IN_MEMORY, "MANDELBOT_CRAWL_DELAYS": {other.host: 2}}
    result = await crawl(FailuresSpider, settings, start_urls=urls)
    assert result.urls() == other.urls(30)
    assert len(result.failures) == 1
    assert result.seconds < 80
    assert result.stats["mandelbot/robots/fetched"] == 6


class ReturnsSpider(FailuresSpider):
    """Asks for another page of a host some time after the last one has failed."""

    waits: tuple[float, ...] = ()

    async def failed(self, failure):
        super().failed(failure)
        if len(self.failures) <= len(self.waits):
            await later(self.waits[len(self.failures) - 1])
            url = f"{self.start_urls[0]}page/{len(self.failures)}"
            yield scrapy.Request(url, errback=self.failed, meta={"dont_retry": True})


@ensureDeferred
async def test_a_host_that_was_dead_is_asked_anew_by_later_requests(webs):
    """It is there two minutes after its requests have failed, and is crawled."""
    web = site(webs, 3)
    result = await crawl(
        ReturnsSpider,
        IN_MEMORY,
        start_urls=[web.url + "/"],
        waits=(120,),
        before=up_after(100, web),
    )
    assert len(result.failures) == 1
    assert result.stats["mandelbot/robots/unanswered"] == 1
    assert web.asked("/page/1") == 1


@ensureDeferred
async def test_a_dead_host_is_met_anew_five_times_at_most(webs):
    """Then it is asked once for a request that comes five minutes later."""
    web = site(webs, 3)
    urls = [web.url + "/"]
    web.drop()
    result = await crawl(ReturnsSpider, IN_MEMORY, start_urls=urls, waits=(400.0,) * 7)
    assert len(result.failures) == 8
    assert result.stats["mandelbot/robots/unanswered"] == 8
    assert result.stats["mandelbot/robots/fetched"] == 6 * 5 + 2


@ensureDeferred
async def test_requests_of_a_dead_host_stay_in_the_job(webs, tmp_path):
    """The run ends as one with paused sites does, and the next run gets the pages."""
    web = site(webs, 3)
    other = site(webs, 3, "127.0.0.2")
    settings = {"JOBDIR": str(tmp_path)}
    urls = [web.url + "/", other.url + "/"]
    web.drop()
    first = await crawl(FailuresSpider, settings, start_urls=urls)
    assert first.urls() == other.urls(3)
    assert first.failures == []
    assert first.stats["finish_reason"] == "sites_paused"
    said = "has never answered in this run, and its requests wait for the next run"
    assert first.logged(f"{urls[0].rstrip('/')} {said}")
    web.listen_again()
    second = await crawl(FailuresSpider, settings, start_urls=urls)
    assert set(web.urls(3)) <= set(second.urls())
    assert second.stats["finish_reason"] == "finished"


class NoNames:
    """Fails to resolve the names of some hosts, or of all."""

    hosts = ""  # a part of their URLs

    def process_request(self, request):
        if self.hosts in request.url:
            raise DNSLookupError("no results for hostname lookup: no.invalid.")


NO_NAMES = {"DOWNLOADER_MIDDLEWARES": {NoNames: 960}}


@ensureDeferred
async def test_a_request_for_a_name_that_no_host_has_does_not_stay_in_the_job(
    webs, tmp_path, monkeypatch
):
    """The job would never be finished. Another host answers: there is a network."""
    monkeypatch.setattr(NoNames, "hosts", "no.invalid")
    web = site(webs, 3)
    settings = {"JOBDIR": str(tmp_path), **NO_NAMES}
    urls = ["http://no.invalid/", web.url + "/"]
    result = await crawl(FailuresSpider, settings, start_urls=urls)
    assert [type(one.value) for one in result.failures] == [DNSLookupError]
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_request_outside_the_queue_for_an_unknown_name_is_reported_at_once(
    webs, monkeypatch
):
    """It has one try, so nothing else would report it."""
    monkeypatch.setattr(NoNames, "hosts", "no.invalid")
    web = site(webs, 1)

    class OutsideSpider(LinksSpider):
        async def parse(self, response):
            for number in range(2):
                with pytest.raises(DNSLookupError):
                    await self.crawler.engine.download_async(
                        scrapy.Request(f"http://no.invalid/{number}")
                    )
            yield {"url": response.url}

    urls = [web.url + "/"]
    result = await crawl(OutsideSpider, IN_MEMORY | NO_NAMES, start_urls=urls)
    assert len(result.items) == 1
    lines = result.logged("Could not fetch http://no.invalid/robots.txt: no such host")
    warnings = [one for one in lines if "is tried once" in one]
    assert len(warnings) == 1, "once for each site"
    assert result.seconds < 5


@ensureDeferred
async def test_a_run_without_any_name_leaves_its_requests_in_the_job(webs, tmp_path):
    """Nothing answered: the next run, which has a network, gets all pages at once."""
    web = site(webs, 3)
    settings = {"JOBDIR": str(tmp_path)}
    urls = [web.url + "/"]
    first = await crawl(FailuresSpider, settings | NO_NAMES, start_urls=urls)
    second = await crawl(FailuresSpider, settings, start_urls=urls)
    assert first.failures == []
    assert first.stats["finish_reason"] == "sites_paused"
    assert second.urls() == web.urls(3)
    assert second.seconds < 5
    assert second.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_the_next_run_begins_with_the_first_try(webs, tmp_path):
    """The last wait of a dead host, 81 s, is not carried over, and no other one is."""
    web = site(webs, 3)
    settings = {"JOBDIR": str(tmp_path)}
    urls = [web.url + "/"]
    web.drop()
    first = await crawl(FailuresSpider, settings, start_urls=urls)
    second = await crawl(FailuresSpider, settings, start_urls=urls)
    web.listen_again()
    third = await crawl(FailuresSpider, settings, start_urls=urls)
    assert 40 <= first.seconds < 70
    assert 40 <= second.seconds < 70, "the same tries"
    assert third.urls() == web.urls(3)
    assert third.seconds < 5
    assert not third.logged(web.url + " is still paused")


@ensureDeferred
async def test_a_host_in_a_job_is_asked_anew_by_later_requests(webs, tmp_path):
    """Its requests left the queue neither by an error nor for good."""
    web = site(webs, 3)
    other = site(webs, 200, "127.0.0.2")
    settings = {
        "JOBDIR": str(tmp_path),
        "MANDELBOT_CRAWL_DELAYS": {other.host: 2},
    }

    class LateSpider(LinksSpider):
        def parse(self, response):
            if response.url == other.url + "/page/50":
                yield scrapy.Request(web.url + "/page/2")
            yield from super().parse(response)

    other.pages["/"] = Answer(
        "".join(f'<a href="/page/{n}">{n}</a>' for n in range(200)).encode()
    )
    urls = [web.url + "/", other.url + "/"]
    result = await crawl(
        LateSpider, settings, start_urls=urls, before=up_after(150, web)
    )
    assert result.urls() == sorted(web.urls(3) + other.urls(200))
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_name_that_does_not_exist_is_waited_for_no_longer_than_in_stock(
    resolver, monkeypatch
):
    """Twisted says of it what it says of a name that cannot be looked up now."""
    resolver.says = socket.EAI_NONAME
    monkeypatch.setattr(NoNames, "hosts", "no.invalid")
    urls = ["http://no.invalid/"]
    stock = await crawl(FailuresSpider, {"ADDONS": {}} | NO_NAMES, start_urls=urls)
    result = await crawl(FailuresSpider, IN_MEMORY | NO_NAMES, start_urls=urls)
    assert [type(one.value) for one in result.failures] == [DNSLookupError]
    assert result.seconds < stock.seconds + 1
    assert result.stats["retry/max_reached"] == stock.stats["retry/max_reached"] == 1
    assert set(resolver.asked) == {"no.invalid"}
    assert "mandelbot/pause/count" not in result.stats
    (line,) = [one for one in result.messages if "No host has this name" in one]
    assert line.startswith("http://no.invalid has never answered in this run")


WAITS = {
    "the resolver cannot be asked now": {"says": socket.EAI_AGAIN},
    "the resolver has failed": {"says": socket.EAI_FAIL},
    "the name has an address by now": {"says": 0},
    "the machine is offline, and its resolver denies all names": {
        "says": socket.EAI_NONAME,
        "has_route": False,
    },
}


@pytest.mark.parametrize("case", WAITS.values(), ids=WAITS)
@ensureDeferred
async def test_a_name_that_may_exist_is_waited_for(resolver, monkeypatch, case):
    vars(resolver).update(case)
    monkeypatch.setattr(NoNames, "hosts", "no.invalid")
    urls = ["http://no.invalid/"]
    result = await crawl(FailuresSpider, IN_MEMORY | NO_NAMES, start_urls=urls)
    assert len(result.failures) == 1
    assert result.seconds >= 40
    assert result.stats["mandelbot/robots/fetched"] == 5


@ensureDeferred
async def test_the_name_of_a_known_host_is_not_looked_up_a_second_time(
    resolver, webs, tmp_path, monkeypatch
):
    """It answered in the previous run of the job: this is no first contact."""
    web = site(webs, 3)
    settings = {
        "JOBDIR": str(tmp_path),
        "MANDELBOT_CACHE": {"ttl": 0},
        "HTTPERROR_ALLOW_ALL": True,
    }
    urls = [web.url + "/"]
    first = await crawl(FailuresSpider, settings, start_urls=urls)
    resolver.says = socket.EAI_NONAME
    monkeypatch.setattr(NoNames, "hosts", web.url)
    await crawl(FailuresSpider, settings | NO_NAMES, start_urls=urls)
    assert first.urls() == web.urls(3)
    assert resolver.asked == []


@ensureDeferred
async def test_behind_a_proxy_no_name_is_looked_up(resolver):
    """A proxy looks names up; the machine may know none."""
    resolver.says = socket.EAI_NONAME

    class ByProxySpider(FailuresSpider):
        async def start(self):
            meta = {"proxy": "http://proxy.invalid:8080"}
            yield scrapy.Request(
                "http://no.invalid/", errback=self.failed, meta=meta, dont_filter=True
            )

    result = await crawl(ByProxySpider, IN_MEMORY | NO_NAMES, start_urls=[])
    assert len(result.failures) == 1
    assert resolver.asked == []


@ensureDeferred
async def test_the_first_line_on_a_silent_host_says_until_when_it_is_asked(webs):
    """Forty seconds if nothing else is left, two minutes beside other sites."""
    web = webs("127.0.1.1")
    url = web.url
    web.close()
    result = await crawl(FailuresSpider, IN_MEMORY, start_urls=[url + "/"])
    (line,) = result.logged(f"{url} does not answer yet (connection refused)")
    until, later = (
        datetime.fromisoformat(one) for one in re.findall(r"\d{4}-\S+ [\d:]+", line)
    )
    assert (later - until).total_seconds() == 81
    assert line.endswith("then its requests fail.")
    (last,) = result.logged(f"{url} has never answered in this run")
    assert result.messages.index(line) < result.messages.index(last)
