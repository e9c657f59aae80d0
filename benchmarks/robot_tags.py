"""What reading robot tags costs: microseconds a page, and CPU of a crawl.

Usage: python benchmarks/robot_tags.py [PAGES [CRAWLED [ROUNDS]]]

The pages are made as those of the web are: 5 to 300 KB, heads of 2 to 150 KB with stylesheets,
scripts, JSON-LD and some thirty meta tags. First each page is read by itself, without a robots
tag and with one; beside it what lxml takes to parse the page, as a spider's first selector does.
Then a site of such pages, four of ten with a robots tag, is crawled over loopback by a spider that
follows links, with MANDELBOT_ROBOT_TAGS = "off" and "annotate" in turns, measured as
``crawl_cpu.py`` says; as that varies by more than what is to be seen, a third crawl of each round
has a clock around the middleware itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from statistics import mean, median, quantiles

import crawl_cpu
import loopback
import scrapy
from parsel import Selector

from scrapy_mandelbot import RobotTagsMiddleware, robot_tags

AGENT = "Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com/bot)"
TAG = '<meta name="robots" content="index, follow, max-image-preview:large, max-snippet:-1">\n'
LINKS = 20
WORDS = (
    *("about", "area", "before", "brother", "certain", "content", "different", "every", "found"),
    *("general", "great", "header", "important", "large", "little", "number", "often", "people"),
    *("place", "public", "robertson", "same", "simple", "state", "such", "through", "under"),
)
STYLE = (
    ".card__title--wide{display:flex;margin:0 auto 1.5rem;color:#1a1a2e;font:600 1rem/1.4 sans}\n"
)
SCRIPT = (
    '!function(e,t){"use strict";var n=e.dataLayer||[];function r(e){return void 0!==e&&null!==e}'
    'for(var o=0;o<n.length;o++)r(n[o])&&t.push({event:"view",id:n[o].id,at:+new Date});'
    'e.config=Object.assign({},e.config,{locale:"en",cdn:"https://cdn.example.com/v3/"})}(window,[]);\n'
)
MODES = ("off", "annotate", "clocked")


class Page:
    """A page of the made-up web, the same for the same number."""

    def __init__(self, number: int) -> None:
        self.chance = random.Random(number)
        self.head = self._head(int(self._size(2_000, 8_000, 150_000)))
        left = int(self._size(5_000, 60_000, 300_000)) - len(self.head)
        paragraphs = max(3, left // 400)
        self.body = "".join(self._paragraph(number, n) for n in range(paragraphs))

    def html(self, tag: str = "") -> bytes:
        """Return the page, with a tag among its meta tags or without."""
        first, second = self.head.split("<!-- seo -->")
        return (
            f"<!DOCTYPE html>\n<html lang=en>\n<head>\n{first}{tag}{second}</head>\n"
            f'<body class="page">\n{self.body}</body>\n</html>\n'
        ).encode()

    def _size(self, least: int, middle: int, most: int) -> float:
        return min(most, max(least, self.chance.lognormvariate(0, 1) * middle))

    def _text(self, words: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=words))

    def _head(self, size: int) -> str:
        text = self._text
        metas = [
            f'<meta name="description" content="{text(20)} &amp; more">\n<!-- seo -->\n',
            *(f'<meta property="og:{n}" content="{text(8)}">\n' for n in range(9)),
            *(f'<meta name="twitter:{n}" content="{text(6)}" />\n' for n in range(5)),
            *(f'<meta name="msapplication-{n}" content="/icon-{n}.png">\n' for n in range(4)),
        ]
        links = [
            *(f'<link rel="stylesheet" href="/css/{n}.css?v=6.{n}" media="all">\n' for n in "1234"),
            *(f'<link rel="preload" as="font" href="/f/{n}.woff2" crossorigin>\n' for n in "123"),
            *(f'<link rel="alternate" hreflang="{n}" href="/{n}/">\n' for n in ("de", "fr", "es")),
            *(f'<link rel="icon" sizes="{n}x{n}" href="/icon-{n}.png">\n' for n in (16, 32, 192)),
        ]
        scripts = [
            *(f'<script src="/js/{n}.js?v={n}" async></script>\n' for n in range(5)),
            "<!--[if lt IE 9]><script src='/js/html5.js'></script><![endif]-->\n",
        ]
        rest = [*metas, *links, *scripts]
        self.chance.shuffle(rest)
        start = (
            '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
            f"<title>{text(7)}</title>\n"
        )
        head = start + "".join(rest)
        data = json.dumps({"@type": "Article", "headline": text(9), "text": text(60)})
        head += f'<script type="application/ld+json">{data}</script>\n'
        left = max(0, size - len(head))
        head += f"<style>{STYLE * (left // 2 // len(STYLE))}</style>\n"
        return head + f"<script>{SCRIPT * (left // 2 // len(SCRIPT))}</script>\n"

    def _paragraph(self, page: int, number: int) -> str:
        link = page * 3 + number + 1
        anchor = f'<a href="/page/{link}" class="link">{self._text(3)}</a>' if number < 3 else ""
        return (
            f'<div class="block"><h2>{self._text(4)}</h2><p>{self._text(45)} {anchor}</p></div>\n'
        )


def seconds_of(function, *arguments) -> float:
    """Return the least of five, as noise only adds."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        function(*arguments)
        took.append(time.perf_counter() - began)
    return min(took)


