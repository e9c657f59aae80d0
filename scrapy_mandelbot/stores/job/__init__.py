"""A job: the requests of a crawl and what is known of them, so that a run can die and go on.

One contract, :class:`JobStore`, for a file in JOBDIR and for the memory of tests. No Scrapy here.
"""

from scrapy_mandelbot.stores.job.contract import CannotKeepError, JobStore, KeptRequest, Place
from scrapy_mandelbot.stores.job.lock import HeldError, JobLock
from scrapy_mandelbot.stores.job.memory import MemoryJob
from scrapy_mandelbot.stores.job.schema import CorruptError, connect_to_read
from scrapy_mandelbot.stores.job.sqlite import SqliteJob

__all__ = [
    "CannotKeepError",
    "CorruptError",
    "HeldError",
    "JobLock",
    "JobStore",
    "KeptRequest",
    "MemoryJob",
    "Place",
    "SqliteJob",
    "connect_to_read",
]
