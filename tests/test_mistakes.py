"""Mistakes in a project's settings are logged, one line each; without mistakes nothing
is.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from crawlers import get_crawler
from crawling import SETTINGS, crawl, ensureDeferred
from scrapy import Spider
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import (
    RobotsTxtMiddleware as StockMiddleware,
)
from scrapy.settings import Settings

from scrapy_mandelbot import (
    Addon,
    MandelbotRobotParser,
    RobotsTxtMiddleware,
    SettingsError,
)
from scrapy_mandelbot.settings.checks import Project, mistakes_in
from scrapy_mandelbot.settings.config import Config


class EmptySpider(Spider):
    name = "empty"


class HookedSpider(EmptySpider):
    def site_paused(self, site, until, reason): ...


class OwnRobotsMiddleware(StockMiddleware):
    """A project's own, as many have."""


class OursOnceMore(RobotsTxtMiddleware):
    """A project's own, of ours."""


class AnotherRobotsTxtMiddleware:
    """A project's own that is like none."""


class OwnParser(MandelbotRobotParser):
    """A project's own, of ours."""


class OwnScheduler(Scheduler):
    """A project's own that is Scrapy's."""


class OtherScheduler:
    """A project's own that is none of Scrapy's."""

    def has_pending_requests(self): ...
    def enqueue_request(self, request): ...
    def next_request(self): ...


def logged(
    settings: dict[str, Any], spider: type[Spider] = EmptySpider
) -> list[tuple[int, str]]:
    """Return the lines logged for these settings when the spider opens."""
    crawler = get_crawler(spider, {**SETTINGS, **settings})
    config = Config.from_settings(crawler.settings)
    found = mistakes_in(Project(crawler.settings, config, spider))
    return [(one.level, one.text) for one in found]


RIGHT = [
    {},
    {
        "MANDELBOT_PACE": "obey",
        "MANDELBOT_CRAWL_DELAYS": {".example.com": 5, "*.example.org": 1},
    },
    {"MANDELBOT_SITEMAPS": "follow", "MANDELBOT_DIALECT": "google"},
    {"MANDELBOT_SITEMAPS": "follow", "MANDELBOT_SITEMAP_SINCE": "last_run"},
    {"MANDELBOT_SITEMAPS": ["/sitemap.xml"], "MANDELBOT_SITEMAP_SINCE": "2026-11-20"},
    {"MANDELBOT_SITEMAP_SINCE": ""},
    {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE_UNKNOWN": "drop"},
    {"MANDELBOT_USAGE_UNKNOWN": "allow"},
    {"MANDELBOT_PURPOSE": "train-ai", "MANDELBOT_USAGE": "obey"},
    {"MANDELBOT_PAUSE_IDLE": "close", "JOBDIR": "JOBDIR"},
    {"ROBOTSTXT_PARSER": "scrapy.robotstxt.PythonRobotParser"},
    {"ROBOTSTXT_PARSER": OwnParser, "MANDELBOT_DIALECT": "google"},
    {"SCHEDULER": OwnScheduler},
    {"SCHEDULER": OtherScheduler},
    {"JOBDIR": "JOBDIR"},
    {"DOWNLOADER_MIDDLEWARES": {"scrapy_mandelbot.RobotsTxtMiddleware": 120}},
    {
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy_mandelbot.RobotsTxtMiddleware": None,
            OursOnceMore: 100,
        }
    },
    {"MANDELBROT_DEPTH": 5},  # somebody else's
]


@pytest.mark.parametrize(
    "settings", RIGHT, ids=lambda settings: ", ".join(settings) or "nothing"
)
@pytest.mark.parametrize("spider", [EmptySpider, HookedSpider])
def test_a_correct_project_gets_no_warning(settings, spider, tmp_path, monkeypatch):
    """Whatever may be set."""
    monkeypatch.chdir(tmp_path)
    assert logged(settings, spider) == []


