"""A job in one SQLite file.

Changes stay in memory until :meth:`SqliteJob.commit` writes them in one transaction. A
commit that fails loses nothing, and the crawl survives a disk that is full for a while:
reads look in the file and in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heappop
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_mandelbot.job.fingerprints import Fingerprints
from scrapy_mandelbot.job.job_file import (
    AS_OURS,
    CorruptError,
    connect,
    is_as_written,
)
from scrapy_mandelbot.job.job_store import OWN_START, StoredRequest
from scrapy_mandelbot.job.named_states import NamedStates
from scrapy_mandelbot.job.pending import LineIndex, Pending, RequestRow
from scrapy_mandelbot.store.sqlite_file import transaction

if TYPE_CHECKING:
    from scrapy_mandelbot.job.job_store import Place

CLEAN = "clean"  # in the job's state: that a run was closed
# in the table of state: the last number that was given to a request or a position
_COUNT = "count"
# what a project may give as a priority has no limit; SQLite's numbers have
_LARGEST = 1 << 62


class SqliteJob:
    """A :class:`~scrapy_mandelbot.job.job_store.JobStore` in a file.

    Reads raise StorageError where the file cannot be read. `is_synced`: a commit
    survives a power cut, and not only the process.
    """

    def __init__(self, path: Path, *, is_synced: bool = False) -> None:
        self.path = path
        self._pending = Pending()
        self.lines: dict[str, LineIndex] = {}
        self._claimed: dict[int, LineIndex] = {}
        self._unwritten: dict[int, LineIndex] = {}  # by number: lines of pending rows
        self._out: dict[int, LineIndex] = {}
        """By number, the lines of rows in the file that may not be claimed: they are
        claimed, or are not any more as the file has them.
        """
        # those of which children are counted, in this run
        self._parents: set[int] = set()
        self._last_line = 0  # the last number that was given to a line
        self._count = 0  # the last number that was given to a request or a position
        self.last_of_former_run = 0  # of those numbers
        self.database = connect(path, is_synced=is_synced)
        try:
            with AS_OURS:
                self._seen = Fingerprints(self.database)
                self.states = NamedStates(self.database)
                self._load()
        except BaseException:
            self.database.close()
            raise
        self.has_seen: Callable[[int], bool] = self._seen.__contains__
        """Returns whether a fingerprint is known."""

    def __repr__(self) -> str:
        return f"<SqliteJob {self.path}, {self.uncommitted} operations uncommitted>"

    def lengths(self) -> dict[str, int]:
        return {line.name: line.waiting for line in self.lines.values() if line.waiting}

    @property
    def is_clean(self) -> bool:
        """Whether the last run was closed, and did not die."""
        return bool(self.states.get(CLEAN))

    @is_clean.setter
    def is_clean(self, value: bool) -> None:
        flag = b"1" if value else None
        self.states.put(CLEAN, flag)

    @property
    def uncommitted(self) -> int:
        return len(self._pending) + len(self._seen.new) + len(self.states.new)

    @property
    def uncommitted_bytes(self) -> int:
        return self._pending.size + self.states.size + 100 * self.uncommitted

    def push(self, line: str, place: Place, body: bytes) -> int:
        self._count += 1
        self._wait(self._count, line, place, body)
        return self._count

    def push_new(
        self,
        line: str,
        place: Place,
        body: bytes,
        fingerprint: int,
        parent: int | None,  # noqa: ARG002 -- the contract's
    ) -> int:
        self._seen.add(fingerprint)
        return self.push(line, place, body)

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        if parent == OWN_START:  # the next run asks which of them the job has
            number = self.push(line, place, body)
            self._pending.own_starts[fingerprint] = number
            return number
        children = self._pending.children.setdefault(parent, {})
        children[fingerprint] = children.get(fingerprint, 0) + 1
        return self.push(line, place, body)

    def claim(self, line: str) -> StoredRequest | None:
        its = self.lines.get(line)
        if its is None or not its.waiting:
            return None
        fresh = its.fresh[0] if its.fresh else None
        with AS_OURS:
            kept = its.first_in_file(self.database)
            if fresh is not None and (kept is None or fresh < kept):
                row = self._pending.rows[fresh[1]]
                heappop(its.fresh)
                its.waiting -= 1
                self._claimed[row.number] = its
                return StoredRequest(row.number, row.body)
            if kept is None:
                self._end_if_empty(its)
                return None
        number = kept[1]
        body = self.read(number)
        self._take(its, number)
        return StoredRequest(number, body)

    def _take(self, line: LineIndex, number: int) -> None:
        self._claimed[number] = line
        self._out[number] = line
        if line.take_in_file(number):
            self._pending.aside.add(number)

    def read(self, number: int) -> bytes:
        """Return the body of a row in the file; empty: it is not as it was written."""
        query = "SELECT body, checksum FROM requests WHERE number = ?"
        with AS_OURS:
            row = self.database.execute(query, (number,)).fetchone()
        body, checksum = row or (None, None)  # an index may name one that is not there
        return body if is_as_written(body, checksum, number) else b""

    def line_of(self, number: int) -> str | None:
        query = (
            "SELECT name FROM requests JOIN lines ON lines.line = requests.line WHERE"
            " number = ?"
        )
        with AS_OURS:
            row = self.database.execute(query, (number,)).fetchone()
        return None if row is None else str(row[0])

    def withhold(self, number: int) -> str | None:
        """Claim a certain row of the file, just opened; return its line."""
        line = self.line_of(number)
        its = self.lines.get(line or "")
        if its is None:
            return None
        self._take(its, number)
        return line

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        was_in = self._leave(number)
        self._count += 1
        self._wait(number, line, place, body)
        self._end_if_empty(was_in)

    def acknowledge(self, number: int) -> None:
        line = self._leave(number)
        if not line.rows:
            self._end_if_empty(line)
        self.forget_children(number)

    def count_seen(self) -> int:
        with AS_OURS:
            return len(self._seen)

    def see(self, fingerprint: int) -> None:
        self._seen.add(fingerprint)

    def children_left(self, parent: int) -> Iterator[tuple[int, int]]:
        """Yield the fingerprints of a previous run's children in order, with counts."""
        if parent > self.last_of_former_run or parent in self._pending.parents_gone:
            return
        query = (
            "SELECT fingerprint, times FROM children WHERE parent = ? ORDER BY"
            " fingerprint"
        )
        with AS_OURS:
            yield from self.database.execute(query, (parent,))

    def waiting_start(self, fingerprint: int) -> int | None:
        """Return the number of a request that start() yielded in a previous run.

        None: the job does not have it any more.
        """
        query = (
            "SELECT times FROM children JOIN requests ON number = times"
            " WHERE parent = ? AND fingerprint = ?"
        )
        with AS_OURS:
            row = self.database.execute(query, (OWN_START, fingerprint)).fetchone()
        number = None if row is None else int(row[0])
        if number is None or number > self.last_of_former_run:
            return None
        return None if number in self._pending.gone else number

    def forget_children(self, parent: int) -> None:
        self._pending.children.pop(parent, None)
        if parent == OWN_START:
            self._pending.own_starts.clear()
        if parent in self._parents or parent <= self.last_of_former_run:
            self._parents.discard(parent)
            self._pending.parents_gone.add(parent)

    def commit(self) -> None:
        """Write all changes; the next commit retries what cannot be written."""
        if not self.uncommitted:
            return
        if self._pending.rows:
            self.states.put(_COUNT, str(self._count).encode())
        with AS_OURS, transaction(self.database):
            self._pending.write(self.database)
            self._seen.write()
            self.states.write()
        self._seen.committed()
        self.states.committed()
        self._written()

    def close(self) -> None:
        """Close the file. What was not committed is lost."""
        with suppress(sqlite3.Error):
            self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(sqlite3.Error):
            self.database.close()

    def _load(self) -> None:
        database = self.database
        if database.execute("SELECT 1 FROM requests WHERE line < 0 LIMIT 1").fetchone():
            with transaction(database):  # a run ended that had claimed them
                database.execute("UPDATE requests SET line = -line WHERE line < 0")
        names = dict(database.execute("SELECT line, name FROM lines"))
        for number, count in database.execute(
            "SELECT line, count(*) FROM requests GROUP BY line"
        ):
            if not isinstance(names.get(number), str):
                raise CorruptError(f"{self.path}: {count} requests are in no line")
            name = names.pop(number)
            self.lines[name] = LineIndex(number, name, count)
        self._pending.lines_gone.update(names)
        (self._last_line,) = database.execute(
            "SELECT coalesce(max(line), 0) FROM lines"
        ).fetchone()
        (greatest,) = database.execute(
            "SELECT coalesce(max(number), 0) FROM requests"
        ).fetchone()
        self._count = max(greatest, int(self.states.get(_COUNT) or 0))
        self.last_of_former_run = self._count

    def _wait(self, number: int, line: str, place: Place, body: bytes) -> None:
        its = self.lines.get(line)
        if its is None:
            its = self._add_line(line)
        position = self._count
        if place.is_last_first:
            position = -position
        priority = max(-_LARGEST, min(place.priority, _LARGEST))
        row = RequestRow(number, its.number, priority, place.band, position, body)
        self._pending.rows[number] = row
        self._pending.size += len(body)
        self._unwritten[number] = its
        its.add(row)

    def _add_line(self, name: str) -> LineIndex:
        self._last_line += 1
        line = LineIndex(self._last_line, name)
        self.lines[name] = line
        written = name.encode("utf-8", "backslashreplace").decode()
        self._pending.lines[self._last_line] = written
        return line

    def _leave(self, number: int) -> LineIndex:
        # A claimed row goes, in memory and in the file.
        line = self._claimed.pop(number)
        if self._unwritten.pop(number, None) is not None:
            del self._pending.rows[number]
        self._pending.aside.discard(number)
        if number in self._out:
            self._pending.gone.add(number)
        line.rows -= 1
        return line

    def _end_if_empty(self, line: LineIndex) -> None:
        """Forget an empty line: a crawl may meet a million sites."""
        if line.rows:
            return
        del self.lines[line.name]
        if self._pending.lines.pop(line.number, None) is None:
            self._pending.lines_gone.add(line.number)

    def _written(self) -> None:
        pending = self._pending
        self._pending = Pending()
        for number in pending.gone:
            self._out.pop(number).unhide(number)
        for number in pending.aside:
            self._out[number].unhide(number)
        for line in set(self._unwritten.values()):
            line.written()
        for number, line in self._unwritten.items():
            if number in self._claimed:
                line.hide(number)
                self._out[number] = line
            else:
                line.in_file += 1
        self._unwritten.clear()
        self._parents.update(pending.children)
