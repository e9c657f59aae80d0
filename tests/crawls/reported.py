"""A crawl in a process of its own, of a site in the same process.

``reported.py REPORT [HOW]``. It says ``crawling`` when the fifth page is asked for.
From the tenth on the site answers nothing, so that the crawl goes on until it is ended.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import scrapy
from scrapy.crawler import CrawlerProcess

REPORT, HOW = sys.argv[1], sys.argv[2]
SAYS_SO, HANGS = 5, 10  # pages
PAGES = 30


class Pages(BaseHTTPRequestHandler):
    asked = 0
    never = threading.Event()

    def do_GET(self):
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        Pages.asked += 1
        if Pages.asked == SAYS_SO:
            sys.stdout.write("crawling\n")
            sys.stdout.flush()
        if HOW not in {"closespider", "own error"} and Pages.asked >= HANGS:
            Pages.never.wait()
        links = "".join(f'<a href="/{number}">.</a>' for number in range(PAGES))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(links.encode())

    def log_message(self, *_):
        """Say nothing."""


class LinksSpider(scrapy.Spider):
    name = "links"

    def parse(self, response):
        yield from response.follow_all(css="a")


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if HOW == "own error":
        from scrapy_mandelbot.throttle.throttle import Throttle

        def fails(*_, **__):
            raise RuntimeError("a mistake of ours")

        Throttle.answered = fails
    settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "MANDELBOT_REPORT": REPORT,
        "MANDELBOT_STORE": "memory",
        "DOWNLOAD_TIMEOUT": 600 if HOW in {"twice", "kill", "running"} else 2,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "CLOSESPIDER_PAGECOUNT": 5 if HOW == "closespider" else 0,
    }
    if HOW == "running":
        from scrapy_mandelbot.report import crawl_report

        crawl_report.EVERY = 0.05
    process = CrawlerProcess(settings)
    process.crawl(LinksSpider, start_urls=[f"http://127.0.0.1:{server.server_port}/"])
    process.start()


if __name__ == "__main__":
    main()
