"""The project's documents, as tests read them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LIBRARY_DOCS = ROOT / "packages" / "mandelbot" / "docs"
PAGES = [*sorted(DOCS.rglob("*.rst")), *sorted(LIBRARY_DOCS.rglob("*.rst"))]
"""The pages of both sites."""
README = (ROOT / "README.rst").read_text(encoding="utf-8")


def page(name: str) -> str:
    """Return the text of a page of the documentation, by its path without ``.rst``."""
    return (DOCS / f"{name}.rst").read_text(encoding="utf-8")


def library_page(name: str) -> str:
    """Return the text of a page of the library."""
    return (LIBRARY_DOCS / f"{name}.rst").read_text(encoding="utf-8")


def names(text: str, pattern: str) -> list[str]:
    """Return what stands in the first column of the text's tables."""
    return re.findall(rf"^``({pattern})``", text, flags=re.MULTILINE)
