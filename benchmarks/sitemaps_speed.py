"""What sitemap readers find, how fast, and in how much memory, in one run::

    pip install scrapy ultimate-sitemap-parser advertools
    python benchmarks/sitemaps_speed.py

Peers that are not installed are left out. Every reader reads every input in a process of its own,
so that its memory is its own: the most that it held, less what it held with the reader's modules
loaded. It is given 60 seconds and 4 GB. An input is a file, which each reads as it can: ours in
pieces of 64 KiB; Scrapy's ``Sitemap`` whole, unpacked by its ``gunzip`` with DOWNLOAD_MAXSIZE for
a limit, as SitemapSpider does; ultimate-sitemap-parser as an answer of a server; advertools from
the file system. Only URLs count that the input has: half ones and others do not. Linux only.
"""

from __future__ import annotations

import gzip
import json
import logging
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LIMIT = 60  # seconds of CPU
ROUNDS = 3  # the best time counts
SITE = "https://www.example.com"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
OPEN = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
END = "</urlset>\n"


# Inputs: each writes a file and returns how many good URLs are in it.


def entry(number: int, extra: str = "") -> str:
    return (
        f"<url><loc>{SITE}/catalogue/section-{number % 40}/article-about-it-{number:07d}.html"
        f"{extra}</loc><lastmod>2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
        f"T{number % 24:02d}:{number % 60:02d}:00+00:00</lastmod>"
        f"<changefreq>weekly</changefreq><priority>0.8</priority></url>\n"
    )


def sitemap(entries: Iterable[str]) -> bytes:
    return "".join([HEAD, OPEN, *entries, END]).encode()


def good(count: int) -> Iterator[str]:
    return map(entry, range(count))


def one_broken() -> bytes:
    entries = list(good(50_000))
    entries[25_000] = entries[25_000].replace("</loc>", "</lo")
    return sitemap(entries)


def laughing() -> bytes:
    lines = ["<!DOCTYPE urlset [", '<!ENTITY lol0 "lol">']
    lines += [f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(1, 10)]
    bad = "<url><loc>&lol9;</loc></url>\n"
    return (HEAD + "\n".join(lines) + "]>\n" + OPEN + bad + entry(1) + entry(2) + END).encode()


def bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress((HEAD + OPEN + entry(1) + entry(2)).encode())]
    parts += [packer.compress(b" " * (1 << 20)) for _ in range(1 << 10)]
    return b"".join([*parts, packer.flush()])


def feed(kind: str) -> bytes:
    pages = [f"{SITE}/page/{number}" for number in range(1000)]
    items = {
        "rss": "<item><title>Page</title><link>{}</link><description>Text</description>"
        "<pubDate>Sat, 07 Sep 2024 00:00:01 GMT</pubDate></item>",
        "atom": '<entry><title>Page</title><link href="{}"/><summary>Text</summary>'
        "<updated>2024-09-07T00:00:01Z</updated></entry>",
        "text": "{}\n",
    }
    around = {
        "rss": HEAD + '<rss version="2.0"><channel><title>Pages</title>{}</channel></rss>',
        "atom": HEAD + '<feed xmlns="http://www.w3.org/2005/Atom"><title>Pages</title>{}</feed>',
        "text": "{}",
    }
    return around[kind].format("".join(map(items[kind].format, pages))).encode()


