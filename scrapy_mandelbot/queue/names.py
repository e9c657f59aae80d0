"""The names of the queues within a site queue: a site and route, and the slot where that differs.

``https://example.com`` is the queue of that site's requests in the slot of its own host;
``https://example.com mine`` of those that a spider sends through the slot ``mine``. Names that
Scrapy's own queue left in JOBDIR are download slots: hosts, mostly. What was set aside of a site
has a third part, the path of its section, behind a space of its own.
"""

from __future__ import annotations

from scrapy_mandelbot.robots.origins import host_of
from scrapy_mandelbot.throttle.site_map import split_key

_ASIDE = " /"


def queue_name(key: str, slot: str, section: str = "") -> str:
    """Return the name of the queue for requests of a site and route in a download slot.

    Args:
        key: site and route.
        slot: the download slot.
        section: the path of the section with which they are set aside.
    """
    if section:
        return f"{key} {slot} {section}"
    return key if slot == _host_of(key) else f"{key} {slot}"


def key_of_name(name: str) -> str:
    """Return the site and route of a queue; the name itself, where Scrapy's own queue left it."""
    return name.partition(" ")[0]


def slot_of_name(name: str) -> str:
    """Return the download slot of a queue."""
    key, space, slot = name.partition(" ")
    return slot.partition(_ASIDE)[0] if space else _host_of(key)


def section_of_name(name: str) -> str:
    """Return the path of the section with which a queue was set aside; empty: it was not."""
    _, found, path = name.partition(_ASIDE)
    return f"/{path}" if found else ""


def is_ours(name: str) -> bool:
    """Return whether a name is of a queue that tells sites apart, and not of Scrapy's own."""
    return "://" in name


def _host_of(key: str) -> str:
    return host_of(split_key(key)[0]).strip("[]")  # as Scrapy names download slots
