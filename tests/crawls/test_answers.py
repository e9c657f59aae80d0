"""A real server gives each answer to /robots.txt: what is crawled then, and what is
logged.

Three pages and the one that links to them; the rules, where they are read, close one.
"""

from __future__ import annotations

import gzip

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer
from wildwebs import NoTlsWeb, SecureWeb, WildWeb, endless, no_answer, reset

RULES = b"User-agent: *\nDisallow: /page/1\n"
HTML = b"<!DOCTYPE html><html><body><h1>Not found</h1>\n" + RULES + b"</body></html>"
LONG = RULES + b"# a comment that fills the file\n" * 100_000  # 3.2 MB
LATE = b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /\n"
QUICK = {
    "MANDELBOT_STORE": "memory",
    "MANDELBOT_LIMITS": {"robots_timeout": 0.5},
    "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05},
}
TURNED = pytest.mark.usefixtures("loop_is_turned")
# Of pyOpenSSL, by Twisted's server; of Twisted, by the client of older versions of
# Scrapy.
DEPRECATED_TLS = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def start():
    """Start sites of any class; all are closed in the end."""
    started = []

    def listen(web, pages=3):
        started.append(web.listen())
        web.chain(pages)
        return web

    yield listen
    for web in started:
        web.close()


# What the site says, how many pages are crawled, which case of the table it is, what is
# logged.
ANSWERED = [
    (Answer(RULES), 3, "rules", "robots.txt: 200, has rules"),
    (Answer(b"", 204), 4, "rules", "robots.txt: 204, has rules"),
    (Answer(HTML), 3, "rules", "robots.txt: 200, has rules"),
    (Answer(LONG), 3, "rules", "is longer than 512000 bytes: the rest is ignored"),
    (Answer(LATE), 4, "rules", "is longer than 512000 bytes: the rest is ignored"),
    (
        Answer(gzip.compress(RULES, mtime=0), headers={"Content-Encoding": "gzip"}),
        3,
        "rules",
        "robots.txt: 200, has rules",
    ),
    *[
        (
            Answer(RULES, headers={"Content-Encoding": coding}),
            3,
            "rules",
            "robots.txt: 200, has rules",
        )
        for coding in ("gzip", "deflate")
    ],
    (
        Answer(
            gzip.compress(b"#" * 30_000_000, mtime=0),
            headers={"Content-Encoding": "gzip"},
        ),
        4,
        "rules",
        "is longer than 512000 bytes: the rest is ignored",
    ),
    (Answer(RULES, 401), 4, "allow_all", "robots.txt: 401, there is none"),
    (Answer(RULES, 403), 4, "allow_all", "robots.txt: 403, there is none"),
    (Answer(RULES, 404), 4, "allow_all", "robots.txt: 404, there is none"),
    (Answer(RULES, 410), 4, "allow_all", "robots.txt: 410, there is none"),
    (
        Answer(RULES, 301, {"Location": "http://nowhere.invalid/robots.txt"}),
        4,
        "allow_all",
        "robots.txt: redirects that lead nowhere (2 hops), there is none",
    ),
]


@pytest.mark.parametrize(
    ("answer", "pages", "case", "words"),
    ANSWERED,
    ids=lambda value: (
        f"{value.status} {value.body[:9]!r}" if isinstance(value, Answer) else None
    ),
)
@ensureDeferred
async def test_an_answer_that_means_something(start, answer, pages, case, words):
    """The answer decides which pages are crawled, is asked for once, and says so in the
    log.

    Twice, where it is longer than counts: Scrapy's limit keeps nothing of it.
    """
    web = start(WildWeb())
    web.pages["/robots.txt"] = answer
    settings = {"MANDELBOT_STORE": "memory"}  # with time for the longest
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == pages
    assert web.asked("/robots.txt") == 1 + (len(answer.body) > 512_000)
    assert result.stats[f"mandelbot/robots/{case}"] == 1
    assert "mandelbot/pause/count" not in result.stats
    assert any(words in line for line in result.messages)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@TURNED
@ensureDeferred
async def test_an_answer_that_says_later(start, status):
    """The site pauses; nothing is asked meanwhile, nothing is lost, the log says until
    when.
    """
    web = start(WildWeb())
    statuses = [status, status]
    web.pages["/robots.txt"] = lambda _: (
        Answer(b"try later", statuses.pop()) if statuses else Answer(RULES)
    )
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert [hit.status for hit in web.hits[:3]] == [status, status, 200]
    assert result.stats["mandelbot/robots/unavailable"] == 2
    assert result.stats["mandelbot/pause/count"] == 1
    assert "retry/count" not in result.stats
    (line,) = result.logged(f"Paused {web.url} until 2")
    assert f"robots.txt: {status}, " in line
    assert result.logged(f"Resumed {web.url} after")


