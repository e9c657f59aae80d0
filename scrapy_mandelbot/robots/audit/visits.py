"""From the lines of an access log to the requests of one robot, site by site: a few octets each.

A log may have millions. What is kept of each are numbers in arrays; its URL is kept only as an
example of a rule that forbids it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.pace import PaceLaw, pace_by_hand, pace_of_file
from scrapy_mandelbot.robots.retry_after import parse_retry_after
from scrapy_mandelbot.robots.robotstxt.agents import product_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_mandelbot.robots.audit.log_formats import LogFormat
    from scrapy_mandelbot.robots.pace import Pace
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt
    from scrapy_mandelbot.robots.robotstxt.robots_txt import Agent

_AS_ASKED = PaceLaw(longest=inf)


class CopyInForce(NamedTuple):
    """A robots.txt, and since when it was the site's."""

    since: float
    """Seconds since the epoch; ``-inf``: as long as anybody knows."""
    source: str
    """Its file or URL."""
    robots: RobotsTxt | None
    """None: there was none to be read, and all was allowed."""


class Deciding(NamedTuple):
    """What forbids a URL in one copy."""

    line: int
    """From 1; 0: the URL is allowed."""
    text: str = ""
    """The rule."""


ALLOWED_BY_COPY = Deciding(0)


class CopiesInForce:
    """The robots.txt of a site over time, as one robot reads it; no copies: nothing is known of it.

    `delay`: seconds between requests that are asked for, whatever the files say.
    """

    def __init__(
        self, copies: Sequence[CopyInForce], agent: Agent, delay: float | None = None
    ) -> None:
        self.copies = sorted(copies, key=lambda copy: copy.since)
        self._since = [copy.since for copy in self.copies]
        self._agent = agent
        self._paces = [self._pace(copy.robots, delay) for copy in self.copies]
        self._without = pace_by_hand(delay or 0.0)

    def at(self, moment: float) -> int | None:
        """Return the number of the copy that was in force; None: none is known."""
        number = bisect_right(self._since, moment) - 1
        return None if number < 0 else number

    def pace(self, number: int | None) -> Pace:
        """Return what a copy asks for."""
        return self._without if number is None else self._paces[number]

    def within(self, start: float, end: float) -> range:
        """Return the numbers of the copies that were in force at some time between two."""
        first, last = self.at(start), self.at(end)
        return range(first or 0, 0 if last is None else last + 1)

    def decide(self, target: str) -> tuple[Deciding, ...]:
        """Return what forbids a URL, in each copy; empty: each allows it."""
        for copy in self.copies:
            if copy.robots is not None and not copy.robots.allowed(target, self._agent):
                break
        else:
            return ()
        return tuple(self._decided(one.robots, target) for one in self.copies)

    def _decided(self, robots: RobotsTxt | None, target: str) -> Deciding:
        if robots is None:
            return ALLOWED_BY_COPY
        verdict = robots.verdict(target, self._agent)
        if verdict.allowed:
            return ALLOWED_BY_COPY
        rule = verdict.rule
        return Deciding(-1, verdict.reason) if rule is None else Deciding(rule.line, str(rule))

    def _pace(self, robots: RobotsTxt | None, delay: float | None) -> Pace:
        if delay is not None:
            return pace_by_hand(delay, robots, self._agent)
        return pace_by_hand(0.0) if robots is None else pace_of_file(robots, self._agent, _AS_ASKED)


ALLOWED, ROBOTS_TXT = 0, 1
"""What a URL may be in all copies alike; from 2 on it is a number in `Visits.decided`."""
UNKNOWN = -1.0
"""Seconds of a Retry-After that is not there."""
_EXAMPLES = 8  # URLs of what one rule forbids
_DECISIONS = 50_000  # different ones that are told apart; a file has fewer rules


class Example(NamedTuple):
    """A URL that was asked for."""

    number: int
    """Of the request, in the order of the log."""
    target: str


