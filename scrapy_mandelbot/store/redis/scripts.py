"""The keys of a store in Redis, and what the server does in one step.

All keys begin alike, and all expire. A site's name, which whoever links to it has chosen, is part
of a key only where the value expires by itself; elsewhere it is a member of a set that is cut to a
number.

=====================  ==========================================================================
``…:copy:SITE``        its copy; expires when the copy can serve nobody any more
``…:copies``           sorted set: sites that have one, by when they were fetched
``…:pauses``           sorted set: sites that are paused, by when the pause ends
``…:pause``            hash: the pause of each of those
``…:turns``            sorted set: sites with a pace, by when they may be asked next
``…:run:SPIDER``       when its last run that finished began
``…:fetch:SITE``       lease: who fetches its robots.txt
``…:probe:SITE``       lease: who asks whether a paused site is well
``…:turn:SITE``        lease: who asks a site with a pace next
``…:news``             the channel on which workers tell each other
=====================  ==========================================================================
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.store.contract import ANOTHER_PACE, Copy, KeptPause
from scrapy_mandelbot.store.rows import NO_ROW_OF_OURS, as_copy, as_pause, pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORM = 1
"""Of all values; the first thing that each of them says."""
FAR = 1e11
"""Seconds since the epoch: an operator's "for ever"."""
_LONGEST_REASON = 300  # characters of what a site is paused for; a URL in it may be longer


def name_of(site: str) -> bytes:
    """Return a site, spider or proxy as it is written. It may hold what is no UTF-8."""
    return site.encode("utf-8", "backslashreplace")


def copy_value(copy: Copy, ahead: float) -> bytes:
    """Return a copy as it is written.

    Args:
        copy: by the worker's clock.
        ahead: seconds by which the server's clock is ahead of it.
    """
    head = [FORM, copy.status, copy.fetched_at + ahead, copy.url, copy.etag, copy.last_modified]
    return json.dumps(head).encode() + b"\n" + pack(copy.body)


def read_copy(value: bytes, ahead: float) -> Copy:
    """Return the copy that a value is, by the worker's clock.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    head, _, packed = value.partition(b"\n")
    form, status, fetched_at, url, etag, last_modified = _loaded(head)
    _check(form)
    return as_copy((packed, status, fetched_at - ahead, url, etag, last_modified))


def pause_value(key: str, pause: KeptPause, ahead: float) -> tuple[float, bytes]:
    """Return when a pause ends, by the server's clock, and all of it as it is written."""
    until = min(pause.until + ahead, FAR)
    value = [
        FORM,
        name_of(key).decode(),
        until,
        pause.reason[:_LONGEST_REASON],
        pause.failed_probes,
    ]
    return until, json.dumps(value).encode()


def read_pause(value: bytes, ahead: float) -> tuple[str, KeptPause]:
    """Return the key and the pause that a value is, by the worker's clock.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    form, *row = _loaded(value)
    _check(form)
    key, pause = as_pause(tuple(row))
    return key, KeptPause(pause.until - ahead, pause.reason, pause.failed_probes)


def read_pauses(values: Iterable[bytes], ahead: float) -> dict[str, KeptPause]:
    """Return the pauses that values are, by key; what is none is passed over."""
    pauses = {}
    for value in values:
        with suppress(*NO_ROW_OF_OURS):
            key, pause = read_pause(value, ahead)
            pauses[key] = pause
    return pauses


def read_turns(values: Sequence[bytes], ahead: float) -> dict[str, float]:
    """Return when sites may be asked next, by name, given names and the server's times in turn."""
    return {
        text_of(name): float(score) - ahead
        for name, score in zip(values[::2], values[1::2], strict=True)
    }


def text_of(name: bytes) -> str:
    """Return a name as text, whatever something else has written in its place."""
    return name.decode("utf-8", "backslashreplace")


