"""Plugins from the package index, set up as their READMEs show, without and with the
add-on.

Each plugin gets a separate virtual environment, with the newest Scrapy that it takes,
and crawls a site on loopback four times: healthy and sick, with stock Scrapy and with
scrapy-mandelbot. The site has 50 pages and 10 that robots.txt forbids, at 0.05 seconds
each; the sick one answers 503 for five seconds after the 20th page, and 429 once.
Printed are the items of the 50 that the spider wrote, and the refusals of the sick
site; then whatever did not run, with the error. Exits with 1 if a plugin that gets all
items of the healthy site with stock Scrapy does not get all of both with the add-on, or
if a page that is forbidden was requested.

Real Redis and Chromium where a plugin needs them; proxies, Zyte API and StatsD are
fakes on loopback, of which one proxy refuses all connections.

Usage::

    python benchmarks/strangers.py [NAME ...]
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from ast import literal_eval
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from importlib import import_module
from itertools import chain
from pathlib import Path
from shutil import which
from textwrap import fill
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import scrapy
from loopback import ThreadedSite
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
KEPT = CACHE / "scrapy-mandelbot" / "strangers"
PAGES = 50
LONGEST = 120  # seconds of a crawl
ADDON = {"scrapy_mandelbot.Addon": 510}
HTML = {"Content-Type": "text/html"}
COMMON = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "INFO",
}
# The settings of each README, as Python has them; {folder} and other places are this
# crawl's.
PLUGINS = """
[scrapy]
[advertools]
[scrapy-count-filter]
downloader scrapy_count_filter.middleware.GlobalCountFilterMiddleware = 995
downloader scrapy_count_filter.middleware.HostsCountFilterMiddleware = 996
[scrapy-curl-cffi]
handler http = 'scrapy_curl_cffi.handlers.CurlCffiDownloadHandler'
handler https = 'scrapy_curl_cffi.handlers.CurlCffiDownloadHandler'
downloader scrapy_curl_cffi.middlewares.CurlCffiMiddleware = 200
downloader scrapy_curl_cffi.middlewares.DefaultHeadersMiddleware = 400
downloader scrapy_curl_cffi.middlewares.UserAgentMiddleware = 500
downloader scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware = None
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
TWISTED_REACTOR = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'
[scrapy-fake-useragent]
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
downloader scrapy.downloadermiddlewares.retry.RetryMiddleware = None
downloader scrapy_fake_useragent.middleware.RandomUserAgentMiddleware = 400
downloader scrapy_fake_useragent.middleware.RetryUserAgentMiddleware = 401
FAKEUSERAGENT_PROVIDERS = ['scrapy_fake_useragent.providers.FakerProvider']
[scrapy-fieldstats]
extension scrapy_fieldstats.fieldstats.FieldStatsExtension = 500
FIELDSTATS_ENABLED = True
[scrapy-frontera]
spider scrapy_frontera.middlewares.SchedulerSpiderMiddleware = 0
downloader scrapy_frontera.middlewares.SchedulerDownloaderMiddleware = 0
SCHEDULER = 'scrapy_frontera.scheduler.FronteraScheduler'
BACKEND = 'frontera.contrib.backends.memory.FIFO'
[scrapy-html-storage]
downloader scrapy_html_storage.HtmlStorageMiddleware = 10
[scrapy-impersonate]
meta impersonate = 'chrome'
handler http = 'scrapy_impersonate.ImpersonateDownloadHandler'
handler https = 'scrapy_impersonate.ImpersonateDownloadHandler'
TWISTED_REACTOR = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'
[scrapy-inline-requests]
[scrapy-jsonschema]
pipeline scrapy_jsonschema.JsonSchemaValidatePipeline = 100
[scrapy-playwright]
meta playwright = True
handler http = 'scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler'
handler https = 'scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler'
TWISTED_REACTOR = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'
PLAYWRIGHT_LAUNCH_OPTIONS = {'executable_path': '{chromium}', 'args': ['--no-sandbox']}
[scrapy-poet]
addon scrapy_poet.Addon = 300
[scrapy-proxies]
downloader scrapy.downloadermiddlewares.retry.RetryMiddleware = 90
downloader scrapy_proxies.RandomProxy = 100
downloader scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware = 110
RETRY_TIMES = 10
RETRY_HTTP_CODES = [500, 503, 504, 400, 403, 404, 408]
PROXY_MODE = 0
PROXY_LIST = '{folder}/proxies'
[scrapy-proxy-headers]
handler http = 'scrapy_proxy_headers.HTTP11ProxyDownloadHandler'
handler https = 'scrapy_proxy_headers.HTTP11ProxyDownloadHandler'
[scrapy-random-useragent]
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
downloader random_useragent.RandomUserAgentMiddleware = 400
USER_AGENT_LIST = '{folder}/agents'
[scrapy-random-useragent-pro]
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
downloader scrapy_random_useragent_pro.middleware.RandomUserAgentMiddleware = 100
RANDOM_UA_ENABLED = True
[scrapy-redis]
SCHEDULER = 'scrapy_redis.scheduler.Scheduler'
DUPEFILTER_CLASS = 'scrapy_redis.dupefilter.RFPDupeFilter'
REDIS_URL = '{redis}'
pipeline scrapy_redis.pipelines.RedisPipeline = 300
[scrapy-redis-bloomfilter]
SCHEDULER = 'scrapy_redis_bloomfilter.scheduler.Scheduler'
DUPEFILTER_CLASS = 'scrapy_redis_bloomfilter.dupefilter.RFPDupeFilter'
REDIS_URL = '{redis}'
BLOOMFILTER_HASH_NUMBER = 6
BLOOMFILTER_BIT = 20
[scrapy-rotating-proxies]
downloader rotating_proxies.middlewares.RotatingProxyMiddleware = 610
downloader rotating_proxies.middlewares.BanDetectionMiddleware = 620
ROTATING_PROXY_LIST = ['{proxy}', '127.0.0.1:9']
[scrapy-settings-log]
extension scrapy_settings_log.SpiderSettingsLogging = 500
SETTINGS_LOGGING_ENABLED = True
[scrapy-statsd]
STATS_CLASS = 'scrapy_statsd.statscollectors.StatsDStatsCollector'
STATSD_HOST = '127.0.0.1'
[scrapy-sticky-meta-params]
spider scrapy_sticky_meta_params.middleware.StickyMetaParamsMiddleware = 550
[scrapy-ua-rotator]
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
downloader scrapy.downloadermiddlewares.retry.RetryMiddleware = None
downloader scrapy_ua_rotator.middleware.RandomUserAgentMiddleware = 400
downloader scrapy_ua_rotator.middleware.RetryUserAgentMiddleware = 550
USERAGENT_PROVIDERS = ['scrapy_ua_rotator.providers.FixedUserAgentProvider']
[scrapy-user-agents]
downloader scrapy.downloadermiddlewares.useragent.UserAgentMiddleware = None
downloader scrapy_user_agents.middlewares.RandomUserAgentMiddleware = 400
[scrapy-zyte-api]
addon scrapy_zyte_api.Addon = 500
ZYTE_API_KEY = 'key'
ZYTE_API_URL = '{zyte}/v1/'
ZYTE_API_TRANSPARENT_MODE = True
[scrapy-zyte-smartproxy]
downloader scrapy_zyte_smartproxy.ZyteSmartProxyMiddleware = 610
ZYTE_SMARTPROXY_ENABLED = True
ZYTE_SMARTPROXY_APIKEY = 'key'
ZYTE_SMARTPROXY_URL = '{proxy}'
[spidermon]
extension spidermon.contrib.scrapy.extensions.Spidermon = 500
SPIDERMON_ENABLED = True
SPIDERMON_SPIDER_CLOSE_MONITORS = (
    'spidermon.contrib.scrapy.monitors.SpiderCloseMonitorSuite',
)
SPIDERMON_MIN_ITEMS = 50
"""
DICTS = {
    "addon": "ADDONS",
    "downloader": "DOWNLOADER_MIDDLEWARES",
    "extension": "EXTENSIONS",
    "handler": "DOWNLOAD_HANDLERS",
    "meta": "meta",  # of requests
    "pipeline": "ITEM_PIPELINES",
    "spider": "SPIDER_MIDDLEWARES",
}


def plugins() -> dict[str, dict]:
    """Return the settings of each plugin."""
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str
    parser.read_string(PLUGINS)
    found: dict[str, dict] = {name: {} for name in parser.sections()}
    for name, settings in found.items():
        for key, value in parser[name].items():
            kind, _, item = key.rpartition(" ")
            (settings.setdefault(DICTS[kind], {}) if kind else settings)[item] = (
                literal_eval(value)
            )
    return found


# In the environment of a plugin.


def crawl(name: str, url: str, folder: str, settings: dict) -> None:
    """Crawl the site with the spider that the plugin's README would have."""
    items = str(Path(folder, "items.jl"))
    meta = settings.pop("meta", {})
    if name == "advertools":
        library = import_module("advertools")
        domain = urlsplit(url).hostname
        library.crawl(
            url,
            items,
            follow_links=True,
            allowed_domains=domain,
            custom_settings=settings,
        )
        return

    class Spider(scrapy.Spider):
        name = "strangers"

        async def start(self):
            yield scrapy.Request(url, meta=dict(meta))

        def parse(self, response):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, self.parse_page, meta=dict(meta))

        def parse_page(self, response):
            yield {"url": response.url, "h1": response.css("h1::text").get()}

    if name == "scrapy-inline-requests":

        def parse(self, response):
            for link in response.css("a::attr(href)").getall():
                try:
                    page = yield scrapy.Request(
                        response.urljoin(link), dont_filter=True
                    )
                except (HttpError, IgnoreRequest):
                    continue
                yield from self.parse_page(page)

        Spider.parse = import_module("inline_requests").inline_requests(parse)
    process = AsyncCrawlerProcess(
        {"FEEDS": {items: {"format": "jsonlines"}}, **settings}
    )
    process.crawl(Spider)
    process.start()


