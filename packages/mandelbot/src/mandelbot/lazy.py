"""Public names of a package, each imported when it is first used.

The names stand in the package's ``__init__.pyi``: one line for each, ``from .module
import name as name``. Type checkers read it as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(
    package: str,
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` for a package.

    `package` is its ``__name__``. Whoever uses one name does not wait for the modules
    of the others.
    """
    module: Any = sys.modules[package]
    # Through its loader: the package may be in a zip file.
    stub = module.__spec__.loader.get_data(f"{module.__path__[0]}/__init__.pyi")
    homes = {}
    for line in stub.decode().splitlines():
        if line.startswith("from "):
            _, home, _, name, *_ = line.split()
            homes[name] = home
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
