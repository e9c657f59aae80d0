"""A crash-safe job: requests, fingerprints and state of a crawl in one file.

A page's request leaves the file when its callback has run to its end and everything it
yielded is in the file or has passed the item pipelines, in one commit. Users read
``docs/jobs.rst``. The way of a request::

    JobScheduler -> SiteQueue over JobStorage -> as a page -> callback, items, links
                                                                 |
         row deleted, links added, in one commit  <- Saves <- engine.on_settled

The engine notifies ``JobScheduler`` when nothing is left to do for a request.
``JobScheduler`` and ``JobMiddleware`` hold the ``Job``; it holds the ``JobStore`` (the
file), ``JobStorage`` (the file as the ``SiteQueue`` sees it), ``Saves``, ``Feeds`` and
``SpiderState``.
"""
