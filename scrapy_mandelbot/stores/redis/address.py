"""Where a Redis or Valkey server is: from the URL in a setting, to a connection."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from scrapy_mandelbot.shown import without_credentials

_ALIASES = {"valkey": "redis", "valkeys": "rediss"}
PATIENCE = 2.0
"""Seconds for which an answer of the server is waited for, in a thread of its own."""


def checked(url: str) -> str:
    """Return the URL as the package ``redis`` takes it.

    Raises:
        ValueError: it is none. The text names no password.
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
    return url


def shown_address(url: str) -> str:
    """Return the URL as a log or a terminal may show it."""
    return without_credentials(url.partition("?")[0])


def connect(url: str) -> Redis:
    """Return a client that neither waits for long nor tries again by itself. It connects later."""
    client = Redis.from_url(
        url,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        decode_responses=False,
    )
    client.connection_pool.connection_kwargs["decode_responses"] = False  # whatever the URL says
    return client
