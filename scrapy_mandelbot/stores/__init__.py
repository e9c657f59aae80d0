"""Where copies of robots.txt files are kept. I/O lives here; Scrapy does not."""

from scrapy_mandelbot.stores.copies import Copy, KeptPause, Store
from scrapy_mandelbot.stores.live import Lease, LiveStore
from scrapy_mandelbot.stores.memory import MemoryStore
from scrapy_mandelbot.stores.recent import Recent
from scrapy_mandelbot.stores.sqlite import SqliteStore

__all__ = [
    "Copy",
    "KeptPause",
    "Lease",
    "LiveStore",
    "MemoryStore",
    "Recent",
    "SqliteStore",
    "Store",
]