INPUTS: dict[str, tuple[int, Callable[[], bytes]]] = {
    "50,000 URLs": (50_000, lambda: sitemap(good(50_000))),
    "250,000 URLs": (250_000, lambda: sitemap(good(250_000))),
    "50,000 URLs, gzip": (50_000, lambda: gzip.compress(sitemap(good(50_000)))),
    "one broken entry": (50_000, one_broken),
    "bare & throughout": (50_000, lambda: sitemap(entry(n, f"?a={n}&b=1") for n in range(50_000))),
    "blank line before <?xml": (50_000, lambda: b"\n" + sitemap(good(50_000))),
    "billion laughs, 2 URLs": (2, laughing),
    "gzip of 1 GiB, 2 URLs": (2, bomb),
    "cut off within URL 1,001": (1000, lambda: sitemap(good(1001)).rpartition(b"1000.html")[0]),
    "gzip cut off, of 2,000": (2000, lambda: gzip.compress(sitemap(good(2000)))[:-6000]),
    "UTF-16": (
        1000,
        lambda: sitemap(good(1000)).decode().replace("UTF-8", "UTF-16").encode("utf-16"),
    ),
    "Latin-1 that says UTF-8": (
        1000,
        lambda: sitemap(entry(n, "?\xe9") for n in range(1000)).decode().encode("latin-1"),
    ),
    "no namespace": (1000, lambda: sitemap(good(1000)).replace(OPEN.encode(), b"<urlset>\n")),
    "control characters": (1000, lambda: sitemap(entry(n) + "\x0b" for n in range(1000))),
    "text, 1,000 URLs": (1000, lambda: feed("text")),
    "RSS 2.0, 1,000 URLs": (1000, lambda: feed("rss")),
    "Atom, 1,000 URLs": (1000, lambda: feed("atom")),
}


# Readers: each loads its modules and returns a function that yields the URLs of a file.

Reader = "Callable[[Path], Iterable[str]]"


def ours() -> Reader:
    from scrapy_mandelbot import SitemapReader  # noqa: PLC0415 - only what is measured is loaded

    def read(path: Path) -> Iterator[str]:
        reader = SitemapReader(f"{SITE}/sitemap.xml", max_entries=None)
        with path.open("rb") as file:
            while not reader.stopped and (piece := file.read(65_536)):
                for found in reader.feed(piece):
                    yield found.loc
        for found in reader.close():
            yield found.loc

    return read


def scrapy() -> Reader:
    from scrapy.utils.gz import gunzip  # noqa: PLC0415
    from scrapy.utils.sitemap import Sitemap  # noqa: PLC0415

    def read(path: Path) -> Iterator[str]:
        body = path.read_bytes()
        if body[:2] == b"\x1f\x8b":
            body = gunzip(body, max_size=1 << 30)
        for found in Sitemap(body):
            yield found["loc"]

    return read


