"""Maintenance that no status shows: every page of a site is redirected to one notice."""

from __future__ import annotations

import asyncio

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from dying import Noting, dies, run, run_after
from redis import Redis
from webs import Answer, html, site

from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.testing import TIME

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
NOTICE = "/maintenance.html"


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(b"", status, {"Location": to})


class Maintained:
    """From the n-th page on for some seconds, redirects to a notice."""

    def __init__(self, web, after: int, seconds: float, status: int = 302, notice: str = NOTICE):
        self.web, self.after, self.seconds, self.status = web, after, seconds, status
        self.notice = notice
        self.ends_at = None
        web.pages[notice] = html(title="We will be back soon")

    def __call__(self, path: str) -> Answer | None:
        if path in {"/robots.txt", self.notice}:
            return None
        if self.ends_at is None and len(self.web.hits) > self.after:
            self.ends_at = TIME.elapsed() + self.seconds
        is_on = self.ends_at is not None and TIME.elapsed() < self.ends_at
        return redirect(self.notice, self.status) if is_on else None


def pages(result, web) -> set[str]:
    return {path for url in result.urls() if (path := url.removeprefix(web.url)) != url}


@ensureDeferred
@pytest.mark.parametrize(
    ("status", "settings"),
    [(302, {}), (303, {}), (307, {}), (302, {"DOWNLOAD_DELAY": 0.05}), (302, {"JOBDIR": "job"})]
    + [
        pytest.param(status, settings, marks=pytest.mark.thorough)
        for status in (303, 307)
        for settings in ({"DOWNLOAD_DELAY": 0.05}, {"JOBDIR": "job"})
    ],
)
async def test_pages_that_are_redirected_to_a_notice_come_later(
    webs, status, settings, tmp_path, monkeypatch
):
    """All of them, and those too that were filtered as duplicates before it was known."""
    monkeypatch.chdir(tmp_path)
    web = site(webs, 100, delay=0.05)
    web.refuse = Maintained(web, 40, 11, status)
    result = await crawl(LinksSpider, IN_MEMORY | settings, start_urls=[web.url + "/"])
    assert pages(result, web) - {NOTICE} == {"/", *(f"/page/{n}" for n in range(100))}
    assert web.asked(NOTICE) == 1
    (line,) = result.logged(f"{web.url} redirects its pages to {web.url}{NOTICE}")
    assert "maintenance" in line
    assert result.stats["mandelbot/pause/maintenance"] == 1
    paused = result.signals("site_paused")
    assert len(paused) == 1
    assert f"{web.url}{NOTICE}" in paused[0]["reason"]
    assert web.statuses().count(status) <= 20


async def once_each(web, settings=None, spider=LinksSpider, **arguments):
    settings = IN_MEMORY | (settings or {})
    return await crawl(spider, settings, start_urls=[web.url + "/"], **arguments)


@ensureDeferred
async def test_a_second_maintenance_is_known_by_its_notice(webs):
    """Which is not fetched again: the dupe filter has seen it."""
    web = site(webs, 200, delay=0.05)
    first, second = Maintained(web, 40, 5), Maintained(web, 160, 5)
    web.refuse = lambda path: first(path) or second(path)
    result = await once_each(web)
    assert len(pages(result, web) - {NOTICE}) == 201
    assert web.asked(NOTICE) == 1
    assert result.stats["mandelbot/pause/maintenance"] == 2


@ensureDeferred
async def test_the_last_pages_of_a_crawl_come_back_too(webs):
    """All are in flight as maintenance begins, and the notice is the last answer."""
    web = site(webs, 24, delay=0.05)
    web.refuse = Maintained(web, 17, 3)
    result = await once_each(web)
    assert len(pages(result, web) - {NOTICE}) == 25
    assert web.statuses()[18:26].count(302) == 8


@ensureDeferred
async def test_a_health_check_that_meets_the_notice_ends_no_pause(webs):
    """After some failed probes a page that was well is requested again."""
    web = site(webs, 60, delay=0.05)
    web.refuse = Maintained(web, 30, 200)
    result = await once_each(web)
    assert len(pages(result, web) - {NOTICE}) == 61
    assert result.stats["mandelbot/pause/resumed"] == 1
    assert result.stats["mandelbot/pause/asked_again"] >= 1


