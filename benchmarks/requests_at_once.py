"""Requests of one site that are with its server at once, for a limit of the settings.

A site on loopback answers each request after 60 ms and counts those that it has at
once; a spider follows 100 links of it with ``CONCURRENT_REQUESTS_PER_DOMAIN`` 1, 2, 4
and 8, no delay, and ``CONCURRENT_REQUESTS`` 16, as Scrapy has it. Printed is the most
of them, with stock Scrapy and with the add-on. Exits with 1 if the add-on exceeds the
limit.

Scrapy 2.19 exceeds it: ``Downloader._process_queue`` (scrapy/core/downloader) takes
requests from the slot's queue while ``slot.free_transfer_slots()`` is more than 0, and
schedules ``_wait_for_download`` for each. The slot counts a request as being
transferred in ``_download``, which runs in a later turn of the event loop; until then
all that are queued pass. Where a slot has a delay, one request leaves at a time, and
the limit holds.

Usage::

    python benchmarks/requests_at_once.py
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from crowded import SETTINGS
from rivals import CRAWLS, SCRAPY, Site

LIMITS = (1, 2, 4, 8)
PAGES = 100


class Counting(Site):
    """Answers after 60 ms."""

    async def make_page(self) -> None:
        await asyncio.sleep(0.06)


async def most_at_once(name: str, limit: int) -> int:
    """Crawl the site; return how many requests it had at once at the most."""
    site = Counting(pages=PAGES)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    settings = {
        **SETTINGS,
        "CONCURRENT_REQUESTS_PER_DOMAIN": limit,
        **CRAWLS[name].settings,
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "crawl.py").write_text(SCRAPY)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "crawl.py", url, json.dumps(settings), cwd=folder
        )
        await process.wait()
    server.close()
    return site.most_inside


def main() -> None:
    border = "=====  ============  ====================="
    print(border, "limit  stock Scrapy  with scrapy-mandelbot", border, sep="\n")
    exceeded = False
    for limit in LIMITS:
        stock = asyncio.run(most_at_once("stock", limit))
        ours = asyncio.run(most_at_once("mandelbot", limit))
        exceeded = exceeded or ours > limit
        print(f"{limit:<5}  {stock:<12}  {ours}", flush=True)
    print(border)
    sys.exit(1 if exceeded else 0)


if __name__ == "__main__":
    main()
