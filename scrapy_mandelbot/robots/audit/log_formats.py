r"""Formats of access logs: those that servers have by default, and any other that is written down.

Sources: Apache, mod_log_config and "Log Files" (Common Log Format, Combined Log Format; Debian's
``vhost_combined``); nginx, ngx_http_log_module (``combined``) and the variables of its modules.
Apache escapes a quotation mark as ``\"``, nginx as ``\x22``: so none ends a field.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.dates import extended, read_date

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905 - words
_MONTH_OF = {name: number for number, name in enumerate(_MONTHS, start=1)}
_LOCAL_LENGTH = len("22/Nov/2026:08:46:13 +0000")
_MINUTES_KEPT = 4096
_LONGEST_MOMENTS = 60  # characters


class LogTimestamps(NamedTuple):
    """How a log tells the time."""

    read: Callable[[str], float]
    """Raises ValueError of what is no time."""
    resolution: float
    """Seconds between two times that it can tell apart."""


def local_clock() -> LogTimestamps:
    """Return what reads ``22/Nov/2026:08:46:13 +0000``; a log repeats its minutes."""
    minutes: dict[str, float] = {}

    def read(text: str) -> float:
        minute = text[:17] + text[20:]
        began = minutes.get(minute)
        if began is None or len(text) != _LOCAL_LENGTH:
            if len(minutes) >= _MINUTES_KEPT:
                minutes.clear()
            began = minutes[minute] = _minute(text)
        second = text[18:20]
        if text[17] != ":" or not second.isdigit():
            raise ValueError(text)
        return began + int(second)

    return LogTimestamps(read, 1.0)


def _minute(text: str) -> float:
    """Return when the minute of a local time began; ValueError: it is no such time."""
    if len(text) != _LOCAL_LENGTH or text[20] != " " or text[21] not in "+-":
        raise ValueError(text)
    east = int(text[22:24]) * 60 + int(text[24:26])
    zone = timezone(timedelta(minutes=-east if text[21] == "-" else east))
    month = _MONTH_OF.get(text[3:6], 0)
    day = datetime(
        int(text[7:11]), month, int(text[:2]), int(text[12:14]), int(text[15:17]), 0, 0, zone
    )
    return day.timestamp()


def _number_of(unit: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        if len(text) > _LONGEST_MOMENTS or not text.replace(".", "", 1).isdigit():
            raise ValueError(text)
        return float(text) * unit

    return read


def _iso(text: str) -> float:
    date = read_date(text, (extended,))
    if date is None or ":" not in text:
        raise ValueError(text)
    return date.timestamp()


CLOCKS: dict[str, Callable[[], LogTimestamps]] = {
    "local": local_clock,
    "iso": lambda: LogTimestamps(_iso, 1.0),
    "seconds": lambda: LogTimestamps(_number_of(1.0), 1.0),
    "seconds.milliseconds": lambda: LogTimestamps(_number_of(1.0), 1e-3),
    "milliseconds": lambda: LogTimestamps(_number_of(1e-3), 1e-3),
    "microseconds": lambda: LogTimestamps(_number_of(1e-6), 1e-6),
}
"""How each kind of time is read."""


NAMED = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_common": '%v:%p %h %l %u %t "%r" %>s %b',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
}
"""Apache's names; nginx's ``combined`` is alike."""

_TOLD = ("vhost_combined", "combined", "vhost_common", "common")
"""Those that are tried on a log: what says more goes first."""
_LONGEST = 2_000  # characters of a format
_QUOTED = r'[^"\\]*(?:\\.[^"\\]*)*'
_DIRECTIVE = re.compile(
    r"""
    %[<>]?(?:![\d,]+|[\d,]+)?(?:\{(?P<argument>[^}]*)\})?[<>]?(?P<letter>\^[A-Za-z]{2}|[A-Za-z%])
    | \$\{(?P<braced>\w+)\} | \$(?P<name>\w+)
    | (?P<text>[^%$]+ | [%$])
    """,
    re.VERBOSE,
)


class FormatError(ValueError):
    """A format that cannot be read, or does not say what an audit needs."""


class _FormatPart(NamedTuple):
    """A variable of a format; or a text between two, which has no pattern."""

    text: str
    field: str = ""
    """What it is to an audit; empty: nothing."""
    pattern: str | None = None


_UNTIL = ""  # the pattern of a variable that ends where the next text begins
_SPACELESS = r"[^\s\"]*"
_USER = r"[^\[\]\"]*?"
_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[^\s\":/]*)"
_VARIABLES = {
    "remote_addr": ("address", _SPACELESS),
    "remote_user": ("", _USER),
    "realip_remote_addr": ("", _SPACELESS),
    "time_local": ("time_local", r"[^\]\"]*?"),
    "time_iso8601": ("time_iso", _SPACELESS),
    "msec": ("time_seconds.milliseconds", r"[\d.]*"),
    "request": ("request", _UNTIL),
    "request_uri": ("target", _SPACELESS),
    "uri": ("target", _SPACELESS),
    "status": ("status", r"\d{3}"),
    "http_user_agent": ("agent", _UNTIL),
    "host": ("host", _HOST),
    "http_host": ("host", r"[^\s\"/]*"),
    "server_name": ("server", _HOST),
    "server_port": ("port", r"\d*"),
    "scheme": ("", r"[a-z]*"),
    "request_time": ("seconds", r"[\d.]*|-"),
    "sent_http_retry_after": ("retry_after", _UNTIL),
    "upstream_http_retry_after": ("retry_after", _UNTIL),
}
"""nginx's, each as what it is and how it looks."""
_LETTERS = {
    "h": ("address", _SPACELESS),
    "a": ("address", _SPACELESS),
    "t": ("time_local", r"[^\]]*"),
    "u": ("", _USER),
    "r": ("request", _UNTIL),
    "U": ("target", r"[^\s\"?]*"),
    "q": ("query", r"(?:\?[^\s\"]*)?"),
    "s": ("status", r"\d{3}"),
    "v": ("server", _HOST),
    "V": ("host", _HOST),
    "p": ("port", r"\d*"),
}
"""Apache's, without an argument."""
_WITH_ARGUMENT = {
    ("i", "user-agent"): ("agent", _UNTIL),
    ("i", "host"): ("host", r"[^\s\"/]*"),
    ("o", "retry-after"): ("retry_after", _UNTIL),
    ("c", "a"): ("", _SPACELESS),
}
_TIMES = {
    "sec": ("time_seconds", r"\d*"),
    "%s": ("time_seconds", r"\d*"),
    "msec": ("time_milliseconds", r"\d*"),
    "usec": ("time_microseconds", r"\d*"),
    "%Y-%m-%dT%H:%M:%S%z": ("time_iso", _SPACELESS),
    "%FT%T%z": ("time_iso", _SPACELESS),
}
"""Apache's ``%{format}t``."""
_NEEDED = (
    ("a time", ("time_local", "time_iso", *(f"time_{name}" for name in CLOCKS))),
    ("a status", ("status",)),
    ("a request", ("request", "target")),
)


