"""Makes the URLs of a sitemap absolute and safe."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from w3lib.url import safe_url_string

from mandelbot.origins import without_user

LONGEST_URL = 2048  # sitemaps.org, "XML tag definitions": "less than 2,048 characters"

# URLs that `safe_url_string` returns unchanged: most of them, and it takes ten times as
# long.
_SAFE_ALREADY = re.compile(
    r"https?://[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*(?::[1-9][0-9]{0,3})?"
    r"/[A-Za-z0-9\-._~!$&()*+,;=:@/?]*(?:%[0-9A-Fa-f]{2}[A-Za-z0-9\-._~!$&()*+,;=:@/?]*)*(?<!\?)"
)
# Paths that need only be appended to the directory of a base, or to its host: no
# segment begins with a dot.
_SEGMENTS = r"[A-Za-z0-9\-_~][A-Za-z0-9\-._~]*(?:/[A-Za-z0-9\-_~][A-Za-z0-9\-._~]*)*/?"
_PLAIN_PATH = re.compile(rf"/?{_SEGMENTS}")
_PLAIN_BASE = re.compile(
    rf"(https?://[a-z0-9-]{{1,63}}(?:\.[a-z0-9-]{{1,63}})*(?::[1-9][0-9]{{0,3}})?)/(?:{_SEGMENTS})?"
)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Host, port and credentials; a longer authority is no valid one.
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?[\\/]{2}([^/?#\\]{0,1000})")
_LONGEST_AUTHORITY = 999  # characters
# RFC 1035, section 2.3.4; RFC 3490: after "xn--"
_LONGEST_NAME = 253
_LONGEST_LABEL = 59
# The C0 controls and space, which the URL standard strips, and three that editors leave
# behind.
_AROUND = "".join(map(chr, range(0x21))) + "\x7f\xa0\ufeff"
# an untrusted page must not lead to file: or data:
_SCHEMES = frozenset({"http", "https"})


def is_relative(text: str) -> bool:
    """Return whether a URL as written has no scheme."""
    return _HAS_SCHEME.match(text.lstrip(_AROUND)) is None


def absolute_url(base: str, url: str) -> str | None:
    """Resolve `url` against `base`, escaped as Scrapy would request it.

    Return None if it is no valid http or https URL.
    """
    url = url.strip(_AROUND)
    if _SAFE_ALREADY.fullmatch(url):
        return url
    if not url or _is_nowhere(url):
        return None
    if _PLAIN_PATH.fullmatch(url) and (joints := _joints(base)) is not None:
        origin, folder = joints
        return (origin if url.startswith("/") else folder) + url
    try:
        if is_relative(url):
            url = urljoin(base, url)
        url = safe_url_string(url)
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is no number
    except ValueError:
        return None
    if parts.scheme in _SCHEMES and parts.hostname:
        return url
    return None


def http_url(base: str, url: str) -> str | None:
    """Return the absolute, safe URL without credentials, or None if there is none."""
    absolute = absolute_url(base, url)
    return None if absolute is None else without_user(absolute)


def _is_nowhere(url: str) -> bool:
    """A host name too long to exist is not converted to ASCII, which would be slow."""
    found = _AUTHORITY.match(url)
    if found is None:
        return False
    authority = found[1]
    if authority.isascii():
        return len(authority) > _LONGEST_AUTHORITY
    host = unicodedata.normalize("NFKC", authority.rpartition("@")[2])
    return len(host) > _LONGEST_NAME or max(map(len, host.split("."))) > _LONGEST_LABEL


@lru_cache(maxsize=16)
def _joints(base: str) -> tuple[str, str] | None:
    """The prefixes for absolute and for relative paths; None: `base` is not plain."""
    found = None
    if len(base) < LONGEST_URL:
        found = _PLAIN_BASE.fullmatch(base)
    if found is None:
        return None
    return (found[1], base[: base.rindex("/") + 1])
