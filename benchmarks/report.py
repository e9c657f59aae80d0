"""The report on a crawl of many sites, and on one with an outage: its size, and what it takes.

Usage::

    python benchmarks/report.py sites [SITES [FOLDER]]
    python benchmarks/report.py outage [SECONDS [FOLDER]]

sites   so many sites on loopback, two pages each, with MANDELBOT_REPORT and without, in a process
        of its own each
outage  one site of three that answers 503 for so many seconds from its fortieth page on

Printed are the processor seconds and the memory at its peak of each crawl; the size of the page and
of the JSON; the seconds that the page takes to open in Chromium, to show the second page of sites,
and to find one. With a folder the report stays there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scrapy
from loopback import hosts, open_more_files
from scrapy.crawler import CrawlerProcess

HERE = Path(__file__).parent
AGENT = "Examplebot/1.0 (+https://example.com/bot)"
SETTINGS = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_ITEMS": 1,
    "DEPTH_LIMIT": 12,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "MANDELBOT_STORE": "memory",
    "USER_AGENT": AGENT,
}


class Pages(scrapy.Spider):
    """Asks each site for its front page, and for some of those that it links to."""

    name = "pages"
    most_links = 2

    def parse(self, response):
        yield from response.follow_all(response.css("a::attr(href)").getall()[: self.most_links])


def crawl(urls: list[str], settings: dict, most_links: int) -> None:
    """Crawl, and print the processor time and the memory."""
    open_more_files()
    process = CrawlerProcess({**SETTINGS, **settings})
    process.crawl(Pages, start_urls=urls, most_links=most_links)
    process.start()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))


def in_a_process(*arguments: object) -> list[float]:
    words = [sys.executable, __file__, "crawl", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def sites(count: int, folder: Path) -> None:
    with serving("loopback.py", count) as port:
        urls = folder / "urls"
        urls.write_text("\n".join(f"http://{host}:{port}/" for host in hosts(count)))
        report = folder / "report.html"
        print(f"{count:,} sites, 2 pages each         CPU s   MB")
        for name, settings in (
            ("with a report", {"MANDELBOT_REPORT": str(report)}),
            ("without a report", {}),
        ):
            seconds, peak = in_a_process(urls, json.dumps({**settings, "DEPTH_LIMIT": 1}), 1)
            print(f"  {name:<28}{seconds:>7.1f}{peak:>5.0f}", flush=True)
    told(report)


def outage(seconds: float, folder: Path) -> None:
    with serving("report.py", "down", seconds) as port:
        urls = folder / "urls"
        urls.write_text("\n".join(f"http://127.0.0.{number}:{port}/0" for number in (1, 2, 3)))
        report = folder / "report.html"
        used, peak = in_a_process(urls, json.dumps({"MANDELBOT_REPORT": str(report)}), 2)
    print(f"an outage of {seconds:g} s: {used:.1f} CPU seconds, {peak:.0f} MB")
    told(report)


def told(report: Path) -> None:
    sys.path.insert(0, str(HERE.parent / "tests"))
    from browser import Browser  # noqa: PLC0415 - of the tests

    data = report.with_suffix(".json")
    print(f"  page {report.stat().st_size:,} bytes, JSON {data.stat().st_size:,} bytes")
    browser = Browser()
    try:
        browser.be(1440)
        for name, script in (
            ("opened", None),
            ("the next sites", "document.getElementById('next').click()"),
            ("one site found", FIND),
        ):
            began = time.perf_counter()
            if script is None:
                browser.show(report)
            else:
                browser.execute_script(script)
            browser.execute_script("return document.body.offsetHeight")
            print(f"  {name:<16}{time.perf_counter() - began:>6.2f} s")
    finally:
        browser.quit()


FIND = """
const find = document.getElementById("find");
find.value = "127.0.1";
find.dispatchEvent(new Event("input"));
"""


class serving:  # noqa: N801 - reads as a function
    """A server that runs while something is done, and its port."""

    def __init__(self, *words: object) -> None:
        name, *rest = words
        self._server = subprocess.Popen(
            [sys.executable, HERE / str(name), *map(str, rest)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> int:
        return int(self._server.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._server.stdin.close()
        self._server.wait(10)
        self._server.stdout.close()


def be_down(seconds: float) -> None:
    """Serve three sites, the first of which is down for a while."""
    import asyncio  # noqa: PLC0415 - for a process of its own

    asked, down = 0, [0.0, 0.0]

    async def serve(reader, writer) -> None:
        nonlocal asked
        host = writer.get_extra_info("sockname")[0]
        while head := await read_head(reader):
            path = head.split(b" ", 2)[1]
            status, extra, body = 200, b"", b"User-agent: *\nDisallow: /closed\n"
            if host == "127.0.0.1":
                asked += 1
                if asked == 40:
                    down[:] = [time.monotonic(), time.monotonic() + seconds]
                if down[0] <= time.monotonic() < down[1]:
                    status, body = 503, b""
                    extra = b"Retry-After: 10\r\n" if asked % 2 else b""
            if path != b"/robots.txt" and status == 200:
                number = int(path[1:] or b"0")
                links = b"".join(b'<a href="/%d">' % (number * 2 + n) for n in (1, 2))
                body = b"<html>" + (links if number < 150 else b"") + b'<a href="/closed/x">'
                await asyncio.sleep(0.05)
            kind = b"text/plain" if path == b"/robots.txt" else b"text/html"
            writer.write(
                b"HTTP/1.1 %d x\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n%b"
                % (status, kind, extra, len(body), body)
            )
        writer.close()

    async def read_head(reader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    async def run() -> None:
        first = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = first.sockets[0].getsockname()[1]
        others = [await asyncio.start_server(serve, f"127.0.0.{n}", port) for n in (2, 3)]
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        del others

    asyncio.run(run())


def main(mode: str, amount: str = "", folder: str = "") -> None:
    with tempfile.TemporaryDirectory() as made:
        where = Path(folder or made).resolve()
        where.mkdir(exist_ok=True, parents=True)
        if mode == "sites":
            sites(int(amount or 5_000), where)
        else:
            outage(float(amount or 60), where)


if __name__ == "__main__":
    if sys.argv[1] == "crawl":
        _, _, urls, settings, links = sys.argv
        crawl(Path(urls).read_text().split(), json.loads(settings), int(links))
    elif sys.argv[1] == "down":
        be_down(float(sys.argv[2]))
    else:
        main(*sys.argv[1:])
