"""Who reads files of one's own, and what such a file may look like one day.

A full disk, a power cut, an editor or another program damages it. Its reader says so by
an error of its own, or goes on without the file; it raises nothing else, and waits for
nobody.
"""

from __future__ import annotations

import json
import os
import sqlite3
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from mandelbot.cli.check_verb import read_choices
from mandelbot.cli.output import UnavailableError
from scrapy.settings import Settings

from scrapy_mandelbot.downloadermiddlewares.signing import read_signer
from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.job.job_lock import JobInUseError, JobLock
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.job.opening import open_job
from scrapy_mandelbot.job.outline import fingerprinter_of, read_outline
from scrapy_mandelbot.job.spider_state import set_damaged_aside
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.report.comparison import CrawledSite
from scrapy_mandelbot.report.previous_crawl import PreviousCrawl
from scrapy_mandelbot.settings.redis_url import checked
from scrapy_mandelbot.settings.values import SettingsError
from scrapy_mandelbot.sitemap_crawl.entry_files import CitedSitemap, EntryFile
from scrapy_mandelbot.sitemap_crawl.progress import Progress
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.sqlite import SqliteStore

SITE = "https://a.example"
JSON = "JSON"
SQLITE = "SQLite"
OTHER = "other"


@dataclass(frozen=True)
class OwnFile:
    """A file, and what reads it."""

    name: str
    write: Callable[[Path], Path]
    """Writes a good one into a folder; returns its path."""
    read: Callable[[Path], object]
    """Reads it, as the package does."""
    errors: tuple[type[Exception], ...] = ()
    """That say what is wrong: their texts become one line."""
    kind: str = OTHER


def _previous(path: Path) -> PreviousCrawl:
    emitter = SimpleNamespace(
        subscribe=lambda *_: None, emit=lambda event, **values: event.text % values
    )
    return PreviousCrawl(path, "shop", emitter)


def _write_previous(folder: Path) -> Path:
    path = folder / "shop.previous.json"
    crawl = {
        "ended": "2026-11-22T12:00:00+00:00",
        "reason": "finished",
        "job": "",
        "is_whole": True,
        "pages": 40,
        "sites": {SITE: CrawledSite(40, "well", 0.1)},
        "items": 3,
    }
    data = {
        "format": "scrapy-mandelbot previous crawl 1",
        "spider": "shop",
        "last": crawl,
        "before": crawl,
    }
    path.write_text(json.dumps(data))
    return path


def _read_previous(path: Path) -> None:
    previous = _previous(path)
    previous.read()
    report = {
        "ended": "2026-11-23T12:00:00+00:00",
        "reason": "finished",
        "total": {"pages": 30},
        "items": 2,
        "rest": None,
        "sites": [
            {"site": SITE, "pages": 30, "state": "well", "answers": {"time": 0.1}}
        ],
    }
    previous.compared(report, "", is_resumed=False)
    previous.compared(report, "", is_resumed=True)
    previous.ended_before(is_resumed=False)
    previous.write(lambda path, pieces: path.write_text("".join(pieces)))


def _write_sitemaps(folder: Path) -> Path:
    progress = Progress(folder)
    cited = CitedSitemap(f"{SITE}/a.xml", SITE, f"{SITE}/index.xml", depth=1)
    file = progress.new_file(cited, is_index=False)
    file.write({"loc": f"{SITE}/{number}"} for number in range(3))
    file.is_complete = True
    of_site = progress[SITE]
    of_site.to_request.append(cited)
    of_site.requested = cited
    of_site.files.append(file)
    of_site.known.add("x")
    of_site.strangers.add("https://b.example")
    progress.begin(CitedSitemap(f"{SITE}/b.xml", SITE, "", depth=0))
    progress.close()
    (path,) = folder.glob("*/*.json")
    return path


def _read_sitemaps(path: Path) -> None:
    progress = Progress(path.parents[1])
    for site in progress.unfinished():
        for file in progress[site].files:
            file.next_entries(9)
    progress.close()


def _write_entries(folder: Path) -> Path:
    path = folder / "1.jsonl"
    path.write_text(json.dumps({"loc": f"{SITE}/1", "lastmod": "2026"}) + "\n")
    return path