MISTAKES = [
    (
        {"MANDLEBOT_PACE": "obey"},
        "MANDLEBOT_PACE is an unknown setting: did you mean MANDELBOT_PACE?",
    ),
    (
        {"MANDELBOTPACE": "obey"},
        "MANDELBOTPACE is an unknown setting: did you mean MANDELBOT_PACE?",
    ),
    (
        {"MANDELBOT_PAUSE_IDLE": "close"},
        (
            'MANDELBOT_PAUSE_IDLE is "close", but there is no JOBDIR to store waiting'
            " requests for the next run: the spider waits for paused sites instead."
        ),
    ),
    (
        {"MANDELBOT_XYZZY": 1},
        "MANDELBOT_XYZZY is an unknown setting; none has a similar name.",
    ),
    (
        {"ROBOTSTXT_OBEY": False, "MANDELBOT_SITEMAPS": "follow"},
        (
            "ROBOTSTXT_OBEY is off: robots.txt is not fetched, so MANDELBOT_SITEMAPS ="
            " 'follow' does nothing."
        ),
    ),
    (
        {
            "ROBOTSTXT_OBEY": False,
            "MANDELBOT_PACE": "obey",
            "MANDELBOT_DIALECT": "google",
        },
        (
            "ROBOTSTXT_OBEY is off: robots.txt is not fetched, so MANDELBOT_PACE ="
            " 'obey' and MANDELBOT_DIALECT = 'google' do nothing."
        ),
    ),
    (
        {
            "ROBOTSTXT_OBEY": False,
            "MANDELBOT_CRAWL_DELAYS": {"example.com": "obey"},
        },
        (
            "ROBOTSTXT_OBEY is off: robots.txt is not fetched, so"
            " MANDELBOT_CRAWL_DELAYS = {'example.com': 'obey'} does nothing."
        ),
    ),
    (
        {
            "ROBOTSTXT_PARSER": "scrapy.robotstxt.PythonRobotParser",
            "MANDELBOT_DIALECT": "google",
        },
        (
            "ROBOTSTXT_PARSER is scrapy.robotstxt.PythonRobotParser and decides what is"
            " allowed: MANDELBOT_DIALECT = 'google' has no effect."
        ),
    ),
    (
        {"DOWNLOADER_MIDDLEWARES": {OwnRobotsMiddleware: 100}},
        (
            f"{__name__}.OwnRobotsMiddleware and scrapy_mandelbot.RobotsTxtMiddleware"
            " are both in DOWNLOADER_MIDDLEWARES: each fetches robots.txt and forbids"
            " requests. Set one of them to None."
        ),
    ),
    (
        {"DOWNLOADER_MIDDLEWARES": {OursOnceMore: 100}},
        (
            f"{__name__}.OursOnceMore and scrapy_mandelbot.RobotsTxtMiddleware are both"
            " in DOWNLOADER_MIDDLEWARES: each fetches robots.txt and forbids requests."
            " Set one of them to None."
        ),
    ),
    (
        {"DOWNLOADER_MIDDLEWARES": {AnotherRobotsTxtMiddleware: 700}},
        (
            f"{__name__}.AnotherRobotsTxtMiddleware and"
            " scrapy_mandelbot.RobotsTxtMiddleware are both in DOWNLOADER_MIDDLEWARES:"
            " each fetches robots.txt and forbids requests. Set one of them to None."
        ),
    ),
    (
        {"MANDELBOT_USAGE": "obey"},
        (
            "MANDELBOT_USAGE is obey, but MANDELBOT_PURPOSE does not say what you use"
            " pages for: nothing is dropped."
        ),
    ),
    (
        {"MANDELBOT_USAGE_UNKNOWN": "drop"},
        (
            "MANDELBOT_USAGE_UNKNOWN is drop, but MANDELBOT_PURPOSE does not say what"
            " you use pages for: nothing is dropped."
        ),
    ),
    (
        {"MANDELBOT_SITEMAP_SINCE": "2026-11-20"},
        (
            "MANDELBOT_SITEMAP_SINCE does nothing: no sitemap is read without"
            ' MANDELBOT_SITEMAPS = "follow".'
        ),
    ),
]


@pytest.mark.parametrize(("settings", "line"), MISTAKES, ids=lambda it: str(it)[:60])
def test_a_mistake_is_logged_in_one_line(settings, line):
    """By a warning, and by no second one."""
    assert logged(settings, HookedSpider) == [(logging.WARNING, line)]


SWITCHED_OFF = [
    (
        {"ROBOTSTXT_OBEY": False},
        "ROBOTSTXT_OBEY is off: robots.txt is not fetched; pauses still apply.",
    ),
]


@pytest.mark.parametrize(
    ("settings", "line"), SWITCHED_OFF, ids=lambda it: str(it)[:60]
)
def test_what_a_project_disables_is_logged_too(settings, line):
    """As no mistake: it is meant so."""
    assert logged(settings, HookedSpider) == [(logging.INFO, line)]


def test_each_mistake_of_a_setting_gets_a_warning():
    """One line for each."""
    found = logged({"MANDELBOTPACE": 1, "MANDLEBOT_PACE": 1, "MANDELBOT_XYZZY": 1})
    assert len(found) == 3


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("MANDELBOT_CRAWL_DELAY", "MANDELBOT_CRAWL_DELAYS"),
        ("MANDELBOT_PACES", "MANDELBOT_PACE"),
        ("mandelbot_pace", "MANDELBOT_PACE"),
        ("MANDELBOT_ENABLE", "MANDELBOT_ENABLED"),
        ("MANDELBOT_PAUSE_TOTAL", 'MANDELBOT_PAUSE_OPTIONS["total"]'),
        ("MANDELBOT_CACHE_TTL", 'MANDELBOT_CACHE["ttl"]'),
        ("MANDELBOT_DELAY", "MANDELBOT_CRAWL_DELAYS"),
        ("MANDELBOT_OBEY", "ROBOTSTXT_OBEY"),
        ("MANDELBOT_RETRY_TIMES", 'MANDELBOT_PAUSE_OPTIONS["tries"]'),
        ("MANDELBOT_USER_AGENT", "USER_AGENT"),
    ],
)
def test_a_misspelt_name_stops_the_crawl(name, meant):
    """As a misspelt value does: a delay that is not obeyed is the greater harm."""
    line = f"{name} = 5: there is no such setting; did you mean {meant}?"
    with pytest.raises(SettingsError, match=f"^{re.escape(line)}$"):
        get_crawler(EmptySpider, {**SETTINGS, name: 5})


