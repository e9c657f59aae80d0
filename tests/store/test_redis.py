"""The store on a Redis server: many workers, and whatever becomes of the server, no
harm.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
import zlib

import pytest
import redis
import scrapy
from crawling import SETTINGS
from live_stores import SITE, Events, Listener, claim, find
from redis_server import NEEDS_REDIS, USER, ClusterNode, RedisServer, add_user
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from store_logs import Log

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.store.contract import CachedRobots, Lease, StoredPause
from scrapy_mandelbot.store.redis.address import OtherNodeError
from scrapy_mandelbot.store.rows import LONGEST_BODY

pytestmark = NEEDS_REDIS

NOW = float(int(time.time()))
COPY = CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, NOW)
PAUSE = StoredPause(NOW + 9_000, "503", 2)


@pytest.fixture
def log():
    with Log() as lines:
        yield lines


@pytest.fixture
def server(tmp_path):
    with RedisServer(tmp_path) as started:
        yield started


@pytest.fixture
def open_store(server):
    from scrapy_mandelbot.store.redis.redis_store import RedisStore

    opened = []

    def open_one(url=server.url, **arguments):
        loop = arguments.pop("loop", lambda: lambda call: call())
        opened.append(RedisStore(url, loop, **arguments))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def client(server):
    from redis import Redis

    with Redis.from_url(server.url) as one:
        yield one


@pytest.fixture
def quick(monkeypatch):
    """Have what is tried again be tried again soon."""
    from scrapy_mandelbot.store.redis import address, wire
    from scrapy_mandelbot.store.redis import wire as hearing

    monkeypatch.setattr(wire, "_TRY_AGAIN_AFTER", 0.05)
    monkeypatch.setattr(wire, "_FULL_FOR", 0.05)
    monkeypatch.setattr(hearing, "_TRY_AGAIN_AFTER", 0.05)
    monkeypatch.setattr(address, "PATIENCE", 0.3)


def told(store) -> None:
    """Wait until the server has all that a store was told."""
    store.get_run("")


# What workers share.


def test_a_late_listener_gets_all_pauses_and_turns(open_store):
    """What is over is not told."""
    one = open_store()
    one.put_pause(SITE, PAUSE)
    one.put_pause("http://over", StoredPause(NOW - 5, "503"))
    one.put_turn("http://other", NOW + 5_000)
    told(one)
    listener = Listener()
    open_store().listen(listener)
    assert listener.heard.next() == (
        "all",
        {SITE: PAUSE},
        {"http://other": NOW + 5_000},
    )


@pytest.mark.parametrize("skew", [-7_200.0, 86_400.0])
def test_times_are_by_the_servers_clock(open_store, skew):
    """A worker whose clock is wrong waits as long as the others, and has them wait no
    longer.
    """
    right, wrong = open_store(), open_store(now=lambda: time.time() + skew)
    listener = Listener()
    wrong.listen(listener)
    listener.heard.next()
    right.put_pause(SITE, PAUSE)
    _, _, heard = listener.heard.next()
    assert heard.until == pytest.approx(PAUSE.until + skew, abs=0.5)
    right.put_copy(SITE, COPY)
    told(right)
    copy, left = find(wrong, NOW + skew - 50)
    assert (copy.fetched_at, left) == (pytest.approx(NOW + skew, abs=0.5), 0)
    wrong.put_copy("http://other", COPY._replace(fetched_at=NOW + skew))
    told(wrong)
    copy, _ = find(right, NOW - 50, site="http://other")
    assert copy.fetched_at == pytest.approx(NOW, abs=0.5)
    _, left = find(open_store(), NOW - 50, site="http://other")
    assert left == 0, "it is fresh, so that nobody fetches it again"
    wrong.put_turn("http://other", NOW + skew + 5_000)
    wrong.put_run("links", NOW + skew)
    told(wrong)
    assert right.get_turns(NOW) == {"http://other": pytest.approx(NOW + 5_000, abs=0.5)}
    assert right.get_run("links") == pytest.approx(NOW, abs=0.5)


def test_a_slow_reply_does_not_look_like_a_clock_difference(open_store, monkeypatch):
    """The server may have read its clock at any time until the answer came."""
    late = [0.0]
    ask = redis.Redis.time

    def slowly(client):
        answer = ask(client)
        late[0] += 0.9
        return answer

    monkeypatch.setattr(redis.Redis, "time", slowly)
    store = open_store(now=lambda: time.time() + late[0])
    store.put_copy(SITE, COPY)
    told(store)
    monkeypatch.undo()
    assert dict(open_store().copies()) == {SITE: COPY}


def test_the_lease_of_a_worker_that_died_ends(open_store, server):
    """Nobody gives it back, and others have it when its time is over."""
    code = (
        "import os, sys; from scrapy_mandelbot.store.redis.redis_store import"
        " RedisStore\nfrom scrapy_mandelbot.store.contract import Lease\nstore ="
        " RedisStore(sys.argv[1], lambda: lambda call: call())\ndie = lambda seconds:"
        " os.kill(os.getpid(), 9)\nstore.claim(Lease.PROBE, 'https://example.com', 3.0,"
        " die)\nimport time; time.sleep(60)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, server.url], check=False)
    assert run.returncode == -signal.SIGKILL
    store, left = open_store(), 1.0
    tries = 0
    while left := claim(store):
        assert left <= 3
        tries += 1
    assert tries


def test_a_copy_that_is_dropped_is_dropped_by_all_workers(open_store):
    """Those that hold it in memory too."""
    one, other = open_store(), open_store()
    other.listen(listener := Listener())
    listener.heard.next()
    one.put_copy(SITE, COPY)
    told(one)
    assert find(other, NOW - 5) == (COPY, 0)
    one.drop_copy(SITE)
    one.put_pause(SITE, None)
    assert listener.heard.next() == ("pause", SITE, None)
    assert other.get_copy(SITE) is None


def test_a_pause_of_years_is_waited_for(open_store):
    """An operator may have set it: no worker probes the site meanwhile, whatever it has
    heard.
    """
    one, other = open_store(), open_store()
    one.put_pause(SITE, StoredPause(time.time() + 1e9, "held"))
    one.put_pause("http://for.ever", StoredPause(1e300, "held"))
    told(one)
    assert claim(other) == pytest.approx(1e9, abs=60)
    assert claim(other, key="http://for.ever") > 1e9


# What becomes of the server.


def test_a_server_that_is_gone_costs_one_warning_and_is_found_again(
    open_store, server, log, quick
):
    """The run goes on with its memory; what was told meanwhile the server has in the
    end.
    """
    one = open_store()
    one.listen(listener := Listener())
    listener.heard.next()
    server.kill()
    one.put_copy(SITE, COPY)
    one.put_pause(SITE, PAUSE)
    one.put_turn("http://other", NOW + 5_000)
    log.wait_for("is kept in the memory of this run only")
    assert claim(one) == 0
    assert find(one, NOW - 5) == (COPY, 0)
    assert one.get_copy(SITE) == COPY
    assert one.get_pauses(NOW) == {SITE: PAUSE}
    assert one.get_turns(NOW) == {"http://other": NOW + 5_000}
    assert one.get_run("links") is None
    server.start()
    log.wait_for("is shared again")
    while listener.heard.next() != (
        "all",
        {SITE: PAUSE},
        {"http://other": NOW + 5_000},
    ):
        pass
    assert find(open_store(), NOW - 5) == (COPY, 0)
    assert len(log.warnings) == 1
    assert server.url in log.warnings[0]


def test_a_server_that_never_was_there_costs_one_warning(
    open_store, server, log, quick
):
    """At start and to the end; what could not be kept is told of."""
    server.stop()
    store = open_store()
    assert store.get_pauses() == {}
    store.listen(Listener())
    store.put_pause(SITE, PAUSE)
    assert store.get_pauses() == {SITE: PAUSE}
    store.close()
    assert log.warnings[0].startswith(
        "What is known of sites is kept in the memory of this run"
    )
    assert log.warnings[1:] == [f"Could not write 1 value to {server.url}"]


def test_nobody_waits_for_a_server_that_hangs(open_store, server, log, quick):
    """A question is answered by nobody when it takes too long, and from then on at
    once.
    """
    store = open_store()
    assert claim(store) == 0
    server.freeze()
    answers = Events()
    store.claim(Lease.PROBE, "http://other", 10.0, answers)
    assert answers.is_empty  # it is asked in another thread
    assert answers.next() == (0,)
    log.wait_for("is kept in the memory of this run only")
    assert claim(store, key="http://third") == 0
    server.thaw()
    log.wait_for("is shared again")
    assert claim(open_store()) > 0


def test_a_server_that_was_restarted_has_its_scripts_again(open_store, client):
    """It forgets them with its data."""
    store = open_store()
    assert claim(store) == 0
    client.script_flush()
    client.flushall()
    assert claim(store) == 0
    store.put_pause(SITE, PAUSE)
    assert store.get_pauses() == {SITE: PAUSE}


def test_a_full_server_is_still_read(open_store, client, log, quick):
    """What it takes no more is told to the others all the same, and kept until it is
    taken.
    """
    one, other = open_store(), open_store()
    one.put_copy(SITE, COPY)
    told(one)
    other.listen(listener := Listener())
    listener.heard.next()
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", "1")
    one.put_pause(SITE, PAUSE)
    assert listener.heard.next() == ("pause", SITE, PAUSE)
    assert "'maxmemory'" in log.wait_for("is kept in the memory of this run only")
    assert find(one, NOW - 5) == (COPY, 0)
    assert claim(one, key="http://other") == 0  # by what it knows itself
    assert one.get_pauses() == {SITE: PAUSE}
    client.config_set("maxmemory", "0")
    log.wait_for("is shared again")
    assert open_store().get_pauses() == {SITE: PAUSE}
    assert len(log.warnings) == 1


def test_a_server_that_became_a_replica_is_left_until_it_is_none(
    open_store, client, server, log, quick
):
    """Where one fails over, it is connected to anew: its name may be another machine's
    by now.
    """
    store = open_store()
    told(store)
    client.replicaof("127.0.0.1", str(server.port + 1 if server.port < 65_000 else 1))
    store.put_pause(SITE, PAUSE)
    assert "read only" in log.wait_for("is kept in the memory of this run only")
    client.replicaof("NO", "ONE")
    log.wait_for("is shared again")
    told(store)
    assert open_store().get_pauses() == {SITE: PAUSE}


def test_each_command_is_answered_once(open_store, client, log, quick):
    """Of what is asked at once a replica answers what it can, and the rest is answered
    by nobody.

    A crawl that hears of a copy twice would be told so by an error.
    """
    store = open_store()
    store.put_copy(SITE, COPY)
    told(store)
    client.replicaof("127.0.0.1", "1")
    found, claimed = Events(), Events()
    go_on = threading.Event()
    store._wire._thread.put(go_on.wait)  # so that both go out at once
    store.find_copy(SITE, NOW - 5, 10.0, found)
    store.claim(Lease.PROBE, SITE, 10.0, claimed)
    go_on.set()
    assert claimed.next() == (0,)
    assert found.next() == (COPY, 0)
    assert found.is_empty
    assert "read only" in log.wait_for("is kept in the memory of this run only")


def test_a_server_that_refuses_the_password_costs_one_warning(
    open_store, server, log, quick
):
    """And the password stands in no line."""
    store = open_store(server.url.replace("//", "//robot:secret@"))
    store.put_pause(SITE, PAUSE)
    line = log.wait_for("is kept in the memory of this run only")
    assert "secret" not in line
    assert server.url in line
    assert store.get_pauses() == {SITE: PAUSE}


# What stands there.


ODD = [
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"[1]",
    b'[2, 200, 1.0, "", null, null]\n\x00',
    b"7",
    b'[1, "x", 1.0, "", null, null]\n\x00',
    b'[1, 200, 1.0, "", null, null]\n\x09',
    b"[" * 9_000,
    b'[1, 200, 1.0, "", null, null]\n\x01' + zlib.compress(bytes(LONGEST_BODY + 1)),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:20])
def test_values_of_other_programs_are_skipped(open_store, client, odd):
    """A value, a message, a key of another kind: what stands beside it is read."""
    from scrapy_mandelbot.store.redis import scripts

    store = open_store()
    store.put_copy("http://well", COPY)
    store.put_pause("http://well", PAUSE)
    told(store)
    client.set(scripts.copy_key(SITE.encode()), odd)
    client.zadd(scripts.COPIES, {SITE: NOW, b"\xff": NOW})
    client.zadd(scripts.PAUSES, {SITE: NOW + 5_000, "http://nowhere": NOW + 5_000})
    client.hset(scripts.PAUSE, SITE, odd)
    other = open_store()
    assert find(other, NOW + 5_000)[0] is None
    assert dict(other.copies()) == {"http://well": COPY}
    assert other.get_pauses() == {"http://well": PAUSE}
    other.listen(listener := Listener())
    assert listener.heard.next() == ("all", {"http://well": PAUSE}, {})
    for kind in ("pause", "turn", "drop", "new"):
        client.publish(scripts.NEWS, odd)
        client.publish(scripts.NEWS, b'[1, "x", "%s", "http://a", {}]' % kind.encode())
        client.publish(
            scripts.NEWS, b'[1, "x", "%s", "http://a", "over"]' % kind.encode()
        )
        client.publish(scripts.NEWS, b'[1, "x", "%s"]' % kind.encode())
    store.put_pause(SITE, None)
    assert listener.heard.next() == ("pause", SITE, None)


def test_a_key_of_another_kind_costs_a_warning(open_store, client, log):
    """It is no store's, and what cannot be written there is not tried for ever."""
    from scrapy_mandelbot.store.redis import scripts

    client.set(scripts.PAUSES, "something else")
    store = open_store()
    store.put_pause(SITE, PAUSE)
    assert "WRONGTYPE" in log.wait_for("is kept in the memory of this run only")
    assert store.get_pauses() == {}
    assert claim(store, lease=Lease.TURN) == 0


