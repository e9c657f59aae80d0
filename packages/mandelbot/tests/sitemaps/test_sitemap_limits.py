"""Limits: what is too much is cut, said, and costs no memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
import zlib
from itertools import repeat
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mandelbot import SitemapReader
from mandelbot.sitemaps import unpacking

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "https://example.com/sitemap.xml"
OPEN, END = b"<urlset>", b"</urlset>"
ENTRY = b"<url><loc>https://example.com/page</loc></url>"
LINE = b"https://example.com/page\n"


def read(body: bytes, **limits: int | None) -> tuple[int, list[str], SitemapReader]:
    reader = SitemapReader(URL, **limits)
    found = sum(1 for _ in (*reader.feed(body), *reader.close()))
    return found, [str(problem) for problem in reader.problems], reader


LINKS = b'<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>'
LINKED = b"<url><loc>https://example.com/page</loc>%s</url>"
TOO_MANY = "there are more than 3 entries: the rest is not read"
FULL = "byte 99: unpacked, it is longer than 99 bytes: the rest is not read"


@pytest.mark.parametrize(
    ("body", "limits", "found", "problems"),
    [
        # sitemaps.org: "no more than 50,000 URLs and no larger than 50MB (52,428,800
        # bytes)".
        (OPEN + ENTRY * 50_000 + END, {}, 50_000, []),
        (
            *(OPEN + ENTRY * 50_001 + END, {}, 50_000),
            ["there are more than 50,000 entries: the rest is not read"],
        ),
        (OPEN + ENTRY * 50_001 + END, {"max_entries": None}, 50_001, []),
        (OPEN + ENTRY * 3 + END, {"max_entries": 3}, 3, []),
        (OPEN + ENTRY * 4 + END, {"max_entries": 3}, 3, [TOO_MANY]),
        (LINE * 3 + b"\n# end\n", {"max_entries": 3}, 3, []),
        (LINE * 4, {"max_entries": 3}, 3, [TOO_MANY]),
        (
            *(OPEN + b"<url/>" * 4 + END, {"max_entries": 3}, 0),
            ["entry 1: an entry has no URL: it is left out (4 times)", TOO_MANY],
        ),
        (OPEN + ENTRY * 2 + END, {"max_bytes": 109}, 2, []),
        (OPEN + ENTRY + END + b" " * 36, {"max_bytes": 99}, 1, []),
        (OPEN + ENTRY + END + b" " * 37, {"max_bytes": 99}, 1, [FULL]),
        (OPEN + ENTRY * 2 + END, {"max_bytes": 99}, 1, [FULL]),
        (gzip.compress(OPEN + ENTRY * 2 + END), {"max_bytes": 99}, 1, [FULL]),
        (
            gzip.compress(gzip.compress(OPEN + ENTRY * 2 + END)),
            {"max_bytes": 99},
            1,
            [FULL],
        ),
        (
            *(
                OPEN + ENTRY[:-6] + b" " * 100 + b"</url>" + ENTRY + END,
                {"max_entry_length": 99},
                1,
            ),
            ["entry 1: an entry is longer than 99 characters: it is left out"],
        ),
        (
            *(
                LINE + b"https://example.com/" + b"a" * 100 + b"\n" + LINE,
                {"max_entry_length": 99},
            ),
            *(2, ["line 2: an entry is longer than 99 characters: it is left out"]),
        ),
        (
            *(
                OPEN
                + b"<url><loc>https://example.com/"
                + b"a" * 2028
                + b"</loc></url>"
                + ENTRY
                + END,
                {},
                2,
            ),
            ["entry 1: an entry's URL is longer than 2,048 characters"],
        ),
        (OPEN + LINKED % (b"<a>" * 7_996) + END, {}, 1, []),
        (
            *(OPEN + LINKED % (b"<a>" * 7_997) + ENTRY + END, {}, 1),
            ["entry 1: an entry has more than 8,000 tags: it is left out"],
        ),
        (OPEN + LINKED % (LINKS * 500) + END, {}, 1, []),
        (
            *(OPEN + LINKED % (LINKS * 501) + END, {}, 1),
            ["entry 1: an entry has more than 500 alternates: the others are left out"],
        ),
        (gzip.compress(LINE) * 1_000, {}, 1_000, []),
        (
            *(gzip.compress(LINE) * 1_001, {}, 1_000),
            ["it is made of more than 1,000 gzip files: the others are left out"],
        ),
        (
            *(
                OPEN + LINKED % (b"<priority>" + b"1" * 30_000 + b"</priority>") + END,
                {},
                1,
            ),
            [f"entry 1: a priority is not a number from 0.0 to 1.0: '{'1' * 80}'"],
        ),
        (
            *(
                OPEN + b"<url><loc>https://" + b"a" * 1_000 + b"/</loc></url>" + END,
                {},
                0,
            ),
            [
                (
                    "entry 1: an entry's URL cannot be read, or is not of http or "
                    "https: it is left out"
                )
            ],
        ),
        (
            *(LINE + b"https://example.com/" + b"a" * 2028, {}, 2),
            ["line 2: an entry's URL is longer than 2,048 characters"],
        ),
    ],
)
def test_a_limit_cuts_and_says_so(body, limits, found, problems):
    """Up to the limit all is read, beyond it nothing; the message names the limit."""
    count, said, reader = read(body, **limits)
    assert (count, said) == (found, problems)
    assert reader.stopped == any("the rest is not read" in line for line in problems)


def test_what_is_fed_after_a_limit_is_not_kept():
    """Whoever goes on feeding a reader that has stopped wastes time, but no memory."""
    reader = SitemapReader(URL, max_entries=1)
    body = LINE * 100_000
    assert len([*reader.feed(body)]) == 1
    assert reader.stopped
    assert [*reader.feed(body), *reader.close()] == []
    assert not reader._inbox._pieces


def test_a_reader_that_has_all_it_can_read_says_so():
    """Nothing is read behind the end of the packed data, nor need be fed."""
    reader = SitemapReader(URL)
    assert len([*reader.feed(gzip.compress(LINE) + b"no gzip" * 10_000)]) == 1
    assert reader.stopped


def test_a_line_end_across_two_blocks_is_one():
    """Lines are numbered as an editor numbers them, wherever blocks end."""
    body = LINE.strip().ljust(unpacking.BLOCK - 1) + b"\r\njunk\r\n"
    assert read(body)[:2] == (1, ["line 2: a line is not a URL: 'junk'"])


def test_an_entry_without_end_costs_itself():
    """One that goes on for megabytes is left out without being held, and the next one
    is read.
    """
    reader = SitemapReader(URL)
    tracemalloc.start()
    found = [*reader.feed(OPEN + ENTRY + b"<url><loc>https://example.com/")]
    for _ in range(8):
        found += reader.feed(b"a" * 1_000_000)
    found += [*reader.feed(b"</loc></url>" + ENTRY + END), *reader.close()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 2
    assert [str(problem) for problem in reader.problems] == [
        "entry 2: an entry is longer than 65,536 characters: it is left out"
    ]
    assert peak < 4_000_000


def test_packing_within_packing_is_unpacked_three_times():
    """What is packed once more is not read."""
    packed = gzip.compress(gzip.compress(gzip.compress(LINE)))
    assert read(packed)[:2] == (1, [])
    assert read(gzip.compress(packed))[:2] == (
        0,
        ["it is packed more than 3 times: it is not read", "the file is empty"],
    )


def test_packing_within_packing_has_the_limit_too():
    """What is unpacked only to be unpacked again is cut as well: here, empty files
    without end.
    """
    _, said, reader = read(gzip.compress(gzip.compress(b"") * 10_000), max_bytes=1010)
    assert reader.kind == "unknown"
    assert said[0] == "the gzip data end too early: what came before counts"


BILLION_LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE urlset [
  <!ENTITY lol "lol">
  <!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
  <!ENTITY lol2 "&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;">
  <!ENTITY file SYSTEM "file:///etc/passwd">
  <!ENTITY url "<url><loc>https://example.com/entity</loc></url>">
]>
<urlset>
  <url><loc>&lol2;</loc></url>
  <url><loc>https://example.com/?&file;</loc></url>
  <url><loc>https://example.com/1</loc><lastmod>&lol;</lastmod></url>
  &url;
  <url><loc>https://example.com/2?a&amp;b</loc></url>
</urlset>"""