@ensureDeferred
async def test_what_the_http_cache_holds_of_a_maintenance_is_not_used(webs, tmp_path):
    """Its default policy stores redirects as it stores pages."""
    web = site(webs, 60, delay=0.05)
    web.refuse = Maintained(web, 30, 3)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    result = await once_each(web, cache)
    assert len(pages(result, web) - {NOTICE}) == 61


@ensureDeferred
async def test_nothing_pauses_where_no_status_does(webs):
    web = site(webs, 60, delay=0.05)
    web.refuse = Maintained(web, 30, 3)
    result = await once_each(web, {"MANDELBOT_PAUSE_HTTP_CODES": []})
    assert "mandelbot/pause/count" not in result.stats


def to(place: str, status: int = 302, every: int = 1):
    """Redirect each of the last 40 pages to be requested, or each n-th, to one place."""

    def answer(number: int) -> Answer | None:
        is_meant = number < 40 and number % every == 0
        return redirect(place, status) if is_meant else None

    return answer


HEALTHY = {
    "a login": to("/login?next=/"),
    "a login of another name": to("/users/sign_in"),
    "an account": to("/my-account/"),
    "consent": to("/cookie-consent"),
    "an age check": to("/age-gate"),
    "the home page": to("/"),
    "a list that the crawl has asked for": to("/list"),
    "moved for good": to("/new.html", 301),
    "moved for good, by 308": to("/new.html", 308),
    "discontinued products": to("/gone.html"),
    "discontinued products between others": to("/new.html", every=2),
    "pages that are not found": to("/errors/404"),
    "pages that are not found, in words": to("/not_found.html"),
    "another host": to("http://127.0.0.9:9/status.html"),
    "another place": lambda number: redirect(f"/de/{number}") if number < 40 else None,
    "nowhere": lambda number: Answer(b"", 302) if number < 40 else None,
    "no URL": to("http://[/"),
}


@ensureDeferred
@pytest.mark.parametrize("case", HEALTHY)
async def test_a_site_that_is_well_is_not_paused_for_its_redirects(webs, case):
    web = site(webs, 60, delay=0.02)
    web.pages["/"] = html("/list", *(f"/page/{n}" for n in range(60)))
    for path in ("/list", "/gone.html", "/new.html", "/login?next=/", "/users/sign_in"):
        web.pages[path] = html(title=path)
    web.pages |= {path: html(title=path) for path in ("/my-account/", "/cookie-consent")}
    web.pages |= {path: html(title=path) for path in ("/errors/404", "/not_found.html")}
    web.pages["/age-gate"] = html(title="18?")
    for number in range(60):
        answer = HEALTHY[case](number)
        if answer is not None:
            web.pages[f"/page/{number}"] = answer
    result = await once_each(web, {"ROBOTSTXT_OBEY": False, "RETRY_ENABLED": False})
    assert "mandelbot/pause/refused" not in result.stats
    assert "mandelbot/pause/maintenance" not in result.stats


@ensureDeferred
async def test_one_part_that_redirects_to_a_page_of_its_own_is_left_alone(webs):
    """Such as links to a partner: of one place, and not that of the pages before."""
    web = site(webs, 20, delay=0.02)
    web.pages["/"] = html(*(f"/page/{n}" for n in range(20)), *(f"/go/{n}" for n in range(30)))
    web.pages |= {f"/go/{n}": redirect("/partner.html") for n in range(30)}
    web.pages["/partner.html"] = html(title="our partner")
    result = await once_each(web)
    assert "mandelbot/pause/refused" not in result.stats


@ensureDeferred
async def test_a_mistaken_notice_costs_some_seconds(webs):
    """Where all else is well: the probe shows it, and the notice is not fetched again."""
    web = site(webs, 80, delay=0.02)
    for number in range(30, 60):
        web.pages[f"/page/{number}"] = redirect("/retired.html")
    web.pages["/retired.html"] = html(title="no longer sold")
    result = await once_each(web)
    assert len(pages(result, web)) == 1 + 50 + 1
    assert result.stats["mandelbot/pause/count"] <= 3
    assert result.stats["mandelbot/pause/seconds"] <= 4


