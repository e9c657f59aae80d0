"""``scrapy robots settings``: what is in force, and from where."""

from __future__ import annotations

import json
import re

from test_command_page import EVERY, OF_CRAWLS, fields_of


def rows(run) -> dict[str, dict]:
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    found = {field for field in fields_of(report) - EVERY if "[].value" not in field}
    sentence = re.split(r"\nsettings: ", OF_CRAWLS)[1].partition("\n\n")[0]
    names = set(re.findall(r"``(\w+)``", sentence)) - {"value"}
    assert {field.removeprefix("settings[].") for field in found} == names
    return {row["name"]: row for row in report["settings"]}


def test_each_setting_has_its_source(robots):
    """A password with a server's URL is not told."""
    store = "redis://robot:secret@localhost"
    options = ["-s", 'MANDELBOT_CACHE={"ttl": 60}', "-s", f"MANDELBOT_STORE={store}"]
    found = rows(robots("settings", "--format", "json", *options))
    ttl = found['MANDELBOT_CACHE["ttl"]']
    assert (ttl["value"], ttl["source"]) == (60, "cmdline")
    assert found["MANDELBOT_PACE"]["source"] == "default"
    assert "secret" not in str(found)
    text = robots("settings", *options).stdout.decode()
    assert re.search(r'^MANDELBOT_CACHE\["ttl"\] +60 +cmdline$', text, re.MULTILINE)
    assert "secret" not in text


def test_what_the_add_on_sets_is_in_force(robots):
    """As in a crawl of the project."""
    addons = ["-s", 'ADDONS={"scrapy_mandelbot.Addon": 500}']
    obey = rows(robots("settings", "--format", "json", *addons))["ROBOTSTXT_OBEY"]
    assert (obey["value"], obey["source"]) == (True, "addon")


def test_an_invalid_value_is_reported_as_in_a_crawl(robots):
    """In one line, with exit code 2."""
    addons = ["-s", 'ADDONS={"scrapy_mandelbot.Addon": 500}']
    run = robots("settings", *addons, "-s", 'MANDELBOT_CACHE={"tll": 1}')
    assert run.returncode == 2
    assert "MANDELBOT_CACHE = " in run.stderr.decode()
    assert "any of 'ttl', 'stale'" in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1
