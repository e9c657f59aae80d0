"""Every setting: its default, what it takes, and what it says to anything else."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

import pytest
from mandelbot import DIALECTS, Dialect
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.settings import Settings

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.politeness.pace import PacePolicy
from scrapy_mandelbot.settings.config import (
    Config,
    check_settings,
    setting_defaults,
    settings_in_force,
)
from scrapy_mandelbot.throttle.budgets import limits_of


def config(**settings: object) -> Config:
    return Config.from_settings(Settings(settings))


def written(name: str, value: object) -> dict[str, object]:
    """Return the setting in which a value is written.

    ``GROUP["key"]`` is a key of a dict.
    """
    setting, _, key = name.partition("[")
    return {setting: {key.strip('"]'): value} if key else value}


def test_defaults():
    """Without a word from the project, what docs/settings.rst says."""
    defaults = config(ROBOTSTXT_OBEY=True)
    assert defaults.enabled
    assert defaults.agent is None
    assert defaults.dialect is DIALECTS["mandelbot"]
    assert defaults.fresh_for == 48 * 3600
    assert defaults.cache_stale == 30 * 24 * 3600
    assert defaults.store == "sqlite"
    assert defaults.pause_statuses == {503, 429, 430, 509, 529, 420}
    assert defaults.inner_queue is ScrapyPriorityQueue
    pauses = defaults.pause_policy
    assert (pauses.first, pauses.longest, pauses.tries) == (1, 3600, 9)


BAD = [
    ("MANDELBOT_ENABLED", "maybe", "True or False"),
    ("MANDELBOT_DIALECT", "googel", "'mandelbot'"),
    ("MANDELBOT_DIALECT", 3, "a Dialect or one of"),
    ("MANDELBOT_PAUSE_HTTP_CODES", [503, 404], "without 404 and 410"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "410", "without 404 and 410"),
    (
        "MANDELBOT_EXIT_STATUS",
        "loss",
        "one or several of 'lost', 'left', 'forbidden', 'incomplete'",
    ),
    (
        "MANDELBOT_EXIT_STATUS",
        1,
        "one or several of 'lost', 'left', 'forbidden', 'incomplete'",
    ),
    ("MANDELBOT_STORE", "memry", "'memory' or 'sqlite', or the path of a file"),
    (
        "MANDELBOT_STORE",
        "ftp://localhost",
        "'memory' or 'sqlite', or the path of a file",
    ),
    (
        "MANDELBOT_JOB",
        "redis:/localhost/0",
        "a URL such as 'redis://localhost:6379/0'",
    ),
    ("MANDELBOT_STORE", "redis://localhost:6379/0", "or the path of a file"),
    (
        "MANDELBOT_JOB",
        "redis://localhost:port/0",
        "a URL such as 'redis://localhost:6379/0'",
    ),
    ("MANDELBOT_JOB", "redis://localhost/crawl", "crawl is no number of a database"),
    ("MANDELBOT_JOB", "unix://", "a URL such as 'redis://localhost:6379/0'"),
    ('MANDELBOT_CACHE["stale"]', "a month", "a number of seconds"),
    ('MANDELBOT_CACHE["ttl"]', -1, "0 or more"),
    ('MANDELBOT_CACHE["ttl"]', "two days", "a number of seconds"),
    ('MANDELBOT_CACHE["ttl"]', float("nan"), "a number of seconds"),
    ('MANDELBOT_LIMITS["robots_bytes"]', 0, "a whole number, 1 or more"),
    ('MANDELBOT_LIMITS["robots_bytes"]', 2.5, "a whole number, 1 or more"),
    ("MANDELBOT_PAUSE_HTTP_CODES", [200], "from 400 to 599"),
    ("MANDELBOT_PAUSE_HTTP_CODES", 503, "a list of HTTP status codes"),
    ("MANDELBOT_REFUSAL", 5, "a function, or its import path"),
    ("MANDELBOT_REFUSAL", "looks_refused", "a function, or its import path"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "503,x", "a list of HTTP status codes"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "[503", "a list of HTTP status codes"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "[[503]]", "a list of HTTP status codes"),
    ("MANDELBOT_PURPOSE", '["search"', "one or several of 'search'"),
    ("MANDELBOT_PURPOSE", '[["search"]]', "one or several of 'search'"),
    ("MANDELBOT_EXIT_STATUS", '["lost"', "one or several of 'lost'"),
    ("MANDELBOT_SITEMAPS", "[1]", "paths such as"),
    ('MANDELBOT_PAUSE_OPTIONS["first"]', -0.1, "0 or more"),
    ('MANDELBOT_PAUSE_OPTIONS["longest"]', float("inf"), "a number of seconds"),
    ('MANDELBOT_PAUSE_OPTIONS["retry_after"]', -1, "0 or more"),
    ('MANDELBOT_PAUSE_OPTIONS["tries"]', 0, "a whole number, 1 or more"),
    ('MANDELBOT_PAUSE_OPTIONS["wait"]', "long", "a number of seconds"),
    ("MANDELBOT_CRAWL_DELAYS", ["example.com"], "seconds by host or site"),
    ("MANDELBOT_CRAWL_DELAYS", "example.com=5", "seconds by host or site"),
    ("MANDELBOT_PACE", "slow", "'manual' or 'obey'"),
    ("MANDELBOT_CONCURRENCY", "auto", "'measured' or 'fixed'"),
    ('MANDELBOT_SITE_BUDGET["pages"]', 0, "a whole number, 1 or more"),
    ('MANDELBOT_SITE_BUDGET["bytes"]', "1 MB", "a whole number, 1 or more"),
    ('MANDELBOT_SITE_BUDGET["seconds"]', 0, "a number of seconds above 0"),
    ('MANDELBOT_SITE_BUDGET["sites"]', ["example.com"], "budgets by host or site"),
    ("MANDELBOT_SITE_BUDGET", 1000, "a dict with any of 'pages', 'bytes', 'seconds'"),
    ("MANDELBOT_EXPECT", {"page": 1}, "'page' (did you mean 'pages'?)"),
    ("MANDELBOT_SITE_BUDGET", {"page": 1}, "'page' (did you mean 'pages'?)"),
    ("MANDELBOT_TOGETHER", "host", "'domain' or 'address'"),
    ('MANDELBOT_PACE_OPTIONS["longest"]', -1, "0 or more"),
    ('MANDELBOT_PACE_OPTIONS["quota"]', -1, "0 or more"),
    ('MANDELBOT_PACE_OPTIONS["crawl_delay"]', "bing", "'interval' or 'window'"),
    ('MANDELBOT_PACE_OPTIONS["fetch_time"]', "twice", "True or False"),
    ("MANDELBOT_INNER_PRIORITY_QUEUE", "no.such.Queue", "ScrapyPriorityQueue"),
    ("MANDELBOT_INNER_PRIORITY_QUEUE", "builtins.dict", "ScrapyPriorityQueue"),
    ("MANDELBOT_INNER_SCHEDULER", "no.such.Scheduler", "a scheduler class"),
    ("MANDELBOT_INNER_SCHEDULER", 7, "a scheduler class"),
    ("MANDELBOT_SITEMAPS", "folow", "'off' or 'signal' or 'follow'"),
    ("MANDELBOT_SITEMAPS", ["sitemap.xml"], "or paths such as ['/sitemap.xml']"),
    ("MANDELBOT_SITEMAPS", ["https://example.com/sitemap.xml"], "or paths such as"),
    ("MANDELBOT_SITEMAPS", ["//example.com/sitemap.xml"], "or paths such as"),
    ("MANDELBOT_SITEMAPS", ["/site map.xml"], "or paths such as"),
    ("MANDELBOT_SITEMAPS", ["/a.xml", 7], "or paths such as"),
    ("MANDELBOT_SITEMAPS", [], "or paths such as"),
    ("MANDELBOT_SITEMAPS", {"/a.xml": 1}, "or paths such as"),
    ("MANDELBOT_SITEMAPS", '["/a.xml"', "or paths such as"),
    ("MANDELBOT_SITEMAP_SINCE", "yesterday", "a date as 2026-11-20"),
    ("MANDELBOT_SITEMAP_SINCE", 7, "'last_run'"),
    ('MANDELBOT_LIMITS["sitemap_bytes"]', 0, "a whole number, 1 or more"),
    ('MANDELBOT_LIMITS["sitemap_entries"]', "many", "a whole number, 1 or more"),
    ("MANDELBOT_PAUSE_IDLE", "never", "'auto' or 'wait' or 'signal' or 'close'"),
    ("MANDELBOT_PURPOSE", "training", "'search', 'ai-input', 'train-ai', 'tdm'"),
    ("MANDELBOT_PURPOSE", ["train-ai", "all"], "one or several of"),
    ("MANDELBOT_PURPOSE", 7, "one or several of"),
    ("MANDELBOT_USAGE", "drop", "'off' or 'annotate' or 'obey'"),
    ("MANDELBOT_USAGE_UNKNOWN", "obey", "'allow' or 'drop'"),
    ("MANDELBOT_SIGN", True, "'always' or 'asked'"),
    ("MANDELBOT_SIGN_KEY", 7, "the path of a PEM file"),
    (
        'MANDELBOT_SIGN_OPTIONS["agent"]',
        "bot.example",
        "the https URL of a key directory",
    ),
    ('MANDELBOT_SIGN_OPTIONS["agent"]', "https://", "the https URL of a key directory"),
    (
        'MANDELBOT_SIGN_OPTIONS["agent"]',
        'https://bot.example/"',
        "the https URL of a key directory",
    ),
    (
        'MANDELBOT_SIGN_OPTIONS["agent"]',
        "https://me@bot.example",
        "the https URL of a key directory",
    ),
    (
        'MANDELBOT_SIGN_OPTIONS["agent"]',
        "https://bot.example:0x",
        "the https URL of a key directory",
    ),
    ('MANDELBOT_SIGN_OPTIONS["http"]', "sometimes", "True or False"),
    ("ROBOTSTXT_USER_AGENT", 7, "a product token"),
    ("ROBOTSTXT_OBEY", "perhaps", "True or False"),
]


@pytest.mark.parametrize(("name", "value", "takes"), BAD)
def test_a_wrong_value_is_an_error_that_names_the_setting_and_what_it_takes(
    name, value, takes
):
    """At start, in one line."""
    with pytest.raises(SettingsError) as error:
        config(**written(name, value))
    assert str(error.value).startswith(f"{name} = {value!r}: it takes ")
    assert takes in str(error.value)


@pytest.mark.parametrize(
    ("value", "purposes"),
    [
        (None, ()),
        ("", ()),
        ([], ()),
        ("tdm", ("tdm",)),
        ("train-ai, search,", ("train-ai", "search")),
        (["search", "search"], ("search",)),
    ],
)
def test_a_purpose_is_a_category_or_several(value, purposes):
    """As a list, or with commas as on the command line; each once."""
    assert config(MANDELBOT_PURPOSE=value).purposes == purposes


NO_HOST = [
    "",
    "example.com:8080",
    "example.com/shop",
    "example.com shop.example.com",
    "ftp://example.com",
    "https://example.com/shop",
    "https://example.com?shop",
    "http://[",
    "http://example.com:http",
    "http://",
    "*",
    ".",
    "*.",
    "..example.com",
    "*.*.example.com",
    "www.*.example.com",
    "example.*",
    "https://*.example.com",
    "https://.example.com",
    "*.https://example.com",
    ".example.com/shop",
    7,
    None,
]


@pytest.mark.parametrize("key", NO_HOST)
def test_a_delay_is_for_a_host_or_a_site(key):
    """What is neither is named in the error, not taken for something that is never
    asked.
    """
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_CRAWL_DELAYS={"example.org": 1, key: 5})
    assert str(error.value).startswith(
        f"MANDELBOT_CRAWL_DELAYS = {key!r}: it takes seconds by"
    )


@pytest.mark.parametrize("seconds", [-1, "five", float("inf"), None, [5]])
def test_a_delay_is_a_number_of_seconds(seconds):
    """The wrong one is named."""
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_CRAWL_DELAYS={"example.org": 1, "example.com": seconds})
    wrong = f"MANDELBOT_CRAWL_DELAYS['example.com'] = {seconds!r}"
    assert str(error.value).startswith(f"{wrong}: it takes a number")


def test_a_delay_that_is_a_flag_is_an_error():
    """True is no second, though Python counts it as one."""
    with pytest.raises(
        SettingsError, match=r"^MANDELBOT_CRAWL_DELAYS\['b\.example'\] = True: it"
    ):
        config(MANDELBOT_CRAWL_DELAYS={"a.example": 1, "b.example": True})


@pytest.mark.parametrize(
    ("site", "delay"),
    [
        ("http://example.com", 5),
        ("https://example.com", 5),
        ("https://example.com:8443", 1),
        ("https://shop.example.com", 0.5),
        ("http://shop.example.com", None),
        ("https://www.example.com", None),
        ("http://[::1]:8000", 3),
        ("http://xn--bcher-kva.example", 2),
    ],
)
def test_mandelbot_delays_by_hand(site, delay):
    """By site, else by host; a host's delay is that of all its sites, and of no
    subdomain.
    """
    delays = {
        "Example.com": 5,
        "https://example.com:8443/": 1.0,
        "https://shop.example.com:443": "0.5",
        "[::1]": 3,
        "bücher.example": 2,
    }
    assert config(MANDELBOT_CRAWL_DELAYS=delays).crawl_delays.of(site) == delay
    assert (
        config(MANDELBOT_CRAWL_DELAYS=json.dumps(delays)).crawl_delays.of(site) == delay
    )


@pytest.mark.parametrize(
    ("site", "delay"),
    [
        ("https://example.com", 5),
        ("https://www.example.com", 4),
        ("https://a.b.example.com:8443", 4),
        ("https://shop.example.com", 2),
        ("https://en.shop.example.com", 3),
        ("http://api.example.com", 1),
        ("https://notexample.com", None),
        ("https://example.com.evil.example", None),
        ("https://www.xn--bcher-kva.example", 6),
        ("https://xn--bcher-kva.example", None),
        ("https://" + "a." * 200 + "example.com", None),
    ],
)
def test_a_delay_for_all_hosts_of_a_domain(site, delay):
    """With itself by a dot, without by a star; of several the one that says most of the
    site.
    """
    delays = {
        ".example.com": 5,
        "*.Example.com": 4,
        ".shop.example.com": 3,
        "shop.example.com": 2,
        "http://api.example.com": 1,
        "*.bücher.example": 6,
    }
    assert config(MANDELBOT_CRAWL_DELAYS=delays).crawl_delays.of(site) == delay


@pytest.mark.parametrize("mode", ["Obey", "", "OBEY", "auto", True, None])
def test_a_mode_in_place_of_a_delay_is_one_of_two(mode):
    """The wrong one is named, with what it takes in one line."""
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_CRAWL_DELAYS={"example.com": mode})
    assert str(error.value) == (
        f"MANDELBOT_CRAWL_DELAYS['example.com'] = {mode!r}: it takes a number of"
        " seconds, 0 or more, or 'obey' or 'manual'"
    )


@pytest.mark.parametrize(
    ("site", "by_default", "with_obey"),
    [
        ("https://other.example", False, True),
        ("https://obeyed.example", True, True),
        ("https://www.obeyed.example", False, True),
        ("https://manual.example", False, False),
        ("https://www.domain.example", True, True),
        ("https://shop.domain.example", False, True),  # its delay replaces the file's
    ],
)
def test_the_crawl_delay_of_some_sites_is_obeyed(site, by_default, with_obey):
    """By the most specific entry; else MANDELBOT_PACE decides."""
    delays = {
        "obeyed.example": "obey",
        "manual.example": "manual",
        ".domain.example": "obey",
        "shop.domain.example": 5,
    }
    settings = {"ROBOTSTXT_OBEY": True, "MANDELBOT_CRAWL_DELAYS": delays}
    assert config(**settings).obeys_pace_of(site) is by_default
    assert config(**settings, MANDELBOT_PACE="obey").obeys_pace_of(site) is with_obey
    assert not config(
        MANDELBOT_CRAWL_DELAYS=delays, ROBOTSTXT_OBEY=False
    ).obeys_pace_of(site)
    of_shop = config(**settings).crawl_delays.of("https://shop.domain.example")
    assert of_shop == 5
    assert config(**settings).crawl_delays.of("https://obeyed.example") == "obey"


WRONG_BUDGETS = [
    (
        {"example.com": {"pages": -1}},
        "['example.com']['pages'] = -1: it takes a whole number, 1 or more",
    ),
    (
        {"example.com": {"page": 1}},
        (
            "['example.com'] = {'page': 1}: it takes a dict with any of 'pages',"
            " 'bytes', 'seconds', not 'page' (did you mean 'pages'?)"
        ),
    ),
    (
        {"example.com": 10},
        "['example.com'] = 10: it takes a dict with any of 'pages', 'bytes', 'seconds'",
    ),
    (
        {"example.com": None},
        (
            "['example.com'] = None: it takes a dict with any of 'pages', 'bytes',"
            " 'seconds'"
        ),
    ),
]


@pytest.mark.parametrize(("sites", "wrong"), WRONG_BUDGETS)
def test_a_wrong_budget_of_one_site_is_named(sites, wrong):
    """In one line, with what it takes."""
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_SITE_BUDGET={"sites": sites})
    assert str(error.value) == f'MANDELBOT_SITE_BUDGET["sites"]{wrong}'


@pytest.mark.parametrize("place", ["example.com/a", "a b.example", "", "*"])
def test_a_budget_is_for_a_host_or_a_site(place):
    """As a delay is."""
    with pytest.raises(SettingsError, match="it takes budgets by host"):
        config(MANDELBOT_SITE_BUDGET={"sites": {place: {"pages": 1}}})


@pytest.mark.parametrize(
    ("site", "limits"),
    [
        ("https://example.com", (10, None, 60.0)),
        ("https://other.example", (1000, None, 60.0)),
        ("https://www.domain.example", (None, None, 60.0)),
        ("https://shop.domain.example", (1000, 5, 60.0)),
        ("https://free.example", (None, None, None)),
        ("https://not-named.example", (1000, None, 60.0)),
    ],
)
def test_the_budget_of_a_site(site, limits):
    """The most specific entry changes what it names; without a limit there is none."""
    sites = {
        "Example.com": {"pages": 10},
        ".domain.example": {"pages": None},
        "shop.domain.example": {"bytes": "5"},
        "free.example": {"pages": None, "seconds": None},
    }
    settings = {"pages": 1000, "seconds": "60", "sites": sites}
    for value in (settings, json.dumps(settings)):
        found = config(MANDELBOT_SITE_BUDGET=value)
        assert found.has_budgets
        assert limits_of(found, site) == limits
    assert not config().has_budgets
    assert not config(MANDELBOT_SITE_BUDGET={}).has_budgets


def test_files_are_obeyed_where_robots_txt_is():
    """MANDELBOT_PACE = "obey" is for rules that are asked for."""
    assert config(ROBOTSTXT_OBEY=True, MANDELBOT_PACE="obey").obeys_pace
    assert not config(ROBOTSTXT_OBEY=False, MANDELBOT_PACE="obey").obeys_pace
    assert not config(ROBOTSTXT_OBEY=True).obeys_pace


GOOD = [
    ("MANDELBOT_ENABLED", "False", "enabled", False),
    ("MANDELBOT_ENABLED", "1", "enabled", True),
    ('MANDELBOT_CACHE["ttl"]', "60", "cache_ttl", 60.0),
    ('MANDELBOT_CACHE["ttl"]', 0, "cache_ttl", 0.0),
    ("MANDELBOT_DIALECT", "rfc9309", "fresh_for", 24 * 3600),
    ("MANDELBOT_STORE", "memory", "store", "memory"),
    ("MANDELBOT_STORE", "copies.db", "store", "copies.db"),
    ("MANDELBOT_STORE", "/var/lib/crawl/copies", "store", "/var/lib/crawl/copies"),
    ("MANDELBOT_STORE", Path("copies"), "store", "copies"),
    ("MANDELBOT_JOB", "redis://host:6379/0", "job", "redis://host:6379/0"),
    ("MANDELBOT_JOB", "rediss://host/1?db=2", "job", "rediss://host/1?db=2"),
    ("MANDELBOT_JOB", "unix:///redis.sock?db=2", "job", "unix:///redis.sock?db=2"),
    ("MANDELBOT_JOB", "valkey://host", "job", "redis://host"),
    ("MANDELBOT_JOB", "valkeys://host", "job", "rediss://host"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "503, 500", "pause_statuses", {503, 500}),
    ("MANDELBOT_PAUSE_HTTP_CODES", [], "pause_statuses", set()),
    ("MANDELBOT_PAUSE_HTTP_CODES", "[503, 500]", "pause_statuses", {503, 500}),
    ("MANDELBOT_PAUSE_HTTP_CODES", "[]", "pause_statuses", set()),
    ("MANDELBOT_PURPOSE", '["search", "tdm"]', "purposes", ("search", "tdm")),
    ("MANDELBOT_EXIT_STATUS", '["lost"]', "exit_status", ("lost",)),
    ('MANDELBOT_PAUSE_OPTIONS["total"]', "600", "pause_total", 600.0),
    ('MANDELBOT_PAUSE_OPTIONS["total"]', None, "pause_total", None),
    ('MANDELBOT_PAUSE_OPTIONS["tries"]', "3", "pause_tries", 3),
    ("MANDELBOT_CRAWL_DELAYS", "", "crawl_delays", {}),
    ('MANDELBOT_PACE_OPTIONS["longest"]', "5", "pace_policy", PacePolicy(longest=5)),
    ('MANDELBOT_PACE_OPTIONS["quota"]', "5", "quota_longest", 5.0),
    (
        'MANDELBOT_PACE_OPTIONS["crawl_delay"]',
        "window",
        "pace_policy",
        PacePolicy(delay_is_window=True),
    ),
    (
        'MANDELBOT_PACE_OPTIONS["fetch_time"]',
        "1",
        "pace_policy",
        PacePolicy(by_fetch_time=True),
    ),
    ("MANDELBOT_DIALECT", DIALECTS["mandelbot"], "dialect", DIALECTS["mandelbot"]),
    ("MANDELBOT_SITEMAP_SINCE", "2026-11-20", "sitemap_since", 1795132800.0),
    ("MANDELBOT_SITEMAP_SINCE", date(2026, 11, 20), "sitemap_since", 1795132800.0),
    (
        "MANDELBOT_SITEMAP_SINCE",
        "2026-11-20T01:00:00+01:00",
        "sitemap_since",
        1795132800.0,
    ),
    ("MANDELBOT_SITEMAP_SINCE", "last_run", "sitemap_since", "last_run"),
    ('MANDELBOT_LIMITS["sitemap_entries"]', "", "sitemap_max_entries", None),
    ('MANDELBOT_LIMITS["sitemap_entries"]', None, "sitemap_max_entries", None),
    ('MANDELBOT_LIMITS["robots_bytes"]', None, "robots_max_bytes", 512_000),
    ("ROBOTSTXT_USER_AGENT", "", "agent", None),
    ("ROBOTSTXT_USER_AGENT", ["a", "b"], "agent", ("a", "b")),
]


@pytest.mark.parametrize(("name", "value", "attribute", "expected"), GOOD)
def test_values_as_settings_files_and_command_lines_write_them(
    name, value, attribute, expected
):
    """``-s NAME=value`` gives strings; settings.py gives the real thing."""
    assert getattr(config(**written(name, value)), attribute) == expected


def test_a_dialect_of_ones_own():
    """A Dialect object is as good as a name."""
    assert isinstance(config(MANDELBOT_DIALECT="mandelbot").dialect, Dialect)


def test_every_setting_has_a_name_and_a_default_that_is_taken():
    """What docs/settings.rst says can be written in settings.py as it stands."""
    defaults = setting_defaults()
    assert all(name.startswith(("MANDELBOT_", "ROBOTSTXT_")) for name in defaults)
    config(**defaults)


ELSEWHERE = {"MANDELBOT_INNER_SCHEDULER": "scrapy.core.scheduler.Scheduler"}


@pytest.mark.parametrize(
    ("settings", "signals", "closes"),
    [
        ({}, False, False),
        ({"MANDELBOT_PAUSE_IDLE": "signal"}, True, False),
        ({"MANDELBOT_PAUSE_IDLE": "close"}, False, True),
        (ELSEWHERE, True, False),
        ({**ELSEWHERE, "MANDELBOT_PAUSE_IDLE": "wait"}, False, False),
        ({**ELSEWHERE, "MANDELBOT_PAUSE_IDLE": "close"}, False, True),
    ],
)
def test_what_a_run_does_while_only_paused_sites_are_left(settings, signals, closes):
    """One setting says it; unless it does, spider_idle is sent around a scheduler of
    others.
    """
    read = config(**settings)
    assert (read.signals_idle, read.closes_when_paused) == (signals, closes)


OPTION = [
    ({"MANDELBOT_CACHE": {"ttl": 60}}, "cache_ttl", 60.0),
    ({"MANDELBOT_CACHE": '{"ttl": 60}'}, "cache_ttl", 60.0),
    ({"MANDELBOT_CACHE": {"ttl": 60}}, "cache_stale", 2_592_000.0),
    ({"MANDELBOT_LIMITS": {"sitemap_entries": None}}, "sitemap_max_entries", None),
    ({"MANDELBOT_LIMITS": {"robots_bytes": None}}, "robots_max_bytes", 512_000),
    ({"MANDELBOT_LIMITS": None}, "robots_max_bytes", 512_000),
    ({"MANDELBOT_PAUSE_OPTIONS": {"recovery": False}}, "recovers", False),
]


@pytest.mark.parametrize(("settings", "attribute", "expected"), OPTION)
def test_an_option_of_a_setting_that_is_a_dict(settings, attribute, expected):
    """As a dict or JSON of one; those left out have their defaults."""
    assert getattr(config(**settings), attribute) == expected


WRONG_OPTIONS = [
    (
        {"ttl": -1},
        'MANDELBOT_CACHE["ttl"] = -1: it takes a number of seconds, 0 or more',
    ),
    (
        {"tll": 1, "ttl": 2},
        (
            "MANDELBOT_CACHE = {'tll': 1, 'ttl': 2}: it takes a dict with any of 'ttl',"
            " 'stale', not 'tll' (did you mean 'ttl'?)"
        ),
    ),
    (
        {"STALE": 1, 7: 2, "colour": 3},
        (
            "MANDELBOT_CACHE = {'STALE': 1, 7: 2, 'colour': 3}: it takes a dict with"
            " any of 'ttl', 'stale', not 'STALE' (did you mean 'stale'?), not 7, not"
            " 'colour'"
        ),
    ),
    (5, "MANDELBOT_CACHE = 5: it takes a dict with any of 'ttl', 'stale'"),
    ("{", "MANDELBOT_CACHE = '{': it takes a dict with any of 'ttl', 'stale'"),
]


@pytest.mark.parametrize(("value", "error"), WRONG_OPTIONS)
def test_a_wrong_option_is_named(value, error):
    """At start, in one line, as any other setting."""
    with pytest.raises(SettingsError) as raised:
        config(MANDELBOT_CACHE=value)
    assert str(raised.value) == error


@pytest.mark.parametrize("lease", [0, 0.5, 0.999])
def test_a_lease_below_a_second_is_an_error(lease):
    """A worker renews it within: it would lose what it holds to a moment's delay."""
    with pytest.raises(SettingsError) as raised:
        config(MANDELBOT_JOB_OPTIONS={"lease": lease})
    assert (
        str(raised.value)
        == f'MANDELBOT_JOB_OPTIONS["lease"] = {lease}: it takes a number of seconds, 1'
        " or more"
    )
    assert config(MANDELBOT_JOB_OPTIONS={"lease": 1}).job_lease == 1


