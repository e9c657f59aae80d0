"""Sites that say no in other ways than by a plain 503; a free site is crawled beside
each.
"""

from __future__ import annotations

import gzip
import logging
import math
import random
import re
from datetime import datetime, timezone
from email.utils import formatdate
from math import inf

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from mandelbot.answers import retry_after
from webs import Answer, html, site

from scrapy_mandelbot.report.account import account_of

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
BESIDE = 5  # pages of the site that lets everybody in


def beside(webs):
    """Serve a site that lets everybody in."""
    return site(webs, BESIDE, "127.0.0.9")


def got(result, web) -> set[str]:
    return {
        url.removeprefix(web.url) for url in result.urls() if url.startswith(web.url)
    }


# Cookies.

COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
"""Its path, not itself: with both, Scrapy 2.14 has two of them."""


def waiting_room(webs, pages: int, *, opens_after: int = 0):
    """Serve pages to who brings the cookie that a refusal sets."""
    web = site(webs, pages)
    served = []

    def guarded(good):
        def answer(request):
            if request.getCookie(b"pass") == b"yes":
                return good
            served.append(1)
            if len(served) <= opens_after:
                return good
            return Answer(b"wait", 503, {"Set-Cookie": "pass=yes; Path=/"})

        return answer

    for path, answer in list(web.pages.items()):
        if path != "/robots.txt":
            web.pages[path] = guarded(answer)
    return web


@ensureDeferred
@pytest.mark.parametrize("opens_after", [0, 20])
@pytest.mark.parametrize("order", [700, 960])
async def test_the_cookie_of_a_waiting_room_lets_the_crawl_in(webs, opens_after, order):
    """Wherever CookiesMiddleware stands; and from then on each request brings it."""
    web, free = waiting_room(webs, 60, opens_after=opens_after), beside(webs)
    settings = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {COOKIES: order}}
    result = await crawl(
        LinksSpider, settings, start_urls=[web.url + "/", free.url + "/"]
    )
    assert len(got(result, web)) == 61
    assert len(got(result, free)) == 1 + BESIDE
    refused = [hit.at for hit in web.hits if hit.status == 503]
    late = [
        hit for hit in web.hits if hit.at > refused[-1] and hit.path != "/robots.txt"
    ]
    assert all(hit.headers.get("cookie") == "pass=yes" for hit in late)
    assert result.seconds < 30


class JarsSpider(LinksSpider):
    """Asks with two jars, and once without."""

    async def start(self):
        for meta in ({"cookiejar": 1}, {"cookiejar": 2}, {"dont_merge_cookies": True}):
            yield scrapy.Request(
                self.start_urls[0], self.keep, meta=meta, dont_filter=True
            )

    def keep(self, response):
        yield {"url": response.url, "meta": response.meta}


@ensureDeferred
async def test_a_refusals_cookie_goes_into_the_jar_of_its_request(webs):
    """And into none where the request has asked for that."""
    web = site(webs, 0)
    web.pages["/"] = lambda request: (
        html()
        if len(web.hits) > 6 or request.getCookie(b"jar")
        else Answer(
            b"", 503, {"Set-Cookie": f"jar={len(web.hits)}", "Retry-After": "1"}
        )
    )
    await crawl(JarsSpider, IN_MEMORY, start_urls=[web.url + "/"])
    said = {hit.headers.get("cookie") for hit in web.hits if hit.status == 200}
    assert len(said - {None}) >= 1
    assert None in said


# Times.


def by_its_clock(ahead: float, form):
    """Return a refusal that ends 8 s later, by a clock that is ahead."""

    def refuse(until):
        now = TIME.now() + ahead
        return {
            "Retry-After": form(until + ahead),
            "Date": formatdate(now, usegmt=True),
        }

    return refuse


FORMS = {
    "epoch": by_its_clock(0, lambda at: str(int(at))),
    "ISO": by_its_clock(
        0, lambda at: datetime.fromtimestamp(at, timezone.utc).isoformat()
    ),
    "words": lambda _until: {"Retry-After": "8 seconds"},
    "duration": lambda _until: {"Retry-After": "PT8S"},
    "fast": by_its_clock(120, lambda at: formatdate(at, usegmt=True)),
    "slow": by_its_clock(-600, lambda at: formatdate(at, usegmt=True)),
    "RateLimit": lambda _until: {"Retry-After": "soon", "RateLimit": '"a";r=0;t=8'},
    "X-RateLimit": lambda until: {
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(until)),
        "Date": formatdate(TIME.now(), usegmt=True),
    },
}


