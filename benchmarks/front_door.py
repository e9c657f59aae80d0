"""The README's table: the same spider with stock Scrapy and with the package.

Three sites on loopback, each crawled twice by an ordinary spider: an item for each page, and all
its links. Stock Scrapy is as it comes, with ROBOTSTXT_OBEY and without a DOWNLOAD_DELAY. Printed
are the pages that reached the spider, of those there are, and the refusals (503) that the site
had to send.

503      answers 503 for five seconds after 50 of 300 pages, with Retry-After
limit    bears 30 requests a second and five more, and answers 503 to what is above
kill -9  the crawl has a JOBDIR, is killed after 500 of 2,000 pages, and is started again

With ``--picture FILE`` the first of them is drawn too: each answer of the site by its time. With
``--autothrottle`` Scrapy's AutoThrottle is crawled with instead of the package.

Usage::

    python benchmarks/front_door.py [--picture FILE | --autothrottle]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import scrapy
from pauses import Server
from scrapy.crawler import CrawlerProcess

LONGEST = 120  # seconds of a crawl
DOWN = 5  # seconds for which the first site refuses
GREY = "#7d8590"
COLOURS = {"times": "#3d8bbd", "refusals": "#d9762b"}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    ' font-family="system-ui, sans-serif" font-size="15" role="img">'
)
VARIANTS = {"stock Scrapy": {}, "scrapy-mandelbot": {"ADDONS": {"scrapy_mandelbot.Addon": 500}}}
CASES = [
    ("a 503 for five seconds", f"closed:{DOWN}", 300, None),
    ("a limit of 30 a second", "limit:30:5", 300, None),
    ("a kill -9, and a second run", "well", 2000, 500),
]


class Pages(scrapy.Spider):
    """Notes each page outside of the process, so that the note outlasts it."""

    name = "pages"

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse)
        with Path("pages.txt").open("a") as file:
            file.write(f"{response.url}\n")


def crawl(url: str, settings: str) -> None:
    """Crawl in this process and folder."""
    process = CrawlerProcess(
        {
            "LOG_LEVEL": "CRITICAL",  # stock Scrapy says of each page that it gave up
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
            "DOWNLOAD_DELAY": 0,
            **json.loads(settings),
        }
    )
    process.crawl(Pages, start_urls=[url])
    process.start()


def pages_of(folder: Path) -> list[str]:
    """Return the URL of each callback that has run to its end."""
    notes = folder / "pages.txt"
    return notes.read_text().split() if notes.exists() else []


def run(folder: Path, url: str, settings: dict, kill_at: int | None) -> None:
    """Crawl in a process of its own; kill it when so many pages are done."""
    command = [sys.executable, Path(__file__).absolute(), "crawl", url, json.dumps(settings)]
    with subprocess.Popen(command, cwd=folder) as child:
        began = time.monotonic()
        while child.poll() is None:
            time.sleep(0.01)
            done = kill_at is not None and len(pages_of(folder)) >= kill_at
            if done or time.monotonic() > began + LONGEST:
                child.kill()


def measure(behaviour: str, pages: int, settings: dict, kill_at: int | None) -> dict:
    """Return what came of a crawl: pages got, and all that the site answered."""
    server = Server(pages, behaviour)
    with tempfile.TemporaryDirectory() as name:
        settings = {**settings, "MANDELBOT_STORE": "memory"}
        if kill_at is not None:
            settings["JOBDIR"] = "job"
            run(Path(name), server.url, settings, kill_at)
        run(Path(name), server.url, settings, None)
        got = len(set(pages_of(Path(name))))
    return {"got": got, **server.stop()}


def picture(results: dict[str, dict], pages: int) -> str:
    """Draw the answers of a site to each variant: a bar for each tenth of a second."""
    width, lane, left, tallest = 720, 150, 20, 95
    scale = (width - 2 * left) / max(
        max(one["times"] + one["refusals"]) for one in results.values()
    )
    columns = {
        (variant, kind): Counter(int(at * 10) for at in one[kind])
        for variant, one in results.items()
        for kind in COLOURS
    }
    most = max(max(column.values()) for column in columns.values())
    parts = [SVG.format(width=width, height=lane * len(results) + 40)]
    for number, (variant, one) in enumerate(results.items()):
        floor = lane * (number + 1) - 10
        told = f"{one['got']} of {pages + 1} pages, {len(one['refusals'])} refusals"
        parts.append(
            f'<text x="{left}" y="{floor - lane + 28}" fill="{GREY}">'
            f'<tspan font-weight="bold">{variant}</tspan>: {told}</text>'
            f'<rect x="{left + one["refusals"][0] * scale:.1f}" y="{floor - tallest}"'
            f' width="{DOWN * scale:.1f}" height="{tallest}" fill="{GREY}" opacity="0.15"/>'
            f'<path d="M{left} {floor}H{width - left}" stroke="{GREY}"/>'
        )
        for kind, colour in COLOURS.items():
            for column, count in sorted(columns[variant, kind].items()):
                tall = max(2.5, tallest * count / most)
                x = left + column / 10 * scale + (kind == "refusals") * 0.045 * scale
                parts.append(
                    f'<rect x="{x:.1f}" y="{floor - tall:.1f}" width="{0.045 * scale:.1f}"'
                    f' height="{tall:.1f}" fill="{colour}"/>'
                )
    below = lane * len(results) + 14
    parts += [
        f'<text x="{left + second * scale:.0f}" y="{below}" fill="{GREY}" font-size="13">'
        f"{second} s</text>"
        for second in range(0, int((width - 3 * left) / scale) + 1, 2)
    ]
    parts.append(
        f'<text x="{width - left}" y="{below + 18}" text-anchor="end" font-size="13" fill="{GREY}">'
        f'<tspan fill="{COLOURS["times"]}">pages</tspan> and <tspan fill="{COLOURS["refusals"]}">'
        "refusals</tspan> sent, a bar for each tenth of a second; grey: the site is down</text>"
    )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Print the table, as reStructuredText has it."""
    rows = []
    if "--autothrottle" in sys.argv:
        del VARIANTS["scrapy-mandelbot"]
        VARIANTS["AutoThrottle"] = {"AUTOTHROTTLE_ENABLED": True}
    for case, behaviour, pages, kill_at in CASES:
        results = {
            variant: measure(behaviour, pages, settings, kill_at)
            for variant, settings in VARIANTS.items()
        }
        if sys.argv[1:2] == ["--picture"] and case == CASES[0][0]:
            Path(sys.argv[2]).write_text(picture(results, pages))
        cells = [
            f"{one['got']:,} of {pages + 1:,} pages, {len(one['refusals']):,} refusals"
            for one in results.values()
        ]
        rows.append((case, *cells))
    rows.insert(0, ("trouble", *VARIANTS))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    printed = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    print("\n".join([line, printed[0], line, *printed[1:], line]))


if __name__ == "__main__":
    crawl(*sys.argv[2:]) if sys.argv[1:2] == ["crawl"] else main()
