"""A job on a Redis or Valkey server: calls of its scripts, which block for seconds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from redis import ResponseError

from scrapy_mandelbot.fleet.changes import key, name, read_answer
from scrapy_mandelbot.fleet.job_server import (
    CookieReply,
    FinishedJob,
    JoinReply,
    differing,
    written_digests,
)
from scrapy_mandelbot.fleet.redis_connection import RedisConnection
from scrapy_mandelbot.fleet.redis_view import RedisJobView
from scrapy_mandelbot.job.deliveries import at_once
from scrapy_mandelbot.job.job_store import StorageError

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.changes import Reply
    from scrapy_mandelbot.fleet.holdings import Exchange, HandedOverSite
    from scrapy_mandelbot.fleet.job_server import JobTerms

VERSION = 2
"""The number of the form of a job.

It counts each change of what the keys hold (``tests/job/test_job_forms.py``).
"""
_ADD = "add URLs by `scrapy robots job … add`"


class RedisJobServer:
    """A job on Redis that workers share.

    All keys begin with ``mandelbot:{JOB}:``.
    """

    def __init__(self, url: str, terms: JobTerms) -> None:
        self._terms = terms
        self._lease = int(terms.lease * 1000)
        self._reader = terms.version, " ".join(map(str, at_once(terms.deliveries)))
        self._redis = RedisConnection(url, terms.name)
        self._has_joined = False
        self._token = ""  # of a join that was begun, and had no reply
        self._born = 0  # when the job began, in milliseconds of the server

    def __repr__(self) -> str:
        return f"<RedisJobServer {self.where}>"

    @property
    def key(self) -> str:
        return self._redis.key

    @property
    def where(self) -> str:
        return f"{self._redis.key} on {self._redis.url}"

    def join(self) -> JoinReply:
        """Become a worker of the job.

        After a ServerAwayError it may be called again: where only the reply was lost,
        the worker that nobody is leaves.
        """
        risks: tuple[str, ...] = ()
        if not self._has_joined:
            risks = tuple(self._risks())
        terms = self._terms
        self._token = self._token or os.urandom(4).hex()
        settings = written_digests(terms.settings)
        asked = [
            VERSION,
            self._lease,
            self._token,
            terms.version,
            terms.project,
            settings,
        ]
        reply: list[Any] = []
        while not reply:  # a part of the keys has stopped to expire
            version, *reply = self._redis.run("join", asked, all_keys=True)
        self.check(int(version))
        if len(reply) == 1:
            raise StorageError(
                f"the job {self.key} is the project {name(reply[0])!r}'s, and this is"
                f" {terms.project!r}: give each its name, as"
                ' MANDELBOT_JOB_OPTIONS = {"name": "…"} does'
            )
        self._has_joined = True
        token = self._token
        self._token = ""
        worker, run, waiting, others, born, over, known = map(int, reply[:7])
        self._born = born
        finished = FinishedJob(over / 1000, known) if over else None
        differs_in = differing(terms.settings, map(name, reply[7]))
        return JoinReply(
            worker, run, waiting, others, born, token, risks, finished, differs_in
        )

    def check(self, version: int) -> None:
        """Raise a StorageError for a job of another form: it would be read wrongly."""
        if version != VERSION:
            raise StorageError(
                f"the job {self.key} was written by another version (format {version})"
            )

    def exchange(self, exchange: Exchange) -> Reply:
        arguments = exchange.arguments(self._lease, self._reader)
        return read_answer(self._redis.run("exchange", arguments))

    def sends(self, worker: int, token: str, numbers: Iterable[int]) -> bool:
        return bool(self._redis.run("sends", [worker, token, *numbers]))

    def cookies(
        self, known: int, most: int, limit: int, changes: Iterable[tuple[str, bytes]]
    ) -> CookieReply:
        own = chain.from_iterable(changes)
        said = self._redis.run("cookies", [known, most, limit, self._born, *own])
        return CookieReply(int(said[0]), bool(said[1]), said[2])

    def leave(
        self, worker: int, token: str, left: Iterable[HandedOverSite] = ()
    ) -> None:
        who = [worker, token, self._lease]
        sites: list[Any] = []
        for site, *rest in left:
            sites += [key(site), *rest]
        while self._redis.run("leave", [*who, *sites], all_keys=True):
            sites = []

    def view(self) -> RedisJobView:
        return RedisJobView(self._redis)

    def close(self) -> None:
        self._redis.close()

    def _risks(self) -> list[str]:
        """Return what is wrong with Redis, as far as it may be asked.

        StorageError: it evicts any key.
        """
        risks = []
        about = {}
        with self._redis.commands() as redis:
            with suppress(ResponseError):
                about = redis.info()
            with suppress(ResponseError):  # another node of a cluster may have it
                start_urls = f"{self._terms.spider}:start_urls"
                if self._terms.spider and redis.exists(start_urls):
                    risks.append(f"only a RedisSpider reads {start_urls}; {_ADD}")
        if about.get("redis_mode") == "sentinel":
            raise StorageError(
                f"{self._redis.url} is a Sentinel, which holds no data: give the"
                " address of the primary, or one that always leads to it"
            )
        policy = ""
        if about.get("maxmemory"):
            policy = str(about.get("maxmemory_policy"))
        if policy.startswith("allkeys-"):
            raise StorageError(
                f"{self._redis.url} evicts any key when it is full, requests too"
                f" (maxmemory-policy {policy}): set noeviction"
            )
        if policy.startswith("volatile-"):
            risks.append(f"maxmemory-policy is {policy}: it evicts what a store holds")
        if about.get("aof_enabled") == 0:
            risks.append("appendonly is off: a crash loses data")
        return risks