# The site, and what stands for services.


class Site:
    """Fifty pages, ten that are forbidden, and an outage of five seconds."""

    def __init__(self, *, is_sick: bool) -> None:
        self.is_sick, self.lock = is_sick, threading.Lock()
        self.pages: set[str] = set()
        self.refusals = 0
        self.forbidden = []
        self.has_said_429 = False
        self.down_until = None
        self.server = ThreadedSite(self.reply)
        self.url = self.server.url

    def reply(self, request) -> tuple[int, dict, bytes]:
        """Answer one request, as a proxy would get it or directly."""
        path = re.sub("^https?://[^/]*", "", request.path)
        time.sleep(0.05)
        with self.lock:
            if self.is_sick and self.down_until is None and len(self.pages) >= 20:
                self.down_until = time.monotonic() + 5
            if self.down_until is not None and time.monotonic() < self.down_until:
                self.refusals += 1
                return 503, HTML, b"down"
            if self.is_sick and path == "/p/33" and not self.has_said_429:
                self.refusals = self.refusals + 1
                self.has_said_429 = True
                return 429, HTML, b"slower"
            if path == "/robots.txt":
                return (
                    200,
                    {"Content-Type": "text/plain"},
                    b"User-agent: *\nDisallow: /private/\n",
                )
            if path.startswith("/private/"):
                self.forbidden.append(path)
            elif path.startswith("/p/"):
                self.pages.add(path)
        links = [f"/p/{n}" for n in range(PAGES)] + [f"/private/{n}" for n in range(10)]
        text = (
            "".join(f'<a href="{link}">{link}</a>' for link in links)
            if path == "/"
            else ""
        )
        return 200, HTML, f"<html><h1>{path}</h1>{text}</html>".encode()


