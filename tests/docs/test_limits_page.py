"""docs/limits.rst lists all limits, with their values."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from itertools import chain

import docutils.core
import docutils.nodes
import docutils.utils
import mandelbot
from pages import DOCS
from tables import each_row

import scrapy_mandelbot
from scrapy_mandelbot.settings.config import OPTIONS, setting_defaults

PAGE = DOCS / "limits.rst"
UNITS = {"KiB": 2**10, "MiB": 2**20}
# Named like limits, or caches, that have nothing to do with what comes from outside.
NO_LIMITS = {
    "throttle.shared_limits._extract": "there is one",
    "clock._MOST_HELD_UP": "ticks that were late",
    "clock._LONGEST_TIMER": "after which a timer looks at the clock again",
    "scheduling.storage._LONGEST_NAME": (
        "of a directory, whose name has a digest of the rest"
    ),
    "politeness.limit_estimator._LONGEST": "what is a limit and what an outage",
    "mandelbot.robotparser._MOST_BYTES": "that of a robots.txt, for one caller",
    "politeness.connection_limit._LONGEST": "times as long until one more is tried",
    "politeness.measured_limit._MOST_LOST": "of an account, before it is looked at",
    "politeness.connection_ceiling._LONGEST": "times as long until one more is tried",
    "politeness.connection_ceiling._MOST_IN_A_ROW": "what chance explains",
    "politeness.connection_ceiling._REMEMBERED": "how late a reset may be",
    "politeness.pause_policy.MOST_BY_CHANCE": "what chance explains",
    "politeness.rate_control._IS_LIMIT": "of a statistic",
    "mandelbot.answers.failures._LONGEST_LABEL": "what a name can be",
    "mandelbot.origins._LONGEST_NAME": "what a name can be",
    "mandelbot.answers.inside._LONGEST_HOSTS": "what a name can be",
    "politeness.pacer._LONGEST_WAY": "when a request has arrived",
    "fleet.link.LONGEST_SILENCE": "when a worker is taken for dead",
    "fleet.own_sites._MOST_GIVEN": "of sites that are given to other workers at a time",
    "mandelbot.robotstxt.agents.product_tokens": "agents are the project's",
    "mandelbot.robotstxt.grammar.grammar_of": "dialects are the project's",
    "mandelbot.robotstxt.grammar._spellings": "dialects are the project's",
    "mandelbot.findings.delivery._MANY_REDIRECTS": "when a finding is reported",
    "mandelbot.findings.structure._LONGEST": (
        "of a name that is compared with others for a finding"
    ),
    "mandelbot.findings.agent_checks._MOST_NAMES": "of names that a message repeats",
    "mandelbot.findings.spelling._LONGEST": "what a field can be",
    "mandelbot.findings.value_checks._LONGEST_HOST": "what a host can be",
    "mandelbot.findings.value_checks._LONGEST_CLEAN_PARAM": (
        "when a finding is reported"
    ),
    "mandelbot.findings.value_checks._LONGEST_DELAY": "when a finding is reported",
    "mandelbot.fix.questions.LONGEST": "of a rule that a correction is proved by",
    "mandelbot.sitemaps.markup._LONGEST": (
        "of markup that may be cut between two blocks"
    ),
    "mandelbot.sitemaps.markup._LONGEST_CLOSING": (
        "of markup that may be cut between two blocks"
    ),
    "mandelbot.sitemaps.splitting._LONGEST_NAME": (
        "of markup that may be cut between two blocks"
    ),
    "mandelbot.sitemaps.urls._LONGEST_AUTHORITY": "what a host can be",
    "mandelbot.sitemaps.urls._LONGEST_LABEL": "what a host can be",
    "mandelbot.sitemaps.urls._LONGEST_NAME": "what a host can be",
    "report.samples._MOST_VALUE": "of a value that a quantile is estimated from",
    "mandelbot.tags.directives.NO_LIMIT": "what max-snippet:-1 says",
    "mandelbot.tags.directives._LONGEST_DATE": "what a date can be",
    "mandelbot.tags.head.patterns_for": "agents are the project's",
    "mandelbot.tags.head.worth_reading": "agents are the project's",
    "mandelbot.tags.reading._names": "agents are the project's",
    "mandelbot.preferences.in_pages._names": "agents are the project's",
    "mandelbot.tags.head._MOST_ESCAPED": "what a reference can be",
    "mandelbot.tags.head._MOST_SPACE": "what a tag can be",
    "mandelbot.tags.head._MOST_MENTIONS": "more tags than METAS_LIMIT are not read",
}
LIKE_A_LIMIT = re.compile(r"MOST|LONGEST|LIMIT|DEEPEST|REMEMBERED|KEPT")


def rows():
    """Return the rows of the page's table, as texts."""
    tree = docutils.core.publish_doctree(PAGE.read_text())
    found = [
        [entry.astext() for entry in row.findall(docutils.nodes.entry)]
        for row in tree.findall(docutils.nodes.row)
    ]
    return found[1:]