def test_all_that_is_kept_expires(open_store, client):
    """A project that is given up leaves nothing behind in the end."""
    store = open_store(keep_for=10_000)
    store.put_copy(SITE, COPY)
    store.put_copy("http://old", CachedRobots(b"", 200, NOW - 20_000))
    store.put_pause(SITE, PAUSE)
    store.put_turn(SITE, NOW + 5_000)
    store.put_run("links", NOW)
    claim(store, key="http://other")
    find(store, NOW, site="http://third")
    left = {key: client.ttl(key) for key in client.scan_iter()}
    assert len(left) == 8
    assert all(seconds > 0 for seconds in left.values()), left


def test_a_turn_that_is_days_away_is_kept_until_then(open_store, client):
    """Though turns of other sites are nearer."""
    from scrapy_mandelbot.store.redis import scripts

    store = open_store()
    store.put_turn(SITE, NOW + 500_000)
    store.put_turn("http://other", NOW + 5)
    told(store)
    assert client.ttl(scripts.TURNS) > 500_000


def test_there_are_never_more_than_so_many(open_store, client, monkeypatch):
    """Whoever links to sites chooses their names: what was of use longest ago goes."""
    from scrapy_mandelbot.store.redis import scripts

    for name in ("MOST_COPIES", "MOST_PAUSES", "MOST_TURNS"):
        monkeypatch.setattr(scripts, name, 5)
    store = open_store()
    for number in range(20):
        site = f"http://{number:02}"
        store.put_copy(site, CachedRobots(b"", 200, NOW - 100 + number))
        store.put_pause(site, StoredPause(NOW + 10_000 + number, "503"))
        store.put_turn(site, NOW + 10_000 + number)
    last = [f"http://{number}" for number in range(15, 20)]
    told(store)
    assert [site for site, _ in store.copies()] == last
    assert sorted(store.get_pauses()) == sorted(store.get_turns(NOW)) == last
    assert len(list(client.scan_iter())) == 5 + 4
    assert client.hlen(scripts.PAUSE) == 5


