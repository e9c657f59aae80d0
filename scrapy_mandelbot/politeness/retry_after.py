"""How long a server asks to be left alone.

Source: RFC 9110, section 10.2.3 (``Retry-After = HTTP-date / delay-seconds``) and 5.6.7
(``HTTP-date``, whose two obsolete forms a recipient has to accept as well).
"""

from __future__ import annotations

import re
from datetime import timezone
from email.utils import parsedate_to_datetime

# A fraction is none of the grammar, but what is meant by it is clear; it is rounded up.
_DELAY_SECONDS = re.compile(r"([0-9]{1,18})(?:\.(0*)([0-9]*))?")
_LONGEST = 100  # characters; a date has up to 40


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
