"""A crawl as one worker of a job on Redis, beside others.

The promise is that of a job in a file, over all workers: a page's request leaves the
job when its callback has run to its end and everything it yielded is in the job or has
passed the item pipelines, at once. Users read ``docs/machines.rst``;
``lua/exchange.lua`` has the protocol.
"""
