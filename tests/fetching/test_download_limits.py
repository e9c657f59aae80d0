"""What counts of a body that was cut."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress

import pytest
from crawling import ensureDeferred
from mandelbot.answers.content_codings import UnreadableBodyError
from mandelbot.answers.failures import failure_of
from mandelbot.answers.outcome import Failure, whole_lines
from scrapy import Request
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Response
from scrapy.signals import bytes_received, headers_received

from scrapy_mandelbot.fetching.download_limits import (
    Download,
    DownloadLimits,
    TruncatedError,
    unpacked,
)


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (b"", b""),
        (b"Disallow: /pri", b""),
        (b"Disallow: /a\nDisallow: /pri", b"Disallow: /a\n"),
        (b"Disallow: /a\rDisallow: /pri", b"Disallow: /a\r"),
        (b"Disallow: /a\r\n", b"Disallow: /a\r\n"),
        (b"x" * 500_000 + b"\nDisallow: /pri", b"x" * 500_000 + b"\n"),
    ],
)
def test_half_a_line_is_no_rule(body, counts):
    """``Disallow: /pri`` of ``/private-files`` would close more, an Allow would open
    more.
    """
    assert whole_lines(body) == counts


def raw_deflate(body: bytes) -> bytes:
    """Return it packed without zlib's header, as some servers send it."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def packed(body: bytes, coding: str = "gzip") -> Response:
    headers = {"Content-Encoding": coding, "ETag": "x"}
    return Response("https://example.com/robots.txt", 200, headers, body)


@pytest.mark.parametrize(
    ("pack", "coding"),
    [
        (gzip.compress, "gzip"),
        (gzip.compress, "X-GZIP"),
        (zlib.compress, "deflate"),
        (raw_deflate, "deflate"),
        (lambda body: gzip.compress(zlib.compress(body)), "deflate, gzip"),
    ],
)
def test_of_a_compressed_body_as_much_is_unpacked_as_counts(pack, coding):
    """However much there is, no more than that is ever held."""
    response = unpacked(packed(pack(b"a" * 50_000_000), coding), 1_000)
    assert response.body == b"a" * 1_000
    assert (response.headers.get("ETag"), response.headers.get("Content-Encoding")) == (
        b"x",
        None,
    )


@pytest.mark.parametrize("body", [b"\0brotli, or anything", b"\x1f\x8b\xff" * 9])
def test_what_cannot_be_unpacked_is_an_answer_that_was_lost(body):
    """Its rules are unknown: it is asked again, and nothing is crawled."""
    with pytest.raises(UnreadableBodyError) as raised:
        unpacked(packed(body), 1_000)
    assert failure_of(raised.value) is Failure.LOST


@pytest.fixture
def crawler(make_crawler):
    return make_crawler()


@pytest.fixture
def limits(crawler, clock):
    return DownloadLimits(crawler, clock.now)


REQUEST = Request("https://example.com/robots.txt")


@pytest.mark.parametrize(
    "row",
    [(50, 9, "", False), (51, 9, "is longer than 100 bytes", False), (1, 10, "", True)],
)
def test_a_download_ends_where_it_is_too_long_or_too_slow(crawler, limits, clock, row):
    """And not before; what has come by then is kept."""
    second, later, *ends = row
    download = limits.begin(REQUEST, 100, 10)
    download.collects = True
    crawler.signals.send_catch_log(bytes_received, data=b"a" * 50, request=REQUEST)
    clock.turn(later)
    ((_, said),) = crawler.signals.send_catch_log(
        bytes_received, data=b"b" * second, request=REQUEST, dont_log=StopDownload
    )
    assert [download.cut, download.is_late] == ends
    assert (getattr(said, "type", None) is StopDownload) is any(ends)
    assert download.body == (b"a" * 50 + b"b" * second)[:100]


@ensureDeferred
async def test_a_packed_answer_dropped_for_its_size_is_read_as_far_as_it_counts(
    crawler, limits
):
    """HttpCompressionMiddleware drops one that comes to more than twenty times what
    counts.
    """
    answer = packed(gzip.compress(b"a" * 5_000))

    async def download_async(request):
        limits.response_downloaded(answer, request)
        raise IgnoreRequest("too large")

    crawler.engine.download_async = download_async
    response, download = await limits.download(REQUEST, 1_000, 10)
    assert response.body == b"a" * 1_001
    assert download.cut == "is longer than 1000 bytes"
    with pytest.raises(IgnoreRequest):  # for something else: it is not so long
        await limits.download(REQUEST, 10_000, 10)


@pytest.mark.parametrize(
    ("settings", "codings"),
    [({}, b"gzip, deflate"), ({"COMPRESSION_ENABLED": False}, None)],
)
def test_what_can_be_unpacked_is_what_a_request_asks_for(
    make_crawler, clock, settings, codings
):
    """Nothing, where Scrapy unpacks nothing; and the header of a project's own request
    stays.
    """
    limits = DownloadLimits(make_crawler(**settings), clock.now)
    request, other = (
        Request(REQUEST.url),
        Request(REQUEST.url, headers={"Accept-Encoding": "br"}),
    )
    for one in request, other:
        limits.begin(one, 100, 10)
    assert request.headers.get("Accept-Encoding") == codings
    assert other.headers.get("Accept-Encoding") == b"br"


