"""The ledger: one JSON line for each decision about a page, and the files that decided beside it.

``MANDELBOT_LEDGER`` names the file. A line says what allowed a page to be fetched and used, or what
did not. It names the robots.txt and tdmrep.json in force by their SHA-256; their bytes are in the
folder ``FILE.copies``.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import scrapy.signals

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import (
    ITEMS_DECIDED,
    LEDGER_CLOSED,
    LEDGER_FAILED,
    LEDGER_WRITTEN,
    PAGE_FETCHED,
    USAGE_READ,
    USAGE_REQUEST_DROPPED,
)
from scrapy_mandelbot.fetching.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.robots.formatting import counted, moment, shown
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.preferences.statements import answers_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.fetching.fetcher import SiteRules
    from scrapy_mandelbot.robots.preferences import Statement, Usage
    from scrapy_mandelbot.spidermiddlewares.tdm_files import SiteTdm

TEXT_LIMIT = 2_048
"""Characters of a URL or a statement in a line."""
MOST_TERMS = 20
"""Licences and policies of a page that a line has."""
_encoded = json.JSONEncoder(separators=(",", ":")).encode


class Ledger:
    """Writes the ledger of a crawl, as a subscriber to its events.

    A line that the disk does not take is counted, and the first one logged. The crawl goes on, or
    ends where ``MANDELBOT_LEDGER_REQUIRED`` is set.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, crawler: Crawler, path: str) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._file = LedgerFile(path)
        self._is_open = True
        self._lines = self._missing = 0
        self._answered: WeakSet[Request] = WeakSet()
        self._stored: WeakKeyDictionary[SiteRules | SiteTdm, str] = WeakKeyDictionary()
        """The SHA-256 of files whose copies are stored."""
        subscribe, connect = self._crawl.events.subscribe, crawler.signals.connect
        subscribe(self._page_fetched, PAGE_FETCHED, USAGE_READ)
        subscribe(self._page_refused, USAGE_REQUEST_DROPPED)
        subscribe(self._items_decided, ITEMS_DECIDED)
        connect(self._response_downloaded, signal=scrapy.signals.response_downloaded)
        connect(self._close, signal=scrapy.signals.spider_closed)

    def _response_downloaded(self, request: Request) -> None:
        self._answered.add(request)

    def _page_fetched(self, values: Mapping[str, Any]) -> None:
        request, response = values["request"], values["response"]
        is_cached = "cached" in response.flags
        if is_cached or request in self._answered:  # else another component made the response
            body = sha256(response.body).hexdigest()
            answer = {"status": response.status, "body": body, "is_cached": is_cached}
            self._write("fetched", request.url, answer, values)

    def _page_refused(self, values: Mapping[str, Any]) -> None:
        self._write("not_fetched", values["output"].url, {}, values)

    def _items_decided(self, values: Mapping[str, Any]) -> None:
        why = values["why"] and shown(str(values["why"]))
        counts = {"kept": values["kept"], "dropped": values["dropped"], "why": why}
        self._write("items", values["response"].url, counts)

    def _write(
        self,
        event: str,
        url: str,
        facts: Mapping[str, Any],
        page: Mapping[str, Any] | None = None,
    ) -> None:
        if not self._is_open:  # a callback that was abandoned ends as the process does
            return
        time = moment(self._crawl.now()).isoformat(timespec="milliseconds")
        entry = {"event": event, "time": time, "url": without_user(url)[:TEXT_LIMIT], **facts}
        try:
            if page is not None:
                entry |= self._decisions(url, page)
            self._file.append(_encoded(entry))
        except OSError as error:
            self._failed(error)
        else:
            self._lines += 1
            self._crawl.events.count(LEDGER_WRITTEN)

    def _decisions(self, url: str, page: Mapping[str, Any]) -> dict[str, Any]:
        _, agent, rules, _, tdm, _ = page["context"]
        return {
            "agent": agent if isinstance(agent, str) else list(agent),
            "purposes": self._crawl.config.purposes,
            "robots": None if rules is None else self._robots(url, agent, rules),
            "tdmrep": None if tdm is None else self._copy_of(tdm, tdm.body),
            **_uses(page["usage"], of_images=page["of_images"]),
        }

    def _robots(self, url: str, agent: str | tuple[str, ...], rules: SiteRules) -> dict[str, Any]:
        decided: dict[str, Any] = {"allowed": None, "line": None, "rule": None}
        if isinstance(rules.parser, MandelbotRobotParser):  # not another parser of the project
            verdict = rules.robots.verdict(url, agent)
            decided = {"allowed": verdict.allowed, "line": None, "rule": verdict.reason}
            if verdict.rule is not None:
                decided |= {"line": verdict.rule.line, "rule": str(verdict.rule)}
        return {
            "sha256": self._copy_of(rules, rules.robots.body),
            "case": rules.outcome.case,
            "dialect": rules.robots.dialect.name,
            "is_obeyed": self._crawl.config.obey,
            **decided,
        }

    def _copy_of(self, file: SiteRules | SiteTdm, body: bytes) -> str:
        digest = self._stored.get(file)
        if digest is None:
            digest = self._stored[file] = self._file.store_copy(body)
        return digest

    def _failed(self, error: OSError) -> None:
        self._missing += 1
        events = self._crawl.events
        (events.emit if self._missing == 1 else events.count)(LEDGER_FAILED, error=str(error))
        if self._missing == 1 and self._crawl.config.ledger_required:
            engine.close_spider(self._crawler, "ledger_not_saved")

    def _close(self) -> None:
        self._is_open = False
        self._file.close()
        self._crawl.events.emit(
            LEDGER_CLOSED,
            path=str(self._file.path),
            lines=counted(self._lines, "line"),
            missing=self._missing,
        )