@ensureDeferred
async def test_a_name_that_another_package_may_own_is_only_logged(caplog):
    """As the spider opens, once."""
    crawled = await crawl(EmptySpider, {"MANDELBOT_XYZZY": "obey"})
    assert len(crawled.logged("MANDELBOT_XYZZY is an unknown setting")) == 1
    assert crawled.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_disabled_package_logs_no_mistake():
    """MANDELBOT_ENABLED = False is exactly stock Scrapy."""
    crawled = await crawl(
        EmptySpider, {"MANDELBOT_ENABLED": False, "MANDELBOT_PACES": "obey"}
    )
    assert not crawled.logged("MANDELBOT_PACES")


SPIDER = """
from scrapy import Spider

class EmptySpider(Spider):
    name = "empty"
    start_urls = ["data:,"]

    def parse(self, response): ...
"""
WRONG = "MANDELBOT_DIALECT = 'googel': it takes a Dialect or one of "
ADDON = {"ADDONS": '{"scrapy_mandelbot.Addon": 500}'}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["crawl", "empty"], ["runspider", "project/spiders.py"]]
)
def test_a_wrong_value_is_one_line_and_an_exit_code(tmp_path, forked, command):
    """The last line of the log, with no traceback anywhere; the command fails."""
    _write_project(tmp_path, ADDON)
    run = forked.program(tmp_path, "scrapy", *command, "-s", "MANDELBOT_DIALECT=googel")
    assert run.returncode == 1
    assert b"Traceback" not in run.stdout + run.stderr
    *before, last = run.stderr.decode().splitlines()
    assert f" CRITICAL: {WRONG}" in last
    assert not any(WRONG in line for line in before)


MISSING = [
    ("MANDELBOT_METRICS=127.0.0.1:0", "prometheus_client", "scrapy-mandelbot[metrics]"),
    ("MANDELBOT_JOB=redis://localhost", "redis", "scrapy-mandelbot[redis]"),
    ("MANDELBOT_REPORT=%(nothing)s.json", "", "placeholders such as %(name)s"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "package", "message"), MISSING)
def test_a_missing_file_or_package_is_one_line(
    tmp_path, forked, option, package, message
):
    """A package that a setting needs, a placeholder that is none, a file that cannot
    be.
    """
    _write_project(tmp_path, ADDON)
    if package:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError\n")
    run = forked.program(
        tmp_path,
        "scrapy",
        "crawl",
        "empty",
        "-s",
        option,
        "-s",
        "MANDELBOT_PURPOSE=tdm",
    )
    assert run.returncode == 1
    assert b"Traceback" not in run.stdout + run.stderr
    (line,) = [line for line in run.stderr.decode().splitlines() if message in line]
    assert f" CRITICAL: {option.partition('=')[0]} = " in line


@pytest.mark.slow
def test_a_wrong_value_has_one_line_in_the_log_of_a_crawler_process(tmp_path, forked):
    """With Twisted's own reactor too; what Twisted writes past the log is not ours to
    take.
    """
    _write_project(tmp_path, ADDON)
    options = ["MANDELBOT_DIALECT=googel", "FORCE_CRAWLER_PROCESS=1", "LOG_FILE=log"]
    run = forked.program(
        tmp_path,
        "scrapy",
        "crawl",
        "empty",
        *(word for one in options for word in ("-s", one)),
    )
    assert run.returncode == 1
    log = (tmp_path / "log").read_text()
    assert log.count(WRONG) == 1
    assert "Traceback" not in log


def test_whoever_awaits_a_crawl_gets_the_error():
    """As after any failed start; and it is logged once, however often it is raised."""
    with pytest.raises(SettingsError, match="googel"):
        get_crawler(EmptySpider, {**SETTINGS, "MANDELBOT_DIALECT": "googel"})


def test_the_add_on_works_without_a_crawler():
    """Scrapy builds it for one; who applies it to settings by itself need have none."""
    settings = Settings()
    Addon().update_settings(settings)
    assert settings.getbool("ROBOTSTXT_OBEY")
    with pytest.raises(SettingsError, match="googel"):
        Addon().update_settings(Settings({"MANDELBOT_DIALECT": "googel"}))


def _write_project(folder, settings):
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    (folder / "project").mkdir()
    (folder / "project" / "__init__.py").write_text("")
    (folder / "project" / "spiders.py").write_text(SPIDER)
    lines = [f"{name} = {value}" for name, value in settings.items()]
    lines += [
        'SPIDER_MODULES = ["project.spiders"]',
        "TELNETCONSOLE_ENABLED = False",
        "",
    ]
    (folder / "project" / "settings.py").write_text("\n".join(lines))
