"""What a worker sends to Redis beside the requests of its pages, in bytes."""

from __future__ import annotations

import pytest
from redis_server import NEEDS_REDIS, USER, ClusterNode, add_user
from shared_jobs import Worker

from scrapy_mandelbot.job.job_store import Place

pytestmark = NEEDS_REDIS

A = "https://a.example"
FIRST_IN = Place(0, 0, is_last_first=False)
MOST_BYTES = 300  # of an exchange in which a worker has nothing to say


def received(client) -> int:
    """Return how many bytes the server has got from anybody."""
    return client.info("stats")["total_net_input_bytes"]


def test_an_exchange_sends_no_names_of_keys(worker):
    """A crawl makes one for every two pages: 23 names were most of what it sent."""
    one = worker()
    one.exchange()  # the script is there now
    before = received(one.redis)
    one.exchange(take=1)
    sent = received(one.redis) - before
    assert sent < MOST_BYTES


@pytest.mark.slow
def test_a_node_of_a_cluster_runs_a_whole_job(tmp_path):
    """All keys have one hash tag, and a script names the first of them."""
    with ClusterNode(tmp_path, "0-16383") as node:
        crawl_a_page(node.url)


def test_a_user_may_be_limited_to_the_keys_of_this_package(redis_server):
    """Redis checks each key when a script uses it, too."""
    from redis import Redis

    with Redis.from_url(redis_server.url) as client:
        add_user(client)
    crawl_a_page(redis_server.url.replace("//", f"//{USER}@"))


def crawl_a_page(url: str) -> None:
    """Join, push, claim, send, settle, leave: each script that a crawl runs."""
    one = Worker(url)
    one.push_new(A, FIRST_IN, b"page", 1, None)
    one.exchange()
    one.exchange(take=1)
    page = one.claim(A)
    assert page.body == b"page"
    assert one.server.sends(one.worker, one.token, [page.number])
    one.server.cookies(0, 10, 10, [("jar", b"cookie")])
    one.push_child(A, FIRST_IN, b"link", 2, page.number)
    one.acknowledge(page.number)
    one.exchange()
    assert [kept.body for kept in one.view.requests()] == [b"link"]
    assert one.view.requeue("") == []
    one.server.leave(one.worker, one.token)
    one.view.forget()
    assert not one.view.exists()
    one.close()