def lxml() -> Reader:
    """The other way to build ours: libxml2's own recovery, fed in the same pieces."""
    from lxml.etree import LxmlError, XMLPullParser  # noqa: PLC0415

    def unpacked(path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            unpack = zlib.decompressobj(31) if file.peek(2)[:2] == b"\x1f\x8b" else None
            while piece := file.read(65_536):
                yield unpack.decompress(piece, 65_536) if unpack else piece
                while unpack and unpack.unconsumed_tail:
                    yield unpack.decompress(unpack.unconsumed_tail, 65_536)

    def read(path: Path) -> Iterator[str]:
        names = ("{*}url", "{*}sitemap")
        parser = XMLPullParser(("end",), tag=names, recover=True, resolve_entities=False)
        for piece in unpacked(path):
            parser.feed(piece)
            yield from taken(parser)
        with suppress(LxmlError):
            parser.close()
        yield from taken(parser)

    def taken(parser: XMLPullParser) -> Iterator[str]:
        for _, found in parser.read_events():
            yield (found.findtext("{*}loc") or "").strip()
            found.clear()
            while found.getprevious() is not None:
                del found.getparent()[0]

    return read


class LocalClient:
    """Gives ultimate-sitemap-parser a file as the answer of a server."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, url: str) -> Any:
        from usp.web_client.abstract_client import LocalWebClientSuccessResponse  # noqa: PLC0415

        answer = LocalWebClientSuccessResponse(url, "")
        answer.raw_data = self.path.read_bytes
        return answer

    def set_max_response_data_length(self, length: int) -> None:
        """It sets its own limit, and has it checked when it unpacks."""


def usp() -> Reader:
    from usp.fetch_parse import SitemapFetcher  # noqa: PLC0415

    logging.disable(logging.CRITICAL)

    def read(path: Path) -> Iterator[str]:
        packed = path.read_bytes()[:2] == b"\x1f\x8b"
        url = f"{SITE}/sitemap.xml{'.gz' if packed else ''}"  # it goes by the name
        for page in SitemapFetcher(url, 0, LocalClient(path)).sitemap().all_pages():
            yield page.url

    return read


def advertools() -> Reader:
    import advertools as adv  # noqa: PLC0415

    logging.disable(logging.CRITICAL)

    def read(path: Path) -> Iterable[str]:
        packed = path.read_bytes()[:2] == b"\x1f\x8b"
        copy = path.with_name("sitemap.xml.gz" if packed else "sitemap.xml")
        copy.write_bytes(path.read_bytes())
        frame = adv.sitemap_to_df(copy.as_uri())
        return list(frame["loc"].dropna()) if "loc" in frame else []

    return read


READERS = {
    "ours": (ours, "scrapy-mandelbot"),
    "Scrapy": (scrapy, "scrapy"),
    "lxml": (lxml, "lxml"),
    "usp": (usp, "ultimate-sitemap-parser"),
    "advertools": (advertools, "advertools"),
}


# One measurement, in a process of its own.

GOOD = re.compile(
    rf"{SITE}/(?:page/\d+|catalogue/section-\d+/article-about-it-\d{{7}}\.html"
    r"(?:\?a=\d+&b=1|\?\xe9|\?%C3%A9)?)"
)


def memory(field: str) -> float:
    """Return how much memory this process holds (VmRSS) or has held at most (VmHWM), in MB.

    Not `getrusage`: its maximum begins with that of the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1000


def measure(name: str, path: Path) -> None:
    """Print how many URLs a reader finds in the file, its CPU seconds, and its megabytes."""
    read = READERS[name][0]()
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    Path("/proc/self/clear_refs").write_text("5")  # begin anew with VmHWM
    before = memory("VmRSS")
    start = time.process_time()
    count, last, error = 0, "", ""
    try:
        for url in read(path):
            count += url != last and GOOD.fullmatch(url) is not None
            last = url
    except Exception as exception:  # noqa: BLE001 - whatever it is, it is the result
        error = type(exception).__name__
    print(json.dumps([count, time.process_time() - start, memory("VmHWM") - before, error]))


def measured(name: str, path: Path) -> tuple[int, float, float, str]:
    """Return what `measure` prints, the best of some rounds, or what became of it."""
    results = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, __file__, name, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not done.stdout:
            return 0, 0.0, 0.0, "killed" if done.returncode < 0 else "failed"
        results.append(json.loads(done.stdout.splitlines()[-1]))
        if results[0][1] > 5:
            break
    return min(results, key=lambda result: result[1])


def cell(result: tuple[int, float, float, str]) -> str:
    count, seconds, megabytes, error = result
    if error in {"killed", "failed"}:
        return f"{error:>31}"
    return f"{count:>9,}{'!' if error else ' '}{seconds:8.3f} s{megabytes:8,.1f} MB"


def installed() -> dict[str, str]:
    """Return the readers that are there, with their versions."""
    found = {"ours": "of this tree"}
    for name, (_, package) in READERS.items():
        with suppress(PackageNotFoundError):
            found.setdefault(name, version(package))
    for name in READERS.keys() - found:
        print(f"({READERS[name][1]} is not installed)", file=sys.stderr)
    return {name: found[name] for name in READERS if name in found}


def main() -> None:
    found = installed()
    print(
        f"Python {platform.python_version()}, {platform.machine()}, CPU seconds, best of {ROUNDS}"
    )
    print(", ".join(f"{READERS[name][1]} {number}" for name, number in found.items()))
    print(f"{'':26}{'has':>8}" + "".join(f"{name:>31}" for name in found) + "   to Scrapy")
    with tempfile.TemporaryDirectory() as folder:
        for title, (count, make) in INPUTS.items():
            path = Path(folder) / "input"
            path.write_bytes(make())
            results = {name: measured(name, path) for name in found}
            row = "".join(cell(results[name]) for name in found)
            ratio = ""
            if "Scrapy" in results and results["Scrapy"][1] > 0.05:
                ratio = f"{results['Scrapy'][1] / results['ours'][1]:11.2f}x"
            print(f"{title:26}{count:>8,}{row}{ratio}", flush=True)
    print(f"!: ended with an exception; killed: took over {LIMIT} s")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