@ensureDeferred
@pytest.mark.parametrize("form", FORMS)
async def test_a_time_is_kept_to_in_whatever_form(webs, form):
    """Nothing is asked before it, nor much later; what cannot be read is told once."""
    web, free = site(webs, 10), beside(webs)
    shut = []

    def refuse(path):
        if path != "/page/5" and not shut:
            return None
        if not shut:
            shut.append(TIME.now())
        until = shut[0] + 8
        return None if TIME.now() >= until else Answer(b"", 503, FORMS[form](until))

    web.refuse = refuse
    result = await crawl(
        LinksSpider, IN_MEMORY, start_urls=[web.url + "/", free.url + "/"]
    )
    assert len(got(result, web)) == 11
    since = shut[0] - TIME.now() + TIME.elapsed()
    after = [hit.at - since for hit in web.hits if hit.at > since + 0.5]
    assert 7.99 < min(after) <= 10
    told = result.logged(f"Ignored an invalid Retry-After of {web.url}: soon")
    assert len(told) == (form == "RateLimit")


@ensureDeferred
@pytest.mark.parametrize("path", ["/page/5", "/robots.txt"])
async def test_a_time_that_cannot_be_read_is_parsed_once(webs, monkeypatch, path):
    """The warning of a page and of a robots.txt has what was read for the pause."""
    web, parsed, refused = site(webs, 10), [], []
    parse = retry_after.wait_asked_for
    monkeypatch.setattr(
        retry_after, "wait_asked_for", lambda *given: parsed.append(1) or parse(*given)
    )

    def refuse(asked):
        if asked != path or refused:
            return None
        refused.append(asked)
        return Answer(b"", 503, {"Retry-After": "soon"})

    web.refuse = refuse
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert len(got(result, web)) == 11
    assert len(result.logged(f"Ignored an invalid Retry-After of {web.url}: soon")) == 1
    assert len(parsed) == 1


# Methods.


class MethodsSpider(LinksSpider):
    """Asks for each page by three methods."""

    async def start(self):
        for free in self.start_urls[1:]:
            yield scrapy.Request(free)
        for method in ("GET", "HEAD", "POST"):
            for number in range(60):
                url = f"{self.start_urls[0]}page/{number}"
                yield scrapy.Request(url, self.keep, method=method, errback=self.gone)

    def keep(self, response):
        yield {
            "url": response.url,
            "method": response.request.method,
            "at": TIME.elapsed(),
        }

    def gone(self, failure):
        yield {"url": failure.request.url, "method": failure.request.method, "at": inf}


@ensureDeferred
async def test_what_is_refused_by_method_shuts_no_page_out_that_is_asked_for_by_get(
    webs,
):
    """All pages arrive in ten seconds; and no POST is sent oftener than by Scrapy."""
    web, free = site(webs, 60), beside(webs)
    posts = []

    def by_method(path):
        def answer(request):
            posts.extend([path] * (request.method == b"POST"))
            answer = html()
            if request.method != b"GET":
                answer = Answer(b"", 503)
            answer.delay = 0.05  # without it, chance says which page is refused first
            return answer

        return answer

    web.pages.update(
        {path: by_method(path) for path in web.pages if path != "/robots.txt"}
    )
    urls = [web.url + "/", free.url + "/"]
    result = await crawl(
        MethodsSpider, {**IN_MEMORY, "RETRY_TIMES": 2}, start_urls=urls
    )
    pages = [
        item
        for item in result.items
        if item.get("method") == "GET" and item["at"] < inf
    ]
    began = web.hits[0].at
    assert len(pages) == 60
    assert max(item["at"] for item in pages) < began + 10
    assert len(got(result, free)) == 1 + BESIDE
    assert max(map(posts.count, posts)) <= 3
    assert {line.split(" of ")[0] for line in result.logged("Set aside")} <= {
        f"Set aside {path}"
        for path in ("HEAD /", "POST /", "HEAD /page/", "POST /page/")
    }


