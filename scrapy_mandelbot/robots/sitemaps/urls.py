"""The URLs of a sitemap: made absolute and safe."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from w3lib.url import safe_url_string

LONGEST_URL = 2048  # sitemaps.org, "XML tag definitions": "less than 2,048 characters"

# What `safe_url_string` returns as it is. Most URLs are such, and it takes ten times as long.
_SAFE_ALREADY = re.compile(
    r"https?://[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*(?::[1-9][0-9]{0,3})?"
    r"/[A-Za-z0-9\-._~!$&()*+,;=:@/?]*(?:%[0-9A-Fa-f]{2}[A-Za-z0-9\-._~!$&()*+,;=:@/?]*)*(?<!\?)"
)
# What needs no more than to be put behind the directory of a base, or behind its host: no segment
# begins with a dot.
_SEGMENTS = r"[A-Za-z0-9\-_~][A-Za-z0-9\-._~]*(?:/[A-Za-z0-9\-_~][A-Za-z0-9\-._~]*)*/?"
_PLAIN_PATH = re.compile(rf"/?{_SEGMENTS}")
_PLAIN_BASE = re.compile(
    rf"(https?://[a-z0-9-]{{1,63}}(?:\.[a-z0-9-]{{1,63}})*(?::[1-9][0-9]{{0,3}})?)/(?:{_SEGMENTS})?"
)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# The C0 controls and space, as the URL standard strips them, and two that editors leave behind.
# What a host may have, and a port, and credentials: more is sorted and looked up as no URL's is.
_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?[\\/]{2}([^/?#\\]{0,1000})")
_LONGEST_AUTHORITY = 999  # characters
_LONGEST_NAME, _LONGEST_LABEL = 253, 59  # RFC 1035, section 2.3.4; RFC 3490: after "xn--"
_AROUND = "".join(map(chr, range(0x21))) + "\x7f\xa0\ufeff"
_SCHEMES = frozenset({"http", "https"})  # a page from the web may not send us to file: or data:


def is_relative(text: str) -> bool:
    """Tell whether a URL as written has no scheme."""
    return _HAS_SCHEME.match(text.lstrip(_AROUND)) is None


def absolute_url(text: str, base: str) -> str | None:
    """Return the URL that `text` means in a document at `base`, as Scrapy would request it.

    None: there is no way to read it, or it is not of http or https.
    """
    url = text.strip(_AROUND)
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
        parts.port  # noqa: B018 - raises where it is no number
    except ValueError:
        return None
    return url if parts.scheme in _SCHEMES and parts.hostname else None


def _is_nowhere(url: str) -> bool:
    """Tell whether the host is longer than any: to make ASCII of such ones takes long."""
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
    """Return what a path and what a name is put behind, there; None: it is not so easy."""
    found = _PLAIN_BASE.fullmatch(base) if len(base) < LONGEST_URL else None
    return None if found is None else (found[1], base[: base.rindex("/") + 1])
