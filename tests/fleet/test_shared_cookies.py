"""Cookies of a job on Redis: two workers' crawls, and what each has of the other's."""

from __future__ import annotations

import time

import pytest
from redis_server import NEEDS_REDIS
from scrapy import Request
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response

from scrapy_mandelbot.fleet import shared_cookies
from scrapy_mandelbot.fleet.shared_cookies import SharedCookies
from scrapy_mandelbot.job.cookies import CookieWatch
from scrapy_mandelbot.job.job_store import StorageError

pytestmark = NEEDS_REDIS
SHOP = "https://shop.example/"


class Crawl:
    """A worker's crawl: its cookies middleware, and its exchanges of cookies."""

    def __init__(self, worker) -> None:
        self.worker = worker
        self.middleware = CookiesMiddleware()
        self.watch = CookieWatch(self.middleware.jars, time.time)
        self.shared = SharedCookies(self.watch, worker.server, lambda: worker.time)
        self.shared.restore(lambda call: call())

    def get(self, *set_cookies: str) -> None:
        """Fetch a page whose response sets these cookies."""
        request = Request(SHOP)
        self.middleware.process_request(request)
        response = Response(SHOP, headers={"Set-Cookie": list(set_cookies)})
        self.middleware.process_response(request, response)
        self.watch.touched(request)

    def sends(self) -> set[str]:
        request = Request(SHOP)
        self.middleware.process_request(request)
        header = request.headers.get("Cookie") or b""
        return set(filter(None, header.decode().split("; ")))

    def exchange(self) -> None:
        """Make an exchange a while after the last one."""
        self.worker.time += 5
        call = self.shared.with_exchange(self.worker.next_exchange(0, ""))
        self.worker.take_answer(call())
        self.shared.take()

    def end(self) -> None:
        self.shared.say_the_rest(lambda call: call())


@pytest.fixture
def member(worker):
    return lambda: Crawl(worker())


def test_a_worker_that_joins_has_the_cookies_of_the_others(member):
    first = member()
    first.get("sid=1")
    first.exchange()
    assert member().sends() == {"sid=1"}


def test_the_last_change_of_a_cookie_counts(member):
    """By jar, domain, path and name; a deletion is a change."""
    first, second = member(), member()
    first.get("sid=1", "lang=de")
    first.exchange()
    second.get("sid=2", "own=1")
    second.exchange()
    first.exchange()
    assert first.sends() == second.sends() == {"sid=2", "lang=de", "own=1"}
    first.get("lang=; Max-Age=0", "sid=3")
    first.exchange()
    second.exchange()
    assert first.sends() == second.sends() == {"sid=3", "own=1"}
    assert member().sends() == {"sid=3", "own=1"}


def test_an_older_change_does_not_replace_one_that_is_not_said_yet(member):
    first, second = member(), member()
    second.get("sid=2")
    second.exchange()
    call = first.shared.with_exchange(first.worker.next_exchange(0, ""))
    first.get("sid=newer")
    first.worker.take_answer(call())
    first.shared.take()
    assert first.sends() == {"sid=newer"}
    first.exchange()
    second.exchange()
    assert second.sends() == {"sid=newer"}


def test_what_redis_did_not_take_is_said_again(member, monkeypatch):
    """Before the pages that changed it are settled."""
    one = member()
    one.get("sid=1")
    exchange = one.worker.next_exchange(0, "")
    call = one.shared.with_exchange(exchange)
    with monkeypatch.context() as away:
        away.setattr(one.worker.server._redis, "run", fails)
        with pytest.raises(StorageError):
            call()
    one.exchange()
    assert member().sends() == {"sid=1"}


def fails(*_):
    raise StorageError("gone")


def test_redis_that_was_set_back_is_given_all_cookies_again(member):
    one = member()
    one.get("sid=1", "lang=de")
    one.exchange()
    one.worker.redis.delete(f"{one.worker.server.key}:cookies")
    one.worker.redis.delete(f"{one.worker.server.key}:cookied")
    one.worker.redis.hdel(f"{one.worker.server.key}:meta", "cookies")
    one.exchange()
    one.exchange()
    assert member().sends() == {"sid=1", "lang=de"}


def test_many_cookies_take_several_calls(member, monkeypatch):
    monkeypatch.setattr(shared_cookies, "MOST_AT_ONCE", 10)
    one = member()
    one.get(*(f"c{number}=1" for number in range(45)))
    one.end()
    assert len(member().sends()) == 45
