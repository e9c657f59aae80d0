"""What who looks at a job on Redis is told of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pages import page
from redis import Redis
from redis_server import NEEDS_REDIS, RIGHTS, USER, RedisServer, Sentinel, add_user
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter
from shared_jobs import LEASE, Worker

from scrapy_mandelbot.fleet import server_job
from scrapy_mandelbot.fleet.job_server import JobTerms, ServerAwayError
from scrapy_mandelbot.fleet.redis_connection import RedisConnection
from scrapy_mandelbot.fleet.redis_job import RedisJobServer
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.job.opened_job import NewRequest
from scrapy_mandelbot.settings.config import Config

pytestmark = NEEDS_REDIS

FIRST_IN = Place(0, 0, is_last_first=False)
A, B = "https://a.example", "https://b.example"


@pytest.fixture
def looker(redis_server):
    """What the verb reads a job with: it is no worker."""
    server = RedisJobServer(redis_server.url, JobTerms("job", LEASE))
    yield server.view()
    server.close()


@pytest.mark.parametrize("name", ["#job", "#none", ""])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_job_that_cannot_be_opened_leaves_no_connection(
    redis_server, monkeypatch, name, is_there
):
    """Whether the job is not there, or the server, or the address has no name."""
    opened = set()

    def noted(url, terms):
        server = RedisJobServer(url, terms)
        opened.add(server)
        close = server.close
        monkeypatch.setattr(server, "close", lambda: (close(), opened.discard(server)))
        return server

    monkeypatch.setattr("scrapy_mandelbot.fleet.redis_job.RedisJobServer", noted)
    url = redis_server.url if is_there else "redis://127.0.0.1:1/0"
    with pytest.raises(StorageError):
        server_job.ServerJob(url + name)
    assert not opened


def test_a_job_without_workers_does_not_exist(looker, worker):
    """Only to look makes none."""
    assert not looker.exists()
    assert (looker.lengths(), looker.workers(), looker.known(), looker.aside()) == (
        {},
        {},
        {},
        {},
    )
    assert list(looker.requests()) == []
    assert not looker.exists()
    worker()
    assert looker.exists()


def test_waiting_and_claimed_requests_are_counted_by_site(looker, worker):
    """Of sites that have an owner, and of those that wait for one, or come last."""
    one = worker()
    for number in range(6):
        one.push(A, FIRST_IN, b"%d" % number)
    one.exchange(take=1)
    one.push(B, FIRST_IN, b"b")
    one.exchange()
    assert looker.lengths() == {A: (2, 4), B: (1, 0)}
    one.claim(A)
    one.exchange()
    one.redis.zadd(f"{one.server.key}:workers", {one.worker: 1})  # it dies
    other = worker()
    other.exchange()
    assert looker.lengths() == {A: (6, 0), B: (1, 0)}


def test_a_site_whose_requests_all_come_last_is_counted(looker, worker):
    """They were sent when a worker died."""
    one = worker()
    one.push(A, FIRST_IN, b"sent")
    one.exchange(take=1)
    one.claim(A)
    one.exchange()
    one.redis.zadd(f"{one.server.key}:workers", {one.worker: 1})  # it dies
    worker().exchange()
    assert not one.redis.exists(f"{one.server.key}:due")
    assert looker.lengths() == {A: (1, 0)}


def test_workers_are_listed_with_the_rest_of_their_leases(looker, worker):
    """Those that are dead are not."""
    first, second = worker(lease=20.0), worker(lease=40.0)
    second.push(A, FIRST_IN, b"")
    second.push(B, FIRST_IN, b"")
    second.exchange(take=2)
    reply = looker.workers()
    assert {number: sites for number, (_, sites) in reply.items()} == {
        first.worker: 0,
        second.worker: 2,
    }
    assert 0 < reply[first.worker][0] <= 20 < reply[second.worker][0] <= 40
    first.redis.zadd(f"{first.server.key}:workers", {first.worker: 1})
    assert [*looker.workers()] == [second.worker]


def test_states_of_sites_are_listed(looker, worker):
    """As their owners have said it."""
    one = worker()
    one.push(A, FIRST_IN, b"")
    one.exchange(take=1)
    one.rest(A, b"paused", "5000")
    one.exchange()
    assert looker.known() == {A: b"paused"}
    one.rest(A, b"", "0")
    one.exchange()
    assert looker.known() == {}


def test_all_requests_are_listed_with_their_places(looker, worker):
    """Those that wait, are claimed, or are set aside; and no other job's."""
    one = worker()
    other = worker(name="jo?")
    other.push(A, FIRST_IN, b"not this one")
    other.exchange()
    for number in range(6):
        one.push(f"{A} slot", Place(-number, 1, is_last_first=False), b"%d" % number)
    one.exchange(take=1)
    one.refuse(one.claim(f"{A} slot").number, "it cannot be read")
    one.exchange()
    found = sorted(looker.requests(), key=lambda request: request.place)
    assert [request.body for request in found] == [b"5", b"4", b"3", b"2", b"1", b"0"]
    assert {(request.site, request.line) for request in found} == {(A, f"{A} slot")}
    assert [request.place[:2] for request in found] == [
        (-number, 1) for number in range(5, -1, -1)
    ]
    assert looker.aside() == {A: {"it cannot be read": 1}}
    assert [request.body for request in other.view.requests()] == [b"not this one"]


