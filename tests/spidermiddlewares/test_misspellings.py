"""Mistakes in what a spider defines for the package, without a crawl."""

from __future__ import annotations

import pytest
from scrapy import Spider

from scrapy_mandelbot.spidermiddlewares.hooks import (
    META_KEYS,
    meant_key,
    mistakes_in_hooks,
)

HOOKS = {"site_paused": ("site", "until")}


def mistakes(**methods):
    spider = type("ASpider", (Spider,), {"name": "a", **methods})()
    return list(mistakes_in_hooks(spider, HOOKS))


class WithoutSignature:
    """A callable as some extensions in C are."""

    __signature__ = "none"

    def __call__(self, *_arguments):
        """Take anything."""


@pytest.mark.parametrize(
    "methods",
    [
        {},
        {"site_paused": lambda self, site, until: None},
        {"site_paused": lambda self, **arguments: None},
        {"site_paused": WithoutSignature()},
        {"site_paused": None},
        {"parse_site": lambda self: None},
        {"_site_pause": lambda self: None},
        {"site_pause": "an attribute"},
    ],
)
def test_right_hooks_and_other_methods_are_no_mistakes(methods):
    assert mistakes(**methods) == []


@pytest.mark.parametrize("name", ["site_pause", "on_site_paused", "sites_paused"])
def test_a_misspelt_hook(name):
    """The hook that has nearly this name is named."""
    assert mistakes(**{name: lambda self, **_: None}) == [
        f"The spider's method {name} is not a hook: did you mean site_paused?"
    ]


def test_a_hook_that_is_no_method():
    """It is never called, so a line says so."""
    assert mistakes(site_paused=5) == [
        (
            "The spider's hook site_paused is no method, but of type int, and is not"
            " called; None switches an inherited hook off."
        )
    ]


def test_a_hook_that_cannot_take_its_arguments():
    """What Python says of them is passed on."""
    assert mistakes(site_paused=lambda self, site: None) == [
        (
            "The spider's hook site_paused cannot take its arguments (site, until):"
            " got an unexpected keyword argument 'until'"
        )
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("dont_obey_robotstext", "dont_obey_robotstxt"),
        ("dont_pauses", "dont_pause"),
        ("cookiejar", ""),
        (5, ""),
        (("dont_pauses",), ""),
        *((key, "") for key in META_KEYS),
    ],
)
def test_a_misspelt_meta_key(key, meant):
    """Keys may be any objects."""
    assert meant_key(key) == meant
