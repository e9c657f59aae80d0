"""What pages and sitemaps that were made to be slow cost: processor time at n, 2n and 4n.

Usage: python benchmarks/hostile.py

Each shape is read at three lengths, the least of three runs counts, as noise only adds. ``growth``
is the time for twice the length, the greater of the two; 2 is linear. ``ms / 100 KB`` is at the
greatest length, of what is read: unpacked, and up to where a limit ends it. ``longest turn`` is the
longest time for which following a sitemap keeps the loop from all others. A shape that takes longer
than ten seconds is not read at greater lengths.
"""

from __future__ import annotations

import gzip
import time
import tracemalloc
from itertools import islice, pairwise

from scrapy_mandelbot import SitemapReader, robot_tags

PAGE_SIZES = (64, 128, 256)  # KiB
SITEMAP_SIZES = (1024, 2048, 4096)
LONGEST = 10.0  # seconds, beyond which no greater length is tried
AGENT = "Examplebot"

PAGES = {
    "<meta a, name= without end": lambda n: fill("name=", n, "<html><head><meta a "),
    "<!-- again and again": lambda n: fill("<!--", n),
    "<meta name=robots content=x>": lambda n: fill("<meta name=robots content=x>", n),
    "unavailable_after in each tag": lambda n: fill(
        f"<meta name=robots content='{'unavailable_after:1,' * 200}'>", n
    ),
    "UTF-16 that is none": lambda n: b"\xff\xfe" + b"\x00\xd8" * (n // 2),
    "ISO-2022-JP that is none": lambda n: b"\x1b$B<meta " + b"\xff" * n,
    "an attribute for each three bytes": lambda n: fill("a= ", n, "<meta name=robots "),
    "a name of digits": lambda n: fill("1", n, "<meta content=x name='robots&#"),
    "<script> again and again": lambda n: fill("<script>", n),
    "<!--> and --> again and again": lambda n: fill("<!-- > -->", n, "<meta name=robots>"),
}
OPEN = "<urlset>"
SIGNS = "\u0316\u0300"  # that go above and below a letter: sorted when normalised
ENTRY = "<url><loc>https://example.com/page</loc></url>"
SITEMAPS = {
    "entries as they should be": lambda n: fill(ENTRY, n, OPEN),
    "entries of 1 MB": lambda n: fill(f"<url><loc>/{'<a>' * 350_000}</loc></url>", n, OPEN),
    "entries of 60 KB": lambda n: fill(f"<url><loc>/{'<a>' * 20_000}</loc></url>", n, OPEN),
    "an entry without end": lambda n: fill("<a>", n, OPEN + "<url><loc>/"),
    "no entries, only <": lambda n: fill("<", n, OPEN),
    "<?> again and again": lambda n: fill("<?>", n, OPEN),
    "alternates": lambda n: fill(f"<url><loc>/</loc>{'<link href=a/>' * 4_000}", n, OPEN),
    "relative entries": lambda n: fill("<url><loc>a</loc></url>", n, OPEN),
    "empty entries": lambda n: fill("<url/>", n, OPEN),
    "a host of combining signs": lambda n: fill(
        f"<url><loc>http://a{SIGNS * 15_000}/</loc></url>", n, OPEN
    ),
    "lines that are no URLs": lambda n: fill("a\n", n, "https://example.com/\n"),
    "bytes that are not UTF-8": lambda n: OPEN.encode() + b"\x80" * n,
    "gzip: spaces": lambda n: gzip.compress(OPEN.encode() + b" " * 8 * n),
    "gzip: empty files in gzip": lambda n: gzip.compress(gzip.compress(b"") * (n // 4)),
}


def fill(text: str, size: int, start: str = "") -> bytes:
    """Return the text again and again, up to a size, after a start."""
    data = text.encode()
    return (start.encode() + data * (size // len(data) + 1))[:size]


def read_page(body: bytes) -> float:
    """Return the longest turn, which is the only one."""
    began = time.process_time()
    robot_tags([], body, AGENT)
    return time.process_time() - began


def read_sitemap(body: bytes) -> float:
    """Return the longest turn: as far as who follows a sitemap can let others have theirs."""
    reader = SitemapReader("https://example.com/sitemap.xml")
    turns = [0.0]
    for start in range(0, len(body), 65_536):
        turns += turns_of(reader, reader.feed(body[start : start + 65_536]))
    turns += turns_of(reader, reader.close())
    return max(turns)


def turns_of(reader: SitemapReader, entries):
    """Yield what each turn takes. Of a reader without steps a turn is 200 entries."""
    step = getattr(reader, "step", lambda: [*islice(entries, 200)] or None)
    found: object = ()
    while found is not None:
        began = time.process_time()
        found = step()
        yield time.process_time() - began


def size_of(body: bytes) -> int:
    """Return the size, unpacked, as far as it is read."""
    return min(len(gzip.decompress(body)), 52_428_800) if body[:2] == b"\x1f\x8b" else len(body)


def measure(read, make, sizes) -> list[tuple[float, float, int]]:
    """Return seconds, the longest turn and bytes for each length."""
    found = []
    for size in sizes:
        body = make(size * 1024)
        runs = []
        for _ in range(3):
            began = time.process_time()
            turn = read(body)
            runs.append((time.process_time() - began, turn))
            if runs[-1][0] > 1.0:
                break
        seconds, _ = min(runs)
        found.append((seconds, min(turn for _, turn in runs), size_of(body)))
        if seconds > LONGEST:
            break
    return found


def table(title: str, read, shapes, sizes) -> None:
    print(f"\n{title:36} {'ms at n, 2n, 4n':>26} {'growth':>7} {'ms / 100 KB':>12} {'turn':>8}")
    for name, make in shapes.items():
        found = measure(read, make, sizes)
        took = " ".join(f"{seconds * 1000:8.1f}" for seconds, *_ in found)
        growth = max((b[0] / a[0] for a, b in pairwise(found)), default=float("nan"))
        seconds, turn, size = found[-1]
        rate = seconds * 1000 / size * 100_000
        print(f"{name:36} {took:>26} {growth:7.1f} {rate:12.1f} {turn * 1000:8.1f}", flush=True)


def memory_of_tags() -> None:
    """Print what is kept of pages that all say something else, and much."""
    tracemalloc.start()
    for number in range(200):
        page = fill(f"<meta name=robots content='{number},{'a,' * 2000}'>", 256 * 1024)
        robot_tags([], page, AGENT)
        if number == 0:
            first, _ = tracemalloc.get_traced_memory()
    last, _ = tracemalloc.get_traced_memory()
    print(f"\nheld after 1 and 200 such pages: {first / 2**20:.1f} and {last / 2**20:.1f} MiB")


if __name__ == "__main__":
    table("page, robot_tags", read_page, PAGES, PAGE_SIZES)
    table("sitemap, SitemapReader in pieces", read_sitemap, SITEMAPS, SITEMAP_SIZES)
    memory_of_tags()