@ensureDeferred
@pytest.mark.parametrize("meta", [{"dont_retry": True}, {"max_retry_times": 0}])
async def test_what_changes_things_is_not_sent_again_where_scrapy_would_not(webs, meta):
    """A POST comes to its errback with the first refusal, and a GET waits as always."""
    web = site(webs, 0)
    web.pages["/form"] = lambda _request: Answer(b"", 503)

    class PostSpider(MethodsSpider):
        async def start(self):
            yield scrapy.Request(
                self.start_urls[0] + "form", method="POST", errback=self.gone, meta=meta
            )
            yield scrapy.Request(self.start_urls[0])

    result = await crawl(PostSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert web.asked("/form") == 1
    assert len(result.items) == 2


# No answer.


@ensureDeferred
async def test_a_site_that_has_answered_robots_txt_has_answered(webs):
    """Then its connections are reset for 8 s: all pages arrive."""
    web, free = site(webs, 0), beside(webs)
    web.pages.update({f"/page/{number}": html() for number in range(30)})
    asked = []

    def refuse(path):
        from twisted.internet import reactor

        if path == "/robots.txt" and not asked:
            asked.append(path)
            reactor.callLater(0, web.drop)
            reactor.callLater(8, web.listen_again)

    web.refuse = refuse
    urls = [f"{web.url}/page/{number}" for number in range(30)]
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[*urls, free.url + "/"])
    assert len(got(result, web)) == 30
    assert len(got(result, free)) == 1 + BESIDE
    assert result.seconds < 60


@ensureDeferred
async def test_of_a_host_that_never_answered_one_line_tells(webs, caplog):
    """And it says what is so: nothing of a time hours away."""
    web = site(webs, 0)
    url = web.url
    web.close()
    await crawl(LinksSpider, IN_MEMORY, start_urls=[url + "/"])
    told = [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.INFO
    ]
    (line,) = [line for line in told if url in line and "robots.txt: " in line]
    assert line.startswith(f"{url} has never answered in this run")


# Challenges, prices, bare refusals.

CHALLENGE = Answer(b"prove it", 403, {"cf-mitigated": "challenge"})
PRICE = Answer(b"pay", 402, {"crawler-price": "USD 0.01"})


def closed_shop(webs, answer, *, pages=100, well=()):
    """Serve a site whose pages are all answered so, but for some."""
    web = site(webs, pages)
    web.pages.update(
        {path: answer for path in web.pages if path not in {"/robots.txt", "/"}}
    )
    web.pages.update({path: html() for path in well})
    return web


class AskedSpider(LinksSpider):
    """Hears of sites that refuse robots."""

    def site_refuses_robots(self, site, reason, until):
        yield {"url": "", "refuses": (site, reason)}


CHALLENGES = [
    CHALLENGE,
    Answer(b"prove it", 503, {"cf-mitigated": "challenge"}),
    Answer(b"prove it", 429, {"cf-mitigated": "challenge", "Retry-After": "5"}),
    Answer(b"prove it", 403, {"cf-mitigated": "challenge", "Retry-After": "5"}),
    Answer(b"", 202, {"x-amzn-waf-action": "challenge"}),
    Answer(b"", 405, {"x-amzn-waf-action": "captcha"}),
    Answer(b"pay", 401, {"WWW-Authenticate": "License"}),
]


@ensureDeferred
@pytest.mark.parametrize(
    "answer",
    CHALLENGES,
    ids=["403", "503", "429", "403-with-a-time", "202", "405", "401"],
)
async def test_the_mark_of_a_challenge_decides_not_its_status(webs, answer):
    """Waiting does not clear it: no pause, no growing probes, and no page is tried
    again.
    """
    web = closed_shop(webs, answer, pages=60)
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    refused = [hit for hit in web.hits if hit.status == answer.status]
    before = [hit.path for hit in refused if hit.at < refused[0].at + 3_000]
    assert len(before) <= 5 + 7  # at the fifth, others are in flight
    assert result.stats["mandelbot/pause/refuses_robots"] == 1
    assert not result.logged("Paused ")
    assert len(before) == len(set(before))


@ensureDeferred
async def test_what_waits_in_a_download_slot_is_not_sent_to_who_refuses_robots(webs):
    """As long as requests wait there for the delay, they are taken back."""
    web = closed_shop(webs, CHALLENGE, pages=60)
    settings = {**IN_MEMORY, "DOWNLOAD_DELAY": 1, "RANDOMIZE_DOWNLOAD_DELAY": False}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    refused = [hit.at for hit in web.hits if hit.status == CHALLENGE.status]
    assert len([at for at in refused if at < refused[0] + 3_000]) == 5
    assert result.stats["mandelbot/pause/evicted"] >= 1


