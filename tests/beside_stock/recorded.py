"""What stock Scrapy made of the cells, as it was recorded: it need not crawl each time.

A record holds for the Scrapy it was made with and for the cells as they were then:
where either differs, and each night (``-m ""``), stock Scrapy crawls again. Write it
anew with ``pytest tests/beside_stock -m "" --record-stock``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from cell import Cell, Measured

if TYPE_CHECKING:
    from cell import World

FOLDER = Path(__file__).parent
FILE = FOLDER / "stock.json"
CELLS_ARE_IN = (
    "cell.py",
    "faults.py",
    "half_healthy.py",
    "network.py",
    "plugins.py",
    "reported.py",
    "shapes.py",
)


def recorded(cell: Cell, world: World) -> Measured | None:
    """Return what stock Scrapy made of a cell, or None where it has to crawl.

    A cell that looks at more than the record has (`also`), or at sockets or Redis, is
    always crawled by both.
    """
    is_plain = cell.also is Cell.also and not cell.needs
    if not is_plain or _RECORD["made_with"] != made_with():
        return None
    row = _RECORD["cells"].get(cell.name)
    if row is None:
        return None
    pages = Counter(row["often"])
    pages.update(f"page {number}" for number in range(row["once"]))
    return Measured(
        pages=pages,
        requests=row["requests"],
        forbidden=row["forbidden"],
        seconds=row["seconds"],
        reasons=row["reasons"],
        world=world,
    )


def row_of(stock: Measured) -> dict[str, Any]:
    """Return a cell's row of the record: no bound asks which pages came once."""
    often = {url: times for url, times in sorted(stock.pages.items()) if times > 1}
    return {
        "once": len(stock.pages) - len(often),
        "often": often,
        "requests": stock.requests,
        "forbidden": stock.forbidden,
        "seconds": round(stock.seconds, 3),
        "reasons": stock.reasons,
    }


def made_with() -> dict[str, str]:
    """Return the versions that a record belongs to: Scrapy's, and that of the cells."""
    cells = hashlib.sha256()
    for name in CELLS_ARE_IN:
        cells.update((FOLDER / name).read_bytes())
    return {"scrapy": scrapy.__version__, "cells": cells.hexdigest()[:16]}


def write(rows: dict[str, dict[str, Any]]) -> None:
    """Write the record."""
    record = {"made_with": made_with(), "cells": dict(sorted(rows.items()))}
    FILE.write_text(json.dumps(record, indent=1) + "\n")


def _read() -> dict[str, Any]:
    if not FILE.exists():
        return {"made_with": {}, "cells": {}}
    return json.loads(FILE.read_text())


_RECORD = _read()
