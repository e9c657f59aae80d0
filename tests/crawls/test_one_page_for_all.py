"""Maintenance that neither a status nor a redirect shows: one page, 200, in place of each.

The same is what healthy sites send for many URLs: the shell of an app, a soft 404, a login.
"""

from __future__ import annotations

import gzip
from itertools import count
from math import inf

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from dying import Noting, dies, run, run_after
from scrapy.http import HtmlResponse
from webs import Answer, html, site

from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.testing import TIME

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
NOTICE = html(title="We will be back soon")
PAGES = {f"/page/{number}" for number in range(100)}


@pytest.fixture
def web(webs):
    return site(webs, 100, delay=0.05)


class Taking(LinksSpider):
    """Notes what it takes for a page: its title."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.titles: dict[str, list[str]] = {}

    def parse(self, response):
        is_html = isinstance(response, HtmlResponse)
        title = response.css("title::text").get("") if is_html else ""
        self.titles.setdefault(response.url, []).append(title)
        yield from super().parse(response) if is_html else ()


class Maintained:
    """From the n-th request on for some seconds, sends one page for all."""

    def __init__(self, web, after=50, seconds=11.0, answer=NOTICE, *, is_meant=lambda _: True):
        self.web, self.after, self.seconds, self.answer = web, after, seconds, answer
        self.ends_at = None
        self.is_meant = is_meant

    def __call__(self, path: str) -> Answer | None:
        if path == "/robots.txt":
            return None
        if self.ends_at is None and len(self.web.hits) > self.after:
            self.ends_at = TIME.elapsed() + self.seconds
        is_on = self.ends_at is not None and TIME.elapsed() < self.ends_at
        return self.answer if is_on and self.is_meant(path) else None


async def taken(web, settings=None, spider=Taking, **arguments):
    settings = IN_MEMORY | (settings or {})
    return await crawl(spider, settings, start_urls=[web.url + "/"], **arguments)


def own(result, web) -> set[str]:
    """Return the paths whose own pages reached the spider, in the end."""
    titles = result.spider.titles.items()
    return {path for url, those in titles if (path := url.removeprefix(web.url)) == those[-1]}


def notices(result, title="We will be back soon") -> int:
    return sum(those.count(title) for those in result.spider.titles.values())


def zipped() -> Answer:
    return Answer(
        gzip.compress(NOTICE.body, mtime=0),
        headers={"Content-Encoding": "gzip", "Content-Type": "text/html"},
    )


def one_after_the_other():
    """Of servers that begin maintenance one after the other, two are late."""
    numbers = count()
    return lambda _: next(numbers) not in {1, 3}


def for_answers(most: int):
    """Let it be over after so many answers."""
    numbers = count()
    return lambda _: next(numbers) < most


MAINTAINED = {
    "11 s": {},
    "a minute": {"seconds": 60},
    "200 s, with a health check": {"seconds": 200},
    "a tenth of a second": {"seconds": 0.1},
    "over before the check": {"is_meant": for_answers(6)},
    "gzip": {"answer": zipped()},
    "an empty page": {"answer": Answer(b"", headers={"Content-Type": "text/html"})},
    "JSON": {"answer": Answer(b'{"error": "busy"}', headers={"Content-Type": "application/json"})},
    "servers one after the other": {"is_meant": one_after_the_other()},
    "after 35 pages": {"after": 35},
}


@ensureDeferred
@pytest.mark.parametrize("case", MAINTAINED)
async def test_every_page_comes_after_a_maintenance(web, case):
    """The four that got the notice, too, before that was known for one."""
    web.refuse = Maintained(web, **MAINTAINED[case])
    result = await taken(web)
    assert own(result, web) == PAGES
    assert sum(len(those) - 1 for those in result.spider.titles.values()) <= 4
    assert result.stats["mandelbot/pause/maintenance"] == 1
    assert result.stats.get("mandelbot/pause/count", 0) <= 1


@ensureDeferred
@pytest.mark.parametrize(
    "settings", [{"DOWNLOAD_DELAY": 0.05}, {"CONCURRENT_REQUESTS": 1}, {"JOBDIR": "job"}]
)
async def test_with_other_settings_too(web, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    web.refuse = Maintained(web)
    result = await taken(web, settings)
    assert own(result, web) == PAGES
    assert notices(result) <= 4
    (line,) = result.logged(f"{web.url} sends one page for every URL")
    assert "maintenance" in line
    (paused,) = result.signals("site_paused")
    assert "the page that it sends for every URL" in paused["reason"]


@ensureDeferred
async def test_a_second_maintenance_is_noticed(webs):
    web = site(webs, 200, delay=0.05)
    first, second = Maintained(web, 50), Maintained(web, 160)
    web.refuse = lambda path: first(path) or second(path)
    result = await taken(web)
    assert len(own(result, web)) == 200
    assert result.stats["mandelbot/pause/maintenance"] == 2


@ensureDeferred
async def test_a_limit_that_answers_with_a_page_loses_none(web):
    """Above so many requests a second: the check may be below it, and get its own page."""
    times: list[float] = []

    def refuse(path: str) -> Answer | None:
        now = TIME.elapsed()
        times[:] = [one for one in times if one > now - 1]
        if path != "/robots.txt" and len(web.hits) > 40 and len(times) >= 30:
            return NOTICE
        times.append(now)
        return None

    web.refuse = refuse
    result = await taken(web)
    assert own(result, web) == PAGES


@ensureDeferred
async def test_a_login_that_has_ended_for_good_hands_its_pages_on(web):
    """After the tries of a pause, as pages: stock Scrapy does so at once. None is lost."""
    web.refuse = Maintained(web, 50, inf)
    result = await taken(web)
    assert len(result.spider.titles) == 101
    assert len(own(result, web)) + notices(result) >= 100
    assert result.stats["finish_reason"] == "finished"
    assert result.stats["mandelbot/pause/count"] == 1
    assert result.stats["mandelbot/pause/unproved_notices"] == 1
    (line,) = result.logged(f"{web.url} sends one page for different URLs")
    assert "MANDELBOT_REFUSAL" in line


@ensureDeferred
async def test_where_no_page_can_be_requested_again_the_log_says_so(web):
    """As another download handler fetches them."""

    class ByBrowser(Taking):
        def parse(self, response):
            for one in super().parse(response):
                yield one.replace(meta={"playwright": True}) if hasattr(one, "meta") else one

    web.refuse = Maintained(web)
    result = await taken(web, spider=ByBrowser)
    assert len(result.spider.titles) == 101
    assert "mandelbot/pause/count" not in result.stats
    assert result.stats["mandelbot/pause/unproved_notices"] == 1


@ensureDeferred
async def test_nothing_pauses_where_no_status_does(web):
    web.refuse = Maintained(web)
    result = await taken(web, {"MANDELBOT_PAUSE_HTTP_CODES": []})
    assert "mandelbot/pause/refused" not in result.stats
    assert "mandelbot/pause/asked_again" not in result.stats


@ensureDeferred
async def test_what_the_http_cache_holds_of_a_maintenance_is_not_used(web, tmp_path):
    """It stores those alone that the spider got."""
    web.refuse = Maintained(web)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    result = await taken(web, cache)
    assert own(result, web) == PAGES
    again = await taken(web, cache)
    assert notices(again) == notices(result) <= 4


@ensureDeferred
async def test_in_a_job_on_redis_too(web, redis_server):
    web.refuse = Maintained(web)
    result = await taken(web, {"MANDELBOT_JOB": redis_server.url})
    assert own(result, web) == PAGES


class DiesAtNotice(Noting):
    """Dies when it has taken three notices for pages, too few for evidence."""

    seen = 0

    def parse(self, response):
        self.seen += b"be back" in response.body
        if self.seen == 3:
            Job.of(self.crawler).saves.now()
            dies(self)
        yield from super().parse(response)


@ensureDeferred
async def test_a_kill_before_the_notice_is_known_loses_no_page(web, tmp_path):
    """What came after the first notice stays in the job until it is decided what it was."""
    web.refuse = Maintained(web)
    settings = {"MANDELBOT_STORE": "memory", "CONCURRENT_REQUESTS": 2}
    await run(DiesAtNotice, tmp_path / "job", [web.url + "/"], **settings)
    web.refuse = lambda _: None
    web.hits.clear()
    second = await run_after(tmp_path / "job", Noting, [web.url + "/"], **settings)
    then = {hit.path for hit in web.hits} - {"/robots.txt"}
    assert len(second.crawler.spider.called) == len(then)
    assert 50 <= len(then) <= 51
    third = await run(Noting, tmp_path / "died", **settings)
    assert third.crawler.spider.called == [], "nothing is left of what was held"


def of_last(answer, most: int = 40, other=None):
    """Let the last pages to be requested get one answer."""

    def change(web) -> None:
        for number in range(most):
            web.pages[f"/page/{number}"] = other if other and number % 2 else answer

    return change


def of_all(answer):
    """Let all pages have one answer, but the home page."""
    return of_last(answer, 100)


class Deployed:
    """The shell of an app, which is the same for all URLs, and another one some pages later."""

    def __init__(self, every: int) -> None:
        self.every, self.numbers = every, count()

    def __call__(self, path: str) -> Answer | None:
        if path in {"/", "/robots.txt"}:
            return None
        return html(title=f"build {next(self.numbers) // self.every}")


def deployed(every: int):
    def change(web) -> None:
        web.refuse = Deployed(every)

    return change


def volatile_home(web) -> None:
    """Home pages differ each time, and half of the site is gone."""
    of_last(html(title="gone"))(web)
    numbers = count()
    links = [f"/page/{number}" for number in range(100)]
    web.pages["/"] = lambda _: html(*links, title=f"{next(numbers)} visitors")


def in_a_part(web) -> None:
    """Pages of one place are a login, those between are not."""
    login = html(title="log in")
    web.pages |= {f"/member/{number}": login for number in range(40)}
    members = [f"/member/{number}" for number in range(40)]
    web.pages["/"] = html(*members, *(f"/page/{number}" for number in range(60)))


def two_kinds(web) -> None:
    """Two bodies for many URLs, one after the other."""
    of_last(html(title="sold out"), 50)(web)
    of_last(html(title="nothing found"), 25)(web)


def six_kinds(web) -> None:
    for number in range(6):
        of_last(html(title=f"empty list {number}"), 60 - 10 * number)(web)


def trap(web) -> None:
    """Each page links to one below it, and all of them have the same body."""
    depths = ["/a/" + "b/" * depth for depth in range(40)]
    web.pages["/"] = html("/a/", *(f"/page/{number}" for number in range(100)))
    web.pages |= {path: html("b/") for path in depths}
    web.pages["/a/" + "b/" * 40] = html(title="the end")


def one_document(web) -> None:
    """Session numbers in its URLs."""
    web.pages["/"] = html(
        *(f"/page/{number}" for number in range(40, 100)),
        *(f"/page/1?sid={number}" for number in range(40)),
    )
    web.pages |= {f"/page/1?sid={number}": web.pages["/page/1"] for number in range(40)}


def data_by_a_header(web) -> None:
    """URLs of an app: its shell, but data for requests with a header that its scripts send."""
    shell = html(title="app")

    def page(number: int):
        data = html(title=f"data {number}")
        return lambda request: data if request.getHeader("x-requested-with") else shell

    web.pages |= {f"/page/{number}": page(number) for number in range(100)}


class OfTheApp(Taking):
    """Requests data of the first half, and then shells."""

    def parse(self, response):
        for one in super().parse(response):
            if getattr(one, "url", "").endswith(tuple("56789")):
                one.headers["X-Requested-With"], one.priority = "XMLHttpRequest", 1
            yield one


HEALTHY = {
    "the shell of an app": of_all(html(title="app")),
    "the shell of an app that is deployed": deployed(50),
    "a shell that is built each minute": deployed(6),
    "soft 404s": of_last(html(title="not found")),
    "soft 404s and pages in turn": of_last(html(title="not found"), 60, html(title="other")),
    "sold out, and nothing found": two_kinds,
    "six kinds of empty lists": six_kinds,
    "empty lists": of_last(html(title="no results")),
    "a login for a part": in_a_part,
    "a login for all": of_all(html(title="log in")),
    "consent for all": of_all(html(title="we value your privacy")),
    "a parked domain": of_all(html(title="this domain is for sale")),
    "a choice of countries": of_all(html(title="choose your country")),
    "a trap": trap,
    "sessions in URLs": one_document,
    "a home page that differs each time": volatile_home,
    "empty pages": of_last(Answer(b"", headers={"Content-Type": "text/html"})),
    "a placeholder for images": of_last(Answer(b"GIF89a", headers={"Content-Type": "image/gif"})),
    "all pages differ": lambda _: None,
    "all pages are one": of_all(html("/page/1")),
}


@ensureDeferred
@pytest.mark.parametrize("case", HEALTHY)
async def test_a_site_that_is_well_is_not_paused_for_pages_that_are_alike(web, case):
    """Each page comes once; one page is requested again for each body, three times at most."""
    HEALTHY[case](web)
    await is_left_alone(web)


@ensureDeferred
@pytest.mark.parametrize(
    "settings", [{"DOWNLOAD_DELAY": 0.05}, {"CONCURRENT_REQUESTS": 1}, {"JOBDIR": "job"}]
)
@pytest.mark.parametrize("case", ["soft 404s", "sold out, and nothing found"])
async def test_nor_with_other_settings(web, case, settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HEALTHY[case](web)
    await is_left_alone(web, settings)


@ensureDeferred
async def test_a_page_is_requested_again_with_its_own_headers(web):
    """By those of others it may have another body."""
    data_by_a_header(web)
    await is_left_alone(web, spider=OfTheApp)


async def is_left_alone(web, settings=None, spider=Taking) -> None:
    result = await taken(web, settings, spider)
    paths = {hit.path for hit in web.hits} - {"/robots.txt"}
    assert {url.removeprefix(web.url) for url in result.spider.titles} == paths
    assert len(paths) >= 100
    assert all(len(those) == 1 for those in result.spider.titles.values())
    assert not [key for key in result.stats if key.startswith("mandelbot/pause/count")]
    assert "mandelbot/pause/maintenance" not in result.stats
    assert "mandelbot/pause/unproved_notices" not in result.stats
    assert result.stats.get("mandelbot/pause/asked_again", 0) <= 3
    assert len(web.hits) <= 1 + len(paths) + 3 * 17
