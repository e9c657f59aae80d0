"""The names of the queues within a site queue: a gate, and the download slot where that differs.

``https://example.com`` is the queue of that site's requests in the slot of its own host;
``https://example.com mine`` of those that a spider sends through the slot ``mine``. Names that
Scrapy's own queue left in JOBDIR are download slots: hosts, mostly.
"""

from __future__ import annotations

from scrapy_mandelbot.gates import site_of_gate
from scrapy_mandelbot.politeness import host_of


def queue_name(gate: str, slot: str) -> str:
    """Return the name of the queue for requests of a gate in a download slot."""
    return gate if slot == _host_of(gate) else f"{gate} {slot}"


def gate_of_name(name: str) -> str:
    """Return the gate of a queue; the name itself, where Scrapy's own queue left it."""
    return name.partition(" ")[0]


def slot_of_name(name: str) -> str:
    """Return the download slot of a queue."""
    gate, space, slot = name.partition(" ")
    return slot if space else _host_of(gate)


def _host_of(gate: str) -> str:
    return host_of(site_of_gate(gate)).strip("[]")  # as Scrapy names download slots