def test_a_name_that_no_host_has_stays_in_the_run(open_store, client):
    """Its length is chosen by who links to it."""
    store = open_store()
    site = "http://" + "a" * 2_000
    store.put_copy(site, COPY)
    store.put_pause(site, PAUSE)
    assert find(store, NOW - 5, site=site) == (COPY, 0)
    told(store)
    assert list(client.scan_iter()) == []


def test_a_url_may_set_what_the_package_redis_takes_but_not_the_form_of_answers(
    open_store, server
):
    """Values are bytes, whatever stands in the URL."""
    store = open_store(f"{server.url}?decode_responses=true&socket_timeout=3")
    store.put_copy(SITE, COPY)
    told(store)
    assert find(open_store(), NOW - 5) == (COPY, 0)
    assert find(store, NOW - 5) == (COPY, 0)


def test_a_store_is_kept_over_a_socket(open_store, client, server):
    """On this machine, with user and password, in the database of the URL."""
    add_user(client)
    url = server.unix_url.replace("//", f"//{USER}@").replace("db=0", "db=3")
    store = open_store(url)
    store.put_pause(SITE, PAUSE)
    told(store)
    assert open_store(url).get_pauses() == {SITE: PAUSE}
    assert list(client.info("keyspace")) == ["db3"]


def test_a_closed_store_calls_nobody(open_store):
    """What is heard of after the crawl is over is nobody's business, nor does a thread
    stay.
    """
    import threading

    calls = []
    store = open_store(loop=lambda: calls.append)
    store.listen(Listener())
    answers = Events()
    store.claim(Lease.PROBE, SITE, 10.0, answers)
    told(store)
    store.close()
    for call in calls:
        call()
    assert answers.is_empty
    assert not [
        one for one in threading.enumerate() if one.name.startswith("mandelbot")
    ]