def _read_entries(path: Path) -> None:
    file = EntryFile(CitedSitemap(SITE, SITE, SITE), is_index=False, path=path)
    for entry in (*file.entries(), *(one for one, _ in file.next_entries(9))):
        entry["loc"].strip()


def _write_lost(folder: Path) -> Path:
    path = folder / "shop.lost.jsonl"
    line = {"url": f"{SITE}/1", "method": "GET", "priority": 3, "end": "lost"}
    path.write_text(json.dumps(line))
    return path


def _read_lost(path: Path) -> None:
    find, _ = fingerprinter_of(Settings())
    if path.is_file():  # a pipe is as good: the output of another program
        for line in path.read_text("utf-8", "replace").splitlines():
            read_outline(line, find)


def _write_lock(folder: Path) -> Path:
    path = folder / "job.lock"
    path.write_text(json.dumps({"process": 1, "host": "here", "since": 1.6e9}))
    return path


def _read_lock(path: Path) -> None:
    """As the run that finds it taken, and the one that does not."""
    lock = JobLock(path)
    lock.is_held()
    if path.is_file():
        with path.open("rb") as file:
            text = file.read()
        lock.take()
        path.write_bytes(text)
        try:
            JobLock(path).take()
        finally:
            lock.release()
    else:
        try:
            lock.take()
        finally:
            lock.release()


def _write_job(folder: Path) -> Path:
    job = open_job(folder)
    for number in range(3):
        place = Place(0, 0, is_last_first=False)
        job.push_new(f"{SITE} slot", place, b"body", number, None)
    job.states.put("spider", b"pages")
    job.commit()
    job.close()
    return folder / "job.sqlite"


def _read_job(path: Path) -> None:
    folder = JobFolder(str(path.parent))
    try:
        folder.contents()
        list(folder.outlines())
    finally:
        folder.close()
    job = open_job(path.parent)
    try:
        for line in job.lengths():
            while job.claim(line) is not None:
                pass
        job.has_seen(1)
        job.states.get("spider")
        job.commit()
    finally:
        job.close()


def _write_store(folder: Path) -> Path:
    store = SqliteStore(folder / "sites.db")
    copy = CachedRobots(b"User-agent: *\n" * 99, 200, 1e9, SITE, '"tag"', "then")
    store.put_copy(SITE, copy)
    store.put_pause(SITE, LeftPause(4e9, "503", 2))
    store.put_turn(SITE, 4e9)
    store.put_run("shop", 1e9)
    store.close()
    return folder / "sites.db"


def _read_store(path: Path) -> None:
    store = SqliteStore(path)
    store.get_copy(SITE)
    list(store.copies())
    store.get_pauses()
    store.changed_pauses()
    store.get_turns(0.0)
    store.claim_turn(SITE, held_for=1.0, longest_wait=5.0, gives_way=0.1)
    store.get_run("shop")
    store.put_pause(SITE, None)
    store.close()


def _write_key(folder: Path) -> Path:
    path = folder / "key.pem"
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    path.write_bytes(pem)
    path.chmod(0o600)
    return path


def _write_choices(folder: Path) -> Path:
    path = folder / "pyproject.toml"
    path.write_text('[tool.mandelbot]\nselect = ["error"]\nfail-on = "error"\n')
    return path


def _read_choices(path: Path) -> None:
    options = Namespace(config="", select="", ignore="", fail_on="")
    read_choices(options, path.parent)


def _write_state(folder: Path) -> Path:
    path = folder / "spider.state"
    path.write_bytes(b"\x80\x04}\x94.")
    return path


def _write_certificate(folder: Path) -> Path:
    path = folder / "ours.pem"
    path.write_text("-----BEGIN CERTIFICATE-----\n")
    return path


