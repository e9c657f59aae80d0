"""Where the resident memory of this process is: live objects, or free memory that the
allocators keep. For benchmarks on Linux with glibc.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import NamedTuple

CONNECTIONS = "connections"
OTHERS = "other code"
FRAMES = 8  # of a traceback: a dict's copy is made in the standard library
KINDS = (
    ("scrapy/core/downloader/handlers/", CONNECTIONS),
    ("scrapy/core/downloader/contextfactory", CONNECTIONS),
    ("scrapy/core/downloader/tls", CONNECTIONS),
    ("/twisted/", CONNECTIONS),
    ("/OpenSSL/", CONNECTIONS),
    ("/asyncio/s", CONNECTIONS),  # selectors, sockets, tls
    ("/scrapy/", "Scrapy"),
    ("scrapy_mandelbot/report/", "the report"),
    ("scrapy_mandelbot/sitemap_crawl/", "sitemaps"),
    ("scrapy_mandelbot/job/", "the job"),
    ("scrapy_mandelbot/spidermiddlewares/", "tags and usage"),
    ("mandelbot/preferences/", "tags and usage"),
    ("mandelbot/tags/", "tags and usage"),
    ("mandelbot/robotstxt/", "parsed rules"),
    ("scrapy_mandelbot/fetching/", "parsed rules"),
    ("scrapy_mandelbot/store/", "the store"),
    ("/mandelbot/", "site state"),
    ("scrapy_mandelbot/", "site state"),
)
"""Part of a file's path, and what the objects are that its code makes. The first row
that fits the innermost frame decides, else the frame that called it."""


class _MallocInfo(ctypes.Structure):
    """What mallinfo2() of glibc returns."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


_libc = ctypes.CDLL(None)
_libc.mallinfo2.restype = _MallocInfo


class Memory(NamedTuple):
    """Bytes of the process, by who holds them."""

    resident: int
    """All of its pages in memory."""
    objects: int
    """Small Python objects that are alive."""
    objects_free: int
    """What Python's allocator keeps for further small objects."""
    blocks: int
    """Blocks of the C library in use: larger objects, and what C libraries hold."""
    blocks_free: int
    """What the C library keeps for further blocks."""

    @classmethod
    def now(cls) -> Memory:
        """Return where the memory is, after a full collection."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        info = _libc.mallinfo2()
        arenas, live = _small_objects()
        return cls(
            pages * os.sysconf("SC_PAGE_SIZE"),
            live,
            arenas - live,
            info.uordblks + info.hblkhd,
            info.fordblks,
        )

    @property
    def rest(self) -> int:
        """Pages of files and stacks, less the pages that were never used."""
        return self.resident - sum(self[1:])

    def since(self, before: Memory) -> Memory:
        """Return how much each has grown."""
        return Memory(*(now - then for now, then in zip(self, before, strict=True)))


_ARENAS = re.compile(r"arenas \* \d+ bytes/arena\s*=\s*([\d,]+)")
_LIVE = re.compile(r"bytes in allocated blocks\s*=\s*([\d,]+)")


def _small_objects() -> tuple[int, int]:
    """Return the bytes of all arenas of small objects, and those of live objects; zeros
    while blocks are traced, as Python prints nothing then.
    """
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()  # noqa: SLF001 -- it writes to standard error
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        text = file.read().decode()
    return _number(_ARENAS, text), _number(_LIVE, text)


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1].replace(",", "")) if found else 0


def begin_tracing() -> None:
    """Note which code makes which object, from now on; it takes its time."""
    tracemalloc.start(FRAMES)


def traced_by_kind() -> Counter[str]:
    """Return the bytes of live blocks that were traced, by kind; stop tracing."""
    found: Counter[str] = Counter()
    if not tracemalloc.is_tracing():
        return found
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    ours = tracemalloc.Filter(inclusive=False, filename_pattern=tracemalloc.__file__)
    snapshot = snapshot.filter_traces([ours])
    for trace in snapshot.traces:
        found[_kind(trace.traceback)] += trace.size
    return found


def _kind(traceback: tracemalloc.Traceback) -> str:
    for frame in reversed(traceback):  # the innermost first
        for part, kind in KINDS:
            if part in frame.filename:
                return kind
    return OTHERS


def types() -> Counter[str]:
    """Return how many objects of each type the collector knows."""
    return Counter(
        f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects()
    )