class Visits:
    """What one site was asked, in the order of the log."""

    __slots__ = (
        *("_known", "copies", "decided", "decisions", "examples", "is_sorted"),
        *("lines", "statuses", "times", "waits"),
    )

    def __init__(self, copies: CopiesInForce) -> None:
        self.copies = copies
        self.times = array("d")
        self.statuses = array("H")
        self.decisions = array("I")
        self.lines = array("Q")
        self.waits = array("d")
        """Seconds that a refusal asked for, `UNKNOWN` where it asked for nothing that is told."""
        self.decided: list[tuple[Deciding, ...]] = [(), ()]
        self.examples: dict[int, list[Example]] = {}
        self.is_sorted = True
        self._known: dict[tuple[Deciding, ...], int] = {(): ALLOWED}

    def __len__(self) -> int:
        return len(self.times)

    def add(self, moment: float, status: int, target: str, line: int, wait: float) -> None:
        """Note a request."""
        times = self.times
        if times and moment < times[-1]:
            self.is_sorted = False
        self.decisions.append(self._decide(target) if target else ALLOWED)
        times.append(moment)
        self.statuses.append(status)
        self.lines.append(line)
        self.waits.append(wait)

    def in_order(self) -> Sequence[int]:
        """Return the numbers of the requests in the order of their times."""
        every = range(len(self.times))
        return every if self.is_sorted else sorted(every, key=self.times.__getitem__)

    def _decide(self, target: str) -> int:
        if target.startswith("/robots.txt") and target.partition("?")[0] == "/robots.txt":
            return ROBOTS_TXT
        decided = self.copies.decide(target)
        if not decided:
            return ALLOWED
        number = self._known.get(decided)
        if number is None:
            if len(self.decided) >= _DECISIONS:  # one more stands for the rest
                decided = self.decided[-1]
                number = len(self.decided) - 1
            else:
                number = len(self.decided)
                self.decided.append(decided)
            self._known[decided] = number
        examples = self.examples.setdefault(number, [])
        if len(examples) < _EXAMPLES:
            examples.append(Example(len(self.times), target))
        return number


_MOST_SITES = 10_000  # told apart; whoever asks chooses the Host that a log has
_ADDRESSES = 1_000  # counted
_LONGEST_HOST = 255
_OTHERS_KNOWN = 4096  # texts of agents, each judged once
_DEFAULT_PORTS = ("", "80", "443")
_ESCAPED = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
_OUTSIDE = re.compile(r"[^\x21-\x7e]")
_PLAIN = {"n": "%0A", "t": "%09", "r": "%0D", "b": "%08", "v": "%0B", "f": "%0C"}


class Robot(NamedTuple):
    """Whose requests are looked for."""

    names: Sequence[str]
    """Product tokens, in lower case; none: whoever asks."""
    is_from: Callable[[str], bool] | None = None
    """Whether an address is the robot's; None: all may be."""


