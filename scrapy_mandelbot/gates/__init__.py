"""The gates of a crawl: who may be sent, who goes back to the queue, who waits.

The law of one gate is in ``politeness.gate``. Here stands which request did what to which gate.
"""

from scrapy_mandelbot.gates.evictions import SitePausedError
from scrapy_mandelbot.gates.handouts import Handouts
from scrapy_mandelbot.gates.keeper import REFUSAL_FLAG, Gatekeeper
from scrapy_mandelbot.gates.proxies import site_of_gate
from scrapy_mandelbot.gates.sites import site_of_request

__all__ = [
    "REFUSAL_FLAG",
    "Gatekeeper",
    "Handouts",
    "SitePausedError",
    "site_of_gate",
    "site_of_request",
]
