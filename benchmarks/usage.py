"""What owners say of the use of pages: the drafts' examples, a crawl for each purpose, a check.

Usage::

    python benchmarks/usage.py examples
    python benchmarks/usage.py crawl
    python benchmarks/usage.py check

examples  the examples of the documents, as tests/cases/usage.py has them, and what is made of each
crawl     a site on this machine with all kinds of statements, crawled for each purpose: pages asked
          for, items kept, and which statement dropped a page
check     what ``scrapy robots check`` says of Cloudflare's managed block before an owner's lines
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
PURPOSES = ("search", "ai-input", "train-ai", "tdm")
ROBOTS = """\
License: https://example.com/license.xml
User-agent: *
Disallow: /never
Content-Usage: /usage/ train-ai=n
Content-Usage: /usage/open/ train-ai=y

User-agent: GPTBot
Disallow: /token
"""
TDMREP = '[{"location": "/tdm/file", "tdm-reservation": 1}]'
PAGES = {
    "/plain": ("", {}),
    "/usage/file": ("", {}),
    "/usage/open/file": ("", {}),
    "/usage-header": ("", {"Content-Usage": "train-ai=n, search=y"}),
    "/signal-header": ("", {"Content-Signal": "search=no, ai-input=no"}),
    "/tdm/file": ("", {}),
    "/tdm-header": ("", {"tdm-reservation": "1", "tdm-policy": "https://example.com/p"}),
    "/tdm-meta": ('<meta name="tdm-reservation" content="1">', {}),
    "/noai": ('<meta name="robots" content="noai">', {}),
    "/noml": ("", {"X-Robots-Tag": "noml"}),
    "/token": ("", {}),
    "/license": ("", {"Link": '<https://example.com/l.xml>; rel="license"'}),
}


class Handler(BaseHTTPRequestHandler):
    """Serves the site, and remembers what it was asked for."""

    asked: list[str] = []  # noqa: RUF012 - of the one server

    def do_GET(self) -> None:
        self.asked.append(self.path)
        head, headers = PAGES.get(self.path, ("", {}))
        files = {"/robots.txt": ROBOTS, "/.well-known/tdmrep.json": TDMREP}
        body = files.get(self.path) or f"<html><head>{head}</head><body>x</body></html>"
        self.send_response(200)
        kind = "text/plain" if self.path in files else "text/html"
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Pages(scrapy.Spider):
    """Takes an item of each page."""

    name = "pages"
    dropped: dict[str, str] = {}  # noqa: RUF012 - of the one spider

    def parse(self, response):
        yield {"path": response.url.split("/", 3)[3]}

    def usage_disallowed(self, response, output, statement):
        self.dropped["/" + (response or output).url.split("/", 3)[3]] = str(statement)


def crawl_for(purpose: str) -> None:
    """Crawl the site in this process, and print what came of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_address[1]}"
    items: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "ledger.jsonl")
        process = CrawlerProcess(
            {
                "ADDONS": {"scrapy_mandelbot.Addon": 500},
                "LOG_LEVEL": "WARNING",
                "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
                "MANDELBOT_STORE": "memory",
                "MANDELBOT_PURPOSE": purpose,
                "MANDELBOT_USAGE": "obey",
                "MANDELBOT_LEDGER": str(ledger),
            }
        )
        crawler = process.create_crawler(Pages)

        def scraped(item):
            items.append("/" + item["path"])

        crawler.signals.connect(scraped, signal=scrapy.signals.item_scraped)
        process.crawl(crawler, start_urls=[site + path for path in PAGES])
        process.start()
        lines = len(ledger.read_bytes().splitlines())
    server.shutdown()
    asked = [path for path in Handler.asked if path in PAGES]
    print(json.dumps([asked, items, Pages.dropped, lines]))


def crawl() -> None:
    """Crawl for each purpose, each in a process of its own, and print a table."""
    results = {}
    for purpose in PURPOSES:
        run = subprocess.run(
            [sys.executable, __file__, "crawl_for", purpose],
            capture_output=True,
            text=True,
            check=True,
        )
        results[purpose] = json.loads(run.stdout)
    print(f"{'page':<18}" + "".join(f"{purpose:<11}" for purpose in PURPOSES).rstrip())
    for path in PAGES:
        row = ""
        for asked, items, *_ in results.values():
            row += f"{'item' if path in items else 'dropped' if path in asked else 'not asked':<11}"
        print(f"{path:<18}{row}".rstrip())
    print("\nfor train-ai:")
    for path, statement in sorted(results["train-ai"][2].items()):
        print(f"  {path:<15} {statement}")
    for purpose, (_, items, _, lines) in results.items():
        print(f"{purpose}: {len(items)} items of {len(PAGES)} pages; {lines} lines in the ledger")


def examples() -> None:
    """Print what is made of the documents' examples."""
    from cases.usage import CASES  # noqa: PLC0415 - of the tests' tables

    from scrapy_mandelbot import RobotsTxt, page_usage  # noqa: PLC0415
    from scrapy_mandelbot.robots.preferences import TdmFile, with_tdm_file  # noqa: PLC0415

    section = ""
    right = 0
    for case in CASES:
        file = RobotsTxt.parse(case.file).usage(case.url, case.agent)
        page = page_usage(case.headers, case.octets, case.agent)
        if case.tdmrep is not None:
            page = with_tdm_file(page, TdmFile.parse(case.tdmrep.encode()).usage(case.url))
        usage = file.and_also(page)
        known = {name: answer for name, answer in usage.answers.items() if answer != "unknown"}
        right += known == case.means
        if case.document != section:
            section = case.document
            print(f"\n{section}")
        answers = ", ".join(f"{name} {answer}" for name, answer in known.items())
        if not usage.is_crawlable:
            answers = "may not be crawled"
        mark = " " if known == case.means else "!"
        print(f"{mark} {case.says[:72]:<74}{answers or 'unknown'}")
    print(f"\n{right} of {len(CASES)} as the documents have them")


def check() -> None:
    """Print what is found in Cloudflare's block before an owner's lines."""
    from cases.usage_files import MANAGED  # noqa: PLC0415 - of the tests' tables

    text = "\n".join(line[4:] for line in MANAGED.strip("\n").split("\n"))
    text += "\n\nUser-agent: *\nContent-Signal: ai-train=yes\nDisallow: /\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robots.txt")
        file.write_text(text)
        command = ["scrapy", "robots", "check", str(file), "--format", "json"]
        run = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=False
        )
    for finding in json.loads(run.stdout)["findings"]:
        print(f"{finding['line']:>3} {finding['severity']:<8} {finding['message']}")
    print(f"exit code {run.returncode}")


if __name__ == "__main__":
    modes = {"examples": examples, "crawl": crawl, "check": check, "crawl_for": crawl_for}
    if len(sys.argv) < 2 or sys.argv[1] not in modes:
        sys.exit(__doc__)
    modes[sys.argv[1]](*sys.argv[2:])