def test_the_effective_value_of_each_setting_is_returned():
    """With who says so; each option by itself."""
    settings = Settings(
        {"MANDELBOT_PACE": "obey", "MANDELBOT_JOB_OPTIONS": {"lease": 60}}
    )
    rows = {row.name: row[1:] for row in settings_in_force(settings)}
    assert rows["MANDELBOT_PACE"] == ("obey", "project")
    assert rows['MANDELBOT_JOB_OPTIONS["lease"]'] == (60, "project")
    assert rows['MANDELBOT_JOB_OPTIONS["sync"]'] == ("normal", "default")
    assert {name.partition("[")[0] for name in rows} == set(setting_defaults())


@pytest.mark.parametrize("name", ["MANDELBOT_JOB"])
@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("rediss://host?ssl_ca_cert=ca.pem", "ssl_ca_cert is no option"),
        (
            "redis://host?ssl_ca_certs=setup.cfg",
            "ssl_ca_certs is no option without rediss://",
        ),
        ("rediss://host?ssl_ca_certs=no.pem", "ssl_ca_certs: [Errno 2] No such"),
        ("rediss://host?ssl_cert_reqs=some", "Requirements Flag: some"),
    ],
)
def test_an_unusable_option_of_a_server_is_an_error_at_the_start(name, url, error):
    """As a certificate that is not there; it would fail at each connection."""
    with pytest.raises(SettingsError) as raised:
        config(**{name: url})
    assert str(raised.value).startswith(f"{name} = ")
    assert error in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://robot:secret@localhost:port/0",
        "redis://robot:secret@localhost?nothing=1",
        "redis://localhost?password=secret&nothing=1",
    ],
)
def test_the_password_of_a_store_is_in_no_error(url):
    """It would stand in the log of whoever runs the crawl."""
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_STORE=url)
    assert "secret" not in str(error.value)


