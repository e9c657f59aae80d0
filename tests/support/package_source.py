"""The package's source, of which each file is parsed once, by the first test that looks
at it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[2] / "scrapy_mandelbot"
TEXTS = {
    path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}


class _Made(Mapping):
    """Makes a value of another mapping's when it is looked up, and keeps it."""

    def __init__(self, of: Mapping[str, Any], make: Callable[[Any], Any]) -> None:
        self._of, self._make, self._made = of, make, {}

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


TREES: Mapping[str, ast.Module] = _Made(TEXTS, ast.parse)
NODES: Mapping[str, list[ast.AST]] = _Made(TREES, lambda tree: list(ast.walk(tree)))