def fetch(url: str) -> tuple[int, dict, bytes]:
    """Fetch a page for a fake service."""
    try:
        with build_opener(ProxyHandler({})).open(Request(url), timeout=30) as response:
            kind = response.headers["Content-Type"]
            return response.status, {"Content-Type": kind}, response.read()
    except HTTPError as error:
        return error.code, HTML, error.read()


def zyte(request) -> tuple[int, dict, bytes]:
    """Answer as Zyte API, which passes the status of the site on."""
    url = json.loads(request.body)["url"]
    status, headers, content = fetch(url)
    found = {
        "url": url,
        "statusCode": status,
        "httpResponseBody": base64.b64encode(content).decode(),
        "httpResponseHeaders": [
            {"name": name, "value": headers[name]} for name in headers
        ],
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(found).encode()


# The table.


def environment(name: str, wheel: Path) -> Path:
    """Return the Python of the plugin's environment; make it if it is missing."""
    folder = KEPT / name
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    if not python.exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", folder], check=True
        )
        subprocess.run([*pip, wheel, name], check=True, capture_output=True, text=True)
    subprocess.run(
        [*pip, "--no-deps", "--force-reinstall", wheel], check=True, capture_output=True
    )
    return python


def filled(value, places: dict[str, str]):
    """Put this crawl's places into the settings."""
    if isinstance(value, str):
        return re.sub(
            r"\{(chromium|folder|proxy|redis|zyte)\}",
            lambda found: places[found[1]],
            value,
        )
    if isinstance(value, dict):
        return {key: filled(one, places) for key, one in value.items()}
    return (
        [filled(one, places) for one in value]
        if isinstance(value, list | tuple)
        else value
    )


