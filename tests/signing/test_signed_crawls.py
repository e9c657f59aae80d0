"""Requests are signed as they leave, each way that they go, and nothing else has the
signature.

The sites verify with an implementation that is not ours.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import count

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy import signals
from verifying import AGENT, DIRECTORY, asking
from webs import Answer, html

from scrapy_mandelbot import engine

ROBOTS = Answer(b"User-agent: *\nDisallow:\nSitemap: /map.xml\n")


def urlset(*urls: str) -> Answer:
    rows = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return Answer(f'<urlset xmlns="{space}">{rows}</urlset>'.encode())


class FormSpider(LinksSpider):
    """Asks for odd URLs, and sends a form."""

    async def start(self):
        (url,) = self.start_urls
        yield scrapy.Request(f"{url}/a/b%20c;x=1?q=%C3%A9&r", dont_filter=True)
        yield scrapy.Request(f"{url}?only=query", dont_filter=True)
        yield scrapy.FormRequest(f"{url}/form", formdata={"name": "value"})
        yield scrapy.Request(url + "/", method="HEAD")
        yield scrapy.Request(url + "/start")


@pytest.fixture
def shop(sites):
    """A site with a page that is elsewhere, one that is refused once, a form and a
    sitemap.
    """
    web, other = sites(), sites("127.0.0.2")
    other.pages = {"/robots.txt": ROBOTS, "/moved": html()}
    web.pages = {
        "/robots.txt": ROBOTS,
        "/map.xml": urlset(f"{web.url}/listed"),
        "/": html(),
        "/start": html("/busy", "/away"),
        "/busy": asking(Answer(status=503, headers={"Retry-After": "0"}), html()),
        "/away": Answer(status=302, headers={"Location": f"{other.url}/moved"}),
        "/form": html(),
        "/listed": html(),
        "/a/b%20c;x=1?q=%C3%A9&r": html(),
        "/?only=query": html(),
    }
    return web, other


@ensureDeferred
async def test_every_request_of_a_crawl_is_verified_by_another_implementation(
    shop, signing
):
    """robots.txt, sitemap, page, POST, HEAD, redirect to another host, 503 and back."""
    web, other = shop
    settings = {**signing, "MANDELBOT_SITEMAPS": "follow"}
    crawled = await crawl(FormSpider, settings, start_urls=[web.url])
    seen = web.seen + other.seen
    assert {one.path for one in seen} == {*web.pages, *other.pages}
    assert [one.error for one in seen] == [""] * len(seen)
    assert all(one.is_signed for one in seen)
    assert {one.message.method for one in seen} == {"GET", "HEAD", "POST"}
    assert len(web.of("/busy")) == 2
    assert crawled.stats["mandelbot/signatures/sent"] == len(seen)
    (form,) = web.of("/form")
    assert form.body == b"name=value"
    assert form.covered['"@method"'] == "POST"
    (moved,) = other.of("/moved")
    assert moved.covered['"@authority"'] == moved.message.headers["host"]
    assert moved.covered['"signature-agent";key="sig1"'] == f'"{DIRECTORY}"'
    assert moved.parameters["expires"] - moved.parameters["created"] == 60
    assert moved.parameters["tag"] == "web-bot-auth"


@ensureDeferred
async def test_a_request_is_signed_when_its_download_slot_lets_it_leave(shop, signing):
    """Not when it begins to wait there: after a long delay it would have expired."""
    web, _ = shop
    arrived = []

    def look(request):
        arrived.append("Signature" in request.headers)

    def listen(crawler):
        crawler.signals.connect(look, signal=signals.request_reached_downloader)

    await crawl(LinksSpider, signing, start_urls=[web.url + "/start"], before=listen)
    assert arrived
    assert not any(arrived)


@ensureDeferred
async def test_without_scrapys_private_name_it_is_signed_before_it_waits(
    shop, signing, monkeypatch
):
    """Sooner, and as right; the signature is taken away all the same."""
    web, other = shop
    monkeypatch.setattr(engine, "download_by", lambda *_: False)
    kept = []

    class LookingSpider(FormSpider):
        def parse(self, response):
            kept.append("Signature" in response.request.headers)
            return super().parse(response)

    await crawl(LookingSpider, signing, start_urls=[web.url])
    seen = web.seen + other.seen
    assert [one.error for one in seen] == [""] * len(seen)
    assert all(one.is_signed for one in seen)
    assert len(web.of("/busy")) == 2
    assert not any(kept)


@ensureDeferred
async def test_no_signature_is_in_the_job_the_cache_or_what_the_spider_sees(
    shop, signing, tmp_path
):
    """They are taken away as the answer comes."""
    web, _ = shop
    kept = []

    class LookingSpider(LinksSpider):
        def parse(self, response):
            kept.append(response.request.headers.to_string())
            return super().parse(response)

    settings = {
        **signing,
        "JOBDIR": str(tmp_path / "job"),
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "CLOSESPIDER_PAGECOUNT": 1,
    }
    await crawl(LookingSpider, settings, start_urls=[web.url + "/start"])
    files = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pem"
    ]
    assert {path.parts[len(tmp_path.parts)] for path in files} >= {"job", "cache"}
    assert not any(b"signature" in path.read_bytes().lower() for path in files)
    assert kept
    assert not any(b"signature" in headers.lower() for headers in kept)


@ensureDeferred
async def test_answers_from_the_cache_are_not_signed_and_its_revalidations_are(
    shop, signing, tmp_path
):
    """A second run asks for nothing that the cache has."""
    web, _ = shop
    settings = {
        **signing,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
    }
    await crawl(LinksSpider, settings, start_urls=[web.url + "/listed"])
    assert len(web.of("/listed")) == 1
    again = await crawl(
        LinksSpider, settings, start_urls=[web.url + "/listed", web.url + "/"]
    )
    assert len(web.of("/listed")) == 1
    assert again.stats["mandelbot/signatures/sent"] == len(web.seen) - 2
    assert again.stats["httpcache/hit"] == 1


@ensureDeferred
async def test_a_request_with_a_signature_of_its_own_keeps_that(shop, signing):
    """The project signs it, for whatever protocol, and ours would break that."""
    web, _ = shop
    own = {"Signature-Input": 'own=("@method")', "Signature": "own=:AAAA:"}

    class OwnSpider(LinksSpider):
        async def start(self):
            yield scrapy.Request(web.url + "/listed", headers=own)

    await crawl(OwnSpider, signing)
    (one,) = web.of("/listed")
    assert one.message.headers["signature-input"] == own["Signature-Input"]
    assert "signature-agent" not in one.message.headers


@ensureDeferred
async def test_http_is_not_signed_unless_that_is_set(shop, signing):
    """A signature that anyone on the way reads is anyone's."""
    web, _ = shop
    settings = {**signing, "MANDELBOT_SIGN_OPTIONS": {"agent": AGENT}}
    crawled = await crawl(LinksSpider, settings, start_urls=[web.url + "/start"])
    assert not any(one.is_signed for one in web.seen)
    assert "mandelbot/signatures/sent" not in crawled.stats


