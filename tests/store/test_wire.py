"""The thread that talks to Redis, and addresses, without a server."""

from __future__ import annotations

import threading
from queue import Queue

import pytest

pytest.importorskip("redis")

from redis.exceptions import ConnectionError as GoneError
from redis.exceptions import ResponseError

from scrapy_mandelbot.store.redis import wire as wire_module
from scrapy_mandelbot.store.redis.address import checked, shown_address
from scrapy_mandelbot.store.redis.script import Script
from scrapy_mandelbot.store.redis.wire import RedisOp, Wire

PATIENCE = 10  # seconds until a test fails that waits for something
SCRIPT = Script("-- KEYS: one, two\nreturn 1")


class Server:
    """Answers as it is told to; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple] = []
        self.answers: dict[object, object] = {}
        """By the first argument of a command; an exception is raised, or is an answer.
        """
        self.loaded = 0
        self.connected = 0
        self.closed = 0
        self.is_gone = False
        self.goes_on = threading.Event()
        self.goes_on.set()

    def connect(self) -> Server:
        self.connected += 1
        return self

    def script_load(self, _text) -> None:
        if self.is_gone:
            raise GoneError("gone")
        self.loaded += 1

    def pipeline(self, transaction):
        assert not transaction
        return Pipe(self)

    def execute_command(self, *command):
        answer = self.answer(command)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def answer(self, command):
        self.asked.append(command)
        if self.is_gone:
            raise GoneError("gone")
        answer = self.answers.get(command[-1], "well")
        return answer.pop(0) if isinstance(answer, list) else answer

    def close(self) -> None:
        self.closed += 1


class Pipe:
    def __init__(self, server) -> None:
        self._server = server
        self._commands = []

    def execute_command(self, *command) -> None:
        self._commands.append(command)

    def execute(self, raise_on_error):
        assert not raise_on_error
        assert self._server.goes_on.wait(PATIENCE)
        return [self._server.answer(command) for command in self._commands]


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def reports():
    """What the wire has told of the server, as it comes."""
    return Queue()


@pytest.fixture
def wire(server, reports, monkeypatch):
    monkeypatch.setattr(wire_module, "_TRY_AGAIN_AFTER", 0.02)
    monkeypatch.setattr(wire_module, "_FULL_FOR", 0.02)
    one = Wire(
        server.connect,
        [SCRIPT],
        lambda _: reports.put("joined"),
        lambda error: reports.put(f"lost: {error}"),
        lambda: reports.put("found"),
    )
    yield one
    server.goes_on.set()
    one.close()


def asked(wire, what="x", **command):
    """Ask, and return what was heard; None: that nobody answered."""
    answers = Queue()
    on_failure = lambda: answers.put(None)  # noqa: E731 -- as a test has it
    wire.send(RedisOp(b"GET", lambda: (what,), answers.put, on_failure, **command))
    return answers.get(timeout=PATIENCE)


def write(wire, key, what, size=0) -> None:
    wire.write(
        RedisOp(b"SET", lambda: (what,), key=("kind", key), value=what, size=size)
    )


def next_of(reports):
    return reports.get(timeout=PATIENCE)


def test_queries_and_writes_are_sent_in_order(wire, server, reports):
    """As much at a time as has come meanwhile; a script by its digest, with its number
    of keys.
    """
    assert asked(wire, "first") == "well"
    server.goes_on.clear()
    wire.send(RedisOp(b"GET", lambda: ("second",)))
    for number in range(3):
        write(wire, number, f"told {number}")
    wire.send(RedisOp(SCRIPT, lambda: ("k1", "k2", "script")))
    assert wire.kept("kind") == [(0, "told 0"), (1, "told 1"), (2, "told 2")]
    assert wire.kept("other") == []
    server.goes_on.set()
    assert asked(wire, "last") == "well"
    assert [command[-1] for command in server.asked] == [
        *("first", "second", "told 0", "told 1", "told 2", "script", "last")
    ]
    assert server.asked[-2] == ("EVALSHA", SCRIPT.digest, 2, "k1", "k2", "script")
    assert wire.kept("kind") == []
    assert (server.connected, server.loaded, reports.qsize()) == (1, 1, 1)
    assert wire.answer_to(b"GET", lambda: ("answer",)) == "well"


def test_while_a_server_is_gone_nobody_waits(wire, server, reports):
    """The last value of each key is kept, and sent when the server is found again."""
    assert asked(wire, "first") == "well"
    assert next_of(reports) == "joined"
    server.is_gone = True
    assert asked(wire, "vain") is None
    assert next_of(reports) == "lost: gone"
    assert server.closed == 1
    assert asked(wire, "vain") is None
    assert wire.answer_to(b"GET", lambda: ("vain",)) is None
    for what in ("old", "new"):
        write(wire, "a", what)
    write(wire, "b", "other")
    assert wire.kept("kind") == [("a", "new"), ("b", "other")]
    server.asked.clear()
    server.is_gone = False
    assert (next_of(reports), next_of(reports)) == ("joined", "found")
    while wire.kept("kind"):
        assert asked(wire, "after") == "well"
    said = [command[-1] for command in server.asked if command[0] == b"SET"]
    assert said == ["new", "other"]
    assert reports.empty()


@pytest.mark.parametrize("much", ["_MOST_KEPT", "_MOST_BYTES_KEPT"])
def test_values_waiting_for_a_server_are_bounded(
    wire, server, reports, monkeypatch, much
):
    """What was told longest ago goes; one that takes the place of another is counted
    once.
    """
    monkeypatch.setattr(wire_module, much, 3 if much == "_MOST_KEPT" else 30)
    server.is_gone = True
    write(wire, 0, "0", size=10)
    assert next_of(reports) == "lost: gone"
    for number in (1, 1, 2):
        write(wire, number, str(number), size=10)
    assert wire.kept("kind") == [(0, "0"), (1, "1"), (2, "2")]
    write(wire, 3, "3", size=10)
    assert wire.kept("kind") == [(1, "1"), (2, "2"), (3, "3")]


def test_a_permanent_failure_is_not_retried(wire, server, reports):
    """A key of another kind; who asked hears of it."""
    server.answers["wrong"] = ResponseError("WRONGTYPE of key")
    assert asked(wire, "wrong") is None
    assert (next_of(reports), next_of(reports)) == ("joined", "lost: WRONGTYPE of key")
    write(wire, "a", "wrong")
    assert next_of(reports) == "lost: WRONGTYPE of key"
    assert asked(wire, "after") == "well"
    assert wire.kept("kind") == []


@pytest.mark.parametrize(
    "refusal", ["OOM command not allowed", "MISCONF errors", "NOREPLICAS"]
)
def test_writes_refused_by_a_full_server_are_retried(wire, server, reports, refusal):
    """And what it takes again is told; questions are not: who asks hears of it."""
    server.answers["big"] = [ResponseError(refusal), ResponseError(refusal), "well"]
    write(wire, "a", "big")
    said = [next_of(reports) for _ in range(4)]
    assert said == ["joined", f"lost: {refusal}", f"lost: {refusal}", "found"]
    assert wire.kept("kind") == []
    server.answers["question"] = ResponseError(refusal)
    assert asked(wire, "question") is None
    assert next_of(reports) == f"lost: {refusal}"
    write(wire, "b", "small")
    assert asked(wire, "after") == "well"
    assert reports.empty(), "it was found once"


@pytest.mark.parametrize(
    "refusal", ["READONLY replica", "LOADING", "MASTERDOWN", "NOAUTH"]
)
def test_a_read_only_server_is_left(wire, server, reports, refusal):
    """And connected to anew: its name may be another machine's by then."""
    server.answers["told"] = [ResponseError(refusal), "well"]
    write(wire, "a", "told")
    said = [next_of(reports) for _ in range(4)]
    assert said[0] == "joined"
    assert refusal in said[1]
    assert said[2:] == ["joined", "found"]
    assert asked(wire, "after") == "well"
    assert wire.kept("kind") == []
    assert server.connected == 2
    assert server.closed == 1