def test_a_loop_that_has_ended_is_no_harm(open_store):
    """The crawl may be over before its store is closed."""
    import asyncio

    loop = asyncio.new_event_loop()
    loop.close()
    store = open_store(loop=lambda: loop.call_soon_threadsafe)
    store.claim(Lease.PROBE, SITE, 10.0, lambda _: None)
    told(store)
    store.put_pause(SITE, PAUSE)
    assert store.get_pauses() == {SITE: PAUSE}


def test_scripts_ask_for_no_key_that_they_were_not_told():
    """A cluster, and Dragonfly, have to know all of them before."""
    from scrapy_mandelbot.store.redis import scripts

    for script in scripts.SCRIPTS:
        keys = re.findall(r"redis\.call\('\w+', ([^,)]+)", script.text)
        assert keys
        assert {re.sub(r"^KEYS\[\d\]$|^key$", "told", one) for one in keys} == {"told"}
        assert "for _, key in ipairs({KEYS" in script.text or "key" not in keys


# On a cluster.


@pytest.mark.slow
def test_a_cluster_of_one_node_has_all_keys_in_one_slot(tmp_path, open_store, log):
    """Each script and each batch of commands finds its keys there."""
    with ClusterNode(tmp_path, "0-16383") as node:
        store, other = open_store(node.url), open_store(node.url)
        listener = Listener()
        other.listen(listener)
        listener.heard.next()
        store.put_copy(SITE, COPY)
        store.put_pause(SITE, PAUSE)
        assert listener.heard.next() == ("pause", SITE, PAUSE)
        store.put_turn(SITE, NOW + 5_000)
        store.put_run("links", NOW)
        told(store)
        assert claim(store, "https://other") == 0
        assert claim(other, "https://other") > 0
        assert find(other, NOW - 50) == (COPY, 0)
        assert dict(other.copies()) == {SITE: COPY}
        assert (other.get_pauses(), other.get_run("links")) == ({SITE: PAUSE}, NOW)
        assert other.get_turns(NOW) == {SITE: NOW + 5_000}
        store.drop_copy(SITE)
        told(store)
        store.close()
        other.close()
    assert log.warnings == []


@pytest.mark.slow
def test_a_node_without_the_slot_of_the_store_is_refused(tmp_path, log):
    """At the start, in one line: the crawl would go on alone for ever."""
    with ClusterNode(tmp_path, "0-1", others="2-16383") as node:
        settings = Settings({**SETTINGS, "MANDELBOT_STORE": node.url})
        with pytest.raises(
            OtherNodeError, match="another node of its cluster has the keys"
        ):
            Crawl.of(Crawler(scrapy.Spider, settings))
    assert log.warnings == []