@pytest.mark.parametrize("of", [A, ""])
def test_paused_sites_and_requests_set_aside_are_requeued(looker, worker, of):
    """Of a site, or of all; it waits as if it were new."""
    one = worker()
    for site in (A, B):
        one.push(site, FIRST_IN, b"page")
    one.exchange(take=2)
    for site in (A, B):
        one.refuse(one.claim(site).number, "it cannot be read")
        one.rest(site, b"paused", "100000")
        one.give_back(site)
    one.exchange()
    sites = [of] if of else [A, B]
    assert looker.requeue(of) == sites
    assert [*looker.aside()] == [site for site in (A, B) if site not in sites]
    assert [*looker.known()] == [site for site in (A, B) if site not in sites]
    one.exchange(take=5)
    assert sorted(one.sites) == sites
    assert looker.requeue("https://none.example") == []


def test_a_leaving_worker_hands_over_the_states_of_its_sites(redis_server, looker):
    """Of sites that nobody else has."""
    one, other = Worker(redis_server.url), Worker(redis_server.url)
    for site in (A, B):
        one.push(site, FIRST_IN, b"page")
    one.exchange(take=2)
    one.server.leave(one.worker, one.token, [(A, b"paused", "50000"), (B, b"", "inf")])
    assert other.exchange(take=5).waiting == 2
    assert not other.sites
    assert looker.known() == {A: b"paused"}
    assert 40 < other.answer.next_due <= 50
    one.close()
    other.leave()


def sees(worker: Worker) -> None:
    """Let a worker crawl a page of a site, and end as all workers do."""
    worker.push_new(A, FIRST_IN, b"page", -(10**18), 0)
    worker.exchange(take=1)
    worker.acknowledge(worker.claim(A).number)
    worker.give_back(A)
    worker.exchange()


def test_a_job_in_which_nothing_is_left_expires_unless_a_worker_joins(worker):
    """All keys do in thirty days, as soon as the last worker has left."""
    one, other = worker(), worker()
    sees(one)
    month = 30 * 86_400

    def times(looker) -> set[int]:
        return {looker.redis.ttl(key) for key in looker.redis.keys("*")}

    one.server.leave(one.worker, one.token)
    assert times(one) == {-1}
    other.server.leave(other.worker, other.token)
    assert all(month - 60 < left <= month for left in times(other))
    assert one.redis.exists(f"{one.server.key}:seen:0")
    again = worker()
    assert times(again) == {-1}
    again.push(B, FIRST_IN, b"page")
    again.exchange()
    again.server.leave(again.worker, again.token)
    assert times(again) == {-1}, "something is left to do"


