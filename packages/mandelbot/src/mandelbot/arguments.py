"""What the public functions say of arguments of a wrong type.

Sites send bytes, and no bytes raise an exception. A wrong type is a mistake of the
caller: one TypeError names the argument, what it was, and what to pass. These functions
run when something has failed already, or once for a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_SCHEMES = ("http://", "https://")


def wrong_type(name: str, wanted: str, value: object, instead: str) -> TypeError:
    """Return the exception for an argument; `instead` is what to pass."""
    found = type(value).__name__
    return TypeError(f"{name} must be {wanted}, not {found}: pass {instead}")


def octets_of(value: object, name: str, instead: str) -> bytes:
    """Return the bytes of an argument that is not exactly of this type.

    Raises:
        TypeError: there are none in it.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise wrong_type(name, "bytes", value, instead)


def agent_key(agent: object) -> str | tuple[str, ...]:
    """Return the names of a robot as a key of a dictionary.

    Raises:
        TypeError: it is neither a text nor a sequence of texts.
    """
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Iterable) and not isinstance(agent, (bytes, bytearray)):
        names = tuple(agent)
        if all(isinstance(name, str) for name in names):
            return names
    raise wrong_type(
        "agent",
        "str or a sequence of str",
        agent,
        "a product token or a User-Agent header",
    )


def check_url(url: object) -> None:
    """Raise TypeError for a URL that is no text."""
    if not isinstance(url, str):
        raise wrong_type("url", "str", url, "an absolute URL or a path")


def check_headers(headers: object) -> None:
    """Raise TypeError for headers that are not pairs of a name and a value."""
    wanted = "pairs of name and value"
    if isinstance(headers, Mapping) or hasattr(headers, "items"):
        raise wrong_type("headers", wanted, headers, "headers.items()")
    if not isinstance(headers, Iterable) or isinstance(headers, (str, bytes)):
        raise wrong_type("headers", wanted, headers, "a list of such pairs")
    for pair in headers:
        if not isinstance(pair, (tuple, list)) or len(pair) != len(("name", "value")):
            raise wrong_type("headers", wanted, pair, "a list of such pairs")
        for text in pair:
            if not isinstance(text, (str, bytes)):
                raise wrong_type(
                    "headers", f"{wanted}, both str or bytes", text, "a pair for each"
                )


def is_swapped(url: str, agent: object) -> bool:
    """Return whether URL and agent seem to be in each other's place.

    The URL is no URL and no path, and the agent, or one of a sequence, is one.
    """
    if not url or url.startswith("/") or "://" in url:
        return False
    return any(name.startswith(("/", *_SCHEMES)) for name in _names(agent))


def is_a_url(agent: object) -> bool:
    """Return whether an agent, or one of several, begins as a URL does."""
    return any(name.startswith(_SCHEMES) for name in _names(agent))


def _names(agent: object) -> tuple[str, ...]:
    key = agent_key(agent)
    if isinstance(key, str):
        return (key,)
    return key
