"""MANDELBOT_REFUSAL: a function of the project recognises refusals that look like
pages.
"""

from __future__ import annotations

import gzip
import importlib
import sys
from pathlib import Path

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from test_recipes import BLOCK
from webs import Answer, html, site

from scrapy_mandelbot.downloadermiddlewares.refusals import LONGEST_REFUSAL

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
CAPTCHA = b'<html><div class="g-recaptcha"></div></html>'


def is_captcha(response) -> bool:
    return b"g-recaptcha" in response.body


def captcha(**headers: str) -> Answer:
    return Answer(CAPTCHA, headers={"Content-Type": "text/html", **headers})


def zipped() -> Answer:
    answer = captcha(**{"Content-Encoding": "gzip"})
    answer.body = gzip.compress(answer.body)
    return answer


class Refusing:
    """From the n-th request on for some seconds, answers so instead of a page."""

    def __init__(self, web, after: int, seconds: float, answer: Answer) -> None:
        self.web, self.after, self.seconds, self.answer = web, after, seconds, answer
        self.began_at = None

    def __call__(self, path: str) -> Answer | None:
        if (
            self.began_at is None
            and len(self.web.hits) > self.after
            and path != "/robots.txt"
        ):
            self.began_at = TIME.elapsed()
        is_on = (
            self.began_at is not None and TIME.elapsed() < self.began_at + self.seconds
        )
        return self.answer if is_on and path != "/robots.txt" else None


async def crawled(web, function, settings=None):
    settings = {**IN_MEMORY, "MANDELBOT_REFUSAL": function, **(settings or {})}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ensureDeferred
@pytest.mark.parametrize("answer", [captcha(), zipped()], ids=["plain", "gzip"])
@pytest.mark.parametrize("seconds", [6, 200])
async def test_what_it_recognises_pauses_the_site(webs, answer, seconds):
    """Each page comes once, and none of the refusals; a health check is judged by it,
    too.
    """
    web = site(webs, 60, delay=0.05)
    web.refuse = Refusing(web, 20, seconds, answer)
    seen = []

    def looks_refused(response):
        seen.append((response.url, response.request.url, response.meta.get("depth")))
        return is_captcha(response)

    result = await crawled(web, looks_refused)
    assert result.urls() == web.urls(60)
    assert result.stats["mandelbot/pause/count"] == 1
    assert (
        "recognised by test_refusal_function."
        in result.signals("site_paused")[0]["reason"]
    )
    assert result.stats["mandelbot/pause/seconds"] > seconds - 1
    assert not [url for url, *_ in seen if url.endswith("/robots.txt")]
    # of robots.txt, if at all
    assert result.stats.get("httpcompression/response_count", 0) <= 1


@ensureDeferred
async def test_the_seconds_that_it_returns_are_waited(webs):
    web = site(webs, 30, delay=0.05)
    web.refuse = refusing = Refusing(web, 10, 25, captcha())
    result = await crawled(web, lambda response: 30 if is_captcha(response) else 0)
    assert result.urls() == web.urls(30)
    hits = [hit.at - refusing.began_at for hit in web.hits]
    assert not [at for at in hits if 1 < at < 30]


@ensureDeferred
async def test_the_http_cache_stores_no_refusal(webs, tmp_path):
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    web = site(webs, 30, delay=0.05)
    web.refuse = Refusing(web, 10, 5, captcha())
    first = await crawled(web, is_captcha, cache)
    hits = len(web.hits)
    second = await crawled(web, is_captcha, cache)
    assert first.urls() == second.urls() == web.urls(30)
    assert len([hit for hit in web.hits[hits:] if hit.path != "/robots.txt"]) == 0


@ensureDeferred
async def test_a_page_that_alone_has_the_mark_reaches_the_spider_in_the_end(webs):
    web = site(webs, 40, delay=0.05)
    web.pages["/page/7"] = captcha()
    result = await crawled(web, is_captcha)
    assert result.urls() == web.urls(40)
    assert web.asked("/page/7") <= 10


def raises(_response):
    raise KeyError("no such mark")


FAILING = {
    "an exception": (raises, "KeyError"),
    "a text": (lambda _: "yes", "could not convert"),
    "a list": (lambda _: [1], "float"),
    "below zero": (lambda _: -1, "returned -1"),
    "no number": (lambda _: float("nan"), "returned nan"),
    "for ever": (lambda _: float("inf"), "returned inf"),
    "the body as text": (lambda response: response.texts, "AttributeError"),
}