@pytest.mark.parametrize("name", ["job", "läden", "1"])
def test_a_job_is_forgotten_unless_a_worker_has_it(worker, name):
    """Whatever is left in it; nothing of another job, or of a store."""
    one = worker(name=name)
    looker = one.view
    sees(one)
    one.push(A, FIRST_IN, b"left")
    one.push_child(A, FIRST_IN, b"child", 7, 0)
    one.exchange(take=1)
    assert len(list(looker.requests())) == 2
    others = [
        f"mandelbot:{{{name}}}:copy:x",
        f"mandelbot:{{{name}}}:run:x",
        "mandelbot:{jobs}:meta",
    ]
    for key in others:
        one.redis.set(key, "x")
    with pytest.raises(StorageError, match="a worker has this job"):
        looker.forget()
    assert looker.lengths()
    one.redis.zadd(f"{one.server.key}:workers", {one.worker: 1})  # it has died
    looker.forget()
    assert sorted(one.redis.keys("*")) == sorted(key.encode() for key in others)


PLAIN = SimpleNamespace(name="shops")
OPTIONS = {"name": "job", "lease": LEASE}
SETTINGS = Settings({"MANDELBOT_JOB_OPTIONS": OPTIONS})


def risks_of(url: str, spider) -> list[str]:
    """Return what a worker of a spider learns of the server as it joins."""
    terms = JobTerms.of(Config.from_settings(SETTINGS), spider, SETTINGS)
    server = RedisJobServer(url, terms)
    try:
        return list(server.join().risks)
    finally:
        server.close()


def test_a_sentinel_is_refused_by_what_it_is(tmp_path):
    """Its port is taken for the server's: it knows the server's address alone."""
    with (
        Sentinel(tmp_path) as started,
        pytest.raises(StorageError, match="is a Sentinel, which holds no data"),
    ):
        risks_of(started.url, PLAIN)


def test_the_documents_name_the_rights_of_a_user():
    assert f"``{RIGHTS}``" in page("machines")


def test_a_user_with_the_documented_rights_may_run_each_verb(redis_server, worker):
    """The job of a worker that died is looked at, added to, requeued and forgotten."""
    one = worker()
    add_user(one.redis)
    one.push(A, FIRST_IN, b"page")
    one.push(A, FIRST_IN, b"other")
    one.report("writer", one.run, b"report")
    one.exchange(take=1)
    one.refuse(one.claim(A).number, "its callback raised", "KeyError")
    one.exchange()
    one.redis.zadd(f"{one.server.key}:workers", {one.worker: 1})
    job = server_job.ServerJob(f"{redis_server.url.replace('//', f'//{USER}@')}#job")
    assert job.reports() == ([b"report"], 0)
    assert job.contents().given_up == {"its callback raised": 1}
    assert len(list(job.outlines())) == 2
    assert job.add([[NewRequest(B, FIRST_IN, b"new", 7)]]) == 1
    assert job.requeue(A) == [A]
    assert job.contents().requests == {A: 2, B: 1}
    job.forget()
    job.close()
    assert not one.redis.keys("*")


def test_a_worker_joins_anew_where_only_the_reply_was_lost(
    redis_server, worker, monkeypatch
):
    """It is no second one, for which the job would wait, and the run is a new one."""
    server = RedisJobServer(redis_server.url, JobTerms("job", LEASE))
    run = RedisConnection.run

    def loses_the_reply(*arguments, **options):
        run(*arguments, **options)
        raise ServerAwayError("Connection reset by peer")

    with monkeypatch.context() as patched:
        patched.setattr(RedisConnection, "run", loses_the_reply)
        with pytest.raises(ServerAwayError):
            server.join()
    assert server.join().others == 0
    one = worker()
    key = f"{server.key}:looking"
    assert one.redis.hgetall(key) == {b"2": b"new", b"3": b"old"}
    assert server.view().workers().keys() == {2, one.worker}
    server.close()


