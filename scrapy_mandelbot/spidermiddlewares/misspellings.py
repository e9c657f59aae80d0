"""Mistakes in what a spider defines for the package: its hooks, and its meta keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Spider

META_KEYS = (
    "dont_obey_budget",
    "dont_obey_robotstxt",
    "dont_obey_robot_tags",
    "dont_obey_usage",
    "dont_pause",
)
"""Those that a spider sets for the package, of names that no other package has."""
_LIKE_A_HOOK = 0.75
_LIKE_A_KEY = 0.85


def mistakes_in_hooks(
    spider: Spider, arguments: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield a line for each hook that is misspelt, or cannot be called as it is.

    Args:
        spider: what defines them.
        arguments: the names of the arguments of each hook.
    """
    for name in _methods(spider):
        if name in arguments:
            continue
        near = get_close_matches(
            name.removeprefix("on_"), arguments, n=1, cutoff=_LIKE_A_HOOK
        )
        if near:
            yield f"The spider's method {name} is not a hook: did you mean {near[0]}?"
    for name, names in arguments.items():
        hook = getattr(spider, name, None)
        if hook is None:  # not defined, or an inherited one is switched off
            continue
        if not callable(hook):
            kind = type(hook).__name__
            yield (
                f"The spider's hook {name} is no method, but of type {kind}, and is not"
                " called; None switches an inherited hook off."
            )
        elif why := _why_not(hook, names):
            given = ", ".join(names)
            yield f"The spider's hook {name} cannot take its arguments ({given}): {why}"


def _methods(spider: Spider) -> list[str]:
    """Return the public methods of a spider, without those that Scrapy defines."""
    found: dict[str, None] = {}
    for one in type(spider).__mro__:
        if one.__module__.partition(".")[0] in {"scrapy", "builtins"}:
            continue
        for name in vars(one):
            if not name.startswith("_") and callable(getattr(spider, name, None)):
                found[name] = None
    return list(found)


def _why_not(hook: Callable[..., Any], names: Collection[str]) -> str:
    try:
        signature = inspect.signature(hook)
    except (TypeError, ValueError):  # of a callable that has none
        return ""
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return ""


def meant_key(key: object) -> str:
    """Return the meta key that a misspelt one means; empty: it is none of these."""
    if not isinstance(key, str) or key in META_KEYS:
        return ""
    near = get_close_matches(key, META_KEYS, n=1, cutoff=_LIKE_A_KEY)
    return near[0] if near else ""