def test_a_job_on_a_server_without_the_package_says_what_to_install(monkeypatch):
    """The extra is for those who want it; a project without it finds out at start."""
    for name in [
        one for one in sys.modules if one.startswith("scrapy_mandelbot.settings.redis")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(SettingsError, match=r"pip install scrapy-mandelbot\[redis\]"):
        config(MANDELBOT_JOB="redis://localhost:6379/0")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"first": 30, "longest": 2}, '["first"] = 30.0: it takes seconds up to '),
        ({"first": 7_200}, '["first"] = 7200.0: it takes seconds up to '),
        ({"first": 30, "total": 12}, '["total"] = 12.0: it takes 0, or seconds from '),
    ],
)
def test_seconds_of_pauses_that_contradict_each_other_are_an_error(options, error):
    """They would pause for longer than the longest, or give up without a probe."""
    with pytest.raises(SettingsError) as raised:
        config(MANDELBOT_PAUSE_OPTIONS=options)
    assert error in str(raised.value)
    with pytest.raises(SettingsError):
        check_settings(Settings({"MANDELBOT_PAUSE_OPTIONS": options}))


def test_seconds_of_pauses_that_agree_are_taken():
    """Also a total below the first wait of the defaults, and none at all."""
    for options in (
        {"first": 30, "total": 30},
        {"total": 0.5},
        {"first": 5, "total": 0},
    ):
        assert config(MANDELBOT_PAUSE_OPTIONS=options).pause_first <= 30


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, (10, 180)),
        ({"DOWNLOAD_TIMEOUT": 2}, (2, 2)),
        ({"DOWNLOAD_TIMEOUT": 60}, (10, 60)),
        ({"DOWNLOAD_TIMEOUT": 0}, (10, 180)),
        ({"DOWNLOAD_TIMEOUT": 2, "MANDELBOT_LIMITS": {"robots_timeout": 30}}, (30, 30)),
        ({"MANDELBOT_LIMITS": {"robots_timeout": 5}}, (5, 5)),
        ({"DOWNLOAD_TIMEOUT": 2, "MANDELBOT_LIMITS": {"robots_bytes": 500}}, (2, 2)),
    ],
)
def test_a_robots_txt_has_the_time_of_a_page_unless_the_project_names_one(
    settings, seconds
):
    """It counts as slow after ten seconds."""
    read = config(**settings)
    assert (read.robots_timeout, read.robots_deadline) == seconds