def test_a_server_that_forgot_the_scripts_has_them_again(wire, server, reports):
    """As after a restart that was not noticed."""
    server.answers["script"] = [ResponseError("NOSCRIPT no matching script"), "well"]
    answers = Queue()
    wire.send(RedisOp(SCRIPT, lambda: ("k1", "k2", "script"), answers.put))
    assert answers.get(timeout=PATIENCE) == "well"
    assert server.loaded == 2
    server.answers["script"] = [ResponseError("NOSCRIPT"), ResponseError("WRONGTYPE")]
    wire.send(
        RedisOp(SCRIPT, lambda: ("k1", "k2", "script"), None, lambda: answers.put(None))
    )
    assert answers.get(timeout=PATIENCE) is None


def test_a_bug_does_not_end_the_thread(wire, server, reports):
    """Whatever an answer leads to."""

    def fails(_answer):
        raise KeyError("bug")

    wire.send(RedisOp(b"GET", lambda: ("x",), fails))
    assert next_of(reports) == "joined"
    assert "bug" in next_of(reports)
    assert (next_of(reports), next_of(reports)) == ("joined", "found")
    assert asked(wire, "after") == "well"


def test_closing_a_wire_returns_the_number_of_unsent_values(wire, server, reports):
    """Of what was told; it takes nothing more, and lets go of the server."""
    write(wire, "a", "1")
    assert wire.close() == 0
    assert server.asked[-1] == (b"SET", "1")
    assert server.closed == 1
    write(wire, "b", "2")
    assert asked(wire, "vain") is None
    assert wire.close() == 0
    assert server.connected == 1


def test_a_wire_is_closed_while_its_server_is_gone(wire, server, reports):
    """With what it could not tell."""
    server.is_gone = True
    for number in range(3):
        write(wire, number, "x")
    assert next_of(reports) == "lost: gone"
    assert wire.close() == 3


def test_no_thread_starts_without_a_query(wire, server):
    """Nor a connection."""
    assert wire.close() == 0
    assert server.connected == 0


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http://host", "scheme"),
        ("redis://host/zero", "zero is no number of a database"),
        ("unix://", "it has no path"),
        ("redis://host/0?ssl_ca_certs=/none.pem", "ssl_ca_certs"),
        ("redis://host/0?typo=1", "typo is no option"),
        ("rediss://host/0?ssl_certfile=/none.crt", "ssl_certfile: "),
        (
            "redis://host/0?ssl_check_hostname=true",
            "ssl_check_hostname is no option without rediss",
        ),
        ("redis://host:port/0", "[Pp]ort"),
    ],
)
def test_a_wrong_url_is_reported(url, wrong):
    """At the start, not at each connection."""
    with pytest.raises(ValueError, match=wrong):
        checked(url)


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("valkey://host:1/2", "redis://host:1/2"),
        ("valkeys://host", "rediss://host"),
        ("redis://host", "redis://host"),
        ("redis://host/", "redis://host/"),
        ("unix:///run/redis.sock?db=3", "unix:///run/redis.sock?db=3"),
    ],
)
def test_a_url_is_taken_as_the_package_redis_has_it(url, taken):
    """Valkey is another name for it."""
    assert checked(url) == taken


def test_an_address_is_shown_without_its_password():
    """Nor what else it says."""
    assert (
        shown_address("redis://user:secret@host/0?password=secret") == "redis://host/0"
    )