@ensureDeferred
@pytest.mark.parametrize("listed", ["", "fetch"])
async def test_a_503_with_another_mark_is_a_pause(webs, listed):
    """Only the word that Cloudflare documents says "challenge"."""
    web = site(webs, 5)
    refusals = [Answer(b"", 503, {"cf-mitigated": listed})]
    web.refuse = lambda path: refusals.pop() if path == "/page/1" and refusals else None
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(5)
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
@pytest.mark.parametrize(
    "answer",
    [CHALLENGE, CHALLENGES[1], PRICE],
    ids=["challenge", "challenge-503", "price"],
)
async def test_a_site_that_refuses_robots_is_asked_twenty_pages_at_most(
    webs, answer, caplog
):
    """One WARNING says what it is and what can be done, a hook hears; a probe goes each
    hour.
    """
    web, free = closed_shop(webs, answer), beside(webs)
    result = await crawl(
        AskedSpider, IN_MEMORY, start_urls=[web.url + "/", free.url + "/"]
    )
    refused = [hit.at for hit in web.hits if hit.status == answer.status]
    assert len([at for at in refused if at < refused[0] + 3_000]) <= 20
    assert len([at for at in refused if at > refused[0] + 3_000]) == 2
    assert len(got(result, free)) == 1 + BESIDE
    warnings = [
        one.getMessage() for one in caplog.records if one.levelno == logging.WARNING
    ]
    about = [line for line in warnings if "refuses robots" in line]
    told, gone = (line for line in about if not line.startswith("Lost "))
    assert told.startswith(f"{web.url}/page/ refuses robots: {answer.status} for ")
    assert "Identify your robot, contact the owner, or pay" in told
    assert gone.startswith(f"Gave up {web.url}/page/, which refuses robots: ")
    (heard,) = (item["refuses"] for item in result.items if "refuses" in item)
    assert heard[0] == web.url
    assert result.stats["mandelbot/pause/refuses_robots"] == 1
    assert result.stats["mandelbot/usage/terms_stated"] >= 5, "as before"
    assert 7_000 < result.seconds < 7_400


@ensureDeferred
async def test_with_jobdir_the_rest_is_not_lost(webs, tmp_path):
    """The run ends as nothing else is left; the next one begins with a probe, after its
    time.
    """
    web, free = closed_shop(webs, CHALLENGE, pages=100), beside(webs)
    settings = {"JOBDIR": str(tmp_path / "job")}
    first = await crawl(
        AskedSpider, settings, start_urls=[web.url + "/", free.url + "/"]
    )
    assert first.stats["finish_reason"] == "sites_paused"
    assert first.seconds < 60
    asked = len(web.hits)
    assert asked <= 22
    soon = await crawl(AskedSpider, settings, start_urls=[])
    assert len(web.hits) == asked, "its time has not come"
    TIME.skip(3_700)
    web.pages.update({path: html() for path in web.pages if path.startswith("/page/")})
    late = await crawl(AskedSpider, settings, start_urls=[])
    pages = {hit.path for hit in web.hits if hit.path.startswith("/page/")}
    assert len(pages) == 100
    assert soon.stats["finish_reason"] == "sites_paused"
    assert late.stats["finish_reason"] == "finished"
    assert len(late.logged("Resumed /page/ of ")) == 1


@ensureDeferred
@pytest.mark.parametrize(
    "settings",
    [
        {"HTTPERROR_ALLOWED_CODES": [403]},
        {"HTTPERROR_ALLOW_ALL": True},
        {"MANDELBOT_ENABLED": False},
    ],
)
async def test_who_handles_such_answers_gets_them(webs, settings):
    """All of them, and nothing is set aside."""
    web = closed_shop(webs, CHALLENGE, pages=40)
    result = await crawl(
        LinksSpider, {**IN_MEMORY, **settings}, start_urls=[web.url + "/"]
    )
    assert web.statuses().count(403) == 40
    assert "mandelbot/pause/refuses_robots" not in result.stats


@ensureDeferred
async def test_many_forbidden_pages_pause_nothing_and_one_warning_says_it(webs):
    """They may be private: a guess may be logged, but may not act."""
    web = site(webs, 0)
    good = [f"/page/{number}" for number in range(40)]
    private = [f"/shelf{number % 5}/{number}" for number in range(30)]
    web.pages.update({path: html() for path in good})
    web.pages.update({path: Answer(b"", 403) for path in private})
    web.pages["/"] = html(*good[:20], *private, *good[20:])
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert got(result, web) >= {*good}
    assert web.statuses().count(403) == 30
    (line,) = result.logged(f"{web.url} may refuse this crawler")
    assert "Nothing is paused" in line
    assert "mandelbot/pause/refuses_robots" not in result.stats


