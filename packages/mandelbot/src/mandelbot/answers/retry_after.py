"""How long a server asks to be left alone.

Sources: RFC 9110, section 10.2.3 (``Retry-After = HTTP-date / delay-seconds``) and
5.6.7 (``HTTP-date``, whose obsolete forms a recipient has to accept as well). Seen
beside these, and clear: seconds since 1970 (or milliseconds), ISO 8601 dates and
durations, a number with its unit.

Where there is none that can be read, the drafts of "RateLimit header fields for HTTP"
(draft-ietf-httpapi-ratelimit-headers-11): until the 6th ``RateLimit-Reset`` and
``RateLimit-Remaining``, in the 7th ``RateLimit: limit=…, remaining=…, reset=…``, since
then ``RateLimit: "policy";r=…;t=…``. In all of them ``Retry-After`` goes before, and
the time is in seconds from now. An answer that is well may have them, too, and says so
how much is left.

Older than the drafts, and defined by none: ``X-RateLimit-Remaining`` and
``X-RateLimit-Reset``, which GitHub sends, and express-rate-limit and
@fastify/rate-limit by default. Servers mean seconds by the reset, or a time since 1970,
or something else. So they are read only where the site refuses a request and says that
nothing is left: then one of the two is evident.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.dates import IN_TAGS, read_date

if TYPE_CHECKING:
    Header = Callable[[str], bytes | str | None]

_DELAY_SECONDS = re.compile(r"([0-9]{1,18})(?:\.([0-9]*))?")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WITH_UNIT = re.compile(
    r"([0-9]{1,9})"
    r" ?(?:s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)\.?"
)
_DURATION = re.compile(
    r"p(?:([0-9]{1,9})d)?(?:t(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})(?:\.[0-9]+)?s)?)?"
)
_LONGEST = 100  # characters; a date has up to 40
_QUOTED = re.compile(r'"[^"]*"')
_PARAMETER = re.compile(r"([a-z]{1,10}) *= *([0-9]{1,18})")
_LONGEST_RATE_LIMIT = 1_000  # characters; a handful of policies
# From here on a number is a date: nobody means 30 years. Of three digits more it is
# milliseconds.
_DATES = 1e9
_NO_DATES = 1e11
_RESOLUTION = 1.0  # seconds; of two dates that are both cut to the second


class AskedFor(NamedTuple):
    """What an answer asks for."""

    seconds: float | None
    """Above zero; None: nothing, though a header may be there."""
    said: str
    """The header that counts, in a line for a log; empty: there is none."""
    unreadable: str = ""
    """A ``Retry-After`` that is none, as received."""
    names_a_time: bool = False
    """Whether it asks for a wait whatever its status means: also by a quota that is
    used up.
    """


def wait_asked_for(header: Header, now: float, status: int = 0) -> AskedFor:
    """Return the seconds that an answer asks for, by its own clock where it has one.

    `header` returns the value of a header by its name, as text or bytes, or None. With
    the `status` of a refusal, ``X-RateLimit-*`` counts where no other header does.

    >>> from mandelbot import wait_asked_for
    >>> headers = {"Retry-After": b"120"}
    >>> wait_asked_for(headers.get, now=1_700_000_000.0).seconds
    120.0
    """
    unreadable = ""
    value = header("Retry-After")
    if value is not None:
        text = value if isinstance(value, str) else value.decode("latin-1")
        seconds = _read_any(text, now, header)
        if seconds is not None:
            wait = seconds if seconds > 0 else None
            return AskedFor(wait, f"Retry-After: {text}", "", wait is not None)
        unreadable = text
    value = header("RateLimit")
    if value is not None:
        text = _text(value)
        used_up = [one for one in _policies(text, now) if not one[0]]
        longest = max((wait for _, wait in used_up), default=0.0) or None
        is_used_up = any(left == 0 and wait for left, wait in used_up)
        return AskedFor(longest, f"RateLimit: {text}", unreadable, is_used_up)
    value = header("RateLimit-Reset")
    if value is None:
        if status in _REFUSALS and header("X-RateLimit-Remaining") in {b"0", "0"}:
            seconds = _until_x_reset(header, now)
            if seconds is not None:
                said = f"X-RateLimit-Reset: {_text(header('X-RateLimit-Reset') or '')}"
                return AskedFor(seconds, said, unreadable, names_a_time=True)
        said = f"Retry-After: {unreadable}" if unreadable else ""
        return AskedFor(None, said, unreadable)
    reset = _text(value).strip()
    left = _number(header("RateLimit-Remaining"))
    seconds = None if left else _until_reset(reset, now)
    return AskedFor(
        seconds, f"RateLimit-Reset: {reset}", unreadable, left == 0 and bool(seconds)
    )


_REFUSALS = frozenset({403, 429, 503})
_LONGEST_RESET = 86_400  # seconds; servers of this kind mean no later time


def _until_x_reset(header: Header, now: float) -> float | None:
    """Return seconds within a day, given as such or as a time since 1970."""
    text = _text(header("X-RateLimit-Reset") or "")
    number = _DELAY_SECONDS.fullmatch(text)
    if number is None:
        return None
    seconds = float(number[1]) + bool(number[2] and number[2].strip("0"))
    if _DATES <= seconds < _NO_DATES:
        seconds -= _clock(header, now)
    if 0 < seconds <= _LONGEST_RESET:
        return seconds
    return None


def quota_of(header: Header, now: float) -> tuple[int, float] | None:
    """Return how many requests a good answer leaves, and seconds until there are more.

    None: it is unsaid.
    """
    value = header("RateLimit")
    if value is None:
        left = _number(header("RateLimit-Remaining"))
        wait = header("RateLimit-Reset")
        if left is None or wait is None:
            return None
        seconds = _until_reset(_text(wait).strip(), now)
        if seconds is None:
            return None
        return left, seconds
    policies = _policies(_text(value), now)
    known = [(left, wait) for left, wait in policies if wait and left is not None]
    return min(known, key=lambda one: (one[0], -one[1]), default=None)


def _text(value: bytes | str) -> str:
    if isinstance(value, str):
        return value
    return value.decode("latin-1")


def _number(value: bytes | str | None) -> int | None:
    if value is None:
        return None
    text = _text(value).strip()
    if text.isascii() and text.isdigit():
        return int(text[:18])
    return None


def _policies(value: str, now: float) -> Iterator[tuple[int | None, float]]:
    """Yield what is left of each quota, if said, and seconds until it is whole."""
    if len(value) > _LONGEST_RATE_LIMIT:
        return
    text = _QUOTED.sub("", value).lower()
    # The 7th draft has one policy, with commas between what is said of it.
    for policy in [text] if "reset" in text else text.split(","):
        said: dict[str, str] = dict(_PARAMETER.findall(policy))
        left = said.get("r", said.get("remaining"))
        wait = _until_reset(said.get("t", said.get("reset", "")), now) or 0.0
        yield None if left is None else int(left), wait


def _until_reset(digits: str, now: float) -> float | None:
    seconds = _read(digits, now) if _DELAY_SECONDS.fullmatch(digits) else None
    if seconds and seconds > 0:
        return seconds
    return None


def _read_any(value: str, now: float, header: Header) -> float | None:
    """Return the seconds that a text asks for, in quotes or not.

    Of several values, the longest.

    Several stand in one line if a proxy has joined two headers; a date contains a
    comma, too.
    """
    seconds = _read(value, now, header)
    if seconds is not None or len(value) > _LONGEST or not {'"', ","} & set(value):
        return seconds
    parts = [part.strip(' \t"') for part in value.split(",")]
    pairs = [f"{day}, {rest}" for day, rest in pairwise(parts)]
    found = [_read(part, now, header) for part in parts + pairs]
    return max((one for one in found if one is not None), default=None)


def _read(value: str, now: float, header: Header = lambda _: None) -> float | None:
    """Return the seconds that a text asks for, which may have passed.

    None: it makes no sense.
    """
    text = value.strip().lower()
    delay = _DELAY_SECONDS.fullmatch(text)
    if delay is not None:
        # A fraction is none of the grammar, but what is meant by it is clear; it is
        # rounded up.
        number = float(delay[1]) + bool(delay[2] and delay[2].strip("0"))
        moment = number / 1_000 if number >= 1_000 * _DATES else number
        if _DATES <= moment < _NO_DATES:
            return moment - _clock(header, now)
        return number
    if len(text) > _LONGEST or not text.isascii():
        return None
    span = _read_span(text)
    if span is not None:
        return span
    date = read_date(text, IN_TAGS)
    if date is None:
        return None
    return date.timestamp() - _clock(header, now)


def _read_span(text: str) -> float | None:
    """Return the seconds of a number with its unit, or of an ISO 8601 duration."""
    with_unit = _WITH_UNIT.fullmatch(text)
    if with_unit is not None:
        number = with_unit[1]
        return float(number) * _UNITS[text[len(number) :].strip()[0]]
    duration = _DURATION.fullmatch(text)
    if duration is None or text[-1] in "pt":
        return None
    days, hours, minutes, seconds = (float(one or 0) for one in duration.groups())
    return days * 86_400 + hours * 3_600 + minutes * 60 + seconds


def _clock(header: Header, now: float) -> float:
    """Return the server's time as it answered, as far as that is known."""
    date = read_date(_text(header("Date") or ""), IN_TAGS)
    if date is None:
        return now
    # How long the answer lay in caches (RFC 9111, section 5.1).
    return date.timestamp() + (_number(header("Age")) or 0) - _RESOLUTION
