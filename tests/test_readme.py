"""The README says what is there, and all of it."""

from __future__ import annotations

import configparser
import doctest
import re
from pathlib import Path

import docutils.core
import docutils.utils
import pytest

from scrapy_mandelbot import signals
from scrapy_mandelbot.config import setting_defaults
from scrapy_mandelbot.events import EVENTS
from scrapy_mandelbot.extensions import HOOKS
from scrapy_mandelbot.politeness import outcome

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.rst").read_text()
MODULES = {path: path.read_text() for path in (ROOT / "scrapy_mandelbot").rglob("*.py")}
PACKAGE = "\n".join(MODULES.values())


def section(title: str) -> str:
    """Return the text of a section of the README."""
    return re.split(r"\n\n\n", README.partition(f"\n{title}\n===")[2])[0]


def names(text: str, pattern: str) -> list[str]:
    """Return what stands in the first column of the text's tables."""
    return re.findall(rf"^``({pattern})``", text, flags=re.MULTILINE)


def commands() -> list[str]:
    """Return the commands for a fresh machine."""
    blocks = re.findall(r"\.\. code-block:: console\n\n((?:    .*\n)+)", README)
    return [block.strip() for block in blocks if "venv" in block]


def test_every_setting_is_in_the_table_with_its_default():
    """A setting exists only if the README lists it."""
    table = section("Settings")
    defaults = setting_defaults()
    assert names(table, "(?:MANDELBOT|ROBOTSTXT)_[A-Z_]+") == list(defaults)
    rows = dict(re.findall(r"^``([A-Z_]+)`` +(\S.*?)  ", table, flags=re.MULTILINE))
    told = {name: str(default) for name, default in defaults.items()}
    assert rows == told


def test_every_stat_is_in_the_table():
    """A stat exists only if the README lists it."""
    counted = {stat for event in EVENTS.values() for stat in event.stats}
    counted |= {stat for event in EVENTS.values() for stat, _ in event.sums}
    cases = [row.case for row in outcome._TABLE]
    families = [one for event in EVENTS.values() for one in event.families]
    counted |= {f"{start}{case}" for start, value in families if value == "case" for case in cases}
    ours = {stat for stat in counted if stat.startswith("mandelbot/")}
    assert sorted(names(section("Stats"), "mandelbot/[a-z0-9_/]+")) == sorted(ours)
    others = "\n".join(text for path, text in MODULES.items() if path.name != "events.py")
    assert not re.findall(r'"mandelbot/[a-z_/]+"', others), "nothing else counts"


def test_every_hook_and_signal_is_in_the_table():
    """A hook exists only if the README lists it, and each is a signal."""
    listed = names(section("Hooks and signals"), "[a-z_]+")
    assert listed == list(HOOKS)
    ours = {name: one for name, one in vars(signals).items() if not name.startswith("_")}
    assert set(listed) == set(ours)
    of_events = {event.signal for event in EVENTS.values()} - {None}
    assert of_events == set(ours.values()), "each is sent, and none that is not ours"
    of_others = re.findall(r"send(?:_catch_log)?\(\s*signals\.[a-z_]+", PACKAGE)
    assert not of_others, "what the table of events sends is sent nowhere else"


def test_every_meta_key_is_in_the_table():
    """A meta key that the package reads or sets is in the README, or is Scrapy's own."""
    read = set(re.findall(r'meta(?:\.get\(\s*|=\{)"([a-z_]+)"', PACKAGE))
    scrapys = {
        "handle_httpstatus_list",
        "handle_httpstatus_all",
        "download_latency",
        "download_slot",
        "is_start_request",
    }
    assert set(names(section("Settings"), "[a-z_]+")) == read - scrapys


def test_the_examples_do_what_they_show():
    """The README's Python session is real."""
    test = doctest.DocTestParser().get_doctest(README, {}, "README.rst", "README.rst", 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0
    assert runner.summarize(verbose=False).attempted >= 4


def test_ci_runs_the_second_command_letter_for_letter():
    """What a newcomer types to pass the tests is what is run before anything lands."""
    _sample, test = commands()
    assert test in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_layers_are_those_that_import_linter_holds():
    """The table of modules lists every module, in the order of the contract."""
    listed = re.findall(r"^((?:``[a-z]+``(?:, )?)+) ", section("Work on it"), flags=re.MULTILINE)
    modules = [module for row in listed for module in row.replace("`", "").split(", ")]
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    layers = setup["importlinter:contract:layers"]["layers"].split("\n")
    floor_of = {name: n for n, layer in enumerate(layers) for name in layer.split(" | ")}
    assert set(modules) == set(floor_of) - {""}
    assert sorted(modules, key=floor_of.__getitem__) == modules


DOCUMENTS = [path.relative_to(ROOT) for path in ROOT.glob("**/*.rst")]
INSTALLED = {".venv", "venv", "build"}


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path.parts[0] not in INSTALLED], ids=str
)
def test_documents_are_well_formed(path):
    """Every .rst file can be rendered without a complaint."""
    text = (ROOT / path).read_text()
    docutils.core.publish_string(
        text,
        writer="null",
        settings_overrides={
            "halt_level": docutils.utils.Reporter.INFO_LEVEL + 1,
            "report_level": docutils.utils.Reporter.SEVERE_LEVEL,
        },
    )
