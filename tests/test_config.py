"""Every setting: its default, what it takes, and what it says to anything else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.settings import Settings

from scrapy_mandelbot import Dialect, SettingsError
from scrapy_mandelbot.config import Config, setting_defaults
from scrapy_mandelbot.robotstxt import DIALECTS

NUMBERS = ["MANDELBOT_CACHE_TTL", "MANDELBOT_PAUSE_FIRST", "MANDELBOT_PAUSE_WAIT"]


def config(**settings: object) -> Config:
    return Config.from_settings(Settings(settings))


def test_defaults():
    """Without a word from the project, what the README's table says."""
    defaults = config(ROBOTSTXT_OBEY=True)
    assert defaults.enabled
    assert defaults.agent is None
    assert defaults.dialect is DIALECTS["mandelbot"]
    assert defaults.fresh_for == 48 * 3600
    assert defaults.cache_stale == 30 * 24 * 3600
    assert defaults.store == "sqlite"
    assert defaults.pause_statuses == {503, 429}
    assert defaults.inner_queue is ScrapyPriorityQueue
    law = defaults.pause_law
    assert (law.first, law.base, law.longest, law.tries) == (1, 60, 3600, 8)


BAD = [
    ("MANDELBOT_ENABLED", "maybe", "True or False"),
    ("MANDELBOT_DIALECT", "googel", "'mandelbot'"),
    ("MANDELBOT_DIALECT", 3, "a Dialect or one of"),
    ("MANDELBOT_STORE", "memry", "'memory' or 'sqlite', or the path of a file"),
    ("MANDELBOT_STORE", "redis://localhost", "'memory' or 'sqlite', or the path of a file"),
    ("MANDELBOT_CACHE_STALE", "a month", "a number of seconds"),
    ("MANDELBOT_CACHE_TTL", -1, "0 or more"),
    ("MANDELBOT_CACHE_TTL", "two days", "a number of seconds"),
    ("MANDELBOT_CACHE_TTL", float("nan"), "a number of seconds"),
    ("MANDELBOT_ROBOTS_MAX_BYTES", 0, "a whole number, 1 or more"),
    ("MANDELBOT_ROBOTS_MAX_REDIRECTS", 2.5, "a whole number, 0 or more"),
    ("MANDELBOT_PAUSE_HTTP_CODES", [200], "from 400 to 599"),
    ("MANDELBOT_PAUSE_HTTP_CODES", 503, "a list of HTTP status codes"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "503,x", "a list of HTTP status codes"),
    ("MANDELBOT_PAUSE_FIRST", -0.1, "0 or more"),
    ("MANDELBOT_PAUSE_BASE", "", "a number of seconds"),
    ("MANDELBOT_PAUSE_MAX", float("inf"), "a number of seconds"),
    ("MANDELBOT_PAUSE_RETRY_AFTER_MAX", -1, "0 or more"),
    ("MANDELBOT_PAUSE_TRIES", 0, "a whole number, 1 or more"),
    ("MANDELBOT_PAUSE_WAIT", "long", "a number of seconds"),
    ("MANDELBOT_INNER_PRIORITY_QUEUE", "no.such.Queue", "ScrapyPriorityQueue"),
    ("MANDELBOT_INNER_PRIORITY_QUEUE", "builtins.dict", "ScrapyPriorityQueue"),
    ("MANDELBOT_INNER_SCHEDULER", "no.such.Scheduler", "a scheduler class"),
    ("MANDELBOT_INNER_SCHEDULER", 7, "a scheduler class"),
    ("MANDELBOT_SITEMAPS", "folow", "'off' or 'signal' or 'follow'"),
    ("MANDELBOT_SITEMAP_SINCE", "yesterday", "a date as 2026-11-20"),
    ("MANDELBOT_SITEMAP_SINCE", 7, "'last_run'"),
    ("MANDELBOT_SITEMAP_MAX_BYTES", 0, "a whole number, 1 or more"),
    ("MANDELBOT_SITEMAP_MAX_ENTRIES", "many", "a whole number, 1 or more"),
    ("MANDELBOT_PAUSE_PER_PROXY", "each", "True or False"),
    ("ROBOTSTXT_USER_AGENT", 7, "a product token"),
    ("ROBOTSTXT_OBEY", "perhaps", "True or False"),
]


@pytest.mark.parametrize(("name", "value", "takes"), BAD)
def test_a_wrong_value_is_an_error_that_names_the_setting_and_what_it_takes(name, value, takes):
    """At start, in one line."""
    with pytest.raises(SettingsError) as error:
        config(**{name: value})
    assert str(error.value).startswith(f"{name} = {value!r}: it takes ")
    assert takes in str(error.value)


GOOD = [
    ("MANDELBOT_ENABLED", "False", "enabled", False),
    ("MANDELBOT_ENABLED", "1", "enabled", True),
    ("MANDELBOT_CACHE_TTL", "60", "cache_ttl", 60.0),
    ("MANDELBOT_CACHE_TTL", 0, "cache_ttl", 0.0),
    ("MANDELBOT_DIALECT", "rfc9309", "fresh_for", 24 * 3600),
    ("MANDELBOT_STORE", "memory", "store", "memory"),
    ("MANDELBOT_STORE", "copies.db", "store", "copies.db"),
    ("MANDELBOT_STORE", "/var/lib/crawl/copies", "store", "/var/lib/crawl/copies"),
    ("MANDELBOT_STORE", Path("copies"), "store", "copies"),
    ("MANDELBOT_PAUSE_HTTP_CODES", "503, 500", "pause_statuses", {503, 500}),
    ("MANDELBOT_PAUSE_HTTP_CODES", [], "pause_statuses", set()),
    ("MANDELBOT_PAUSE_TOTAL", "600", "pause_total", 600.0),
    ("MANDELBOT_PAUSE_TOTAL", None, "pause_total", None),
    ("MANDELBOT_PAUSE_TRIES", "3", "pause_tries", 3),
    ("MANDELBOT_DIALECT", DIALECTS["mandelbot"], "dialect", DIALECTS["mandelbot"]),
    ("MANDELBOT_SITEMAP_SINCE", "2026-11-20", "sitemap_since", 1795132800.0),
    ("MANDELBOT_SITEMAP_SINCE", date(2026, 11, 20), "sitemap_since", 1795132800.0),
    ("MANDELBOT_SITEMAP_SINCE", "2026-11-20T01:00:00+01:00", "sitemap_since", 1795132800.0),
    ("MANDELBOT_SITEMAP_SINCE", "last_run", "sitemap_since", "last_run"),
    ("MANDELBOT_SITEMAP_MAX_ENTRIES", "", "sitemap_max_entries", None),
    ("ROBOTSTXT_USER_AGENT", "", "agent", None),
    ("ROBOTSTXT_USER_AGENT", ["a", "b"], "agent", ("a", "b")),
]


@pytest.mark.parametrize(("name", "value", "attribute", "expected"), GOOD)
def test_values_as_settings_files_and_command_lines_write_them(name, value, attribute, expected):
    """``-s NAME=value`` gives strings; settings.py gives the real thing."""
    assert getattr(config(**{name: value}), attribute) == expected


def test_a_dialect_of_ones_own():
    """A Dialect object is as good as a name."""
    assert isinstance(config(MANDELBOT_DIALECT="mandelbot").dialect, Dialect)


def test_every_setting_has_a_name_and_a_default_that_is_taken():
    """What the README's table says can be written in settings.py as it stands."""
    defaults = setting_defaults()
    assert all(name.startswith(("MANDELBOT_", "ROBOTSTXT_")) for name in defaults)
    config(**defaults)