def news(sender: bytes, kind: str, name: bytes, detail: Any = None) -> bytes:
    """Return a message to the other workers."""
    return json.dumps([FORM, sender.decode(), kind, name.decode(), detail]).encode()


def read_news(message: bytes, ahead: float) -> tuple[bytes, str, str, Any]:
    """Return the sender of a message, its kind, the site, and what is said of it.

    That is, of a ``pause``, the pause, or None: it is over; of a ``turn``, when the next one is.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    form, sender, kind, name, detail = _loaded(message)
    _check(form)
    if kind == "turn":
        detail = float(detail) - ahead
    elif kind == "pause" and detail is not None:
        detail = read_pause(str(detail).encode(), ahead)[1]
    return str(sender).encode(), str(kind), str(name), detail


def _loaded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _check(form: Any) -> None:
    if form != FORM:
        raise ValueError(f"a form of another version: {str(form)[:20]}")


PREFIX = b"mandelbot:1:"
COPIES = PREFIX + b"copies"
PAUSES = PREFIX + b"pauses"
PAUSE = PREFIX + b"pause"
TURNS = PREFIX + b"turns"
NEWS = PREFIX + b"news"

MOST_COPIES = 1_000_000
"""Sites of which a copy is kept in Redis; those fetched longest ago go first."""
MOST_PAUSES = 50_000
"""Sites of which a pause is kept in Redis; those that end first go first."""
MOST_TURNS = 100_000
"""Sites of which a turn is kept in Redis; those that are due first go first."""
RUN_FOR = 400 * 86_400
"""Seconds for which it is known when a spider ran."""
OVER_FOR = 3_600
"""Seconds for which a pause or turn is kept that is over."""
_ANOTHER_CLOCK = 60  # seconds; a copy that is newer by more was dated by a wrong clock


def copy_key(site: bytes) -> bytes:
    """Return the key of a site's copy."""
    return PREFIX + b"copy:" + site


def lease_key(kind: str, site: bytes) -> bytes:
    """Return the key of a lease."""
    return PREFIX + kind.encode() + b":" + site


def run_key(spider: bytes) -> bytes:
    """Return the key of a spider's last run."""
    return PREFIX + b"run:" + spider


@dataclass(frozen=True)
class Script:
    """Something that the server does in one step: all of it or, where it is full, a part."""

    keys: int
    text: str

    @property
    def digest(self) -> str:
        """By which the server knows it."""
        return sha1(self.text.encode()).hexdigest()  # noqa: S324 -- the server's choice


_NOW = "local t = redis.call('TIME') local now = t[1] + t[2] / 1000000 "

PUT_COPY = Script(
    2,
    f"""-- keys: copy, copies; arguments: site, value, fetched at, seconds it is kept, most, prefix
    {_NOW}
    local at, keep, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
    local old = redis.call('ZSCORE', KEYS[2], ARGV[1])
    if old and tonumber(old) > at and tonumber(old) <= at + {_ANOTHER_CLOCK}
        and redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
    local left = math.ceil((at + keep - now) * 1000)
    if left <= 0 then return 0 end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', string.format('%.0f', left))
    redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
    if redis.call('TTL', KEYS[2]) < keep then redis.call('EXPIRE', KEYS[2], math.ceil(keep)) end
    local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - keep, 'LIMIT', 0, 10)
    for _, site in ipairs(gone) do redis.call('ZREM', KEYS[2], site) end
    local over = redis.call('ZCARD', KEYS[2]) - most
    for _, site in ipairs(over > 0 and redis.call('ZRANGE', KEYS[2], 0, over - 1) or {{}}) do
        redis.call('DEL', ARGV[6] .. site)
        redis.call('ZREM', KEYS[2], site)
    end
    return 1""",
)

DROP_COPY = Script(
    3,
    """-- keys: copy, copies, news; arguments: site, message
    redis.call('PUBLISH', KEYS[3], ARGV[2])
    redis.call('ZREM', KEYS[2], ARGV[1])
    return redis.call('DEL', KEYS[1])""",
)

