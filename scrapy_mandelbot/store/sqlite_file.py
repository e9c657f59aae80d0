"""What is done alike with every file of SQLite: it is brought to its newest format, and written."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Have what is written within be written at once, or not at all."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself where the disk is full
            database.execute("ROLLBACK")
        raise


def upgrade(
    database: sqlite3.Connection, upgrades: Sequence[str], version: Callable[[], int]
) -> None:
    """Bring a file to the newest version of its format.

    Args:
        database: the file.
        upgrades: what takes it from each version to the next.
        version: returns its version, or raises where the file is none of ours.
    """
    if version() == len(upgrades):
        return
    with transaction(database):
        for one in upgrades[version() :]:  # another process may have done so meanwhile
            for statement in one.split(";"):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {len(upgrades)}")
