"""A crash-safe job: requests, fingerprints and state of a crawl in one file.

A page's request leaves the file when its callback has run to its end and everything it
yielded is in the file or has passed the item pipelines, in one commit. Users read
``docs/jobs.rst``. The way of a request::

    JobScheduler -> SiteQueue over JobStorage -> as a page -> callback, items, links
                                                                 |
         row deleted, links added, in one commit  <- Saves <- engine.on_settled

Two engines keep a job, in a file and on Redis (``fleet``), and what crawls with it is
written once, over ``job_store.JobStore``: push, claim, put back, acknowledge, see. It
is the seam; ``tests/job/test_job_contract.py`` runs on ``SqliteJob`` and on
``SharedJob``. ``opened_job.OpenedJob`` is that of the command, ``SiteHandover`` the one
form of what a site's next owner gets. One engine for both was tried: no smaller, twice
the calls a page, and an order worse than stock Scrapy's, as a worker claims ahead.

The engine notifies ``JobScheduler`` when nothing is left to do for a request.
``JobScheduler`` and ``JobMiddleware`` hold the ``Job``; it holds the ``JobStore`` (the
file), ``JobStorage`` (the file as the ``SiteQueue`` sees it), ``Saves``, ``Feeds`` and
``SpiderState``.
"""
