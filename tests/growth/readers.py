"""Who reads bytes from outside: each function that unpacks, decodes or parses them.

``test_readers.py`` searches the source for such functions. One that is new fails it
until it stands here: in the ``functions`` of a `Reader` that drives it, or in
`NOT_DRIVEN` with the reason why no site chooses how much it reads.

``cd tests && python -m growth.readers`` prints the list with its figures.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mandelbot import RobotsTxt
from mandelbot.answers.content_codings import unpack
from mandelbot.answers.meaning import meaning_of, terms_of
from mandelbot.preferences.in_pages import page_usage
from mandelbot.preferences.statements import read_content_usage
from mandelbot.preferences.tdmrep import TdmFile
from mandelbot.tags import robot_tags
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Headers, HtmlResponse, Response
from scrapy.settings import Settings

from growth import numbered, repeated
from scrapy_mandelbot.downloadermiddlewares.pause import note_quota
from scrapy_mandelbot.downloadermiddlewares.refusals import Refusals
from scrapy_mandelbot.downloadermiddlewares.signing import SigningMiddleware
from scrapy_mandelbot.fetching.download_limits import (
    Download,
    DownloadLimits,
    _has_all,
    codings_of,
)
from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.sitemap_crawl.selection import SitemapReading
from scrapy_mandelbot.spidermiddlewares.robot_tags import nofollow_links
from scrapy_mandelbot.store import unpack as unpack_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BOMB = "a bomb"
"""The name of an input that unpacks to more than is read, or is read in turns."""
SIZE = 8_192  # bytes of the first input; the others have two and four times as many


@dataclass(frozen=True)
class Reader:
    """What reads bytes from outside, and what may be given to it."""

    name: str
    read: Callable[[bytes], object]
    """Reads an input. Of what is read in turns of the loop: returns an iterator of
    them.
    """
    inputs: Mapping[str, Callable[[int], bytes]]
    """Each makes an input of about so many bytes, as they come over the wire."""
    functions: tuple[str, ...]
    """The functions of the packages that unpack, decode or parse here."""
    most: int
    """Bytes that it reads at most, unpacked; what is beyond costs nothing more."""
    size: int = SIZE
    """Bytes of the first input."""


def bomb(pack: Callable[[bytes], bytes], piece: bytes, times: int) -> Any:
    """Return the shape of a body that is so many times as long when it is unpacked."""
    return lambda size: pack(piece * (times * size // len(piece)))


ROBOTS_BYTES = 512_000
ROBOTS_LINE = b"Disallow: /private/\n"
PACKED_LINES = {
    "gzip": bomb(gzip.compress, ROBOTS_LINE, 200),
    "zlib": bomb(zlib.compress, ROBOTS_LINE, 200),
}


def fetched_packed(error: Exception, coding: str) -> Callable[[bytes], object]:
    """Return what fetches a packed robots.txt whose decoding ends so."""

    def read(body: bytes) -> object:
        crawler = Crawler(Spider, Settings())
        limits = DownloadLimits(crawler, lambda: 0.0)
        headers = {"Content-Encoding": coding}

        class Engine:
            """Answers at once, and fails as Scrapy's middleware does."""

            async def download_async(self, request: Request) -> Response:
                response = Response(request.url, headers=headers, body=body)
                limits.response_downloaded(response, request)
                raise error

        crawler.engine = Engine()  # type: ignore[assignment]
        request = Request("https://example.com/robots.txt")
        download = limits.download(request, ROBOTS_BYTES, 10.0)
        try:
            download.send(None)
        except StopIteration as done:
            return len(done.value[0].body)
        except Exception as raised:  # noqa: BLE001 -- whatever it means
            return raised
        raise AssertionError("it waits")

    return read


def cut_off(body: bytes) -> object:
    """Fetch a packed robots.txt whose connection ends before the body does."""
    crawler = Crawler(Spider, Settings())
    limits = DownloadLimits(crawler, lambda: 0.0)
    send = partial(crawler.signals.send_catch_log, dont_log=StopDownload)

    class Engine:
        """Passes on what comes, as a download handler does."""

        async def download_async(self, request: Request) -> Response:
            headers = Response(
                request.url, headers={"Content-Encoding": "gzip"}
            ).headers
            send(signals.headers_received, request=request, headers=headers)
            for at in range(0, len(body), 16_384):
                data = body[at : at + 16_384]
                send(signals.bytes_received, request=request, data=data)
            raise ConnectionResetError

    crawler.engine = Engine()  # type: ignore[assignment]
    request = Request("https://example.com/robots.txt")
    download = limits.download(request, ROBOTS_BYTES, 10.0, is_watched=True)
    try:
        download.send(None)
    except Exception as raised:  # noqa: BLE001 -- that it ended too soon
        return raised
    raise AssertionError("it waits")


