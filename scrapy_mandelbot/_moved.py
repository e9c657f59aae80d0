"""Paths of modules that had another one before: they still import, with a warning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED = {
    "extensions": "hooks",
    "politeness": "sites",
    "politeness.outcome": "robots.outcome",
    "report.reasons": "report.status",
    "robotstxt": "robots.robotstxt",
    "robotstxt.lint": "robots.lint",
    "robotstxt.preferences": "robots.preferences",
    "robotstxt.preferences.statements": "robots.preferences.statements",
    "robotstxt.records": "robots.robotstxt.records",
    "robotstxt.rewriting": "robots.fix",
    "robotstxt.tables": "robots.robotstxt.tables",
}
_PACKAGE = "scrapy_mandelbot."


def new_path(fullname: str) -> str | None:
    """Return where a module is now; None: where it was. Nothing is loaded twice by two names."""
    old = fullname.removeprefix(_PACKAGE) if fullname.startswith(_PACKAGE) else ""
    head = old
    while head:
        if head in MOVED:
            return _PACKAGE + MOVED[head] + old.removeprefix(head)
        head = head.rpartition(".")[0]
    return None


class _Moved(MetaPathFinder, Loader):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 -- as the import system calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if new_path(fullname) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = new_path(spec.name) or spec.name
        warnings.warn(f"{spec.name} is {new} now", DeprecationWarning, stacklevel=2)
        self._kept = (module := import_module(new)).__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._kept  # it is the same module, under its own name


def put_up_signs() -> None:
    """Have old paths lead to the new ones."""
    if not any(isinstance(one, _Moved) for one in sys.meta_path):
        sys.meta_path.insert(0, _Moved())