# Sites that ask.


def refusal(
    status: int = 403, asks: str = 'sig1=("@authority");created;tag="web-bot-auth"'
):
    return Answer(b"who?", status, {"Accept-Signature": asks, "Retry-After": "0"})


def for_signed(page: Answer, refused: Answer):
    """Return a page that only who signs is given."""
    return lambda request: (
        page if request.requestHeaders.hasHeader("signature") else refused
    )


ASKED = {"MANDELBOT_SIGN": "asked"}


@pytest.mark.parametrize("status", [401, 403, 429])
@ensureDeferred
async def test_a_site_that_asks_is_answered_once_and_signed_for_from_then_on(
    sites, signing, status
):
    """A repeat for the first request that is refused, and none for the others."""
    web = sites()
    web.pages = {
        "/robots.txt": ROBOTS,
        "/": for_signed(html("/1", "/2"), refusal(status)),
        "/1": for_signed(html(), refusal(status)),
        "/2": for_signed(html(), refusal(status)),
    }
    crawled = await crawl(LinksSpider, {**signing, **ASKED}, start_urls=[web.url + "/"])
    assert [(one.path, one.is_signed) for one in web.seen][:3] == [
        ("/robots.txt", False),
        ("/", False),
        ("/", True),
    ]
    assert {(one.path, one.is_signed) for one in web.seen[3:]} == {
        ("/1", True),
        ("/2", True),
    }
    assert len(crawled.items) == 3
    assert not any(one.error for one in web.seen)
    assert crawled.stats["mandelbot/signatures/asked"] == 1
    assert crawled.logged(f"{web.url} asks for signed requests")


@ensureDeferred
async def test_a_site_that_refuses_what_is_signed_is_not_asked_a_third_time(
    sites, signing
):
    """Its answer goes the way of any."""
    web = sites()
    web.pages = {"/robots.txt": ROBOTS, "/": refusal()}
    crawled = await crawl(LinksSpider, {**signing, **ASKED}, start_urls=[web.url + "/"])
    assert [one.is_signed for one in web.of("/")] == [False, True]
    assert crawled.stats["httperror/response_ignored_status_count/403"] == 1


