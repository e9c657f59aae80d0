"""How the values of Content-Usage and Content-Signal are read, wherever they stand.

Sources: draft-ietf-aipref-vocab (19 August 2026), section "Exemplary Serialization Format", for
Content-Usage: a Dictionary of RFC 9651, in which the Tokens ``y`` and ``n`` count. Content-Signal
has no grammar: it is read as Cloudflare writes it, ``search=yes,ai-train=no``, blanks and capitals
as they come.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import http_sf

from scrapy_mandelbot.robotstxt.preferences.vocabulary import MEANINGS

VALUE_LIMIT = 4_096
"""Characters of a value; a longer one counts as one that cannot be read."""
_SHORT = 256  # characters; nearly all values are shorter, and a site says the same on every page


class Preferences(NamedTuple):
    """What a value says."""

    words: tuple[str, ...]
    """Those of the table, spelt as it spells them: ``train-ai=n``."""
    unknown: tuple[str, ...] = ()
    """Keys that no document has, and known ones whose values say nothing, as they are read."""
    is_readable: bool = True


UNREADABLE = Preferences((), (), is_readable=False)


def read_content_usage(value: str) -> Preferences:
    """Read a Dictionary of RFC 9651. What cannot be parsed says nothing.

    Of a key that is there twice the last counts, keys are case-sensitive, parameters and keys that
    the vocabulary has not are ignored ("Processing Algorithm").
    """
    return (_usage_often if len(value) <= _SHORT else _usage)(value)


def _usage(value: str) -> Preferences:
    if len(value) > VALUE_LIMIT:
        return UNREADABLE
    try:
        members: Any = http_sf.parse(value.encode("utf-8", "surrogatepass"), tltype="dictionary")
    except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
        return UNREADABLE
    said = {key: _token(member) for key, member in members.items()}
    words = tuple(f"{key}={token}" for key, token in said.items() if _is_word(key, token))
    unknown = tuple(key for key, token in said.items() if not _is_word(key, token))
    return Preferences(words, unknown)


# A value chooses what it holds: 1,024 of these take at most 16 MiB.
_usage_often = lru_cache(maxsize=1_024)(_usage)


def _token(member: object) -> str | None:
    value = member[0] if isinstance(member, tuple) else member
    return str(value) if isinstance(value, http_sf.Token) else None


def _is_word(key: str, token: str | None) -> bool:
    return ("content-usage", f"{key}={token}") in MEANINGS


def read_content_signal(value: str) -> Preferences:
    """Read the signals of a line or header. Those with other keys or values say nothing.

    A key that is there twice says both things: the strictest counts, as of all statements.
    """
    return (_signals_often if len(value) <= _SHORT else _signals)(value)


def _signals(value: str) -> Preferences:
    if len(value) > VALUE_LIMIT:
        return UNREADABLE
    words: dict[str, None] = {}
    unknown = []
    for part in filter(None, map(str.strip, value.split(","))):
        key, _, said = part.lower().partition("=")
        word = f"{key.strip()}={said.strip()}"
        if ("content-signal", word) in MEANINGS:
            words[word] = None
        else:
            unknown.append(part)
    return Preferences(tuple(words), tuple(unknown), is_readable=bool(words) or not unknown)


_signals_often = lru_cache(maxsize=1_024)(_signals)
