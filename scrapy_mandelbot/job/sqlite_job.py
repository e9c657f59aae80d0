"""A job in one SQLite file.

What is done is kept in memory until :meth:`SqliteJob.commit` writes it in one transaction. So a
commit that fails loses nothing, and the crawl goes on over a disk that is full for a while: what is
asked for is looked up in the file and in memory.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_mandelbot.job.fingerprints import Fingerprints
from scrapy_mandelbot.job.job_file import (
    CorruptError,
    as_ours,
    connect,
    is_as_written,
    our_error,
    read_state,
    read_states,
)
from scrapy_mandelbot.job.job_store import ChildrenLeft, KeptRequest
from scrapy_mandelbot.job.pending import MOST_HIDDEN, LineIndex, Pending, RequestRow
from scrapy_mandelbot.store.sqlite_file import transaction

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_mandelbot.job.job_store import Place

CLEAN = "clean"
"""In the job's state: that a run was closed."""
_COUNT = "count"  # in the table of state: the last number that was given to a request or a position
_LARGEST = 1 << 62  # what a project may give as a priority has no limit; SQLite's numbers have


class SqliteJob:
    """A :class:`~scrapy_mandelbot.job.job_store.JobStore` in a file.

    What it reads raises CannotKeepError where the file cannot be read.

    Args:
        path: of the file, which need not exist.
        is_synced: whether what is committed outlasts a power cut, and not only the process.

    Raises:
        CorruptError: it is broken, or none of a job.
        CannotKeepError: it cannot be opened.
    """

    def __init__(self, path: Path, *, is_synced: bool = False) -> None:
        self.path = path
        self._pending = Pending()
        self.lines: dict[str, LineIndex] = {}
        self._claimed: dict[int, LineIndex] = {}
        self._unwritten: dict[int, LineIndex] = {}
        """By number, the lines of the rows that are pending."""
        self._out: dict[int, LineIndex] = {}
        """By number, the lines of rows in the file that may not be claimed: they are claimed, or
        are not any more as the file has them."""
        self._parents: set[int] = set()
        """Those of which children are counted, in this run."""
        self.database = connect(path, is_synced=is_synced)
        try:
            with as_ours():
                self._load()
        except BaseException:
            self.database.close()
            raise

    def __repr__(self) -> str:
        return f"<SqliteJob {self.path}, {self.uncommitted} operations uncommitted>"

    def lengths(self) -> dict[str, int]:
        """Return how many requests wait in each line, of those that have any."""
        return {line.name: line.waiting for line in self.lines.values() if line.waiting}

    @property
    def has_run(self) -> bool:
        """Whether a former run has had any request."""
        return bool(self._last_of_former_run)

    @property
    def uncommitted(self) -> int:
        """How many operations the next commit will keep."""
        return len(self._pending) + self._seen.uncommitted

    @property
    def uncommitted_bytes(self) -> int:
        """How much of memory they take, about."""
        return self._pending.size + 100 * self.uncommitted

    def push(self, line: str, place: Place, body: bytes) -> int:
        """Add a request; return its number."""
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
        """Add a request and note its fingerprint as seen, which it was not; return its number."""
        self._seen.add(fingerprint)
        return self.push(line, place, body)

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request that no fingerprint stops when its parent gives it again, and count it."""
        self._pending.count_child(parent, fingerprint)
        return self.push(line, place, body)

    def claim(self, line: str) -> KeptRequest | None:
        """Take the next request of a line."""
        its = self.lines.get(line)
        if its is None or not its.waiting:
            return None
        fresh = its.first_fresh()
        with as_ours():
            kept = its.first_in_file(self.database)
            if fresh is not None and (kept is None or fresh < kept):
                row = self._pending.rows[fresh[1]]
                its.take_fresh()
                self._claimed[row.number] = its
                return KeptRequest(row.number, row.body)
            if kept is None:
                self._end_if_empty(its)
                return None
        number = kept[1]
        body = self.read(number)
        its.take_in_file(number)
        self._claimed[number] = self._out[number] = its
        if len(its.hidden) > MOST_HIDDEN:
            self._pending.aside.add(number)
        return KeptRequest(number, body)

    def read(self, number: int) -> bytes:
        """Return the body of a row in the file; none, where it is not as it was written."""
        query = "SELECT body, checksum FROM requests WHERE number = ?"
        with as_ours():
            row = self.database.execute(query, (number,)).fetchone()
        body, checksum = row or (None, None)  # an index may name one that is not there
        return body if is_as_written(body, checksum, number) else b""

    def line_of(self, number: int) -> str | None:
        """Return the line of a row in the file; None: there is no such row."""
        query = (
            "SELECT name FROM requests JOIN lines ON lines.line = requests.line WHERE number = ?"
        )
        with as_ours():
            row = self.database.execute(query, (number,)).fetchone()
        return None if row is None else str(row[0])

    def withhold(self, number: int) -> str | None:
        """Claim a certain row of the file, just opened; return its line."""
        line = self.line_of(number)
        its = self.lines.get(line or "")
        if its is None:
            return None
        its.take_in_file(number)
        self._claimed[number] = self._out[number] = its
        if len(its.hidden) > MOST_HIDDEN:
            self._pending.aside.add(number)
        return line

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        """Have a request that was claimed wait again, as the newest of its line."""
        was_in = self._leave(number)
        self._count += 1
        self._wait(number, line, place, body)
        self._end_if_empty(was_in)

    def acknowledge(self, number: int) -> None:
        """Forget a request that was claimed, and what was counted of its children."""
        line = self._leave(number)
        if not line.rows:
            self._end_if_empty(line)
        self.forget_children(number)

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether the fingerprint was seen."""
        try:  # it is asked for each link: a context manager would cost as much as the answer
            return fingerprint in self._seen
        except sqlite3.Error as error:
            raise our_error(error) from error

    def see(self, fingerprint: int) -> None:
        """Note a fingerprint as seen; it was not."""
        self._seen.add(fingerprint)

    def see_all(self, fingerprints: list[int]) -> None:
        """Note many fingerprints as seen, in a commit of their own.

        Raises:
            CannotKeepError: none of them is kept.
        """
        with as_ours(), transaction(self.database):
            self._seen.write_all(fingerprints)

    def children_left(self, parent: int) -> ChildrenLeft:
        """Return the children that a former run has counted of a parent."""
        if parent > self._last_of_former_run or parent in self._pending.parents_gone:
            return ChildrenLeft()
        query = "SELECT fingerprint, times FROM children WHERE parent = ? ORDER BY fingerprint"
        with as_ours():
            return ChildrenLeft(self.database.execute(query, (parent,)))

    def forget_children(self, parent: int) -> None:
        """Forget what was counted of a parent's children."""
        self._pending.children.pop(parent, None)
        if parent in self._parents or parent <= self._last_of_former_run:
            self._parents.discard(parent)
            self._pending.parents_gone.add(parent)

    def get_state(self, name: str) -> bytes | None:
        """Return what was kept under a name."""
        if name in self._pending.state:
            return self._pending.state[name]
        with as_ours():
            return read_state(self.database, name)

    def get_states(self, prefix: str) -> dict[str, bytes]:
        """Return all that was kept under names that begin so, by name."""
        with as_ours():
            kept = read_states(self.database, prefix)
        for name, value in self._pending.state.items():
            if not name.startswith(prefix):
                continue
            if value is None:
                kept.pop(name, None)
            else:
                kept[name] = value
        return kept

    def put_state(self, name: str, value: bytes | None) -> None:
        """Keep something under a name in place of what was; None: nothing."""
        self._pending.put_state(name, value)

    def commit(self) -> None:
        """Write all that was done since the last time, in one transaction.

        Raises:
            CannotKeepError: it is not written; the next commit tries again.
        """
        if not self.uncommitted:
            return
        if self._pending.rows:
            self._pending.put_state(_COUNT, str(self._count).encode())
        with as_ours(), transaction(self.database):
            self._pending.write(self.database)
            self._seen.write()
        self._seen.committed()
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
        for number, count in database.execute("SELECT line, count(*) FROM requests GROUP BY line"):
            if not isinstance(names.get(number), str):
                raise CorruptError(f"{self.path}: {count} requests are in no line")
            name = names.pop(number)
            self.lines[name] = LineIndex(number, name, count)
        self._pending.lines_gone.update(names)
        (self._last_line,) = database.execute("SELECT coalesce(max(line), 0) FROM lines").fetchone()
        (greatest,) = database.execute("SELECT coalesce(max(number), 0) FROM requests").fetchone()
        self._count: int = max(greatest, int(self.get_state(_COUNT) or 0))
        self._last_of_former_run = self._count
        self._seen = Fingerprints(database)

    def _wait(self, number: int, line: str, place: Place, body: bytes) -> None:
        its = self.lines.get(line)
        if its is None:
            its = self._add_line(line)
        position = -self._count if place.is_last_first else self._count
        priority = max(-_LARGEST, min(place.priority, _LARGEST))
        row = RequestRow(number, its.number, priority, place.band, position, body)
        self._pending.rows[number] = row
        self._pending.size += len(body)
        self._unwritten[number] = its
        its.add(row)

    def _add_line(self, name: str) -> LineIndex:
        self._last_line += 1
        line = self.lines[name] = LineIndex(self._last_line, name)
        written = name.encode("utf-8", "backslashreplace").decode()
        self._pending.lines[self._last_line] = written
        return line

    def _leave(self, number: int) -> LineIndex:
        """Have a row that was claimed be no more, neither here nor in the file."""
        line = self._claimed.pop(number)
        if self._unwritten.pop(number, None) is not None:
            del self._pending.rows[number]
        self._pending.aside.discard(number)
        if number in self._out:
            self._pending.gone.add(number)
        line.rows -= 1
        return line

    def _end_if_empty(self, line: LineIndex) -> None:
        """Forget a line that has no rows: a crawl may come by a million sites."""
        if line.rows:
            return
        del self.lines[line.name]
        if self._pending.lines.pop(line.number, None) is None:
            self._pending.lines_gone.add(line.number)

    def _written(self) -> None:
        """Note that what was pending is in the file."""
        pending, self._pending = self._pending, Pending()
        for number in pending.gone:
            self._out.pop(number).hidden.discard(number)
        for number in pending.aside:
            self._out[number].hidden.discard(number)
        for line in set(self._unwritten.values()):
            line.written()
        for number, line in self._unwritten.items():
            if number in self._claimed:
                line.hidden.add(number)
                self._out[number] = line
            else:
                line.in_file += 1
        self._unwritten.clear()
        self._parents.update(pending.children)
