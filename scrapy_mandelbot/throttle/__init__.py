"""How the sites of a crawl are asked: what is known of each, what is in flight, who waits.

What is known of one site, and what follows from it, is in ``politeness.site``. Here is one bounded
map of them, one alarm, one waiting room, and what is in flight.
"""

from scrapy_mandelbot.throttle.asking_again import asks_again
from scrapy_mandelbot.throttle.in_flight import InFlight
from scrapy_mandelbot.throttle.proxies import in_words, key_of, split_key
from scrapy_mandelbot.throttle.refusals import REFUSAL_FLAG
from scrapy_mandelbot.throttle.sites import Sites, site_of_request
from scrapy_mandelbot.throttle.throttle import SitePausedError, Throttle

__all__ = [
    "REFUSAL_FLAG",
    "InFlight",
    "SitePausedError",
    "Sites",
    "Throttle",
    "asks_again",
    "in_words",
    "key_of",
    "site_of_request",
    "split_key",
]