def _uses(usage: Usage, *, of_images: bool) -> dict[str, Any]:
    answers = answers_of(usage, of_images=of_images)
    decided_by = {
        category: _statement(usage.decided_by(category, of_images=of_images))
        for category, answer in answers.items()
        if answer != "unknown"
    }
    terms = [{**asdict(one), "url": one.url[:TEXT_LIMIT]} for one in usage.terms[:MOST_TERMS]]
    return {"answers": answers, "decided_by": decided_by, "terms": terms}


def _statement(statement: Statement | None) -> dict[str, Any] | None:
    if statement is None:
        return None
    where, line = statement.where, statement.line
    return {"where": where, "line": line, "text": statement.text[:TEXT_LIMIT]}


class LedgerFile:
    """A file that lines are appended to, each by one write, and copies by hash beside it.

    A line that a crash or a full disk has cut off stays, and the next one begins on a line of its
    own. Processes of one machine may append to the same file.

    Raises:
        OSError: from any method, as the disk has it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+", buffering=0)
        self._is_cut = False
        """Whether the file ends amid a line."""
        if size := os.fstat(self._file.fileno()).st_size:
            self._file.seek(size - 1)
            self._is_cut = self._file.read(1) != b"\n"

    def append(self, line: str) -> None:
        """Append a line, given without its end."""
        octets = b"\n" * self._is_cut + line.encode("ascii") + b"\n"
        written = self._file.write(octets)
        if written != len(octets):
            self._is_cut = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._is_cut = False

    def store_copy(self, body: bytes) -> str:
        """Store a copy unless it is there, and return its SHA-256."""
        digest = sha256(body).hexdigest()
        place = copy_path(self.path, digest)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            # A crash leaves no copy that is cut off under the hash of the whole.
            draft = place.with_name(f"{digest}.{os.getpid()}")
            draft.write_bytes(body)
            draft.replace(place)
        return digest

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def copy_path(ledger: Path, digest: str) -> Path:
    """Return where the copy of that SHA-256 is: ``ledger.jsonl.copies/ab/ab12…``."""
    return ledger.with_name(f"{ledger.name}.copies") / digest[:2] / digest