@dataclass
class LogReading:
    """What a log says of a robot's requests.

    `copies_of` returns what is known of a site's robots.txt, by its host; `refusals` are the
    statuses whose Retry-After counts.
    """

    robot: Robot
    how: LogFormat
    copies_of: Callable[[str], CopiesInForce]
    refusals: frozenset[int]
    sites: dict[str, Visits] = field(default_factory=dict)
    """By host, with a port that is none of the defaults; empty: the log names none."""
    lines: int = 0
    unreadable: int = 0
    """Lines that may be the robot's and do not have the format, or no time."""
    not_told_apart: int = 0
    """Requests to more sites than are told apart."""
    went_back: int = 0
    """How often a line has an earlier time than one above it, by more than the clock can tell."""
    furthest_back: float = 0.0
    """Seconds."""
    addresses: set[str] = field(default_factory=set)
    """From which the robot came, as far as they are counted."""

    def __post_init__(self) -> None:
        fields = self.how.fields
        self._has_address = "address" in fields
        self._has_host = not fields.isdisjoint({"host", "server"})
        self._has_request = "request" in fields
        self._is_later = "seconds" in fields  # nginx: its time is the end
        names = set(self.robot.names)
        self._is_the_robot = lru_cache(maxsize=_OTHERS_KNOWN)(
            lambda agent: not names.isdisjoint(product_tokens(agent))
        )
        self._latest = float("-inf")

    def begin(self) -> None:
        """Begin with another file, whose times may be any."""
        self._latest = float("-inf")

    def read(self, lines: Iterable[str]) -> None:
        """Read lines, without their ends, each octet a character."""
        names = tuple(self.robot.names) if self.how.names_agents else ()
        number = self.lines
        match, take = self.how.line.fullmatch, self._take
        may_be_ours = re.compile("|".join(map(re.escape, names))).search
        for number, line in enumerate(lines, start=self.lines + 1):
            if names and not may_be_ours(line.lower()):
                continue
            found = match(line)
            if found is None:
                self.unreadable += bool(line.strip())
            else:
                take(found, number)
        self.lines = number

    def _take(self, found: re.Match[str], line: int) -> None:
        if not self._is_by_the_robot(found):
            return
        try:
            moment = self.how.clock.read(found[self.how.time])
            status = int(found["status"])
            began = moment - _seconds(found["seconds"], moment) if self._is_later else moment
        except (ValueError, OverflowError):
            self.unreadable += 1
            return
        if moment < self._latest - self.how.clock.resolution:
            self.went_back += 1
            self.furthest_back = max(self.furthest_back, self._latest - moment)
        self._latest = max(self._latest, moment)
        wait = UNKNOWN
        if status in self.refusals and "retry_after" in self.how.fields:
            wait = parse_retry_after(found["retry_after"], began) or UNKNOWN
        visits = self._visits(self._host(found) if self._has_host else "")
        if visits is not None:
            visits.add(began, status, self._target(found), line, wait)

    def _is_by_the_robot(self, found: re.Match[str]) -> bool:
        has_name = self.robot.names and self.how.names_agents
        if has_name and not self._is_the_robot(found["agent"]):
            return False
        if not self._has_address:
            return True
        address = found["address"]
        if self.robot.is_from is not None and not self.robot.is_from(address):
            return False
        if address not in self.addresses and len(self.addresses) < _ADDRESSES:
            self.addresses.add(address)
        return True

    def _host(self, found: re.Match[str]) -> str:
        fields = self.how.fields
        host = (found["host" if "host" in fields else "server"] or "").lower().rstrip(".")
        port = found["port"] if "port" in fields else ""
        has_port = ":" in host.rpartition("]")[2]
        return host if has_port or port in _DEFAULT_PORTS else f"{host}:{port}"

    def _visits(self, host: str) -> Visits | None:
        visits = self.sites.get(host)
        if visits is None:
            if len(self.sites) >= _MOST_SITES or len(host) > _LONGEST_HOST:
                self.not_told_apart += 1
                return None
            visits = self.sites[host] = Visits(self.copies_of(host))
        return visits

    def _target(self, found: re.Match[str]) -> str:
        """Return what was asked for, a path; empty: that cannot be told."""
        if self._has_request:
            request = found["request"]
            target = request.partition(" ")[2].rpartition(" HTTP/")[0]
            if not target:  # HTTP/0.9, or no HTTP
                target = request.removeprefix("GET ") if request.startswith("GET ") else ""
        else:
            target = found["target"] + (found["query"] if "query" in self.how.fields else "")
        if "\\" in target or not target.isascii() or " " in target:
            target = _unescaped(target)
        if not target.startswith("/"):  # the form for proxies, "*", or what was no HTTP
            _, mark, rest = target.partition("://")
            slash = rest.find("/")
            target = "" if not mark else rest[slash:] if slash >= 0 else "/"
        return target


def _seconds(text: str, most: float) -> float:
    """Return how long a request took; 0: the log does not tell; ValueError: longer than it can."""
    try:
        seconds = float(text)
    except ValueError:  # "-"
        return 0.0
    if seconds > most:
        raise ValueError(text)
    return seconds


def _unescaped(text: str) -> str:
    r"""Return a text without the escapes of a log; what no URL may have becomes its own.

    >>> _unescaped(r"/a\x22\xE9 b")
    '/a%22%E9%20b'
    """

    def plain(found: re.Match[str]) -> str:
        octet, sign = found.groups()
        return f"%{octet.upper()}" if octet else _PLAIN.get(sign, f"%{ord(sign):02X}")

    text = _ESCAPED.sub(plain, text) if "\\" in text else text
    return _OUTSIDE.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", text)
