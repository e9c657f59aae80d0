"""From the lines of an access log to the requests of one robot, site by site."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.audit.visits import UNKNOWN, Visits
from scrapy_mandelbot.robots.retry_after import parse_retry_after
from scrapy_mandelbot.robots.robotstxt.agents import product_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_mandelbot.robots.audit.log_formats import LogFormat
    from scrapy_mandelbot.robots.audit.visits import CopiesInForce

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

    Args:
        robot: whose.
        how: the format of the lines.
        copies_of: returns what is known of a site's robots.txt, by its host.
        refusals: statuses whose Retry-After counts.
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
        self._is_the_robot: dict[str, bool] = {}
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
        if self.robot.names and self.how.names_agents:
            agent = found["agent"]
            is_one = self._is_the_robot.get(agent)
            if is_one is None:
                if len(self._is_the_robot) >= _OTHERS_KNOWN:
                    self._is_the_robot.clear()
                is_one = not set(self.robot.names).isdisjoint(product_tokens(agent))
                self._is_the_robot[agent] = is_one
            if not is_one:
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
    """Return how long a request took; 0 where the log does not tell.

    Raises:
        ValueError: longer than it can have.
    """
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
