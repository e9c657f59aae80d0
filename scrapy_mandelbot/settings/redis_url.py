"""The URL of a Redis or Valkey server, as a setting names it."""

from __future__ import annotations

from typing import Any

from mandelbot.files import open_regular
from mandelbot.formatting import without_credentials
from redis import ConnectionPool, RedisError
from redis.connection import parse_url

_ALIASES = {"valkey": "redis", "valkeys": "rediss"}
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


def checked(url: str) -> str:
    """Return the URL in the form that ``redis`` takes.

    Raises a ValueError, whose text has no password, if it is not a URL of a server.
    """
    scheme, separator, rest = url.partition("://")
    url = _ALIASES.get(scheme, scheme) + separator + rest
    try:
        options = parse_url(url)
    except (ValueError, TypeError) as error:
        raise ValueError(str(error)) from None
    if scheme == "unix" and not options.get("path"):
        raise ValueError("it has no path")
    last = rest.partition("?")[0].rpartition("/")[2]
    if scheme != "unix" and "/" in rest and last and not last.isdecimal():
        raise ValueError(f"{last} is no number of a database")
    _check_options(url, options)
    return url


def shown_address(url: str) -> str:
    """Return the URL as a log or a terminal may show it."""
    return without_credentials(url.partition("?")[0])


def tls_options(url: str) -> dict[str, Any]:
    """Return the options of a connection that check the certificate's host.

    redis-py did not check it before 6.0.
    """
    options = parse_url(url)
    is_checked = str(options.get("ssl_cert_reqs", "required")).lower() != "none"
    if url.startswith("rediss:") and is_checked:
        return {"ssl_check_hostname": True}
    return {}


def _check_options(url: str, options: dict[str, Any]) -> None:
    """Raise a ValueError for an option that would fail at each connection."""
    for name in _FILES:
        if name in options:
            try:
                open_regular(options[name]).close()
            except OSError as error:
                raise ValueError(f"{name}: {error}") from None
    pool: Any = ConnectionPool.from_url(url, **tls_options(url))
    try:
        pool.connection_class(**pool.connection_kwargs)  # which does not connect
    except (TypeError, ValueError, RedisError) as error:
        unknown = next((name for name in options if f"'{name}'" in str(error)), None)
        if unknown is None:
            raise ValueError(str(error)) from None
        needs = unknown.startswith("ssl_") and not url.startswith("rediss:")
        where = " without rediss://" if needs else ""
        raise ValueError(f"{unknown} is no option{where}") from None
