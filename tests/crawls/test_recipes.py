"""The recipes of the documents do what they say, as they stand but for the names of
sites.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shutil import which

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from pages import page
from redis_server import NEEDS_REDIS, RedisServer
from webs import Answer, Closed, html, site

BLOCK = re.compile(r"\.\. code-block:: python\n\n    # (\w+)\.py\n((?:    .*\n|\n)+)")
pytestmark = pytest.mark.slow
TURNED = pytest.mark.usefixtures("loop_is_turned")


class Recipe:
    """The files of a recipe, in the folder where it runs."""

    def __init__(self, name: str, sites: dict[str, str]) -> None:
        text = page(name)
        for example, here in sites.items():
            text = text.replace(example, here)
        self.files: dict[str, list[str]] = {}
        for file, code in BLOCK.findall(text):
            self.files.setdefault(file, []).append(textwrap.dedent(code))

    def settings(self, number: int = 0) -> dict[str, object]:
        """Return what the settings.py says, or one of several."""
        written: dict[str, object] = {}
        exec(self.files["settings"][number], written)
        return {name: value for name, value in written.items() if name.isupper()}

    def module(self, name: str):
        """Write the file down, and import it as Scrapy does."""
        Path(f"{name}.py").write_text(self.files[name][0])
        sys.modules.pop(name, None)  # tests may have a module of that name
        return importlib.import_module(name)

    def spider(self, name: str) -> type[scrapy.Spider]:
        (spider,) = (
            one
            for one in vars(self.module(name)).values()
            if isinstance(one, type)
            and issubclass(one, scrapy.Spider)
            and one.__module__ == name
        )
        return spider


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Make recipes, in a folder of their own; forget their imports afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(sys.modules)
    yield lambda name, **sites: Recipe(
        name if name == "went_wrong" else f"recipes/{name}",
        {f"https://{k}.example.com": v for k, v in sites.items()},
    )
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(tmp_path / f"{name}.py"):
            del sys.modules[name]
            if name in before:
                sys.modules[name] = before[name]


@TURNED
@ensureDeferred
async def test_nightly_runs_end_while_the_shop_is_paused_and_go_on(
    recipe, webs, tmp_path
):
    """The second run is too early and asks for nothing; the third finishes, and says
    so.
    """
    web = site(webs, 12)
    web.refuse = Closed(seconds=3600, after=5, retry_after="3600")
    nightly = recipe("nightly", shop=web.url)
    spider = nightly.spider("shop")
    night = {**nightly.settings(), "JOBDIR": "jobs/night"}

    first = await crawl(spider, night)
    asked = len(web.hits)
    TIME.skip(900)
    early = await crawl(spider, night)
    assert len(web.hits) == asked
    TIME.skip(3600)
    web.refuse = lambda _path: None
    done = tmp_path / "jobs" / "night.done"
    assert not done.exists()
    last = await crawl(spider, night)
    assert done.exists()

    runs = [first, early, last]
    assert [run.stats["finish_reason"] for run in runs] == ["sites_paused"] * 2 + [
        "finished"
    ]
    assert sorted(first.urls() + early.urls() + last.urls()) == web.urls(12)


@pytest.mark.skipif(which("flock") is None, reason="needs flock (util-linux)")
def test_no_nightly_run_starts_once_the_night_is_crawled(tmp_path):
    """The line of the crontab starts runs until one has finished, and none after it."""
    (line,) = re.findall(r"\n    \*/15 2-5 \* \* \*  (.*)", page("recipes/nightly"))
    programs = {"date": "echo night", "scrapy": 'echo "$@" >>started'}
    for name, script in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    command = line.replace("/srv/shop", str(tmp_path)).replace("\\%", "%")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"

    def minute() -> int:
        subprocess.run(["/bin/sh", "-c", command], env={"PATH": path}, check=True)
        return len((tmp_path / "started").read_text().splitlines())

    assert [minute(), minute()] == [1, 2]
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "night.done").touch()
    assert [minute(), minute()] == [2, 2]
    told = (tmp_path / "started").read_text().splitlines()[0]
    assert told == "crawl shop -s JOBDIR=jobs/night -o night.jsonl"


@TURNED
@pytest.mark.parametrize("is_expired", [False, True])
@ensureDeferred
async def test_a_resumed_crawl_is_logged_in(recipe, webs, is_expired):
    """From its first page on, and anew where the session has expired meanwhile."""
    web = webs()
    sessions = []

    def log_in(request):
        assert request.method == b"POST"
        sessions.append(f"{len(sessions)}")
        return Answer(headers={"Set-Cookie": f"session={sessions[-1]}"})

    def page_of_members(request):
        is_known = (request.getCookie(b"session") or b"").decode() in sessions
        return html(*links) if is_known else Answer(status=403)

    links = [f"/{number}" for number in range(12)]
    web.pages["/login"] = log_in
    web.pages |= dict.fromkeys(["/list", *links], page_of_members)
    login = recipe("login", members=web.url)
    settings = {**login.settings(), "JOBDIR": "jobs/members", "CONCURRENT_REQUESTS": 1}
    spider = login.spider("members")
    first = await crawl(spider, {**settings, "CLOSESPIDER_ITEMCOUNT": 5})
    if is_expired:
        sessions[:] = ["gone"]
    second = await crawl(spider, settings)
    assert second.stats["finish_reason"] == "finished"
    assert web.asked("/login") == 2
    assert 403 not in web.statuses()
    urls = first.urls() + second.urls()
    assert sorted(urls) == sorted(web.url + path for path in ["/list", *links])


@TURNED
@ensureDeferred
async def test_one_long_nightly_run_waits(recipe, webs):
    """Within the three hours it gets all, and holds no request back."""
    web = site(webs, 6)
    web.refuse = Closed(seconds=120, after=3, retry_after="120")
    nightly = recipe("nightly", shop=web.url)
    run = await crawl(nightly.spider("shop"), nightly.settings(1))
    assert run.urls() == web.urls(6)
    assert run.seconds >= 120


@TURNED
@ensureDeferred
async def test_lost_requests_are_crawled_by_the_next_run(recipe, webs):
    """Also pages that nothing links to any more; then the list is gone."""
    web = site(webs, 6)
    web.refuse = Closed(seconds=10**6, after=3)
    lost = recipe("lost", shop=web.url)
    spider = lost.spider("shop")
    settings = {**lost.settings(), "MANDELBOT_PAUSE_OPTIONS": {"total": 60}}
    first = await crawl(spider, settings)
    assert first.stats["mandelbot/requests/lost"] > 0
    web.refuse = lambda _path: None
    web.pages["/"] = html()
    second = await crawl(spider, settings)
    assert set(first.urls() + second.urls()) == set(web.urls(6))
    third = await crawl(spider, settings)
    assert third.urls() == [f"{web.url}/"]


@TURNED
@ensureDeferred
async def test_lost_requests_outlive_a_run_that_is_stopped(recipe, webs):
    """What a stopped second run has not crawled, the third crawls."""
    web = site(webs, 12)
    web.refuse = Closed(seconds=10**6, after=3)
    lost = recipe("lost", shop=web.url)
    spider = lost.spider("shop")
    settings = {**lost.settings(), "MANDELBOT_PAUSE_OPTIONS": {"total": 60}}
    first = await crawl(spider, settings)
    assert first.stats["mandelbot/requests/lost"] >= 8
    web.refuse = lambda _path: None
    web.pages["/"] = html()
    stopped = {"CLOSESPIDER_ITEMCOUNT": 2, "CONCURRENT_REQUESTS": 1}
    second = await crawl(spider, {**settings, **stopped})
    assert len(second.items) < 8
    third = await crawl(spider, settings)
    assert set(first.urls() + third.urls()) >= set(web.urls(12)) - set(second.urls())
    fourth = await crawl(spider, settings)
    assert fourth.urls() == [f"{web.url}/"]


@TURNED
@ensureDeferred
async def test_only_what_has_changed(recipe, webs):
    """The first run gets all pages of the sitemap, the second those that are newer than
    it, or have no date.
    """
    web = site(webs, 4)
    entries = "".join(
        f"<url><loc>{web.url}/page/{n}</loc><lastmod>{year}-01-01</lastmod></url>"
        for n, year in enumerate((2019, 2020, 2099))
    )
    entries += f"<url><loc>{web.url}/page/3</loc></url>"
    web.pages["/map.xml"] = Answer(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()
    )
    web.pages["/robots.txt"] = Answer(b"Sitemap: /map.xml\n")
    changed = recipe("changed", news=web.url)
    spider = changed.spider("news")
    # as in a project's .scrapy
    kept = {**changed.settings(), "MANDELBOT_STORE": "./kept.db"}
    first = await crawl(spider, kept)
    second = await crawl(spider, kept)
    everything = await crawl(spider, {**kept, "MANDELBOT_SITEMAP_SINCE": ""})
    assert (
        first.urls() == everything.urls() == [f"{web.url}/page/{n}" for n in range(4)]
    )
    assert second.urls() == [f"{web.url}/page/{n}" for n in (2, 3)]
    dates = {item["url"]: item["modified"] for item in second.items}
    assert dates[f"{web.url}/page/2"] == "2099-01-01"
    assert dates[f"{web.url}/page/3"] is None
    assert second.stats["mandelbot/sitemaps/older"] == 2


@TURNED
@ensureDeferred
async def test_only_what_has_changed_without_sitemaps(recipe, webs):
    """The second run is told 304 of all pages but one, though the site pauses, and
    loses none.
    """
    web = site(webs, 12)
    versions = dict.fromkeys(["/", *(f"/page/{number}" for number in range(12))], "1")
    pages = dict(web.pages)

    def page_of(request):
        path = request.path.decode()
        tag = f'"{versions[path]}"'
        is_known = request.getHeader("If-None-Match") == tag
        headers = {**pages[path].headers, "ETag": tag, "Cache-Control": "max-age=0"}
        return (
            Answer(b"", 304, headers)
            if is_known
            else replace(pages[path], headers=headers)
        )

    web.pages |= dict.fromkeys(versions, page_of)
    unchanged = recipe("unchanged", news=web.url)
    spider = unchanged.spider("news")
    kept = {**unchanged.settings(), "HTTPCACHE_DIR": "./httpcache"}
    first = await crawl(spider, kept)
    assert first.urls() == web.urls(12)

    versions["/page/5"] = "2"
    web.hits.clear()
    web.refuse = Closed(seconds=2, after=4, retry_after="2", robots_too=False)
    second = await crawl(spider, kept)
    assert second.urls() == [f"{web.url}/page/5"]
    statuses = Counter(hit.status for hit in web.hits if hit.path in versions)
    assert (statuses[304], statuses[200]) == (12, 1)
    assert second.stats["mandelbot/pause/count"] == 1
    assert second.stats["httpcache/revalidate"] == 12


@TURNED
@ensureDeferred
async def test_a_broad_crawl_goes_on_in_a_second_stage(recipe, webs):
    """The first takes as much of each site as its budget; the last takes the rest."""
    large = site(webs, 120)
    small = site(webs, 12, "127.0.0.2")
    stages = recipe("stages", large=large.url, small=small.url)
    spider = stages.spider("broad")
    job = {**stages.settings(), "JOBDIR": "broad-1"}
    first = await crawl(spider, job)
    second = await crawl(spider, {**job, "MANDELBOT_SITE_BUDGET": {"pages": 1000}})
    assert first.stats["finish_reason"] == "budget_reached"
    assert second.stats["finish_reason"] == "finished"
    assert len(first.items) == 110
    assert sorted(first.urls() + second.urls()) == sorted(
        [*large.urls(120), *small.urls(12)]
    )


@TURNED
@ensureDeferred
async def test_one_site_gets_its_delay_and_the_other_none(recipe, webs):
    """Five seconds between requests of the one, robots.txt included; the other is done
    by then.
    """
    slow, fast = site(webs, 4), site(webs, 4, "127.0.0.2")
    delay = recipe("delay", slow=slow.url, fast=fast.url)
    run = await crawl(delay.spider("both"), delay.settings())
    assert run.urls() == sorted(slow.urls(4) + fast.urls(4))
    assert min(b.at - a.at for a, b in pairwise(slow.hits)) > 4.999
    assert max(hit.at for hit in fast.hits) < slow.hits[1].at


@TURNED
@ensureDeferred
async def test_all_sites_together_get_a_hundred_requests_a_minute(recipe, webs):
    """Six seconds for ten requests, each robots.txt included."""
    sites = [site(webs, 6, f"127.0.0.{number}") for number in (1, 2, 3)]
    delay = recipe("delay")
    delay.module("middlewares")
    urls = [one.url + "/" for one in sites]
    run = await crawl(LinksSpider, delay.settings(1), start_urls=urls)
    assert run.urls() == sorted(url for one in sites for url in one.urls(6))
    at = sorted(hit.at for one in sites for hit in one.hits)
    assert min(b - a for a, b in pairwise(at)) > 0.59
    assert at[-1] - at[0] < 0.6 * len(at) + 1


@TURNED
@ensureDeferred
async def test_a_dead_proxy_of_three_loses_no_page(recipe, webs):
    """A retry takes the one after its own, also for the robots.txt of the first page.

    With few pages each retry would meet a living proxy by chance.
    """
    proxies = [webs("127.0.0.1"), webs("127.0.0.2")]
    dead = webs("127.0.0.3")
    shop = "http://shop.test"
    links = [f"{shop}/{number}" for number in range(60)]
    for proxy in proxies:
        proxy.pages = {link: html() for link in links}
        proxy.pages[f"{shop}/"] = html(*links)
        proxy.pages[f"{shop}/robots.txt"] = Answer(b"")
    several = recipe("proxies")
    several.module("proxies")

    class Shop(scrapy.Spider):
        name = "shop"
        start_urls = [f"{shop}/"]

        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a", callback=self.parse)

    urls = [dead.url, *(proxy.url for proxy in proxies)]
    dead.close()
    run = await crawl(Shop, {**several.settings(), "PROXIES": urls, "RETRY_TIMES": 2})
    assert run.urls() == sorted([f"{shop}/", *links])


@TURNED
@ensureDeferred
async def test_a_site_pauses_for_all_proxies(recipe, webs):
    """One is refused for a minute: nothing is sent through any, and then all pages
    arrive.
    """
    proxies = [webs("127.0.0.1"), webs("127.0.0.2")]
    shop = "http://shop.test"
    for proxy in proxies:
        proxy.pages = {f"{shop}/{number}": html() for number in range(12)}
        proxy.pages[f"{shop}/robots.txt"] = Answer(b"")
    proxies[0].refuse = closed = Closed(60, after=3, retry_after="60", robots_too=False)
    several = recipe("proxies")
    several.module("proxies")

    class Shop(scrapy.Spider):
        name = "shop"
        start_urls = [f"{shop}/{number}" for number in range(12)]

        def parse(self, response):
            yield {"url": response.url}

    settings = {**several.settings(), "PROXIES": [proxy.url for proxy in proxies]}
    run = await crawl(Shop, settings)
    assert run.urls() == sorted(Shop.start_urls)
    hits = [hit.at for proxy in proxies for hit in proxy.hits]
    assert not [at for at in hits if closed.began + 1 < at < closed.began + 60]
    assert run.seconds < 90


@TURNED
@ensureDeferred
async def test_files_wait_for_their_site(recipe, webs, tmp_path):
    """The site is down for a minute: all files arrive; nothing is sent meanwhile."""
    web = site(webs, 5)
    web.refuse = closed = Closed(60, after=1, retry_after="60", robots_too=False)
    papers = recipe("files", papers=web.url)
    run = await crawl(papers.spider("papers"), papers.settings())
    (item,) = run.items
    assert len(item["files"]) == 5
    assert all((tmp_path / "files" / file["path"]).is_file() for file in item["files"])
    assert not [
        hit for hit in web.hits if closed.began + 1 < hit.at < closed.began + 60
    ]


@ensureDeferred
async def test_pages_of_a_browser_wait_too(recipe, webs):
    """Text that a script writes is there, what is forbidden is not asked for, and a 503
    pauses.
    """
    pytest.importorskip(
        "scrapy_playwright", reason="needs scrapy-playwright (the extra recipes)"
    )
    browser = pytest.importorskip("browser")
    if not browser.IS_THERE:
        pytest.skip("needs chromium")
    web = webs()
    script = "<p id=said></p><script>said.textContent = 'from a script'</script>"
    web.pages = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n"),
        "/": Answer(f"<a href=/a>a</a><a href=/private>b</a>{script}".encode()),
        "/a": Answer(script.encode()),
    }
    for path in ("/", "/a"):
        web.pages[path].headers["Content-Type"] = "text/html"
    web.refuse = Closed(1, after=1, retry_after="1", robots_too=False)
    app = recipe("playwright", app=web.url)
    patient = 120_000  # milliseconds: a browser starts slowly on a busy machine
    here = {
        "PLAYWRIGHT_LAUNCH_OPTIONS": {
            "executable_path": browser._CHROMIUM,
            "args": ["--no-sandbox"],
            "timeout": patient,
        },
        "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": patient,
    }
    run = await crawl(app.spider("app"), {**app.settings(), **here})
    assert run.urls() == [f"{web.url}/", f"{web.url}/a"]
    assert {item["text"] for item in run.items} == {"from a script"}
    assert web.asked("/private") == 0
    assert run.stats["mandelbot/pause/count"] == 1


@NEEDS_REDIS
@ensureDeferred
async def test_scrapy_redis_goes_on_while_a_site_is_paused(recipe, webs, tmp_path):
    """A start URL pushed while a paused site has requests is crawled meanwhile."""
    redis = pytest.importorskip("redis")
    pytest.importorskip("scrapy_redis")
    web, other = site(webs, 6), site(webs, 3, "127.0.0.2")
    web.refuse = closed = Closed(2, after=3, retry_after="2", robots_too=False)
    (tmp_path / "redis").mkdir()
    with RedisServer(tmp_path / "redis") as server:
        client = redis.Redis.from_url(server.url)
        shops = recipe("scrapy_redis")
        client.lpush("shops:start_urls", f'{{"url": "{web.url}/"}}')
        settings = {**shops.settings(), "REDIS_URL": server.url}

        class Pushing(shops.spider("shops")):
            max_idle_time = 1

            def site_paused(self, site, until, reason):
                client.lpush("shops:start_urls", f'{{"url": "{other.url}/"}}')

        run = await crawl(Pushing, settings)
        client.close()
    assert run.urls() == sorted(web.urls(6) + other.urls(3))
    assert max(hit.at for hit in other.hits) < closed.began + 2


@TURNED
@ensureDeferred
async def test_training_data_is_what_owners_do_not_refuse(recipe, webs, tmp_path):
    """Refused pages are not fetched or give no items, and each decision is a line."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(
        b"User-agent: *\nContent-Usage: /page/0 train-ai=n\n"
    )
    web.pages["/page/1"].headers["TDM-Reservation"] = "1"
    texts = recipe("training", texts=web.url)
    texts.module("decisions")
    run = await crawl(texts.spider("texts"), texts.settings())
    assert run.urls() == [f"{web.url}/", f"{web.url}/page/2"]
    assert web.asked("/page/0") == 0
    assert len(run.logged("Not taken: ")) == 2
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    written = [json.loads(line) for line in lines]
    header = "train-ai disallowed by tdm-reservation: 1 (header)"
    rule = (
        "train-ai disallowed by Content-Usage: /page/0 train-ai=n (robots.txt line 2)"
    )
    assert Counter((one["event"], one["statement"]) for one in written) == {
        ("fetched", "None"): 2,
        ("fetched", header): 1,
        ("item dropped", header): 1,
        ("not fetched", rule): 1,
    }
    (shown,) = re.findall(r"    (grep .*)", page("recipes/training"))
    shown = shown.replace("https://texts.example.com/poem", f"{web.url}/page/2")
    _, _, wanted, file = shlex.split(shown)
    found = [
        line for line in (tmp_path / file).read_text().splitlines() if wanted in line
    ]
    assert [json.loads(line)["event"] for line in found] == ["fetched"]


@ensureDeferred
async def test_why_nothing_was_crawled(recipe, webs):
    """The spider names the line, in the words of the page."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    why = recipe("went_wrong", shop=web.url)
    run = await crawl(why.spider("shop"), why.settings())
    assert run.items == []
    said = f"{web.url}/ is forbidden by line 2: Disallow: / (agent *)"
    assert said in run.messages
    assert said.replace(web.url, "https://shop.example.com") in page("went_wrong")


def test_the_test_of_a_robots_txt_passes(recipe):
    """For the file that the recipe shows it holds; for one that closes the shop it does
    not.
    """
    own = recipe("own_robots")
    shown = re.search(
        r"\$ cat robots.txt\n((?:    .*\n|\n)+?)    \$", page("recipes/own_robots")
    )
    text = re.sub("^    ", "", shown[1], flags=re.MULTILINE)
    for body, holds in (
        (text, True),
        (text.replace("Disallow: /basket", "Disallow: /"), False),
    ):
        Path("robots.txt").write_text(body)
        module = own.module("test_robots")
        module.test_robots_stay_out("/basket")
        module.test_the_sitemap_is_cited()
        assert module.ROBOTS.allowed("/shoes", "Googlebot") == holds
        del sys.modules["test_robots"]
