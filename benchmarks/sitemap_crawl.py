"""A crawl of a site with a million entries in twenty sitemaps: how much memory it takes.

The site's robots.txt, its index and its sitemaps, packed with gzip, are asked for over HTTP from
loopback. Its pages are answered by a downloader middleware, as the program would else measure for
an hour what a download costs. Printed are the pages, the seconds, the peak memory of the process
before the crawl and in it, and the most requests that the scheduler ever held.

follow          MANDELBOT_SITEMAPS = "follow", any spider
SitemapSpider   Scrapy's own, with this package's other parts
no dupe filter  as the first, with DUPEFILTER_CLASS = "scrapy.dupefilters.BaseDupeFilter"

Usage::

    python benchmarks/sitemap_crawl.py [SITEMAPS [ENTRIES [VARIANT ...]]]
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.spiders import SitemapSpider

from scrapy_mandelbot import engine

VARIANTS = ("follow", "SitemapSpider", "no dupe filter")
HEAD = '<?xml version="1.0"?>\n<{} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


class Pages:
    """Answers for pages, without a download."""

    def process_request(self, request):
        if "/page/" in request.url:
            return HtmlResponse(request.url, body=b"<html></html>", request=request)
        return None


class FollowingSpider(scrapy.Spider):
    """Knows nothing of sitemaps."""

    name = "following"

    def parse(self, response):
        pass


class ReadingSpider(SitemapSpider):
    """Reads them itself."""

    name = "reading"

    def parse(self, response):
        pass


def site(sitemaps: int, entries: int) -> ThreadingHTTPServer:
    """Serve the robots.txt, the index and the sitemaps."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = f"http://127.0.0.1:{self.server.server_address[1]}"
            if self.path == "/robots.txt":
                body = f"User-agent: *\nDisallow: /private\nSitemap: {url}/index.xml\n".encode()
            elif self.path == "/index.xml":
                listed = (
                    f"<sitemap><loc>{url}/{n}.xml.gz</loc></sitemap>" for n in range(sitemaps)
                )
                body = (
                    HEAD.format("sitemapindex") + "\n".join(listed) + "</sitemapindex>"
                ).encode()
            elif self.path.endswith(".gz"):
                first = int(self.path[1:].partition(".")[0]) * entries
                listed = (
                    f"<url><loc>{url}/page/{n}/of-the-shop-and-its-many-things.html</loc>"
                    f"<lastmod>2026-11-20</lastmod><priority>0.5</priority></url>"
                    for n in range(first, first + entries)
                )
                text = HEAD.format("urlset") + "\n".join(listed) + "</urlset>"
                body = gzip.compress(text.encode(), compresslevel=1)
            else:
                body = b"<html></html>"
            self.send_response(200)
            kind = "application/x-gzip" if self.path.endswith(".gz") else "text/html"
            self.send_header("Content-Type", "text/xml" if "xml" in self.path[-4:] else kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments) -> None:
            """Be quiet."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def crawl(variant: str, url: str) -> None:
    """Crawl in this process, and print what it took as JSON."""
    settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        # What a page costs in Scrapy's own middlewares is not measured here.
        "DOWNLOADER_MIDDLEWARES_BASE": {},
        "SPIDER_MIDDLEWARES_BASE": {},
        "DOWNLOADER_MIDDLEWARES": {Pages: 500},
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "MANDELBOT_STORE": "memory",
    }
    if variant != "SitemapSpider":
        settings["MANDELBOT_SITEMAPS"] = "follow"
    if variant == "no dupe filter":
        settings["DUPEFILTER_CLASS"] = "scrapy.dupefilters.BaseDupeFilter"
    process = CrawlerProcess(settings)
    longest = [0]

    def measure():
        longest[0] = max(longest[0], engine.scheduler_length(crawler))

    if variant == "SitemapSpider":
        crawler = process.create_crawler(ReadingSpider)
        process.crawl(crawler, sitemap_urls=[f"{url}/robots.txt"])
    else:
        crawler = process.create_crawler(FollowingSpider)
        process.crawl(crawler, start_urls=[f"{url}/"])
    crawler.signals.connect(measure, signal=scrapy.signals.response_received)
    before, began = peak(), time.monotonic()
    process.start()
    pages = crawler.stats.get_value("response_received_count")
    print(json.dumps([pages, time.monotonic() - began, before, peak(), longest[0]]))


def peak() -> float:
    """Return the most memory that the process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*sys.argv[2:])
        return
    sitemaps, entries = (int(number) for number in (*sys.argv[1:3], 20, 50_000)[:2])
    server = site(sitemaps, entries)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    print(f"{sitemaps} sitemaps of {entries:,} entries\n")
    print(f"{'':<15}{'responses':>10}{'seconds':>9}{'before':>10}{'peak':>10}{'scheduler':>11}")
    for variant in sys.argv[3:] or VARIANTS:
        command = [sys.executable, __file__, "--crawl", variant, url]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        pages, seconds, before, most, longest = json.loads(run.stdout.splitlines()[-1])
        print(
            f"{variant:<15}{pages:>10,}{seconds:>9.0f}{before:>7.0f} MB{most:>7.0f} MB"
            f"{longest:>11,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
