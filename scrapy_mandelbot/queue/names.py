"""The names of the queues within a site queue: a site and route, and the slot where that differs.

``https://example.com`` is the queue of that site's requests in the slot of its own host;
``https://example.com mine`` of those that a spider sends through the slot ``mine``. A slot's space
is ``%20`` there, and its percent sign ``%25``. What was set aside of a site has a third part, the
path of its section. Names that Scrapy's own queue left in JOBDIR are download slots: hosts, mostly,
but any string is one.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import NamedTuple

from scrapy_mandelbot.robots.origins import host_of
from scrapy_mandelbot.throttle.site_map import split_key


class QueueParts(NamedTuple):
    """What a queue is named after."""

    key: str
    """Site and route; the whole name, where Scrapy's own queue left it."""
    slot: str
    section: str
    """The path of the section with which it was set aside; empty: it was not."""
    is_ours: bool
    """Whether the name is one that :func:`queue_name` gives."""


def queue_name(key: str, slot: str, section: str = "") -> str:
    """Return the name of the queue for requests of a site and route in a download slot.

    Args:
        key: site and route.
        slot: the download slot, any string.
        section: the path of the section with which they are set aside.
    """
    if not section and slot == _host_of(key):
        return key
    word = f"{slot}".replace("%", "%25").replace(" ", "%20")
    return f"{key} {word} {section}" if section else f"{key} {word}"


def parts_of_name(name: str) -> QueueParts:
    """Return what a queue is named after."""
    key, slot, section = (*name.split(" ", 2), "", "")[:3]
    slot = slot.replace("%20", " ").replace("%25", "%") if " " in name else _host_of(key)
    is_path = section.lstrip(ascii_uppercase).lstrip(" ")[:1] in {"", "/"}
    if "://" in key and is_path and queue_name(key, slot, section) == name:
        return QueueParts(key, slot, section, is_ours=True)
    return QueueParts(name, name, "", is_ours=False)


def _host_of(key: str) -> str:
    return host_of(split_key(key)[0]).strip("[]")  # as Scrapy names download slots