def problem(coding: str) -> Callable[[bytes], object]:
    """Return what reads the problem details of a refusal."""

    def read(body: bytes) -> object:
        headers = {"Content-Encoding": coding} if coding else {}
        return Refusals.problem(Response("https://example.com", 503, headers, body))

    return read


def sitemap(body: bytes) -> object:
    """Read a sitemap in the turns of the loop that a crawl gives it."""
    selection = SimpleNamespace(filter=None, since=None)
    config = Config.from_settings(Settings())
    reading = SitemapReading("https://example.com/map.xml", body, config, selection)  # type: ignore[arg-type]
    return reading.wanted(lambda: None)  # type: ignore[arg-type,return-value]


def page(body: bytes) -> HtmlResponse:
    """Return a page."""
    return HtmlResponse("https://example.com/", body=body, encoding="utf-8")


def refusal(name: str) -> Callable[[bytes], object]:
    """Return what reads a refusal with so long a header."""

    def read(value: bytes) -> object:
        return meaning_of(503, Headers({name: value}), {503}, 1e9)

    return read


def terms(name: str) -> Callable[[bytes], object]:
    """Return what reads the terms of a page that has lines of a header."""

    def read(value: bytes) -> object:
        return terms_of(402, Headers({name: value.split(b"\n")}))

    return read


def quota(value: bytes) -> object:
    """Note the quota of a good page."""
    site = SimpleNamespace(
        name="example.com",
        pacer=SimpleNamespace(note_quota=lambda *_: None),
        recheck=lambda: None,
    )
    crawl = SimpleNamespace(
        now=lambda: 1e9,
        config=SimpleNamespace(quota_longest=60.0),
        throttle=SimpleNamespace(sites=SimpleNamespace(note_trouble=lambda _: None)),
    )
    flight = SimpleNamespace(site=site)
    response = Response("https://example.com", headers={"RateLimit": value})
    return note_quota(crawl, flight, response)  # type: ignore[arg-type]


class Signing(SigningMiddleware):
    """Reads headers of a response, without a crawl."""

    def __init__(self) -> None:
        self._schemes = {"https"}
        self._now = lambda: 1e9
        self._has_warned_of_clocks = True
        self._signer = SimpleNamespace(keyid="a key")  # type: ignore[assignment]

    def wanted(self, value: bytes) -> object:
        """Read which signature a response requests."""
        request = Request("https://example.com")
        response = Response(request.url, headers={"Accept-Signature": value})
        return self._wanted_by(request, response)

    def compare(self, name: str, value: bytes) -> object:
        """Compare the clocks by a header of a response."""
        request = Request("https://example.com")
        response = Response(request.url, headers={name: value})
        return self._compare_clocks(request, response, 0)


def length(value: bytes) -> object:
    """Read how long a robots.txt will be."""
    download = Download(ROBOTS_BYTES, 10.0, 0.0)
    download.headers = Headers({"Content-Length": value})
    return _has_all(download)


DOWNLOADS = "scrapy_mandelbot/fetching/download_limits.py:"
CODINGS = "mandelbot/answers/content_codings.py:"
UNPACKING = "mandelbot/sitemaps/unpacking.py:"
ENTRY = b"<url><loc>https://example.com/%d</loc></url>"
HEAD_BYTES = 262_144

MEANING = "mandelbot/answers/meaning.py:"
PAUSES = "scrapy_mandelbot/downloadermiddlewares/pause.py:"
SIGNING = "scrapy_mandelbot/downloadermiddlewares/signing.py:SigningMiddleware."
DATES = {
    "digits": repeated(b"9"),
    "a date and words": repeated(b"x ", b"Sun, 06 Nov 1994 08:50:37 "),
    "commas": repeated(b","),
}
POLICIES = {
    "policies": repeated(b'"a";r=9;t=1,'),
    "parameters": repeated(b";a", b'"a";r=9;t=1'),
    "a list": repeated(b"1 ", b'"a";r=9;t=1;l=('),
}

