"""The source of each package of the repository.

Each file is parsed once, by the first test that looks at it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class _Made(Mapping):
    """Makes a value from another mapping's when it is looked up, and keeps it."""

    def __init__(self, of: Mapping[str, Any], make: Callable[[Any], Any]) -> None:
        self._of = of
        self._make = make
        self._made = {}

    def __getitem__(self, where: str) -> Any:
        if where not in self._made:
            self._made[where] = self._make(self._of[where])
        return self._made[where]

    def __contains__(self, where: object) -> bool:
        return where in self._of

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


class Source:
    """What the files of a package hold, each by its path within the package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.texts: dict[str, str] = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in sorted(folder.rglob("*.py"))
        }
        self.trees: Mapping[str, ast.Module] = _Made(self.texts, ast.parse)
        self.nodes: Mapping[str, list[ast.AST]] = _Made(
            self.trees, lambda tree: list(ast.walk(tree))
        )


_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What a statement may be in."""


def statements(node: ast.AST) -> list[ast.AST]:
    """Return a node and all statements within it.

    Where names are defined: most of a tree is expressions.
    """
    found = [node]
    for block in found:
        inner = ast.iter_child_nodes(block)
        found += [one for one in inner if isinstance(one, _BLOCKS)]
    return found


def packages(root: Path = ROOT) -> list[Source]:
    """Return the add-on, then the packages in ``packages/``."""
    others = sorted(root.glob("packages/*/src/*/__init__.py"))
    return [
        Source(folder)
        for folder in (root / "scrapy_mandelbot", *(one.parent for one in others))
    ]


PACKAGES = packages()
_ADDON = PACKAGES[0]
PACKAGE = _ADDON.folder
TEXTS = _ADDON.texts
TREES = _ADDON.trees
NODES = _ADDON.nodes