def reading(pages: int) -> None:
    """Read every page by itself, and print a table."""
    made = [Page(number) for number in range(pages)]
    plain = [page.html() for page in made]
    tagged = [page.html(TAG) for page in made]
    sizes = quantiles((len(page) / 1024 for page in plain), n=10)
    heads = quantiles((len(page.head) / 1024 for page in made), n=10)
    print(f"{pages} pages; KB: median {sizes[4]:.0f}, nine of ten under {sizes[8]:.0f};"
          f" heads: {heads[4]:.0f}, {heads[8]:.0f}")  # fmt: skip
    for page in (plain[0], tagged[0]):
        robot_tags((), page, AGENT)
    rows = {
        "without a tag": [seconds_of(robot_tags, (), page, AGENT) for page in plain],
        "with a tag": [seconds_of(robot_tags, (), page, AGENT) for page in tagged],
        "lxml's parse": [seconds_of(_parse, page) for page in plain],
    }
    print("us/page            mean   median  9 of 10   99 of 100")
    for name, took in rows.items():
        cuts = quantiles((seconds * 1e6 for seconds in took), n=100)
        average = mean(took) * 1e6
        print(f"{name:<14}{average:>9.1f}{cuts[49]:>9.1f}{cuts[89]:>9.1f}{cuts[98]:>12.1f}")


def _parse(page: bytes) -> None:
    Selector(body=page, type="html").root  # noqa: B018 -- that is what parses


class Links(scrapy.Spider):
    """Takes a title and the links of each page, and follows them."""

    name = "links"

    def parse(self, response):
        yield {"title": response.css("title::text").get()}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)


def crawl(mode: str, url: str, pages: int) -> None:
    """Crawl in this process, and print how long it took for how many pages."""
    settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "CLOSESPIDER_PAGECOUNT": pages,
        "USER_AGENT": AGENT,
        "MANDELBOT_ROBOT_TAGS": "off" if mode == "off" else "annotate",
    }
    within = [0.0]
    if mode == "clocked":
        _put_clock(within)
    print(json.dumps({**crawl_cpu.crawl(Links, settings, url), "within": within[0]}))


def _put_clock(within: list[float]) -> None:
    read = RobotTagsMiddleware.process_spider_input

    def clocked(self, response):
        began = time.process_time()
        read(self, response)
        within[0] += time.process_time() - began

    RobotTagsMiddleware.process_spider_input = clocked


def serve(pages: int) -> None:
    """Serve the pages; every path has one."""
    made = [Page(number) for number in range(pages)]
    bodies = [page.html(TAG if n % 10 < 4 else "") for n, page in enumerate(made)]

    def page(path: bytes) -> bytes:
        name = path.rpartition(b"/")[2]
        return bodies[int(name) % pages if name.isdigit() else 0]

    loopback.page = page
    asyncio.run(loopback.main())


def crawling(pages: int, rounds: int) -> None:
    """Crawl with each mode in turns, and print a table."""
    with crawl_cpu.web(__file__, "serve", str(pages)) as url:
        results = crawl_cpu.in_turns(__file__, list(MODES), url, pages, rounds)
    print(f"\n{pages} pages crawled, {rounds} rounds, Scrapy {scrapy.__version__}")
    crawl_cpu.print_table(results, base="off")
    within = median(run["within"] / run["pages"] for run in results["clocked"])
    share = median(run["within"] / run["seconds"] for run in results["clocked"])
    print(f"of it in the middleware: {within * 1e6:.0f} us/page, {share:.1%}")


def main(pages: int = 1000, crawled: int = 500, rounds: int = 11) -> None:
    """Print both tables."""
    reading(pages)
    crawling(crawled, rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]))
    elif sys.argv[1:2] and sys.argv[1] in MODES:
        crawl(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main(*map(int, sys.argv[1:]))