@pytest.mark.parametrize("mode", ["always", "asked"])
@ensureDeferred
async def test_a_nonce_that_a_site_asks_for_is_signed_and_so_is_its_label(
    sites, signing, mode
):
    """As is what it wants covered (RFC 9421, section 5.2); one repeat for each such
    request.
    """
    web = sites()
    number = count()
    wants = (
        'own=("@authority" "@target-uri" "x-none"'
        ' "@query");tag="web-bot-auth";nonce="a\\"{}"'
    )
    web.pages = {
        "/robots.txt": ROBOTS,
        "/?q=1": lambda request: (
            html()
            if b"nonce" in (request.getHeader(b"signature-input") or b"")
            else refusal(asks=wants.format(next(number)))
        ),
    }
    settings = {**signing, "MANDELBOT_SIGN": mode}
    crawled = await crawl(LinksSpider, settings, start_urls=[web.url + "/?q=1"])
    assert len(crawled.items) == 1
    first, second = web.of("/?q=1")
    assert first.is_signed == (mode == "always")
    assert second.error == ""
    assert second.parameters["nonce"] == 'a"0'
    assert second.covered['"@target-uri"'] == web.url + "/?q=1"
    assert second.covered['"@query"'] == "?q=1"
    assert second.message.headers["signature-agent"].startswith("own=")


@ensureDeferred
async def test_a_robots_txt_that_needs_a_signature_is_fetched(sites, signing):
    """Our own requests are repeated too: the rules count, and not the refusal."""
    web = sites()
    rules = Answer(b"User-agent: *\nDisallow: /1\n")
    web.pages = {
        "/robots.txt": for_signed(rules, refusal()),
        "/": html("/1"),
        "/1": html(),
    }
    await crawl(LinksSpider, {**signing, **ASKED}, start_urls=[web.url + "/"])
    assert [one.is_signed for one in web.of("/robots.txt")] == [False, True]
    assert not web.of("/1")
    assert [one.is_signed for one in web.of("/")] == [True]


WRONG = [
    "",
    "sig1",
    "sig1=1",
    "(((",
    'sig1=("@authority");tag="other"',
    'sig1=("@authority");alg="rsa-pss-sha512"',
    'sig1=("@authority");keyid="another"',
    "\xff\xfe",
    'sig1=("@authority");nonce="' + 2_000 * "a" + '"',
]


@pytest.mark.parametrize("asks", WRONG)
@ensureDeferred
async def test_an_unsignable_challenge_is_an_ordinary_answer(sites, signing, asks):
    """No error, no repeat."""
    web = sites()
    web.pages = {"/robots.txt": ROBOTS, "/": refusal(asks=asks)}
    crawled = await crawl(LinksSpider, {**signing, **ASKED}, start_urls=[web.url + "/"])
    assert [one.is_signed for one in web.of("/")] == [False]
    assert crawled.stats["httperror/response_ignored_status_count/403"] == 1
    assert "log_count/ERROR" not in crawled.stats


# Clocks.

FAR = "Mon, 06 Jul 2009 08:00:00 GMT"


@pytest.mark.parametrize(
    ("date", "age", "is_reported"),
    [
        (FAR, None, True),
        ("Thu, 06 Jul 2090 08:00:00 GMT", None, True),
        ("yesterday", None, False),
        (FAR, "many", False),
        (None, None, False),
    ],
)
@ensureDeferred
async def test_a_wrong_clock_gets_one_warning(sites, signing, date, age, is_reported):
    """By the Date of answers: signatures are judged by the time of day."""
    web = sites()
    headers = {"Date": date, "Age": age}
    page = html("/1")
    page.headers |= {name: value for name, value in headers.items() if value}
    web.pages = {"/robots.txt": page, "/": page, "/1": page}
    crawled = await crawl(LinksSpider, signing, start_urls=[web.url + "/"])
    assert (
        len(crawled.logged(f"The clocks of this machine and of {web.url} differ"))
        == is_reported
    )


# The key, and what is loaded.


@ensureDeferred
async def test_the_key_is_in_no_log(shop, signing, key_file):
    """Nor in what Scrapy logs of the settings."""
    web, _ = shop
    crawled = await crawl(LinksSpider, signing, start_urls=[web.url + "/start"])
    secret = key_file.read_text().splitlines()[1]
    assert not any(secret in message for message in crawled.messages)
    assert secret not in str(crawled.crawler.settings.copy_to_dict())
    assert secret not in str(crawled.stats)


def test_signing_loads_nothing_when_it_is_off():
    """Not the module, and not the key."""
    lines = [
        "import sys",
        "from scrapy.crawler import Crawler",
        "from scrapy.settings import Settings",
        "from scrapy import Spider",
        (
            "settings = Settings({'MANDELBOT_SIGN_KEY': 'no-such.pem', 'LOG_ENABLED':"
            " False})"
        ),
        "from scrapy_mandelbot import Addon",
        "Addon().update_settings(settings)",
        "print('scrapy_mandelbot.downloadermiddlewares.signing' in sys.modules)",
    ]
    script = "\n".join(lines)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"