def measure(
    name: str, python: Path, places: dict, *, is_sick: bool, with_addon: bool
) -> dict:
    """Crawl once, and return items, refusals, forbidden pages requested and the first
    error.
    """
    site = Site(is_sick=is_sick)
    # advertools runs "scrapy"
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "proxies").write_text(places["proxy"] + "\n")
        Path(folder, "agents").write_text("Mozilla/5.0 (one)\nMozilla/5.0 (other)\n")
        settings = COMMON | filled(plugins()[name], places | {"folder": folder})
        if name.startswith("scrapy-redis"):
            queue = f"{name}:{site.url}"
            settings |= {
                "SCHEDULER_QUEUE_KEY": queue,
                "SCHEDULER_DUPEFILTER_KEY": queue + ":seen",
            }
        if with_addon:
            settings["ADDONS"] = settings.get("ADDONS", {}) | ADDON
        command = [
            python,
            __file__,
            "--crawl",
            name,
            site.url + "/",
            folder,
            json.dumps(settings),
        ]
        log = Path(folder, "log")
        with log.open("w") as file:
            run = {
                "cwd": folder,
                "stdout": file,
                "stderr": file,
                "env": os.environ | {"PATH": path},
            }
            try:
                subprocess.run(command, timeout=LONGEST, check=False, **run)
            except subprocess.TimeoutExpired:
                file.write(f"Error: not ended after {LONGEST} s\n")
        items = Path(folder, "items.jl")
        urls = (
            {json.loads(line)["url"] for line in items.open()}
            if items.exists()
            else set()
        )
        errors = re.findall(
            r"^\S*(?:Error|Exception)\b.*", log.read_text(), re.MULTILINE
        )
    site.server.shutdown()
    got = sum("/p/" in url for url in urls & {site.url + path for path in site.pages})
    return {
        "got": got,
        "refusals": site.refusals,
        "forbidden": site.forbidden,
        "errors": errors,
    }


class Row(NamedTuple):
    """What became of a plugin: its items (stock healthy and sick, then ours) and
    refusals.
    """

    name: str
    items: tuple[int, ...] = ()
    refusals: tuple[int, ...] = ()
    why: str = ""
    is_well: bool = True

    @property
    def runs(self) -> bool:
        """Whether stock Scrapy gets all of a healthy site with it."""
        return self.items[:1] == (PAGES,)


def row(name: str, wheel: Path, places: dict) -> Row:
    """Crawl four times with a plugin."""
    try:
        python = environment(name, wheel)
    except subprocess.CalledProcessError as error:
        return Row(name, why=(error.stderr or "").strip().splitlines()[-1])
    code = f"from importlib.metadata import version; print(version({name!r}))"
    version = subprocess.check_output([python, "-c", code], text=True).strip()
    runs = [
        measure(name, python, places, is_sick=is_sick, with_addon=with_addon)
        for with_addon in (False, True)
        for is_sick in (False, True)
    ]
    is_well = all(one["got"] == PAGES and not one["forbidden"] for one in runs[2:])
    errors = chain.from_iterable(one["errors"] for one in runs)
    return Row(
        f"{name} {version}",
        tuple(one["got"] for one in runs),
        tuple(one["refusals"] for one in runs[1::2]),
        "" if is_well else next(errors, "").partition(" (")[0],
        is_well,
    )


def spread(numbers: list[int]) -> str:
    return " to ".join(map(str, sorted({min(numbers), max(numbers)})))


def print_groups(rows: list[Row]) -> None:
    """Print the plugins with the same items from the add-on together, and those that do
    not run.
    """
    for items in sorted({one.items[2:] for one in rows if one.runs}, reverse=True):
        same = [one for one in rows if one.runs and one.items[2:] == items]
        sick = spread([one.items[1] for one in same])
        stock, ours = (spread([one.refusals[at] for one in same]) for at in (0, 1))
        text = (
            f"With the add-on {items[0]} and {items[1]} items, {ours} refusals; "
            f"with stock Scrapy {PAGES} and {sick}, {stock} refusals: "
        )
        print(
            fill(text + ", ".join(one.name for one in same), 96, break_on_hyphens=False)
        )
    failed = [
        f"{one.name} ({one.why.partition(':')[0]})" for one in rows if not one.runs
    ]
    if failed:
        print(fill("Does not run with stock Scrapy: " + ", ".join(failed), 96))


def main() -> int:
    """Print the table, and return the exit status."""
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "-w",
            folder,
            ROOT,
        ]
        subprocess.run(pip, check=True)
        wheel = next(Path(folder).glob("*.whl"))
        proxy = ThreadedSite(lambda request: fetch(request.path))
        places = {
            "proxy": proxy.url,
            "zyte": ThreadedSite(zyte).url,
            "redis": redis.url,
        }
        places["chromium"] = which("chromium") or "chromium"
        names = options.name or list(plugins())
        with ThreadPoolExecutor(2) as pool:
            for one in pool.map(lambda name: row(name, wheel, places), names):
                print(*one, file=sys.stderr, flush=True)
                rows.append(one)
    print_groups(rows)
    return 0 if all(one.is_well for one in rows if one.runs) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crawl"]:
        crawl(*sys.argv[2:5], json.loads(sys.argv[5]))
    else:
        sys.exit(main())