class LogFormat(NamedTuple):
    """How the lines of a log are read."""

    name: str
    line: re.Pattern[str]
    fields: frozenset[str]
    """What the lines say."""
    clock: LogTimestamps
    time: str
    """The field that is the time."""

    @property
    def names_agents(self) -> bool:
        """Whether the lines say who asked."""
        return "agent" in self.fields


def read_format(text: str) -> LogFormat:
    """Return a format by its name, or as it is written for Apache or for nginx.

    Raises:
        FormatError: it cannot be read, or says too little.
    """
    if len(text) > _LONGEST:
        raise FormatError(f"a format has at most {_LONGEST:,} characters")
    written = NAMED.get(text, text)
    parts = list(_parts(written))
    found: set[str] = set()
    pattern = []
    for number, part in enumerate(parts):
        if part.pattern is None:
            pattern.append(re.escape(part.text))
            continue
        ends, looks = _end(parts[number + 1 :]), part.pattern
        if number + 1 < len(parts) and not ends and (not looks or looks.endswith("*?")):
            raise FormatError(f"nothing parts {part.text} from {parts[number + 1].text}")
        is_new = part.field and part.field not in found
        name = part.field.replace(".", "_") if is_new else f"_{number}"
        pattern.append(_group(name, looks or _until(ends), ends, is_last=number + 1 == len(parts)))
        if part.field:
            found.add(part.field)
    for words, names in _NEEDED:
        if found.isdisjoint(names):
            raise FormatError(f"the format has no {words.split()[1]}: {words} is needed")
    times = [name for name in found if name.startswith("time_")]
    clocks = {name: CLOCKS[name.removeprefix("time_")]() for name in times}
    finest = min(times, key=lambda name: clocks[name].resolution)
    # What a server adds at the end of a line changes nothing.
    line = re.compile("".join(pattern) + (r"(?:\s.*)?" if text in NAMED else r"\s*"), re.DOTALL)
    name = text if text in NAMED else "its own"
    return LogFormat(name, line, frozenset(found), clocks[finest], finest.replace(".", "_"))