@ensureDeferred
async def test_a_login_area_and_a_forbidden_page_are_none_of_it(webs):
    """All other pages arrive, and these are asked as always."""
    web = site(webs, 60)
    inside = [f"/members/{number}" for number in range(30)]
    paid = ["/page/7", "/page/9"]
    web.pages["/"] = html(
        *inside, *(f"/page/{number}" for number in range(60)), *inside
    )
    web.pages.update({path: Answer(b"", 403) for path in inside})
    web.pages.update(dict.fromkeys(paid, PRICE))
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert len(got(result, web)) == 59
    assert web.statuses().count(403) == 30
    assert "mandelbot/pause/refuses_robots" not in result.stats


# Problem details (RFC 9457).

PROBLEMS = {
    "quota": (
        (
            b'{"type": "https://iana.org/#quota-exceeded", "title": "Not\\nnow",'
            b' "policies": [1]}'
        ),
        ", https://iana.org/#quota-exceeded, Not now",
    ),
    "title": (
        b'{"title": "Temporarily reduced capacity"}',
        ", Temporarily reduced capacity",
    ),
    "long": (b'{"title": "' + b"x" * 5_000 + b'"}', ", " + "x" * 100),
    "longer than is read": (
        b'{"title": "x", "policies": "' + b"x" * 16_384 + b'"}',
        "",
    ),
    "numbers": (b'{"type": 5, "title": [1]}', ", 5, [1]"),
    "a list": (b"[1, 2]", ""),
    "cut": (b'{"type": "a', ""),
    "deep": (b"[" * 100_000, ""),
    "no text": (b"\xff\xfe\x00", ""),
    "empty": (b"", ""),
}


@ensureDeferred
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
async def test_the_problem_that_a_refusal_states_is_its_reason(webs, problem, zipped):
    body, said = PROBLEMS[problem]
    headers = {"Content-Type": "application/problem+json; charset=utf-8"}
    if zipped:
        body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}
    web = site(webs, 4)
    answers = [Answer(body, 429, headers)]
    web.refuse = lambda path: answers.pop() if answers and path == "/page/3" else None
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(4)
    (paused,) = result.signals("site_paused")
    assert paused["reason"] == f"429 for <GET {web.url}/page/3>{said}"


# A quota.


@ensureDeferred
async def test_what_good_answers_say_is_left_of_a_quota_is_kept_to(webs):
    """Twenty in four seconds, two hundred pages: after the first window none is
    refused.
    """
    web, free = site(webs, 0), beside(webs)
    window, used, refused = [0.0], [0], []

    def limited(_request):
        now = TIME.elapsed()
        if now >= window[0] + 4:
            window[0], used[0] = now, 0
        left = 20 - used[0]
        rest = math.ceil(window[0] + 4 - now)
        if left <= 0:
            refused.append(now)
            return Answer(b"", 429, {"RateLimit": f'"default";r=0;t={rest}'})
        used[0] += 1
        return Answer(b"", 200, {"RateLimit": f'"default";r={left - 1};t={rest}'})

    web.pages.update({f"/page/{number}": limited for number in range(200)})
    urls = [f"{web.url}/page/{number}" for number in range(200)]
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[*urls, free.url + "/"])
    assert len(got(result, web)) == 200
    assert len(got(result, free)) == 1 + BESIDE
    began = web.hits[0].at
    assert not [at for at in refused if at > began + 4]
    pages = [hit.at for hit in web.hits if hit.status == 200]
    assert max(pages) - began <= 36 * 1.05
    assert result.stats["mandelbot/pace/quota"] >= 9


SLOW = "The quota of "


def used_up(wait):
    """Answer every page well, and report that the quota is used up."""
    return lambda _request: Answer(b"", 200, {"RateLimit": f'"a";r=0;t={wait}'})


