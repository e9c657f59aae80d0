"""The verb ``audit``: whether a robot was polite, as an access log has it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
import zlib
from datetime import datetime, timezone
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.commands.sources import (
    CannotBeHadError,
    named,
    rules_from,
    rules_on_disk,
    url_to_check,
)
from scrapy_mandelbot.config import read_setting
from scrapy_mandelbot.robots.audit import (
    CopiesInForce,
    CopyInForce,
    FormatError,
    Law,
    LogReading,
    Robot,
    detect,
    judge,
    read_format,
)
from scrapy_mandelbot.robots.dates import IN_TAGS, read_date
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.reports import audit_report as reports
from scrapy_mandelbot.robots.reports.terminal_text import is_url
from scrapy_mandelbot.robots.robotstxt.agents import names_in_order

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile
    from scrapy_mandelbot.robots.audit import LogFormat
    from scrapy_mandelbot.robots.reports.rules_in_force import Rules

_PIECE = 1 << 20  # bytes
_LONGEST = 64 * 1024  # characters of a line; a server cuts what it is asked long before
_PACKED: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""How files begin, and what unpacks them."""


def pieces_of(source: str, breaks_off: Callable[[str], None]) -> Iterator[list[str]]:
    """Yield the lines of a log, or of ``-``, without their ends, some thousand at a time.

    Each octet is a character. A line that is too long is an empty one. `breaks_off` is told why a
    packed file ends before its end; what was read of it counts.
    """
    try:
        file = sys.stdin.buffer if source == "-" else Path(source).open("rb")  # noqa: SIM115
        with file:
            yield from _lines(_unpacked(file), source, breaks_off)
    except OSError as error:
        raise CannotBeHadError(
            f"{named(source)}: {(error.strerror or str(error)).lower()}"
        ) from None


def _unpacked(file: BinaryIO) -> io.BufferedIOBase:
    """Return a file that is read as what is packed in it, whatever its name."""
    buffered = cast("io.BufferedReader", file)
    start = buffered.peek(8)
    for magic, unpack in _PACKED.items():
        if start.startswith(magic):
            return unpack(file)
    return buffered


def _lines(
    file: io.BufferedIOBase, source: str, breaks_off: Callable[[str], None]
) -> Iterator[list[str]]:
    rest, is_skipping = "", False
    while octets := _piece(file, source, breaks_off):
        lines = (rest + octets.decode("latin-1")).split("\n")
        rest = lines.pop()
        if is_skipping and lines:
            lines[0], is_skipping = "", False
        if len(rest) > _LONGEST:
            rest, is_skipping = "", True
        if lines:
            yield [line.rstrip("\r") if len(line) <= _LONGEST else "" for line in lines]
    if rest or is_skipping:
        yield ["" if is_skipping else rest.rstrip("\r")]


def _piece(file: io.BufferedIOBase, source: str, breaks_off: Callable[[str], None]) -> bytes:
    try:
        return file.read1(_PIECE)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # of the disk, and not of what is packed
            raise
        breaks_off(f"{named(source)}: it breaks off: {str(error).rstrip('.').lower()}")
        return b""


_ANYONE = "*"
_LOOKED_AT = 200  # lines, to see which format a log has
_HOST = re.compile(
    r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?::\d{1,5})?|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?"
)
_HAS_YEAR = re.compile(r"\d{4}-?\d\d-?\d\d")


class _Named(NamedTuple):
    """A robots.txt as the command line names it: ``[HOST=][SINCE=]FILE|URL``."""

    source: str
    host: str | None
    """None: of every site."""
    since: float


def audit(job: Invocation) -> Result:
    """Judge what a robot asked for, site by site."""
    remarks: list[str] = []
    agent = job.agent
    copies = _copies(job)

    def copies_of(host: str) -> CopiesInForce:
        own = [copy for one, copy in copies if one.host == host]
        shared = [copy for one, copy in copies if one.host is None]
        return CopiesInForce(own or shared, agent, job.opts.delay)

    names = (
        ()
        if agent == _ANYONE
        else names_in_order(agent if isinstance(agent, str) else tuple(agent))
    )
    refusals = read_setting(job.settings, "pause_statuses")
    robot = Robot(names, _is_from(job.opts.address))
    reading, sources = _read(
        job, robot, partial(LogReading, robot, copies_of=copies_of, refusals=refusals), remarks
    )
    ttl = job.opts.ttl
    if ttl is None:
        ttl = read_setting(job.settings, "cache_ttl") or job.dialect.fresh_for
    law = Law(reading.how.clock.resolution, refusals, job.opts.retry_after, ttl)
    judged = {host: judge(visits, law) for host, visits in reading.sites.items()}
    report = reports.audit(
        reports.AuditPageData(
            agent=agent if isinstance(agent, str) else ", ".join(agent),
            sources=sources,
            reading=reading,
            law=law,
            robots=[(named(one.source), one.host, one.since) for one, _ in copies],
        ),
        judged,
    )
    remarks += reports.remarks(report)
    code = reports.exit_code(report, only_errors=job.opts.fail_on == "error")
    text = reports.text(report, job.terminal.paint)
    page = partial(reports.page, report, datetime.now(timezone.utc))
    return Result(code, report, text, remarks, page)