def detect(lines: Iterable[str]) -> LogFormat | None:
    """Return the format that most of the lines have; None: none has one that is known."""
    tried = {name: read_format(name) for name in _TOLD}
    counts = dict.fromkeys(_TOLD, 0)
    for line in lines:
        for name, one in tried.items():
            if one.line.fullmatch(line):
                counts[name] += 1
                break
    best = max(_TOLD, key=counts.__getitem__)
    return tried[best] if counts[best] else None


def _parts(text: str) -> Iterator[_FormatPart]:
    """Yield the variables of a format, and the texts between them."""
    for found in _DIRECTIVE.finditer(text):
        written = found[0]
        if found["text"] is not None:
            if written in "%$":
                raise FormatError(f"{written} stands alone")
            yield _FormatPart(written.replace('\\"', '"'))
        elif found["letter"] == "%":
            yield _FormatPart("%")
        elif found["letter"]:
            yield from _apaches(written, found["letter"], found["argument"])
        else:
            field, looks = _VARIABLES.get(found["braced"] or found["name"], ("", _UNTIL))
            yield _FormatPart(written, field, looks)


def _apaches(written: str, letter: str, argument: str | None) -> Iterator[_FormatPart]:
    if letter == "t":
        told = (argument or "").removeprefix("begin:")
        if argument and told not in _TIMES:
            known = ", ".join(f"%{{{one}}}t" for one in _TIMES)
            raise FormatError(f"{written} is no time that is read here; those are %t, {known}")
        if argument:
            yield _FormatPart(written, *_TIMES[told])
            return
        yield _FormatPart("[")
        yield _FormatPart(written, *_LETTERS["t"])
        yield _FormatPart("]")
    elif argument is None:
        yield _FormatPart(written, *_LETTERS.get(letter, ("", _UNTIL)))
    else:
        yield _FormatPart(written, *_WITH_ARGUMENT.get((letter, argument.lower()), ("", _UNTIL)))


def _end(following: list[_FormatPart]) -> str:
    """Return the text up to the next variable."""
    texts = takewhile(lambda part: part.pattern is None, following)
    return "".join(part.text for part in texts)


def _until(ends: str) -> str:
    """Return how a variable looks that ends where the next text begins."""
    if not ends:
        return ".*"
    return _QUOTED if ends[0] == '"' else f"[^{re.escape(ends[0])}]*"


def _group(name: str, looks: str, ends: str, *, is_last: bool) -> str:
    """Return the pattern of a variable that has one end in any line: so is a line read in a pass.

    It has, where what follows it holds a sign that it cannot hold. Else the regular expression
    commits itself to the end it finds first, by a lookahead.
    """
    if is_last:
        looks = looks.removesuffix("?") if looks.endswith("*?") else looks
        return f"(?P<{name}>{looks})"
    if all(_may_hold(looks, sign) for sign in ends):
        return f"(?=(?P<{name}>{looks}){re.escape(ends)})(?P={name})"
    return f"(?P<{name}>{looks})"


def _may_hold(looks: str, sign: str) -> bool:
    return any(re.fullmatch(looks, start + sign) for start in ("", "?"))