def test_no_entity_is_expanded_and_the_good_entries_stay():
    """A value that uses an entity of the file's own does not count; all others do."""
    reader = SitemapReader(URL)
    entries = [*reader.feed(BILLION_LAUGHS), *reader.close()]
    assert [entry.loc for entry in entries] == [
        "https://example.com/1",
        "https://example.com/2?a&b",
    ]
    assert entries[0].lastmod_text == ""
    assert [(problem.code, problem.count) for problem in reader.problems] == [
        ("entity", 3),
        ("no-loc", 2),
    ]


def test_elements_within_elements_have_a_bottom():
    """A tower of seven thousand tags is no recursion, and no deep data."""
    tower = (
        OPEN
        + b"<url><loc>https://example.com/1</loc>"
        + b"<a>" * 7_000
        + b"</url>"
        + END
    )
    reader = SitemapReader(URL)
    (entry,) = [*reader.feed(tower), *reader.close()]
    assert entry.loc == "https://example.com/1"
    assert str(entry.extensions).count("{") < 10


def bomb(size: int) -> bytes:
    """Return gzip data of `size` letters, without ever holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(block) for block in repeat(b"a" * (1 << 20), size >> 20)]
    return b"".join([*parts, packer.flush()])


@pytest.mark.parametrize(
    ("start", "stopped"),
    [(b"", True), (LINE, True)],
    ids=["of nothing", "of a line without end"],
)
def test_a_bomb_is_cut(start, stopped):
    """Of 32 MiB no more is unpacked than is allowed, in steps of a block."""
    body = gzip.compress(start) + bomb(32 << 20)
    tracemalloc.start()
    _, said, reader = read(body, max_bytes=8 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.stopped is stopped
    assert said
    assert peak < 8_000_000


def peak_of(blocks: int) -> int:
    """Return the bytes that reading a sitemap of so many thousand entries takes at
    most.
    """
    entry = b"<url><loc>https://example.com/%07d</loc><image:image><image:loc>/i</image:loc></url>\n"
    block = b"".join(entry % number for number in range(1000))
    tracemalloc.start()
    reader = SitemapReader(URL, max_entries=None)
    count = sum(1 for _ in reader.feed(OPEN))
    for _ in range(blocks):
        # a copy: of one block that is fed again and again, whoever keeps it keeps one
        count += sum(1 for _ in reader.feed(block.replace(b"i", b"j")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 1000 * blocks - 1000
    return peak


def test_memory_does_not_grow_with_the_file():
    """Reading 500 KB takes no more than reading 250 KB does: a few blocks."""
    small, large = peak_of(3), peak_of(6)
    assert large < 1.1 * small
    assert large < 3_000_000


def test_many_small_pieces_cost_little():
    """Byte by byte takes no more memory, nor time that grows with what came before."""
    tracemalloc.start()
    reader = SitemapReader(URL)
    body = OPEN + ENTRY * 1000 + END
    count = sum(1 for at in range(len(body)) for _ in reader.feed(body[at : at + 1]))
    count += sum(1 for _ in reader.close())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 1000
    assert peak < 2_000_000


PROCESS = """
import re, zlib
from pathlib import Path
from mandelbot import SitemapReader