@pytest.mark.parametrize(
    ("wild", "words"),
    [
        (no_answer, "robots.txt: no answer in time ("),
        (reset, "robots.txt: connection lost ("),
    ],
)
@TURNED
@ensureDeferred
async def test_no_answer_at_all(start, wild, words):
    """Silence and a reset are no permission: the site pauses, and is asked again."""
    web = start(WildWeb())
    web.wild, web.wild_times = wild, 2
    web.pages["/robots.txt"] = Answer(RULES)
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert [hit.path for hit in web.hits[:3]] == ["/robots.txt"] * 3
    assert result.stats["mandelbot/robots/unavailable"] == 2
    assert any(name.startswith("robotstxt/exception_count/") for name in result.stats)
    (line,) = result.logged(f"Paused {web.url} until 2")
    assert words in line


@TURNED
@ensureDeferred
async def test_nobody_listens(start):
    """A refused connection is no permission: after the last try the requests fail, in
    words.
    """
    web = start(WildWeb())
    url = web.url
    await web._port.stopListening()
    result = await crawl(LinksSpider, QUICK, start_urls=[url + "/"])
    assert result.items == []
    (line,) = result.logged(f"Paused {url} until 2")
    assert "robots.txt: connection refused (" in line
    (line,) = result.logged(
        f"{url} has never answered in this run, and its requests fail: "
    )
    assert "robots.txt: connection refused (" in line


@ensureDeferred
async def test_a_body_that_never_ends(start):
    """It ends by size; what was read until then counts."""
    web = start(WildWeb())
    web.wild = endless(b"# more and more\n" * 8000, 0)
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert web.asked("/page/1") == 0
    assert (
        result.stats["mandelbot/robots/rules"]
        == result.stats["mandelbot/robots/cut"]
        == 1
    )
    words = "is longer than 512000 bytes: the rest is ignored"
    assert any(words in line for line in result.messages)


@TURNED
@ensureDeferred
async def test_a_body_that_drips_and_never_ends(start):
    """It ends by time, and half a file says nothing: its site is not crawled."""
    web = start(WildWeb())
    pieces = iter(range(10**9))

    def drip(request):
        endless(b"# more of piece %d" % next(pieces), 0.01)(request)

    web.wild = drip
    settings = {**QUICK, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 3}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.items == []
    assert result.stats["mandelbot/robots/unavailable"] == 4


@ensureDeferred
async def test_the_rest_of_a_long_body_is_not_downloaded(start):
    """The connection closes at the limit: most of 50 MB is never sent."""
    web = start(WildWeb())
    written = []

    def long(request):
        body = RULES + b"#" * 999
        for _ in range(3):
            request.write(body * 300)  # 0.3 MB
        written.append(request)
        request.notifyFinish().addErrback(written.append)

    web.wild = long
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert result.stats["downloader/response_bytes"] < 700_000
    assert len(written) == 4  # the site saw both connections closed


@TURNED
@ensureDeferred
async def test_a_slow_answer_is_warned_of(start):
    """Over half of the time that it may take."""
    web = start(WildWeb())
    web.pages["/robots.txt"] = Answer(RULES, delay=0.6)
    result = await crawl(
        LinksSpider,
        {**QUICK, "MANDELBOT_LIMITS": {"robots_timeout": 1}},
        start_urls=[web.url + "/"],
    )
    assert len(result.items) == 3
    assert result.stats["mandelbot/robots/slow"] == 1
    (line,) = result.logged(f"The robots.txt of {web.url} took 0.")
    assert line.endswith(" s; the limit is 1 s")


@DEPRECATED_TLS
@ensureDeferred
async def test_mandelbot_http_and_https_of_one_host_are_two_sites(start):
    """Each has its own file, asked for by its own scheme."""
    plain, secure = start(WildWeb()), start(SecureWeb())
    plain.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/1\n")
    secure.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/2\n")
    result = await crawl(
        LinksSpider, QUICK, start_urls=[plain.url + "/", secure.url + "/"]
    )
    assert (plain.asked("/page/1"), plain.asked("/page/2")) == (0, 1)
    assert (secure.asked("/page/1"), secure.asked("/page/2")) == (1, 0)
    assert plain.asked("/robots.txt") == secure.asked("/robots.txt") == 1
    assert len(result.items) == 6


@DEPRECATED_TLS
@ensureDeferred
async def test_plain_http_where_tls_is_expected(start):
    """A failed handshake is no permission either."""
    web = start(NoTlsWeb())
    settings = {**QUICK, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 1}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.items == []
    (line,) = result.logged(f"Paused {web.url} until 2")
    assert "robots.txt: no TLS connection (" in line


@ensureDeferred
async def test_a_redirected_robots_txt_under_allowed_domains_is_obeyed(start):
    """The off-site filter does not swallow it.

    Scrapy's own middleware would then allow all.
    """
    web, other = start(WildWeb()), start(WildWeb("127.0.0.2"))
    web.pages["/robots.txt"] = Answer(b"", 301, {"Location": other.url + "/robots.txt"})
    other.pages["/robots.txt"] = Answer(RULES)

    class Spider(LinksSpider):
        allowed_domains = ["127.0.0.1"]

    result = await crawl(Spider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert web.asked("/page/1") == 0
    assert result.stats["mandelbot/robots/rules"] == 1
    assert "offsite/filtered" not in result.stats
