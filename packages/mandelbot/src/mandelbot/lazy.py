"""Public names of a package, each imported when it is first used.

A package passes a mapping of its names to the modules that define them. Its
``__init__.pyi`` says the same to type checkers; the tests compare both. Nothing reads a
stub when a program runs: frozen programs and slim images have none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` for a package.

    `package` is its ``__name__``; `homes` has the module of each name, relative to the
    package: ``{"RobotsTxt": ".robotstxt"}``. Whoever uses one name does not wait for
    the modules of the others.
    """
    module = sys.modules[package]
    names = list(homes)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(homes[name], package), name)
        setattr(module, name, value)
        return value

    def names_there() -> list[str]:
        return names

    return names, get, names_there
