"""A job on Redis or Valkey that workers share: each site belongs to one of them at a time.

A worker has a lease. While it lasts, the sites that the worker was given are its own, with all that
waits of them: so what a site asks for (pauses, paces, recovery, turns) is seen to by one worker,
in its own memory, as in a crawl of one process. Redis hands out sites that are due, keeps how they
are to be asked for the next owner, and knows nothing else of politeness. No Scrapy here.

- :class:`JobServer` calls the scripts, which are all that runs on Redis; ``common.lua`` says what
  is kept there.
- :class:`SharedJob` is what a worker holds, and what it has to say: a
  :class:`~scrapy_mandelbot.stores.job.contract.JobStore` without I/O. What it says goes to Redis in
  *exchanges*, of which the answer has what is its own from then on. One exchange is done as a whole
  or not at all; one whose answer was lost is made again, and is done once.

Each exchange names the one before it. Where Redis does not know that one, it has been set back: to
the state of a replica that was behind, or to that of a disk. Then the worker drops what it held, as
if its lease were lost, and says once more what no request would give again.

What a dead worker had is free for others when its lease has ended. One that was stopped, and comes
back after that, is told that its lease is lost: it drops what it held, and says nothing of it.
"""

from scrapy_mandelbot.stores.shared_job.changes import Answer, Exchange
from scrapy_mandelbot.stores.shared_job.server import JobServer, Joined, LeftSite
from scrapy_mandelbot.stores.shared_job.shared_job import SharedJob

__all__ = ["Answer", "Exchange", "JobServer", "Joined", "LeftSite", "SharedJob"]
