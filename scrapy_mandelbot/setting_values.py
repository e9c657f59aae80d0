"""What settings take that name seconds, sites and URLs, and the error for what they do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from scrapy_mandelbot.robots.origins import site_of

SIGN_KEY_TAKES = (
    "the path of a PEM file with an Ed25519 key in PKCS8, without a passphrase, or 'env:NAME'"
)


class SettingsError(ValueError):
    """A setting has a value that it does not take."""

    is_told = False
    """Whether the log has it."""

    def __init__(self, name: str, value: object, takes: str) -> None:
        super().__init__(f"{name} = {value!r}: it takes {takes}")


def seconds(name: str, value: object) -> float:
    """Return seconds, 0 or more, and finite."""
    takes = "a number of seconds, 0 or more"
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever the project wrote
    except (TypeError, ValueError):
        raise SettingsError(name, value, takes) from None
    if not isfinite(seconds) or seconds < 0:
        raise SettingsError(name, value, takes)
    return seconds


def sign_key_place(name: str, value: object) -> str | None:
    """Return where the key is: a path, or ``env:`` and a name. The key itself is never shown."""
    if value in (None, ""):
        return None
    if not isinstance(value, (str, Path)) or "\n" in str(value) or "-----" in str(value):
        raise SettingsError(name, "..." if isinstance(value, str) else value, SIGN_KEY_TAKES)
    return str(value)


def sign_agent_url(name: str, value: object) -> str | None:
    """Return the URL as it is, if it can stand in a header; whether http will do is not said."""
    if value in (None, ""):
        return None
    takes = "the https URL of a key directory, such as 'https://bot.example'"
    try:
        url = urlsplit(str(value))
        is_url = url.scheme in {"https", "http"} and bool(url.hostname) and url.port != 0
    except ValueError:
        raise SettingsError(name, value, takes) from None
    if not is_url or "@" in url.netloc or safe_url_string(str(value)) != value or url.fragment:
        raise SettingsError(name, value, takes)
    return str(value)


_DELAYS = (
    'seconds by host or site, such as {"example.com": 5, "https://shop.example.com": 0.5}; a domain'
    ' with all its hosts is ".example.com", and its hosts without itself are "*.example.com"'
)


def crawl_delays(name: str, value: object) -> dict[str, float]:
    """Return seconds by site (``https://example.com``), host (``example.com``) and domain."""
    read = value
    if isinstance(value, str):  # on the command line
        try:
            read = json.loads(value or "{}")
        except ValueError:
            read = None
    if not isinstance(read, Mapping) or any(isinstance(delay, bool) for delay in read.values()):
        raise SettingsError(name, value, _DELAYS)
    return {_place(name, key): seconds(name, delay) for key, delay in read.items()}


def _place(name: str, key: object) -> str:
    """Return the site, host or domain as :func:`value_for` looks for it.

    What has a path is none of them, and neither is what has a star but at the front of a domain.
    """
    if not isinstance(key, str):
        raise SettingsError(name, key, _DELAYS)
    front = next((one for one in ("*.", ".") if key.startswith(one)), "")
    place = key.removeprefix(front)
    scheme, _, host = place.rpartition("://")
    if "*" in host or host.startswith(".") or (front and scheme):
        raise SettingsError(name, key, _DELAYS)
    return front + _site_or_host(name, place, key)


def _site_or_host(name: str, text: str, key: str) -> str:
    """Return the site or host as a request's URL has it."""
    is_site = "://" in text
    if text.split() != [text]:
        raise SettingsError(name, key, _DELAYS)
    try:
        url = urlsplit(safe_url_string(text if is_site else f"http://{text}"))
        port, rest = url.port, url.path.strip("/") + url.query + url.fragment
    except ValueError:  # such as "http://[", or a port that is no number
        raise SettingsError(name, key, _DELAYS) from None
    if not url.hostname or rest or (port and not is_site) or url.scheme not in {"http", "https"}:
        raise SettingsError(name, key, _DELAYS)
    site = site_of(url)
    return site if is_site else site.removeprefix("http://")