def _read(
    job: Invocation, robot: Robot, make: Callable[[LogFormat], LogReading], remarks: list[str]
) -> tuple[LogReading, list[reports.LogSource]]:
    """Read all logs, as lines of one."""
    how, reading = _told_format(job.opts.log_format), None
    sources: list[reports.LogSource] = []
    for source in job.args:
        for lines in pieces_of(source, remarks.append):
            if reading is None:
                how = how or detect(lines[:_LOOKED_AT])
                if how is None:
                    raise CannotBeHadError(
                        f"{named(source)}: its lines have no format that is known: --log-format"
                        " says which, as it stands in the server's configuration"
                    )
                if robot.names and not how.names_agents and robot.is_from is None:
                    raise CannotBeHadError(
                        f"{named(source)}: its lines do not say who asks: --address says from where"
                        " the robot comes, --agent '*' judges all as one"
                    )
                reading = make(how)
            job.terminal.progress(f"{named(source)}: {reading.lines:,} lines")
            reading.read(lines)
        lines_before = sources[-1].last_line if sources else 0
        sources.append(
            reports.LogSource(named(source), lines_before, reading.lines if reading else 0)
        )
        if reading is not None:
            reading.begin()
    if reading is None:
        raise CannotBeHadError("there is no line in it")
    return reading, sources


def _told_format(text: str | None) -> LogFormat | None:
    try:
        return None if text is None else read_format(text)
    except FormatError as error:
        raise CannotBeHadError(f"--log-format: {error}") from None


def _is_from(addresses: list[str] | None) -> Callable[[str], bool] | None:
    """Return what tells whether an address is one of those, or in one of those networks."""
    if not addresses:
        return None
    try:
        networks = [ip_network(one, strict=False) for one in addresses]
    except ValueError as error:
        raise CannotBeHadError(f"--address: {shown(str(error))}") from None

    @lru_cache(maxsize=10_000)  # any number of them may be in a log
    def is_from(text: str) -> bool:
        try:
            address = ip_address(text.strip("[]").partition("%")[0])
        except ValueError:
            return False
        plain = getattr(address, "ipv4_mapped", None) or address
        return any(plain in network for network in networks)

    return is_from


def _copies(job: Invocation) -> list[tuple[_Named, CopyInForce]]:
    """Return the robots.txt files that are named, in order."""
    told = [_told_copy(one) for one in job.opts.robots_txt or ()]
    asked = {one.source: url_to_check(one.source) for one in told if is_url(one.source)}
    fetched: dict[str, FetchedFile] = {}

    def visit(one: FetchedFile) -> tuple[()]:
        fetched[one.wanted.url] = one
        return ()

    if asked:
        job.fetch([job.wanted_robots(url) for url in dict.fromkeys(asked.values())], visit)
    return [(one, _copy(job, one, fetched.get(asked.get(one.source, "")))) for one in told]


def _copy(job: Invocation, one: _Named, fetched: FetchedFile | None) -> CopyInForce:
    if fetched is not None and fetched.failure is not None:
        raise CannotBeHadError(fetched.trouble)
    rules: Rules = rules_on_disk(one.source) if fetched is None else rules_from(job, fetched, None)
    robots, reason = rules.read(job.dialect, job.max_bytes)
    if robots is None and not rules.decide("/", "*", job.dialect, job.max_bytes)["allowed"]:
        raise CannotBeHadError(f"{shown(one.source)}: {reason}")
    return CopyInForce(one.since, named(one.source), robots)


def _told_copy(text: str) -> _Named:
    """Read ``[HOST=][SINCE=]FILE|URL``, in either order."""
    host, since, source = None, -inf, text
    while not is_url(source):
        head, mark, rest = source.partition("=")
        if not mark:
            break
        date = read_date(head, IN_TAGS) if _HAS_YEAR.match(head) else None
        if date is not None and since == -inf:
            since = date.timestamp()
        elif date is None and host is None and _HOST.fullmatch(head):
            host = head.lower()
        else:
            break
        source = rest
    if not source:
        raise CannotBeHadError(f"--robots-txt: {shown(text)} names no file")
    return _Named(source, host, since)