READERS = (
    Reader(
        "a robots.txt",
        lambda body: RobotsTxt.parse(body).allowed("https://example.com/a", "Bot"),
        {"rules": numbered(b"Disallow: /%d\n", b"User-agent: *\n")},
        (),
        ROBOTS_BYTES,
    ),
    Reader(
        "a packed robots.txt that Scrapy drops as too long",
        fetched_packed(IgnoreRequest(), "gzip"),
        {BOMB: PACKED_LINES["gzip"]},
        (
            DOWNLOADS + "_read_despite",
            DOWNLOADS + "unpacked",
            UNPACKING + "Gunzip._step",
        ),
        ROBOTS_BYTES,
    ),
    Reader(
        "a packed robots.txt that Scrapy cannot decode",
        fetched_packed(ValueError("no data"), "deflate"),
        {BOMB: PACKED_LINES["zlib"]},
        (DOWNLOADS + "_what_packed_means", CODINGS + "_inflate"),
        ROBOTS_BYTES,
    ),
    Reader(
        "a packed robots.txt that breaks off",
        cut_off,
        {BOMB: lambda size: PACKED_LINES["gzip"](size)[:-9]},
        (DOWNLOADS + "_what_is_meant", DOWNLOADS + "DownloadLimits._bytes_received"),
        ROBOTS_BYTES,
    ),
    Reader(
        "a body that is packed four times",
        lambda body: unpack(body, ["gzip"] * 4, ROBOTS_BYTES),
        {
            BOMB: bomb(
                lambda body: gzip.compress(
                    gzip.compress(gzip.compress(gzip.compress(body)))
                ),
                ROBOTS_LINE,
                400,
            )
        },
        (),
        ROBOTS_BYTES,
    ),
    Reader(
        "problem details of a refusal",
        problem(""),
        {
            "lists": repeated(b"[],", b'{"type":"x","d":[', b"0]}"),
            "nested": repeated(b"[", b'{"type":"x","d":'),
        },
        ("scrapy_mandelbot/downloadermiddlewares/refusals.py:Refusals.problem",),
        16_384,
        size=4_096,
    ),
    Reader(
        "packed problem details of a refusal",
        problem("gzip"),
        {
            BOMB: bomb(
                lambda body: gzip.compress(b'{"type":"x","d":[' + body + b"0]}"),
                b"[],",
                200,
            )
        },
        (),
        16_384,
    ),
    Reader(
        "a sitemap",
        sitemap,
        {
            "entries": numbered(ENTRY, b"<urlset>"),
            "text": repeated(b"https://example.com/a\n"),
            "tags": repeated(b"<a/>", b"<urlset><url>"),
        },
        (
            "scrapy_mandelbot/sitemap_crawl/selection.py:SitemapReading._turns",
            "mandelbot/sitemaps/reader.py:SitemapReader._read_block",
            "mandelbot/sitemaps/reader.py:XmlBody.entries",
        ),
        52_428_800,
        size=16_384,
    ),
    Reader(
        "a packed sitemap",
        sitemap,
        {BOMB: bomb(gzip.compress, b"<url><loc>/a</loc></url>", 4)},
        (
            UNPACKING + "Gunzip",
            UNPACKING + "Gunzip._step",
            UNPACKING + "Gunzip._next_member",
        ),
        52_428_800,
    ),
    Reader(
        "a packed sitemap that is damaged",
        sitemap,
        {
            "members": repeated(gzip.compress(b"<url>" * 9)[:-6] + b"\0" * 6),
        },
        (UNPACKING + "_sound_part",),
        52_428_800,
    ),
    Reader(
        "a Retry-After", refusal("Retry-After"), DATES, (MEANING + "meaning_of",), 100
    ),
    Reader("a RateLimit of a refusal", refusal("RateLimit"), POLICIES, (), 1_000),
    Reader(
        "a RateLimit-Reset of a refusal", refusal("RateLimit-Reset"), DATES, (), 100
    ),
    Reader(
        "the quota of a page",
        quota,
        POLICIES,
        (PAUSES + "note_quota",),
        1_000,
        size=256,
    ),
    Reader(
        "terms in Link headers",
        terms("Link"),
        {
            "links": repeated(b"</l>;rel=license,"),
            "lines": repeated(b"</l>;rel=license\n"),
            "parameters": repeated(b";a", b"</l>"),
        },
        (MEANING + "terms_of",),
        409_600,  # 100 headers of 4,096 characters
    ),
    Reader(
        "the price of a page",
        terms("Crawler-Price"),
        {"digits": repeated(b"9"), "lines": repeated(b"USD 1\n")},
        (),
        409_600,
    ),
    Reader(
        "an Accept-Signature",
        Signing().wanted,
        {
            "members": numbered(b'a%d=("@authority");tag="b", '),
            "components": repeated(b'"@path" ', b"a=("),
        },
        (SIGNING + "_wanted_by",),
        1_000,
        size=256,
    ),
    Reader(
        "the Date of a response",
        partial(Signing().compare, "Date"),
        DATES,
        (SIGNING + "_compare_clocks",),
        100,
    ),
    Reader("the Age of a response", partial(Signing().compare, "Age"), DATES, (), 9),
    Reader(
        "content codings",
        lambda value: codings_of(Headers({"Content-Encoding": value})),
        {"codings": repeated(b"gzip, "), "a name": repeated(b"a")},
        (DOWNLOADS + "codings_of",),
        65_536,  # what a download handler takes of headers
    ),
    Reader(
        "a Content-Length",
        length,
        {"digits": repeated(b"9")},
        (DOWNLOADS + "_has_all",),
        20,
    ),
    Reader(
        "an X-Robots-Tag header",
        lambda value: robot_tags([("X-Robots-Tag", value)], b"", "bot"),
        {
            "directives": repeated(b"noindex,"),
            "agents": numbered(b"a%d:"),
            "dates": repeated(b"unavailable_after: Tue, 25 Jun 2027,"),
        },
        (),
        16_384,
        size=4_096,
    ),
    Reader(
        "usage headers of a page",
        lambda value: page_usage(
            [("Content-Usage", one) for one in value.split(b"\n")], b"", "bot"
        ),
        {"lines": numbered(b"train-ai=n, a%d=y\n")},
        (),
        409_600,
        size=1_024,
    ),
    Reader(
        "robot tags of a page",
        lambda body: robot_tags([], body, "bot"),
        {"metas": repeated(b"<meta name=robots content=noindex>", b"<head>")},
        (),
        HEAD_BYTES,
    ),
    Reader(
        "a Robots-Tag header",
        lambda value: robot_tags([("Robots-Tag", value.decode("latin-1"))], b"", "bot"),
        {"members": repeated(b"noindex, "), "parameters": repeated(b";a", b"noindex")},
        ("mandelbot/tags/directives.py:directives_of_list",),
        8_192,
        size=2_048,
    ),
    Reader(
        "the usage of a page",
        lambda body: page_usage([], body, "bot"),
        {"links": repeated(b"<link rel=license href=/l>\n", b"<head>")},
        (),
        HEAD_BYTES,
    ),
    Reader(
        "a Content-Usage value",
        lambda value: read_content_usage(value.decode("latin-1")),
        {"members": repeated(b"train-ai=n, "), "a list": repeated(b"n ", b"a=(")},
        ("mandelbot/preferences/statements.py:_usage",),
        4_096,
        size=1_024,
    ),
    Reader(
        "a tdmrep.json",
        TdmFile.parse,
        {
            "rules": numbered(b'{"location": "/%d", "tdm-reservation": 1},', b"["),
            "lists": repeated(b"[],", b"[[", b"0]]"),
        },
        ("mandelbot/preferences/tdmrep.py:TdmFile.parse",),
        ROBOTS_BYTES,
    ),
    Reader(
        "links with rel=nofollow",
        lambda body: nofollow_links(page(body)),
        {"links": numbered(b'<a rel=nofollow href="/%d">a</a>', b"<body>")},
        ("scrapy_mandelbot/spidermiddlewares/robot_tags.py:nofollow_links",),
        1_073_741_824,
    ),
    Reader(
        "a stored copy of a robots.txt",
        lambda body: len(_stored(body)),
        {BOMB: bomb(lambda body: b"\x01" + zlib.compress(body), b"\0" * 64, 4_200)},
        ("scrapy_mandelbot/store/__init__.py:unpack",),
        16_777_216,
        size=4_096,
    ),
)


