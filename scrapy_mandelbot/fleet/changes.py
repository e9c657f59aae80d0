"""The wire format of a job on Redis: arguments and replies of ``lua/exchange.lua``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scrapy_mandelbot.job.job_store import Place

# what a project may give as a priority has no limit; Redis' scores have
_LARGEST = 1 << 53
_PLACE = 17  # characters: band and order


class Claimed(NamedTuple):
    """A request that is this worker's now."""

    site: str
    line: str
    number: int
    # priority, band, order: the least is the next of its line
    place: tuple[int, int, int]
    body: bytes


class Reply(NamedTuple):
    """What came of an exchange."""

    is_lost: bool
    """The lease of the worker has ended, or the job is in an older state than it knows:
    others may have what it held.
    """
    is_again: bool  # made before; sites and claims are all that the worker has
    now: float  # seconds since the epoch, by the server's clock
    sites: dict[str, bytes]  # new ones, with what their last owner has left
    claimed: list[Claimed]
    dropped: int
    passed_over: int
    give_back: list[str]  # sites that other workers ask for
    # how many sites the worker had better give to others, which have room for more
    surplus: int
    run: int
    outcome: str
    # in how many seconds a site is due that has no owner; None: none is
    next_due: float | None
    waiting: int  # how many sites have no owner, and requests that wait
    workers: int = 0  # those that are alive, this one included
    aside: tuple[tuple[str, str, bytes], ...] = ()
    """Requests that are set aside as workers have died with them: lines, why, and
    bodies.
    """
    last: int = 0  # where the lease is lost: the last exchange that is kept
    born: int = 0  # where the lease is lost: when the job began; 0: there is none


# in place of the number of a worker's last exchange: it is none of that job
UNKNOWN = -1
_LOST = Reply(True, False, 0.0, {}, [], 0, 0, [], 0, 0, "", None, 0)  # noqa: FBT003 -- fields


def _read_aside(site: bytes, why: bytes, member: bytes) -> tuple[str, str, bytes]:
    one = read_request(site, b"0", member)
    return one.line, why.decode(), one.body


def read_answer(said: list[Any]) -> Reply:
    if said[0] == b"lost":
        return _LOST._replace(last=int(said[1]), born=int(said[2]))
    status, now, granted, claimed, dropped, passed_over, give_back, surplus = said[:8]
    run, outcome, next_due, waiting, aside, workers = said[8:]
    members = zip(*[iter(aside)] * 3, strict=True)  # by three: site, reason, request
    seconds = int(next_due) / 1000
    return Reply(
        is_lost=False,
        is_again=status == b"again",
        now=now / 1000,
        sites={name(granted[i]): granted[i + 1] for i in range(0, len(granted), 2)},
        claimed=[read_request(*claimed[i : i + 3]) for i in range(0, len(claimed), 3)],
        dropped=dropped,
        passed_over=passed_over,
        give_back=[name(one) for one in give_back],
        surplus=int(surplus),
        run=int(run),
        outcome=outcome.decode(),
        next_due=None if seconds < 0 else seconds,
        waiting=waiting,
        workers=workers,
        aside=tuple(_read_aside(*one) for one in members),
    )


def read_request(site: bytes, priority: bytes, member: bytes) -> Claimed:
    """Read a request as it stands in its site's queue: place, number, line and body."""
    number, _, form = member[_PLACE:].partition(b" ")
    length, _, rest = form.partition(b":")
    of_line = int(length)
    place = int(min(float(priority), _LARGEST)), int(member[:1]), int(member[1:_PLACE])
    line = name(site + rest[:of_line])
    return Claimed(name(site), line, int(number), place, rest[of_line:])


def push(site: str, line: str, place: Place, number: int, body: bytes) -> list[object]:
    """Return the arguments by which a request is kept, without the word."""
    of_line = key(line)[len(key(site)) :]
    kind = f"{place.band}{'L' if place.is_last_first else 'F'}"
    priority = max(-_LARGEST, min(place.priority, _LARGEST))
    form = b"%d:%b%b" % (len(of_line), of_line, body)
    return [key(site), priority, kind, number, form]


def key(text: str) -> bytes:
    """Return a name as it is written, whatever a URL held."""
    return text.encode("utf-8", "surrogatepass")


def name(octets: bytes) -> str:
    return octets.decode("utf-8", "surrogatepass")
