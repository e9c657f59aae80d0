"""What is public stays: ``public_api.txt`` is the list that a change is held against.

A name may be added, where the documents tell of it. None is taken away without a
release in which it still works, with a warning: a renamed setting is still read, a
renamed stat still counted.
"""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest
from pages import PAGES, README, names, page
from scrapy.settings import Settings

import scrapy_mandelbot
from scrapy_mandelbot import signals
from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.spidermiddlewares.hooks import HOOKS

LIST = configparser.ConfigParser(allow_no_value=True, delimiters=("=",))
LIST.optionxform = str
LIST.read(Path(__file__).with_name("public_api.txt"))


class Watched(Settings):
    """Settings that remember what was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        super().__init__()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)

    def getpriority(self, name):
        self.asked.add(name)
        return super().getpriority(name)


def settings() -> set[str]:
    """Return the settings that are read, whether or not the documents list them."""
    watched = Watched()
    watched.asked.clear()
    Config.from_settings(watched)
    return watched.asked


def hooks() -> set[str]:
    """Return the hook methods as docs/hooks.rst writes them down, with what they are
    told.
    """
    definitions = [line.strip() for line in page("hooks").splitlines()]
    return {
        line.removeprefix("def ").removesuffix(": ...")
        for line in definitions
        if line.startswith("def ")
        and line.removeprefix("def ").partition("(")[0] in HOOKS
    }


PUBLIC = {
    "names": lambda: set(scrapy_mandelbot.__all__),
    "settings": settings,
    "stats": lambda: set(names(page("stats"), "mandelbot/[a-z0-9_/]+")),
    "meta keys": lambda: set(names(page("meta"), "[a-z_]+")),
    "signals": lambda: {name for name in vars(signals) if not name.startswith("_")},
    "hooks": hooks,
}


def test_the_list_has_a_section_for_each_kind():
    """Nothing is compared with an empty list."""
    assert set(LIST.sections()) == set(PUBLIC)
    assert all(LIST.options(kind) for kind in PUBLIC)


@pytest.mark.parametrize("kind", PUBLIC)
def test_nothing_public_vanishes(kind):
    """What is in the list is there."""
    assert set(LIST.options(kind)) - PUBLIC[kind]() == set()


def test_a_new_name_is_in_the_documents():
    """For settings, stats, hooks and meta keys the tests of the reference see to it."""
    new = set(scrapy_mandelbot.__all__) - set(LIST.options("names"))
    told = "\n".join([README, *(path.read_text() for path in PAGES)])
    assert {name for name in new if f"``{name}``" not in told} == set()