@ensureDeferred
@pytest.mark.parametrize(
    ("pages", "wait", "warning"),
    [
        (17, 200, None),
        (
            30,
            200,
            "1 page in 3 min 20 s (RateLimit header), N requests queued, at ",
        ),
        (1, 3_500, None),
        (
            1,
            86_400,
            " is used up: 1 page in 24 h (RateLimit header). The next request waits 24",
        ),
    ],
)
async def test_a_quota_that_holds_the_crawl_up_causes_a_warning(
    webs, pages, wait, warning
):
    """One for each site, if what waits needs more than an hour; each page arrives."""
    web = site(webs, 0)
    web.pages.update({f"/page/{number}": used_up(wait) for number in range(pages)})
    urls = [f"{web.url}/page/{number}" for number in range(pages)]
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=urls)
    assert len(got(result, web)) == pages
    told = result.logged(SLOW)
    assert len(told) == (warning is not None)
    if warning is not None:
        assert warning in re.sub(r"\d+ requests", "N requests", told[0])
        assert 'MANDELBOT_PACE_OPTIONS["quota"] limits each wait' in told[0]
    assert result.stats.get("mandelbot/pace/quota_slow", 0) == len(told)


@ensureDeferred
@pytest.mark.parametrize(("longest", "seconds"), [(10, 90), (0, 0)])
async def test_the_wait_for_a_quota_has_a_limit(webs, longest, seconds):
    """Ten pages, of which a day has one; zero ignores what good answers report."""
    web = site(webs, 0)
    web.pages.update({f"/page/{number}": used_up(86_400) for number in range(10)})
    urls = [f"{web.url}/page/{number}" for number in range(10)]
    options = {"MANDELBOT_PACE_OPTIONS": {"quota": longest}, "CONCURRENT_REQUESTS": 1}
    result = await crawl(LinksSpider, {**IN_MEMORY, **options}, start_urls=urls)
    assert len(got(result, web)) == 10
    assert seconds <= result.seconds < seconds + 5
    assert result.logged(SLOW) == []


# The end of a run.


@ensureDeferred
@pytest.mark.parametrize("idle", ["close", 30])
async def test_a_run_that_closes_waits_for_what_is_due_soon(webs, tmp_path, idle):
    """Fifty-seven pages, some of which are refused once: all in the first run."""
    web = site(webs, 57)
    chance = random.Random(7)
    web.refuse = lambda path: (
        Answer(b"", 503) if path != "/robots.txt" and chance.random() < 0.05 else None
    )
    settings = {"JOBDIR": str(tmp_path / "job"), "MANDELBOT_PAUSE_IDLE": idle}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(set(result.urls())) == 58
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
@pytest.mark.parametrize("idle", ["close", "fail"])
async def test_it_closes_where_nothing_is(webs, tmp_path, idle):
    """A pause of two minutes ends a run that waits for one."""
    web = site(webs, 10)
    web.pages["/page/3"] = lambda _request: Answer(b"", 503, {"Retry-After": "120"})
    settings = {"JOBDIR": str(tmp_path / "job"), "MANDELBOT_PAUSE_IDLE": idle}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "sites_paused"
    assert result.seconds < 10
    has_failed = result.crawler.spider is None  # Scrapy's commands exit with status 1
    assert has_failed == (idle == "fail")
    word = "FAILED" if has_failed else "INCOMPLETE"
    assert len(result.logged(f"{word}: ")) == 1


@ensureDeferred
@pytest.mark.parametrize(
    ("idle", "word"), [("close", "INCOMPLETE"), ("fail", "FAILED")]
)
async def test_the_word_of_a_run_that_leaves_paused_sites_is_known_before(
    webs, idle, word
):
    """Whichever hears first that the spider is closed."""
    web = site(webs, 2)
    words = []

    class Asking(LinksSpider):
        def parse(self, response):
            words.append(str(account_of(self.crawler).result("sites_paused")))
            yield from super().parse(response)

    settings = {**IN_MEMORY, "MANDELBOT_PAUSE_IDLE": idle}
    await crawl(Asking, settings, start_urls=[web.url + "/page/1"])
    assert words == [word]


@pytest.mark.parametrize(
    ("headers", "times"), [({}, 3), ({"cf-mitigated": "challenge"}, 1)]
)
@ensureDeferred
async def test_a_project_may_have_bare_403s_tried_again(webs, headers, times):
    """As without the package; what states a challenge gets the same each time."""
    web = site(webs, 1)
    web.pages["/page/0"] = Answer(b"no", 403, headers)
    settings = {**IN_MEMORY, "RETRY_HTTP_CODES": [403], "RETRY_TIMES": 2}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/page/0"])
    assert web.asked("/page/0") == times
