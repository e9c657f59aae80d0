"""A crawl as one worker of a job on Redis, beside others.

The promise is that of a job in a file, over all workers: a page's request leaves the
job when its callback has run to its end and everything it yielded is in the job or has
passed the item pipelines, at once. Users read ``docs/machines.rst``;
``lua/exchange.lua`` has the protocol. The way of a request::

    SharedJobScheduler -> SiteQueue over SharedStorage -> as a page -> settled
            ^                                                            |
            |   sites and requests to claim        done and new requests, state of sites
            '------------ JobWorker <-> SharedJob <----------------------'
                              |  Link, a separate thread
                              v
      exchange.lua: 1 check the lease
                    2 apply the work: acknowledge, add, drop duplicates
                    3 free the sites of dead workers
                    4 give sites and requests, call surplus sites back

An exchange is atomic and idempotent. The reply names the worker's sites, with the state
that their previous owner left. Redis consumer groups do not fit: they keep the order of
arrival, renew each claim by itself, and count claims that were never sent as
deliveries.

``SharedJobScheduler`` and ``JobMiddleware`` hold the ``JobWorker``; it holds the
``SharedJob`` (no I/O), ``SharedStorage``, ``OwnSites``, ``Saves``, and the ``Link``, in
whose ``RedisThread`` ``RedisJobServer`` calls Redis.
"""