@ensureDeferred
@pytest.mark.parametrize("case", FAILING)
async def test_where_it_fails_the_answer_is_a_page_and_one_error_is_logged(webs, case):
    function, why = FAILING[case]
    web = site(webs, 10)
    result = await crawled(web, function)
    assert result.urls() == web.urls(10)
    (line,) = result.logged("MANDELBOT_REFUSAL: test_refusal_function.")
    assert why in line
    assert result.stats["log_count/ERROR"] == 1
    assert result.stats["mandelbot/pause/refusal_errors"] == 11
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_a_body_that_is_large_once_unpacked_is_a_page(webs):
    """No refusal is that long: it is unpacked no further, and not for nothing."""
    web = site(webs, 5)
    large = captcha(**{"Content-Encoding": "gzip"})
    large.body = gzip.compress(CAPTCHA + b" " * LONGEST_REFUSAL)
    web.pages["/page/3"] = large
    seen = []
    result = await crawled(web, lambda response: seen.append(response.url))
    assert result.urls() == web.urls(5)
    assert sorted(seen) == sorted({*web.urls(5)} - {web.url + "/page/3"})
    assert "mandelbot/pause/count" not in result.stats
    assert "mandelbot/pause/refusal_errors" not in result.stats
    # Scrapy announces that it ignores an answer that is too large; this one it does not
    assert not result.logged("Ignored response")


@ensureDeferred
async def test_a_coding_that_scrapy_cannot_decode_is_reported_once(webs):
    """As without the function, though the answer is decoded for it first."""
    web = site(webs, 2)
    web.pages["/page/1"] = captcha(**{"Content-Encoding": "unknown"})
    result = await crawled(web, lambda _: False)
    assert result.urls() == web.urls(2)
    assert len(result.logged("HttpCompressionMiddleware cannot decode")) == 1


@ensureDeferred
async def test_what_it_returns_is_judged_once(webs):
    """An object may raise when it is judged a second time."""

    class Once(float):
        judged = 0

        def __bool__(self):
            Once.judged += 1
            if Once.judged > 1:
                raise RuntimeError("judged twice")
            return False

    web = site(webs, 3)
    result = await crawled(
        web, lambda response: Once() if response.url.endswith("/2") else 0
    )
    assert result.urls() == web.urls(3)
    assert Once.judged == 1
    assert "mandelbot/pause/refusal_errors" not in result.stats


@ensureDeferred
async def test_a_damaged_body_is_shown_as_it_came(webs):
    web = site(webs, 5)
    web.pages["/page/3"] = Answer(
        b"\x1f\x8bno gzip", headers={"Content-Encoding": "gzip"}
    )
    result = await crawled(web, is_captcha)
    assert set(web.urls(5)) - set(result.urls()) <= {web.url + "/page/3"}
    assert "mandelbot/pause/refusal_errors" not in result.stats


@ensureDeferred
async def test_a_function_that_is_not_there_stops_the_crawl_with_one_line(webs):
    web = site(webs, 5)
    with pytest.raises(ValueError, match="it takes a function, or its import path"):
        await crawled(web, "nowhere.at_all")
    assert not web.hits


RECIPE = (Path(__file__).parents[2] / "docs" / "pauses.rst").read_text("utf-8")
ANSWERS = {
    "captcha": captcha(),
    "queue": Answer(
        b"You are in line", headers={"Content-Type": "text/html", "Refresh": "20"}
    ),
    "other host": Answer(
        b"", 302, {"Location": "http://127.0.0.1:1/room.queue-it.net/"}
    ),
    "maintenance by redirect": Answer(b"", 302, {"Location": "/maintenance"}),
    "maintenance by 200": html(title="Down for maintenance"),
}


@pytest.fixture
def recipe(tmp_path, monkeypatch) -> dict[str, object]:
    """The settings of the document, whose modules can be imported."""
    files = {name: code.replace("\n    ", "\n") for name, code in BLOCK.findall(RECIPE)}
    (tmp_path / "refusals.py").write_text(
        files["refusals"].lstrip().removeprefix("    ")
    )
    sys.modules.pop("refusals", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    settings: dict[str, object] = {}
    exec(files["settings"].lstrip(), settings)
    return settings


@ensureDeferred
@pytest.mark.parametrize("kind", ANSWERS)
async def test_the_recipe_does_what_it_says(webs, kind, recipe):
    """As it stands in the document; a site without such marks is unaffected."""
    web = site(webs, 30, delay=0.05)
    web.pages["/page/3"] = html(title="You are in line for a captcha")
    web.refuse = Refusing(web, 10, 50, ANSWERS[kind])
    result = await crawled(web, recipe["MANDELBOT_REFUSAL"])
    assert result.urls() == web.urls(30)
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_the_http_cache_stores_nothing_that_the_function_refuses(webs, tmp_path):
    """Not what is handed on after the last try either: the next run asks again."""
    web = site(webs, 12)
    web.pages["/page/3"] = captcha()
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    few = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "tries": 2}}
    await crawled(web, is_captcha, cache | few)
    asked = web.asked("/page/3")
    web.pages["/page/3"] = html()
    result = await crawled(web, is_captcha, cache)
    assert web.asked("/page/3") == asked + 1
    assert result.urls() == web.urls(12)


class Odd:
    """What no function should return."""

    def __bool__(self):
        raise ValueError("neither true nor false")


@ensureDeferred
async def test_a_result_that_is_neither_true_nor_false_is_an_error(webs):
    """It is reported, and the page is one."""
    web = site(webs, 5)
    result = await crawled(web, lambda _response: Odd())
    assert result.urls() == web.urls(5)
