"""Turns URLs into the targets that rules are compared with, and normalises escapes.

The *target* is path and query, without the fragment. Spellings that are equivalent by
RFC 3986, sections 6.2.2.1 and 6.2.2.2, become the same text. That text is only
compared, never shown or sent: it leaves characters raw that a URL must escape.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mandelbot.arguments import check_url

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect

_ORIGIN = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*://(?:[^/?#]*@)?"
    r"(?:\[[^\[\]/?#@]+\]|[^\[\]:/?#@]*)(?::[0-9]*)?(?=[/?#]|\Z)"
)

# An escape that is not in canonical form. Canonical escapes, in capitals, are those of
# octets past ASCII, of the reserved characters of RFC 3986, section 2.2, and of the
# percent sign. `*` and `$` are reserved too, but robots.txt writes %2A and %24 for the
# literal characters (RFC 9309, section 2.2.3). A percent sign that begins no escape
# stands for itself: %25.
_NOT_CANONICAL = re.compile(
    r"%(?!2[1356789BCF]|3[ABDF]|40|5[BD]|[89A-F][0-9A-F])([0-9A-Fa-f]{2})?"
)
_RESERVED_OR_PERCENT = frozenset("%:/?#[]@!&'()+,;=")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_NO_ORIGIN = "\n"  # no URL begins with it
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
# as Google's parser has it
_BEFORE_PATH = re.compile(r"(?://)?[^/?;]*(?:(?<=:)//[^/?;]*)?")


def split_url(url: str) -> tuple[str, str] | None:
    """Split ``https://host:1/a?b#c`` into ``("https://host:1", "/a?b")``.

    A path has an empty origin. Return None for anything else than an absolute URL or a
    path, or without a valid host and port: ``http://[x/y``, ``http://host:abc/``.
    """
    if "#" in url:
        url = url[: url.index("#")]
    if url.startswith("/"):
        return "", url
    origin = _ORIGIN.match(url)
    if origin is None:
        return None
    target = url[origin.end() :]
    return origin[0], target if target.startswith("/") else "/" + target


def normalise(text: str) -> str:
    """Return the canonical form of all RFC 3986 equivalents of `text`.

    Idempotent, linear.
    """
    if not text.isascii():
        text = escape_non_ascii(text)
    if "%" in text:
        return _NOT_CANONICAL.sub(_canonical_escape, text)
    return text


def escape_non_ascii(text: str) -> str:
    """Escape the octets of characters outside ASCII as UTF-8; lone surrogates too."""
    return _NOT_ASCII.sub(
        lambda run: "%" + run[0].encode("utf-8", "surrogatepass").hex("%").upper(), text
    )


def escaped_length(path: str) -> int:
    """Return the length of a path with its escapes, which decides its precedence."""
    if path.isascii():
        return len(path)
    return len(escape_non_ascii(path))


def _canonical_escape(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return "%25"
    octet = int(escape[1], 16)
    if octet < 0x80 and chr(octet) not in _RESERVED_OR_PERCENT:  # noqa: PLR2004 - end of ASCII
        return chr(octet)
    return f"%{octet:02X}"


_IS_ODD = re.compile(r"(?<!:)//|/(?:\.|%2[Ee]){1,2}(?:[/?#]|\Z)").search


def as_servers_read_it(url: str) -> str | None:
    """Return the URL with slashes merged and dot segments resolved in its path.

    ``/x/../no``, ``/./no``, ``//no`` and ``/%2e/no`` are ``/no`` to servers (RFC 3986,
    section 5.2.4; nginx merges slashes, too), whatever a parser compares. Return None
    if the path has nothing of this kind.
    """
    start = url.find("://") + 3 if "://" in url[:10] else 0
    begin = _first_of(url, "/?#", start)
    end = _first_of(url, "?#", begin)
    path = url[begin:end]
    if not _IS_ODD(path):
        return None
    segments: list[str] = []
    is_folder = False
    for part in path.split("/")[1:]:
        dots = normalise(part)
        is_folder = dots in {"", ".", ".."}
        if dots == "..":
            del segments[-1:]
        elif not is_folder:
            segments.append(part)
    resolved = "".join(f"/{segment}" for segment in segments)
    if is_folder or not segments:
        resolved += "/"
    return url[:begin] + resolved + url[end:]


def google_value(text: str) -> str:
    """Return a rule's value as Google compares it: ``/é%aa`` is ``/%C3%A9%AA``."""
    return _ESCAPE.sub(lambda escape: escape[0].upper(), escape_non_ascii(text))


def google_target(url: str) -> str:
    """Return the target as Google's parser does: any text has a path."""
    url = url.partition("#")[0]
    target = _BEFORE_PATH.sub("", url, count=1)
    return target if target.startswith("/") else "/" + target


def _first_of(text: str, characters: str, start: int) -> int:
    """The length of `text` if it has none."""
    found = (text.find(character, start) for character in characters)
    return min((at for at in found if at >= 0), default=len(text))


#: Makes the literal text of a rule comparable with targets, by `Dialect.escapes`.
COMPARABLE: dict[str, Callable[[str], str]] = {
    "rfc3986": normalise,
    "google": google_value,
}


def read_url(url: str, dialect: Dialect) -> tuple[str, str] | None:
    """Return the origin of `url`, as written, and its comparable target.

    Any other URL with that origin has the rest of it as its target, apart from escapes,
    fragment and characters outside ASCII. Return None if the URL cannot be parsed;
    never for Google, whose parser finds a path in any text.
    """
    if type(url) is not str:
        check_url(url)
    if dialect.escapes == "google":
        target = google_target(url)
        origin, found, _ = url.partition("#")[0].rpartition(target)
        return origin if found and "://" in origin else _NO_ORIGIN, target
    parts = split_url(url)
    if parts is None:
        return None
    return (parts[0], normalise(parts[1]))