@pytest.mark.parametrize("body", [b"", gzip.compress(b"a" * 9)[:9]])
def test_what_ends_too_early_is_unpacked_as_far_as_it_goes(body):
    """Here: nowhere."""
    assert unpacked(packed(body), 1_000).body == b""


WHOLE = gzip.compress(b"a" * 9)


@pytest.mark.parametrize(
    ("answer", "download", "breaks"),
    [
        (packed(WHOLE), {}, False),
        (packed(WHOLE[:9]), {}, True),
        (packed(WHOLE[:9]), {"cut": "is longer than 5 bytes"}, False),
        (packed(b"\0brotli, or anything"), {}, True),
        (packed(WHOLE, "of-its-own"), {}, False),
        (packed(WHOLE), {"is_late": True}, True),
        (packed(WHOLE).replace(flags=["dataloss"]), {}, True),
    ],
)
def test_an_answer_breaks_off_where_its_end_is_missing(answer, download, breaks):
    """Be it packed or not; what was cut by us does not, and nobody knows of an unknown
    coding.
    """
    limited = Download(100, 10, 0)
    vars(limited).update(packed=answer, **download)
    assert limited.is_truncated(answer) is breaks


SIGNALS = (headers_received, bytes_received)


class DownloadCancelledError(Exception):
    """As Scrapy raises it for a body above ``download_maxsize``."""


@pytest.mark.parametrize(
    ("ends", "listened"),
    [
        ([b"Disallow:"], [0]),
        ([DownloadCancelledError, b"Disallow:"], [0, 2]),
        ([ConnectionRefusedError, b"Disallow:"], [0]),
    ],
)
@ensureDeferred
async def test_pages_are_heard_only_where_a_body_was_too_long(
    crawler, limits, ends, listened
):
    """Scrapy sends the signals for each chunk of each page: no receiver costs any page
    a call.
    """
    seen, sizes = [], []

    async def download_async(request):
        seen.append(
            sum(
                len(crawler.signals.send_catch_log(one, request=None))
                for one in SIGNALS
            )
        )
        sizes.append(request.meta["download_maxsize"])
        end = ends[len(seen) - 1]
        if isinstance(end, type):
            raise end
        return Response(request.url, body=end)

    crawler.engine.download_async = download_async
    with suppress(ConnectionRefusedError):
        await limits.download(Request(REQUEST.url), 1_000, 10)
    assert seen == listened
    assert sizes == [1_000, 2**30][: len(seen)]
    assert not any(crawler.signals.send_catch_log(one, request=None) for one in SIGNALS)


@ensureDeferred
async def test_a_download_that_ends_after_its_headers_is_truncated(crawler, limits):
    """Nothing of it was seen; whether headers came is what the handler notes for any
    request.
    """

    async def download_async(request):
        request.meta["download_latency"] = 0.1
        raise TimeoutError

    crawler.engine.download_async = download_async
    with pytest.raises(TruncatedError) as raised:
        await limits.download(Request(REQUEST.url), 1_000, 10)
    assert raised.value.body == b""


@pytest.mark.parametrize(("most", "body"), [(0, b""), (1, b"D"), (9, b"Disallow:")])
@ensureDeferred
async def test_as_much_of_a_truncated_body_is_kept_as_counts(
    crawler, limits, most, body
):
    """Nothing if only the headers are wanted."""

    async def download_async(request):
        crawler.signals.send_catch_log(
            bytes_received, request=request, data=b"Disallow: /", dont_log=StopDownload
        )
        request.meta["download_latency"] = 0.1
        raise TimeoutError

    crawler.engine.download_async = download_async
    with pytest.raises(TruncatedError) as raised:
        await limits.download(Request(REQUEST.url), most, 10, is_watched=True)
    assert raised.value.body == body


@pytest.mark.parametrize(
    ("latency", "known"), [(0.1, True), (None, False)], ids=["truncated", "no answer"]
)
@ensureDeferred
async def test_only_what_was_truncated_is_followed_from_its_start(
    crawler, limits, latency, known
):
    """Following costs each page of the crawl a call; a download without an answer shows
    nothing that would be worth it.
    """
    seen = []

    async def download_async(request):
        seen.append(len(crawler.signals.send_catch_log(bytes_received, request=None)))
        if latency is not None:
            request.meta["download_latency"] = latency
        raise TimeoutError

    crawler.engine.download_async = download_async
    for _ in range(2):
        with suppress(TruncatedError, TimeoutError):
            await limits.download(Request(REQUEST.url), 1_000, 10)
    assert seen == [0, int(known)]


@ensureDeferred
async def test_so_many_truncated_addresses_are_known(crawler, limits, monkeypatch):
    monkeypatch.setattr("scrapy_mandelbot.fetching.download_limits._MOST_TRUNCATED", 2)

    followed = []

    async def download_async(request):
        if crawler.signals.send_catch_log(bytes_received, request=None):
            followed.append(request.url[-1])
        request.meta["download_latency"] = 0.1
        raise TimeoutError

    crawler.engine.download_async = download_async
    for number in (*range(5), *range(5)):
        with suppress(TruncatedError):
            await limits.download(Request(f"{REQUEST.url}?{number}"), 1_000, 10)
    assert followed == ["0", "1"]