def _stored(body: bytes) -> bytes:
    try:
        return unpack_stored(body)
    except ValueError:  # too long
        return b""


_FOR_PEOPLE = "a person's command; no crawl is beside it, and fetching cuts the body"
_OUR_FILE = "a file that the crawl itself wrote"
_HANDS_ON = "hands the body on to a reader above"
NOT_DRIVEN = {
    "mandelbot/cli/": _FOR_PEOPLE,
    "mandelbot/fix/": "for the command; RobotsTxt.rewrite has rows, and 64 KiB at most",
    "mandelbot/protego.py": "a parser for other programs: " + _HANDS_ON,
    "mandelbot/robotparser.py": "a parser for other programs: " + _HANDS_ON,
    "scrapy_mandelbot/commands/": _FOR_PEOPLE,
    "scrapy_mandelbot/job/": _OUR_FILE,
    "scrapy_mandelbot/report/previous_crawl.py": _OUR_FILE,
    "scrapy_mandelbot/report/worker_report.py:read": "our own, 16 MiB at most",
    "scrapy_mandelbot/settings/": "the project's settings",
    "scrapy_mandelbot/throttle/budgets.py:Budgets.answered": (
        "looks at the length of a body that is in memory"
    ),
    "scrapy_mandelbot/sitemap_crawl/entry_files.py": _OUR_FILE,
    "scrapy_mandelbot/sitemap_crawl/progress.py": _OUR_FILE,
    "scrapy_mandelbot/sitemap_crawl/selection.py:SitemapSelection.reading": _HANDS_ON,
    "scrapy_mandelbot/sitemap_crawl/selection.py:SitemapBodies": _HANDS_ON,
    "scrapy_mandelbot/fetching/fetcher.py": _HANDS_ON,
    "scrapy_mandelbot/fetching/http_cache.py": "a file of the project's HTTP cache",
    "scrapy_mandelbot/fetching/requesting.py": _HANDS_ON,
    "scrapy_mandelbot/fetching/robot_parser.py": _HANDS_ON,
    PAUSES + "PauseMiddleware": _HANDS_ON,
    DOWNLOADS + "DownloadLimits.response_downloaded": _HANDS_ON,
    "scrapy_mandelbot/fetching/request_agents.py:default_header": (
        "the project's settings"
    ),
    "scrapy_mandelbot/spidermiddlewares/robot_tags.py:_may_state_terms": (
        "whether there is a header"
    ),
    "scrapy_mandelbot/store/__init__.py:CachedRobots.conditions": (
        "two headers that are sent, as they came"
    ),
    "scrapy_mandelbot/throttle/health_check.py:HealthCheck._request_to": (
        "headers of the project's own request"
    ),
    DOWNLOADS + "Download.body_of": "looks at the length of a body that is in memory",
    "scrapy_mandelbot/fetching/decoding.py:decoded": (
        "for the project's function in MANDELBOT_REFUSAL: what its spider would get"
    ),
    "scrapy_mandelbot/spidermiddlewares/robot_tags.py:RobotTagsMiddleware": _HANDS_ON,
    "scrapy_mandelbot/spidermiddlewares/tdm_files.py": _HANDS_ON,
    "scrapy_mandelbot/spidermiddlewares/usage.py": _HANDS_ON,
    "scrapy_mandelbot/store/memory.py": _HANDS_ON,
    "scrapy_mandelbot/store/sqlite.py": _HANDS_ON,
    "scrapy_mandelbot/store/rows.py:as_copy": _HANDS_ON,
}
"""Functions, or modules by how their names begin, that no `Reader` drives, and why."""


def print_list() -> None:
    """Print what each reader reads, in how many turns, and what that takes."""
    from growth.counting import cost_of

    for one in READERS:
        for shape, make in one.inputs.items():
            sizes = [one.size, 2 * one.size, 4 * one.size]
            costs = [cost_of(one.read, make(size)) for size in sizes]
            print(  # noqa: T201 -- it is what was asked for
                f"{one.name} ({shape}): at most {one.most:,} B;"
                f" {'/'.join(f'{size // 1024}' for size in sizes)} KiB: turns"
                f" {'/'.join(str(cost.turns) for cost in costs)}, bytecodes"
                f" {'/'.join(f'{cost.bytecodes:,}' for cost in costs)}, longest turn"
                f" {'/'.join(f'{cost.longest:,}' for cost in costs)}, KiB"
                f" {'/'.join(f'{cost.memory // 1024:,}' for cost in costs)}"
            )


if __name__ == "__main__":
    print_list()
