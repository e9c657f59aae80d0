"""The names of the queues within a site queue: a site and route, and the slot where that differs.

``https://example.com`` is the queue of that site's requests in the slot of its own host;
``https://example.com mine`` of those that a spider sends through the slot ``mine``. Names that
Scrapy's own queue left in JOBDIR are download slots: hosts, mostly.
"""

from __future__ import annotations

from scrapy_mandelbot.politeness import host_of
from scrapy_mandelbot.throttle import split_key


def queue_name(key: str, slot: str) -> str:
    """Return the name of the queue for requests of a site and route in a download slot."""
    return key if slot == _host_of(key) else f"{key} {slot}"


def key_of_name(name: str) -> str:
    """Return the site and route of a queue; the name itself, where Scrapy's own queue left it."""
    return name.partition(" ")[0]


def slot_of_name(name: str) -> str:
    """Return the download slot of a queue."""
    key, space, slot = name.partition(" ")
    return slot if space else _host_of(key)


def is_ours(name: str) -> bool:
    """Return whether a name is of a queue that tells sites apart, and not of Scrapy's own."""
    return "://" in name


def _host_of(key: str) -> str:
    return host_of(split_key(key)[0]).strip("[]")  # as Scrapy names download slots