SAME = {"BOT_NAME": "a", "LOG_LEVEL": "DEBUG", "JOBDIR": "b"}


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({}, ()),
        (SAME, ()),
        ({"COOKIES_ENABLED": "1", "DOWNLOAD_DELAY": "0"}, ()),
        ({"USER_AGENT": "other"}, ("USER_AGENT",)),
        ({"COOKIES_ENABLED": "0"}, ("COOKIES_ENABLED",)),
        (
            {
                "REQUEST_FINGERPRINTER_CLASS": RequestFingerprinter,
                "MANDELBOT_JOB_OPTIONS": {"pickle": False, "lease": 9},
            },
            ('MANDELBOT_JOB_OPTIONS["pickle"]',),
        ),
        (
            {"REQUEST_FINGERPRINTER_CLASS": Request, "ROBOTSTXT_OBEY": True},
            ("REQUEST_FINGERPRINTER_CLASS", "ROBOTSTXT_OBEY"),
        ),
    ],
)
def test_a_join_names_the_settings_in_which_other_workers_differ(
    redis_server, other, named
):
    """Only those of live workers, and only settings that all should agree in."""

    def server(settings: dict) -> RedisJobServer:
        base = Settings({"ROBOTSTXT_OBEY": False, **settings})
        terms = JobTerms.of(Config.from_settings(base), PLAIN, base)
        return RedisJobServer(redis_server.url, terms)

    first = server({})
    joined = first.join()
    assert joined.differing == ()
    second = server(other)
    assert second.join().differing == named
    third = server({})
    assert third.join().differing == named
    first.leave(joined.worker, joined.token)
    fourth = server(other)
    assert fourth.join().differing == named  # of the third
    for one in (first, second, third, fourth):
        one.close()


def test_a_worker_of_an_older_version_has_no_settings_to_compare(redis_server, worker):
    """It joined without, or compares others."""
    old = worker()
    assert old.redis.hget(f"{old.server.key}:meta", f"with:{old.worker}") == b""
    old.redis.hdel(f"{old.server.key}:meta", f"with:{old.worker}")
    new = JobTerms("job", LEASE, settings={"USER_AGENT": "1"})
    server = RedisJobServer(redis_server.url, new)
    assert server.join().differing == ()
    newest = new._replace(settings={"USER_AGENT": "1", "DEPTH_LIMIT": "2"})
    other = RedisJobServer(redis_server.url, newest)
    assert other.join().differing == ()
    server.close()
    other.close()


NO_AOF = "appendonly is off: a crash loses data"


@pytest.mark.parametrize(
    ("arguments", "risks"),
    [
        ([], [NO_AOF]),
        (["--appendonly", "yes"], []),
        (["--maxmemory-policy", "allkeys-lru"], [NO_AOF]),  # it has no limit
        (["--maxmemory", "9mb"], [NO_AOF]),
        (
            ["--maxmemory", "9mb", "--maxmemory-policy", "volatile-ttl"],
            ["maxmemory-policy is volatile-ttl: it evicts what a store holds", NO_AOF],
        ),
        (["--maxmemory", "9mb", "--maxmemory-policy", "allkeys-lru"], None),
        (["--maxmemory", "9mb", "--maxmemory-policy", "allkeys-random"], None),
    ],
)
def test_a_server_that_evicts_requests_is_refused(tmp_path, arguments, risks):
    """Where it has a limit of memory; what may cost data is warned of.

    No CONFIG is needed.
    """
    with (
        RedisServer(tmp_path, *arguments) as started,
        Redis.from_url(started.url) as client,
    ):
        client.acl_setuser(
            "robot",
            enabled=True,
            passwords=["+x"],
            keys=["*"],
            commands=["+@all", "-config"],
        )
        url = started.url.replace("//", "//robot:x@")
        if risks is None:
            with pytest.raises(StorageError, match="evicts any key"):
                risks_of(url, PLAIN)
        else:
            assert risks_of(url, PLAIN) == risks
        client.acl_setuser(
            "robot",
            enabled=True,
            passwords=["+x"],
            keys=["*"],
            commands=["+@all", "-info"],
        )
        assert risks_of(url, PLAIN) == []


def test_start_urls_of_scrapy_redis_cause_a_warning(redis_server, worker):
    """A plain spider does not read them."""
    redis, key = worker().redis, "shops:start_urls"
    url = redis_server.url
    assert key not in str(risks_of(url, PLAIN))
    redis.lpush(key, "https://a.example/")
    (warning,) = [risk for risk in risks_of(url, PLAIN) if key in risk]
    assert "`scrapy robots job … add`" in warning
    assert key not in str(risks_of(url, SimpleNamespace(name="shops", redis_key=None)))
    assert risks_of(url, SimpleNamespace(name="other")) == [NO_AOF]