ROWS = rows()


def number(text):
    """Return the number that a limit's text says, in its smallest unit."""
    digits, unit = re.match(r"([0-9][0-9,]*) ?(\w*)", text).groups()
    return int(digits.replace(",", "")) * UNITS.get(unit, 1)


def in_force(where):
    """Return the default of a setting, of an argument, or the value of a constant."""
    if where.startswith("MANDELBOT_"):
        group, _, key = where.rstrip('"]').partition('["')
        return OPTIONS[group][key] if key else setting_defaults()[where]
    home, _, name = where.rpartition(".")
    package = "" if home.startswith("mandelbot.") else "scrapy_mandelbot."
    module = import_module(f"{package}{home}".rstrip("."))
    if name.endswith(")"):
        function, _, argument = name.rstrip(")").partition("(")
        return inspect.signature(getattr(module, function)).parameters[argument].default
    found = getattr(module, name)
    return (
        found.cache_parameters()["maxsize"]
        if hasattr(found, "cache_parameters")
        else found
    )


@each_row(("what", "most", "where"), [row[:3] for row in ROWS])
def test_each_row_has_the_number_that_is_in_force(what, most, where):
    """The page's number is the setting's default, or the constant in the code."""
    assert number(most) == in_force(where), what


def test_every_limit_of_the_code_is_listed():
    """A constant named like a limit, and a cache, is in the table, or it is said why it
    is none.
    """
    found = set()
    walked = chain.from_iterable(
        pkgutil.walk_packages(one.__path__, f"{one.__name__}.")
        for one in (mandelbot, scrapy_mandelbot)
    )
    for module in walked:
        # of a person, not of a crawl
        if re.search(r"\.(cli|commands|reports|__main__)\b", module.name):
            continue
        loaded = import_module(module.name)
        source = inspect.getsource(loaded)
        home = module.name.removeprefix("scrapy_mandelbot.")
        for name in re.findall(
            r"^(_?[A-Z][A-Z_]+)(?:: \w+)? = -?[0-9]", source, re.MULTILINE
        ):
            if LIKE_A_LIMIT.search(name):
                found.add(f"{home}.{name}")
        for name, value in vars(loaded).items():
            if hasattr(value, "cache_parameters") and value.__module__ == module.name:
                found.add(f"{home}.{name}")
    listed = {where for _, _, where, _ in ROWS}
    assert sorted(found - listed - NO_LIMITS.keys()) == []
    assert sorted(NO_LIMITS.keys() - found) <= ["mandelbot.sitemaps.markup._LONGEST"]


def test_every_limit_that_is_a_setting_is_listed():
    """What MANDELBOT_LIMITS has limits something, and the page says what."""
    text = PAGE.read_text()
    missing = [
        key
        for key in OPTIONS["MANDELBOT_LIMITS"]
        if f'MANDELBOT_LIMITS["{key}"]' not in text
    ]
    assert missing == []


def test_the_page_can_be_read():
    """It is sound reStructuredText."""
    reporter = {"report_level": docutils.utils.Reporter.INFO_LEVEL, "halt_level": 2}
    docutils.core.publish_doctree(PAGE.read_text(), settings_overrides=reporter)