def most_memory():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1000

def read(size):
    url = "https://example.com/sitemap.xml"
    reader = SitemapReader(url, max_bytes=size, max_entries=None)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    entries = b"<url><loc>https://example.com/page</loc></url>" * 20_000
    count = sum(1 for _ in reader.feed(packer.compress(b"<urlset>")))
    while not reader.stopped:
        count += sum(1 for _ in reader.feed(packer.compress(entries)))
    return count

read(1000)
before = most_memory()
print(read(16 << 20), most_memory() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has it")
def test_the_process_does_not_grow():
    """Reading 16 MiB, packed, the operating system sees less than 10 MB more of the
    process.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROCESS], check=True, capture_output=True
    )
    count, grown = map(int, done.stdout.split())
    assert count > 300_000
    assert grown < 10_000_000


def steps(body: bytes, **limits: int | None) -> tuple[list[int], SitemapReader]:
    """Return how many entries each step has found."""
    reader = SitemapReader(URL, **limits)
    found = []
    for end in (lambda: reader.feed(body), reader.close):
        end()
        while (entries := reader.step()) is not None:
            found.append(len(entries))
    return found, reader


@pytest.mark.parametrize(
    ("body", "most"),
    [
        (OPEN + ENTRY * 5_000 + END, 50),
        (OPEN + b"<url/>" * 5_000 + END, 0),
        (LINE + b"#\n" * 340_000, 1),
        (OPEN + b" " * 680_000, 0),
        (OPEN + b"<!--" + b" " * 680_000, 0),
        (OPEN + b"<url><loc>/" + b"<a>" * 230_000, 0),
        (gzip.compress(OPEN + b" " * 680_000), 0),
        (gzip.compress(LINE + b"#\n" * 340_000), 1),
    ],
    ids=range(8),
)
def test_a_step_is_a_block_or_fifty_entries(body, most):
    """However few entries a file has, who follows it can let others have their turn in
    between.
    """
    found, reader = steps(body)
    unpacked = len(gzip.decompress(body)) if body[:2] == b"\x1f\x8b" else len(body)
    assert max(found, default=0) == most
    assert len(found) >= min(unpacked // unpacking.BLOCK, 40)
    assert reader.entries_read == sum(found) == read(body)[0]
    assert reader.step() is None


def test_steps_and_iterators_find_the_same():
    """Who takes some with an iterator, and the rest in steps, gets each entry once."""
    reader = SitemapReader(URL)
    reading = reader.feed(OPEN + ENTRY * 1_000 + END)
    count = sum(1 for _, _ in zip(range(150), reading, strict=False))
    reader.close()
    while (entries := reader.step()) is not None:
        count += len(entries)
    assert count == reader.entries_read == 1_000


def test_an_entry_that_goes_on_is_not_read_again_block_by_block():
    """What was looked through for the end of an entry is not looked through for it
    again.
    """
    entry = OPEN + b"<url><loc>https://example.com/1</loc>" + b"<a>" * 7_000
    whole = least_time(lambda: steps(entry + b"</url>" + END))
    with patch.object(unpacking, "BLOCK", 64):
        assert least_time(lambda: steps(entry + b"</url>" + END)) < 20 * whole


def least_time(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that it takes, without what else the machine
    does.
    """

    def time() -> float:
        start = process_time()
        work()
        return process_time() - start

    return min(time() for _ in range(3))