@ensureDeferred
async def test_in_a_job_on_redis_too(webs, redis_server):
    """Which drops a new request for a page that it has seen."""
    web = site(webs, 60, delay=0.05)
    web.refuse = Maintained(web, 30, 3)
    result = await once_each(web, {"MANDELBOT_JOB": redis_server.url})
    assert len(pages(result, web) - {NOTICE}) == 61


class DiesAtNotice(Noting):
    """Dies when the notice is read: two pages were redirected, too few for evidence."""

    def parse(self, response):
        if response.url.endswith(NOTICE):
            Job.of(self.crawler).saves.now()
            dies(self)
        yield from super().parse(response)


@ensureDeferred
async def test_a_kill_before_the_notice_is_known_loses_no_page(webs, tmp_path):
    """What was redirected stays in the job until it is decided what it was."""
    web = site(webs, 60, delay=0.05)
    web.refuse = Maintained(web, 30, 3)
    settings = {"MANDELBOT_STORE": "memory", "CONCURRENT_REQUESTS": 2}
    first = await run(DiesAtNotice, tmp_path / "job", [web.url + "/"], **settings)
    assert len(pages(first, web) - {NOTICE}) == 61, "it went on"
    then = set(first.crawler.spider.called_then)
    assert len(then) < 40
    second = await run_after(tmp_path / "job", Noting, [web.url + "/"], **settings)
    called = then | set(second.crawler.spider.called)
    assert len(called - {web.url + NOTICE}) == 61
    third = await run(Noting, tmp_path / "died", **settings)
    assert third.crawler.spider.called == [], "nothing is left of what was held"


class LeavesRedis(LinksSpider):
    """When the notice is read, copies what Redis has, as a kill would leave it."""

    async def parse(self, response):
        for one in super().parse(response):
            yield one
        if response.url.endswith(NOTICE):
            worker = JobWorker.of(self.crawler)
            worker.saves.now()
            for _ in range(1_000):  # until all is said
                await asyncio.sleep(0.01 if worker.job.uncommitted else 0)
            with Redis.from_url(self.settings["MANDELBOT_JOB"]) as redis:
                for key in redis.keys(worker.server.key + "*"):
                    redis.copy(key, key.replace(b"{killed}", b"{after}"))
                redis.zadd("mandelbot:{after}:workers", {worker.job.worker: 1})


@ensureDeferred
async def test_a_kill_loses_none_on_redis_either(webs, redis_server):
    web = site(webs, 33, delay=0.05)
    web.refuse = Maintained(web, 30, 3)
    settings = {"MANDELBOT_JOB": redis_server.url, "CONCURRENT_REQUESTS": 2}
    names = [{"MANDELBOT_JOB_OPTIONS": {"name": name}} for name in ("killed", "after")]
    first = await once_each(web, settings | names[0], LeavesRedis)
    assert len(pages(first, web) - {NOTICE}) < 34, "too few to be decided"
    web.refuse = lambda _: None
    second = await once_each(web, settings | names[1])
    assert len(pages(first, web) | pages(second, web)) == 35


@ensureDeferred
@pytest.mark.parametrize("on_redis", [False, True])
async def test_redirects_that_are_never_decided_leave_nothing_in_the_job(
    webs, tmp_path, redis_server, on_redis
):
    web = site(webs, 20)
    for number in range(3):
        web.pages[f"/page/{number}"] = redirect("/gone.html")
    web.pages["/gone.html"] = html(title="gone")
    job = {"MANDELBOT_JOB": redis_server.url} if on_redis else {"JOBDIR": str(tmp_path / "job")}
    first = await once_each(web, job)
    assert first.stats["finish_reason"] == "finished"
    assert len(pages(first, web)) == 1 + 17 + 1
    second = await once_each(web, job)
    assert second.urls() == [web.url + "/"]
