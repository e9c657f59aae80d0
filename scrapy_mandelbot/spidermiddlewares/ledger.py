"""The ledger: a JSON line for each decision about a page, with copies of the files that decided.

``MANDELBOT_LEDGER`` names the file. A line states what allowed or forbade fetching and
using a page. It identifies the robots.txt and tdmrep.json in force by their SHA-256;
their bytes are in the folder ``FILE.copies``.
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
from mandelbot.formatting import counted, moment, shown
from mandelbot.origins import without_user
from mandelbot.preferences.statements import answers_of

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching.robot_parser import MandelbotRobotParser

if TYPE_CHECKING:
    from mandelbot.preferences.statements import Statement, Usage
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.fetching.fetcher import SiteRules
    from scrapy_mandelbot.spidermiddlewares.preference_files import SiteTdm

TEXT_LIMIT = 2_048
"""Characters of a URL or a statement in a line."""
MOST_TERMS = 20
"""Licences and policies of a page in a line."""
_encoded = json.JSONEncoder(separators=(",", ":")).encode


class Ledger:
    """Writes the ledger of a crawl, as a subscriber to its events.

    Lines that cannot be written are counted, and the first one is logged. The crawl
    continues, unless ``MANDELBOT_LEDGER_REQUIRED`` is set.

    Raises:
        OSError: the file cannot be opened for writing.
    """

    def __init__(self, crawler: Crawler, path: str) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._file = LedgerFile(path)
        self._is_open = True
        self._lines = self._missing = 0
        self._answered: WeakSet[Request] = WeakSet()
        self._stored: WeakKeyDictionary[SiteRules | SiteTdm, str] = WeakKeyDictionary()
        """The SHA-256 of files with stored copies."""
        subscribe = self._crawl.events.subscribe
        connect = crawler.signals.connect
        subscribe(self._page_fetched, events.PAGE_FETCHED, events.USAGE_READ)
        subscribe(self._page_refused, events.USAGE_REQUEST_DROPPED)
        subscribe(self._items_decided, events.ITEMS_DECIDED)
        connect(self._response_downloaded, signal=scrapy.signals.response_downloaded)
        connect(self._close, signal=scrapy.signals.spider_closed)

    def _response_downloaded(self, request: Request) -> None:
        self._answered.add(request)

    def _page_fetched(self, values: Mapping[str, Any]) -> None:
        request = values["request"]
        response = values["response"]
        is_cached = "cached" in response.flags
        # otherwise another component made the response
        if is_cached or request in self._answered:
            whole = self._crawl.sitemap_bodies.get(response, response.body)
            body = sha256(whole).hexdigest()
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
        if not self._is_open:  # an abandoned callback may end after the spider
            return
        time = moment(self._crawl.now()).isoformat(timespec="milliseconds")
        entry = {
            "event": event,
            "time": time,
            "url": without_user(url)[:TEXT_LIMIT],
            **facts,
        }
        try:
            if page is not None:
                entry |= self._decisions(url, page)
            self._file.append(_encoded(entry))
        except OSError as error:
            self._failed(error)
        else:
            self._lines += 1
            self._crawl.events.count(events.LEDGER_WRITTEN)

    def _decisions(self, url: str, page: Mapping[str, Any]) -> dict[str, Any]:
        _, agent, rules, _, tdm, _ = page["context"]
        return {
            "agent": agent if isinstance(agent, str) else list(agent),
            "purposes": self._crawl.config.purposes,
            "robots": None if rules is None else self._robots(url, agent, rules),
            "tdmrep": None if tdm is None else self._copy_of(tdm, tdm.body),
            **_uses(page["usage"], of_images=page["of_images"]),
        }

    def _robots(
        self, url: str, agent: str | tuple[str, ...], rules: SiteRules
    ) -> dict[str, Any]:
        decided: dict[str, Any] = {"allowed": None, "line": None, "rule": None}
        # not a custom ROBOTSTXT_PARSER
        if isinstance(rules.parser, MandelbotRobotParser):
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
        is_first = self._missing == 1
        report = self._crawl.events.emit if is_first else self._crawl.events.count
        report(events.LEDGER_FAILED, error=str(error))
        if is_first and self._crawl.config.ledger_required:
            engine.close_spider(self._crawler, "ledger_not_saved")

    def _close(self) -> None:
        self._is_open = False
        self._file.close()
        self._crawl.events.emit(
            events.LEDGER_CLOSED,
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
    terms = [
        {**asdict(one), "url": one.url[:TEXT_LIMIT]} for one in usage.terms[:MOST_TERMS]
    ]
    return {"answers": answers, "decided_by": decided_by, "terms": terms}


def _statement(statement: Statement | None) -> dict[str, Any] | None:
    if statement is None:
        return None
    where = statement.where
    line = statement.line
    return {"where": where, "line": line, "text": statement.text[:TEXT_LIMIT]}


class LedgerFile:
    """A file of lines, each appended by one write, and copies by hash beside it.

    A line truncated by a crash or a full disk stays, and the next one begins on a new
    line. Processes of one machine may append to the same file.

    Raises:
        OSError: from any method, if reading or writing fails.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+", buffering=0)
        self._is_cut = False
        """Whether the file ends within a line."""
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
            # The rename is atomic: a crash leaves no truncated copy under this hash.
            draft = place.with_name(f"{digest}.{os.getpid()}")
            draft.write_bytes(body)
            draft.replace(place)
        return digest

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def copy_path(ledger: Path, digest: str) -> Path:
    """Return the path of the copy with a SHA-256: ``ledger.jsonl.copies/ab/ab12…``."""
    return ledger.with_name(f"{ledger.name}.copies") / digest[:2] / digest