FIND_COPY = Script(
    3,
    """-- keys: copy, lease, copies; arguments: site, fresh since, token, milliseconds; 0: no lease
    local copy = redis.call('GET', KEYS[1])
    if copy then
        local at = redis.call('ZSCORE', KEYS[3], ARGV[1])
        if at and tonumber(at) > tonumber(ARGV[2]) then return {copy, 0} end
    end
    if ARGV[4] == '0' then return {copy, math.max(0, redis.call('PTTL', KEYS[2]))} end
    if redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4]) then return {copy, 0} end
    if redis.call('GET', KEYS[2]) == ARGV[3] then
        redis.call('PEXPIRE', KEYS[2], ARGV[4])
        return {copy, 0}
    end
    return {copy, math.max(1, redis.call('PTTL', KEYS[2]))}""",
)

PUT_PAUSE = Script(
    3,
    f"""-- keys: pauses, pause, news; arguments: site, until or '', value, message, most
    redis.call('PUBLISH', KEYS[3], ARGV[4])
    {_NOW}
    if ARGV[2] == '' then
        redis.call('ZREM', KEYS[1], ARGV[1])
        redis.call('HDEL', KEYS[2], ARGV[1])
        return 0
    end
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
    redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
    local keep = math.ceil(math.min(1e9, math.max(tonumber(ARGV[2]) - now, 0))) + 86400
    for _, key in ipairs({{KEYS[1], KEYS[2]}}) do
        if redis.call('TTL', key) < keep then redis.call('EXPIRE', key, keep) end
    end
    local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - {OVER_FOR}, 'LIMIT', 0, 10)
    local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[5])
    if over > #gone then gone = redis.call('ZRANGE', KEYS[1], 0, over - 1) end
    for _, site in ipairs(gone) do
        redis.call('ZREM', KEYS[1], site)
        redis.call('HDEL', KEYS[2], site)
    end
    return 1""",
)

GET_PAUSES = Script(
    2,
    """-- keys: pauses, pause; arguments: after
    local values = {}
    for _, site in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')) do
        values[#values + 1] = redis.call('HGET', KEYS[2], site)
    end
    return values""",
)

PUT_TURN = Script(
    2,
    f"""-- keys: turns, news; arguments: site, due, message, most
    redis.call('PUBLISH', KEYS[2], ARGV[3])
    {_NOW}
    local old = redis.call('ZSCORE', KEYS[1], ARGV[1])
    local due = tonumber(ARGV[2])
    if old and tonumber(old) >= due and tonumber(old) <= due + {ANOTHER_PACE} then return 0 end
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
    local keep = math.ceil(math.min(1e9, math.max(due - now, 0))) + 86400
    if redis.call('TTL', KEYS[1]) < keep then redis.call('EXPIRE', KEYS[1], keep) end
    local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - {OVER_FOR}, 'LIMIT', 0, 10)
    for _, site in ipairs(gone) do redis.call('ZREM', KEYS[1], site) end
    local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[4])
    if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1) end
    return 1""",
)

CLAIM = Script(
    2,
    f"""-- keys: lease, pauses or turns; arguments: site, token, milliseconds, longest wait
    {_NOW}
    local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
    local left = due and tonumber(due) - now or 0
    if left > 0 and left <= tonumber(ARGV[4]) then return math.ceil(left * 1000) end
    if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
    if redis.call('GET', KEYS[1]) ~= ARGV[2] then
        return math.max(1, redis.call('PTTL', KEYS[1]))
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return 0""",
)

RELEASE = Script(
    1,
    """-- keys: lease; arguments: token, milliseconds for which it is kept
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])""",
)

SCRIPTS = (PUT_COPY, DROP_COPY, FIND_COPY, PUT_PAUSE, GET_PAUSES, PUT_TURN, CLAIM, RELEASE)