FILES = [
    OwnFile("the previous crawl", _write_previous, _read_previous, kind=JSON),
    OwnFile("the state of sitemaps", _write_sitemaps, _read_sitemaps, kind=JSON),
    OwnFile(
        "the entries of a sitemap", _write_entries, _read_entries, (OSError,), JSON
    ),
    OwnFile(
        "a line of the lost list",
        _write_lost,
        _read_lost,
        (Exception,),  # each is a remark of one line
        JSON,
    ),
    OwnFile("job.lock", _write_lock, _read_lock, (JobInUseError, OSError), JSON),
    OwnFile("job.sqlite", _write_job, _read_job, (StorageError,), SQLITE),
    OwnFile("the store", _write_store, _read_store, kind=SQLITE),
    OwnFile(
        "a key",
        _write_key,
        lambda path: read_signer("MANDELBOT_SIGN_KEY", str(path)),
        (SettingsError,),
    ),
    OwnFile("pyproject.toml", _write_choices, _read_choices, (UnavailableError,)),
    OwnFile("spider.state", _write_state, set_damaged_aside),
    OwnFile(
        "a certificate",
        _write_certificate,
        lambda path: checked(f"rediss://a.example/0?ssl_ca_certs={path}"),
        (ValueError,),
    ),
]


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to(os.devnull)


def _gone(path: Path) -> None:
    path.unlink()


def _content(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


SHAPES: dict[str, Callable[[Path], object]] = {
    "empty": _content(b""),
    "not what it was": _content(b"\x89PNG\r\n\x1a\n{]"),
    "NUL": _content(b"\0" * 5_000),
    "not UTF-8": _content(b'{"a": "\xff\xfe"}'),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "the end lost": lambda path: os.truncate(path, path.stat().st_size - 1),
    "something behind it": lambda path: path.write_bytes(path.read_bytes() * 2),
    "too deep": _content(b"[" * 100_000),
    "too deep in an object": _content(b'{"a":' * 100_000),
    "a number of 5,000 digits": _content(b"9" * 5_000),
    "a directory": _folder,
    "a pipe": _pipe,
    "a link to itself": _loop,
    "a device": _device,
    "not there": _gone,
    "not to be read": lambda path: path.chmod(0),
}
"""For each file: what becomes of it."""

VALUES = [
    "null",
    "true",
    "5",
    "-1",
    "1e400",
    "-1e400",
    "NaN",
    "9" * 400,
    "9" * 5_000,
    '"x"',
    '"\\ud800"',
    '"\\u001b[2J\\u202e"',
    "[]",
    "[[]]",
    "[null, null, null]",
    "{}",
    '{"a": {}}',
    "[" * 50_000 + "]" * 50_000,
]
"""Texts of JSON: each stands once for each value of a file."""
_HERE = "HERE"


def with_values(text: str) -> Iterator[tuple[str, str]]:
    """Yield a document with each of its values replaced by each of `VALUES`."""
    document = json.loads(text)
    for place in _places(document):
        name = "/".join(map(str, place)) or "the whole"
        pattern = json.dumps(_replaced(document, place))
        for value in VALUES:
            yield f"{name}: {value[:20]}", pattern.replace(f'"{_HERE}"', value)


def _places(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    yield before
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, inner in entries:
        yield from _places(inner, *before, key)


def _replaced(value: Any, place: tuple[Any, ...]) -> Any:
    if not place:
        return _HERE
    key, *rest = place
    copy = value.copy()
    copy[key] = _replaced(value[key], tuple(rest))
    return copy


CELLS = [None, "", "x", "\x1b[2J", b"\xff", b"", -1, 2**62, inf, -inf, 1e300, 0.5]
"""What SQLite may have in any column."""


def with_cells(path: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield, for each column of a file of SQLite and each of `CELLS`, a name and what
    writes it into all rows of such a file.
    """
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [name for (name,) in names if not name.startswith("sqlite_")]
        columns = [
            (table, row[1])
            for table in tables
            for row in database.execute(f"PRAGMA table_info({table})")
        ]
    for table, column in columns:
        for cell in CELLS:
            change = partial(_set, table=table, column=column, cell=cell)
            yield f"{table}.{column}: {cell!r}", change


def _set(path: Path, table: str, column: str, cell: object) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as database,
        suppress(sqlite3.Error),  # the file itself refuses it
    ):
        database.execute("PRAGMA synchronous = OFF")  # the disk is not waited for
        database.execute("PRAGMA ignore_check_constraints = 1")
        database.execute(f"UPDATE {table} SET {column} = ?", (cell,))
