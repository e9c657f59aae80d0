"""The names of the queues within a site queue: a site, and its download slot where that differs.

``https://example.com`` is the queue of that site's requests in the slot of its own host;
``https://example.com mine`` of those that a spider sends through the slot ``mine``. Names that
Scrapy's own queue left in JOBDIR are download slots: hosts, mostly.
"""

from __future__ import annotations


def queue_name(site: str, slot: str) -> str:
    """Return the name of the queue for a site's requests in a download slot."""
    return site if slot == _host_of(site) else f"{site} {slot}"


def site_of_name(name: str) -> str:
    """Return the site of a queue; the name itself, where Scrapy's own queue left it."""
    return name.partition(" ")[0]


def slot_of_name(name: str) -> str:
    """Return the download slot of a queue."""
    site, space, slot = name.partition(" ")
    return slot if space else _host_of(site)


def _host_of(site: str) -> str:
    host = site.rpartition("://")[2]
    return host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
