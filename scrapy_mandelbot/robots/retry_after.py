"""How long a server asks to be left alone.

Sources: RFC 9110, section 10.2.3 (``Retry-After = HTTP-date / delay-seconds``) and 5.6.7
(``HTTP-date``, whose obsolete forms a recipient has to accept as well). Where there is none, the
drafts of "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers): until the 6th
``RateLimit-Reset`` and ``RateLimit-Remaining``, in the 7th ``RateLimit: limit=…, remaining=…,
reset=…``, since then ``RateLimit: "policy";r=…;t=…``. In all of them ``Retry-After`` goes before,
and the time is in seconds from now. They say what a refusal means, and are none by themselves: an
answer that is well may have them, too.
"""

from __future__ import annotations

import re
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A fraction is none of the grammar, but what is meant by it is clear; it is rounded up.
_DELAY_SECONDS = re.compile(r"([0-9]{1,18})(?:\.(0*)([0-9]*))?")
_LONGEST = 100  # characters; a date has up to 40
_QUOTED = re.compile(r'"[^"]*"')
_PARAMETER = re.compile(r"([a-z]{1,10}) *= *([0-9]{1,18})")
_LONGEST_RATE_LIMIT = 1_000  # characters; a handful of policies
_DATES = 1_000_000_000.0  # from here on a number of seconds is a date; nobody means 30 years


def wait_asked_for(header: Callable[[str], bytes | None], now: float) -> tuple[float | None, str]:
    """Return the seconds that an answer asks for, and the header that does, for a log.

    Args:
        header: returns the value of a header by name, if there is one.
        now: seconds since the epoch.

    Returns:
        Seconds, above zero, or None; and the header in a line. It may be there and ask for nothing.
    """
    value = header("Retry-After")
    if value is not None:
        return parse_retry_after(value, now), f"Retry-After: {value.decode('latin-1')}"
    value = header("RateLimit")
    if value is not None:
        return _of_policies(value.decode("latin-1"), now), f"RateLimit: {value.decode('latin-1')}"
    value = header("RateLimit-Reset")
    if value is None:
        return None, ""
    reset, left = value.decode("latin-1").strip(), header("RateLimit-Remaining")
    is_left = left is not None and left.strip().isdigit() and int(left.strip()[:18]) > 0
    seconds = None if is_left or not reset.isascii() else _until_reset(reset, now)
    return seconds, f"RateLimit-Reset: {reset}"


def _of_policies(value: str, now: float) -> float | None:
    """Return the longest time until a quota is there again of which nothing is left."""
    if len(value) > _LONGEST_RATE_LIMIT:
        return None
    text = _QUOTED.sub("", value).lower()
    # The 7th draft has one policy, with commas between what is said of it.
    policies = [text] if "reset" in text else text.split(",")
    waits = []
    for policy in policies:
        said: dict[str, str] = dict(_PARAMETER.findall(policy))
        if int(said.get("r", said.get("remaining", "0"))) == 0:
            waits.append(_until_reset(said.get("t", said.get("reset", "")), now) or 0.0)
    return max(waits, default=0.0) or None


def _until_reset(digits: str, now: float) -> float | None:
    if not _DELAY_SECONDS.fullmatch(digits):
        return None
    seconds = parse_retry_after(digits, now) or 0.0
    if seconds >= _DATES:  # as many servers have it, against the draft
        seconds -= now
    return seconds if seconds > 0 else None


def parse_retry_after(value: str | bytes | None, now: float) -> float | None:
    """Return the seconds from ``now`` that a ``Retry-After`` value asks for.

    Args:
        value: the header's value as received.
        now: seconds since the epoch, against which a date is measured.

    Returns:
        Seconds, above zero. None where there is no value, it makes no sense, or its time has
        passed: what asks for nothing counts as absent.
    """
    if value is None:
        return None
    text = (value.decode("latin-1") if isinstance(value, bytes) else value).strip()
    delay = _DELAY_SECONDS.fullmatch(text)
    if delay is not None:
        return float(delay[1]) + bool(delay[3]) or None
    if len(text) > _LONGEST:
        return None
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # "-0000": UTC, of no known place
            date = date.replace(tzinfo=timezone.utc)
        seconds = date.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return seconds if seconds > 0 else None