def test_a_limit_of_no_time_for_robots_txt_is_an_error():
    """No file would ever come in time."""
    with pytest.raises(SettingsError, match="a number of seconds above 0"):
        config(MANDELBOT_LIMITS={"robots_timeout": 0})


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (["/sitemap.xml", "/a.xml"], ("/sitemap.xml", "/a.xml")),
        (("/sitemap.xml", "/sitemap.xml"), ("/sitemap.xml",)),
        ("/sitemap.xml, /a.xml?b", ("/sitemap.xml", "/a.xml?b")),
        ('["/sitemap.xml"]', ("/sitemap.xml",)),
        ("follow", ()),
        ("signal", ()),
    ],
)
def test_paths_of_sitemaps_are_a_list_or_as_the_command_line_has_it(value, paths):
    """A list means "follow"."""
    read = config(MANDELBOT_SITEMAPS=value)
    assert read.named_sitemaps == paths
    assert read.follows_sitemaps == (bool(paths) or value == "follow")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"pages": -1}, "['pages'] = -1: it takes a whole number, 0 or more"),
        ({"of_last_time": 80}, "['of_last_time'] = 80: it takes a share above 0, at"),
        ({"sites": {"a.example": {"items": 1}}}, "['sites']['a.example'] = {'items"),
    ],
)
def test_a_wrong_expectation_is_named_with_its_key(value, said):
    """In one line, before the crawl starts."""
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_EXPECT=value)
    assert str(error.value).startswith(f"MANDELBOT_EXPECT{said}")
