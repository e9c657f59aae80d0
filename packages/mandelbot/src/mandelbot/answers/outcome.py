"""What an answer to ``/robots.txt`` means, after all redirects.

Source: Mandelbot, "HTTP Status Codes". The first row of the table that takes the answer
decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from enum import Enum
from hashlib import sha256
from typing import NamedTuple

from mandelbot.answers.meaning import NOTHING, Kind, ResponseMeaning

PAUSE_STATUSES = (503, 429, 430, 509, 529, 420)
"""Statuses that pause a site by default. Scrapy-mandelbot's docs have their sources."""
_A_RULE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])[ \t]*(?:dis)?allow[ \t]*:", re.IGNORECASE
)
_SKEW = 60.0  # seconds by which two machines' clocks may differ


def is_fresh(now: float, fetched_at: float, ttl: float) -> bool:
    """Return whether a copy serves without its site being asked, for `ttl` seconds.

    A copy from the future does not: the clock that wrote it was wrong, and would keep
    it for ever.
    """
    return -_SKEW <= now - fetched_at < ttl


def whole_lines(body: bytes) -> bytes:
    """Return the complete lines of a body that was cut at any byte."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


ENOUGH_5XX = 3
"""The same 5xx, this often running, raises the question whether the server means 404 by
it.
"""

SHORT_TRIES = 6
"""A host that never answered in this run is asked as often before its requests fail:
after waits of 1, 3, 9, 27 and 81 s, or so many times the first pause.
"""

MOST_FORGOTTEN = 5
"""How often in a run a dead host is met anew. Later requests cost it one try each."""

ENOUGH_BROKEN_OFF = 3
"""How often in a row the same truncated body is taken for the whole file."""

BROKEN_OFF_APART = 1_800.0
"""Seconds that lie between these times, at least: an outage has the same bytes for
minutes.
"""

BROKEN_OFF_SERVES = 3_600.0
"""Seconds for which they serve then."""

_GROWTH = 3.0  # of the waits between the short tries
_STEP_CUT_OFF = 2  # of these waits, at most, while no site answers


class OutcomeKind(Enum):
    """What a fetch says about a site.

    >>> from mandelbot import OutcomeKind
    >>> print(OutcomeKind.ALLOW_ALL)
    allow all
    """

    RULES = "rules"
    """The body holds the site's rules."""
    ALLOW_ALL = "allow all"
    """There is no robots.txt: every URL may be crawled."""
    FORBID_ALL = "forbid all"
    """No URL may be crawled. Only some dialects know a status that says so."""
    UNAVAILABLE = "unavailable"
    """It is not known yet: the site is left alone for a while, then asked again."""
    UNASKED = "unasked"
    """The question never reached a site: the request goes on, and fails or not by
    itself.
    """
    FAILED = "failed"
    """The host has not answered at all: the site's requests fail with what went wrong.
    """

    def __str__(self) -> str:
        return self.value


class Failure(Enum):
    """Why a fetch brought no answer.

    >>> from mandelbot import Failure
    >>> Failure.TIMED_OUT.is_outage, Failure.LOOP.is_outage
    (True, False)
    """

    DROPPED = "not asked for"
    NO_SUCH_HOST = "no such host"
    REFUSED = "connection refused"
    UNREACHABLE = "no connection"
    LOST = "connection lost"
    TIMED_OUT = "no answer in time"
    TLS = "no TLS connection"
    NOWHERE = "redirects that lead nowhere"
    LOOP = "redirects in a loop"
    BAD_REDIRECT = "redirect to an invalid URL"
    """It is no http or https URL."""
    PROXY = "the proxy failed"
    """It says nothing about the site."""
    OTHER = "failed"
    """Nothing that the network is known to do: an error of the project's own code."""

    @property
    def is_outage(self) -> bool:
        """Whether the site may be down: requests to it lead to no answer."""
        return self in {
            Failure.REFUSED,
            Failure.UNREACHABLE,
            Failure.LOST,
            Failure.TIMED_OUT,
            Failure.NO_SUCH_HOST,
        }

    @property
    def is_certain(self) -> bool:
        """Whether one request proves that nobody listens there."""
        return self is Failure.REFUSED or self is Failure.NO_SUCH_HOST

    @property
    def concerns_site(self) -> bool:
        """Whether the request was sent, and failed on its way."""
        return self not in {Failure.DROPPED, Failure.OTHER}


SILENT = frozenset(
    {
        Failure.NO_SUCH_HOST,
        Failure.REFUSED,
        Failure.UNREACHABLE,
        Failure.LOST,
        Failure.TIMED_OUT,
        Failure.TLS,
    }
)
"""Failures that are no answer of the host."""


class Answer(NamedTuple):
    """What one fetch of a robots.txt brought: the final status, or a failure.

    >>> from mandelbot import Answer, Failure
    >>> Answer(404).failure, Answer(failure=Failure.TIMED_OUT).status
    (None, None)
    """

    status: int | None = None
    failure: Failure | None = None
    detail: str = ""
    """The failure as text for a log."""
    meaning: ResponseMeaning = NOTHING
    """What a response with this status means for its site."""
    broken_off: bytes = b""
    """Of a truncated body, a digest of what came."""
    has_a_rule: bool = False
    """Of such a body, whether any whole line of it is a rule."""

    @property
    def counted_as(self) -> tuple[object, ...]:
        """What answers have in common that count as the same: see :class:`Trouble`."""
        if self.failure in SILENT and not self.broken_off:
            return ("no answer",)
        return (self.status, self.failure, self.broken_off)

    def truncated(self, body: bytes) -> Answer:
        """Return the answer with a body of which no more than this came."""
        has_a_rule = _A_RULE.search(whole_lines(body)) is not None
        return self._replace(broken_off=sha256(body).digest(), has_a_rule=has_a_rule)

    def __str__(self) -> str:
        if self.failure is None:
            return str(self.status)
        if self.detail:
            return f"{self.failure.value} ({self.detail})"
        return self.failure.value


class SiteKnowledge(NamedTuple):
    """What is known of a site when its answer comes in."""

    copy_status: int | None = None
    """The status of its last good copy; None: there is none."""
    copy_age: float = 0.0
    """Seconds since the copy was fetched, or confirmed by a 304."""
    times: int = 1
    """How often running the site has answered so, this time included."""
    times_apart: int = 1
    """The same, where only those count that came :data:`BROKEN_OFF_APART` after the
    last.
    """
    misreports: bool = False
    """Whether ``/`` answers below 400, and a path that cannot exist the same 5xx."""
    has_answered: bool = False
    """Whether the host has answered anything in this run."""
    uncounted: int = 0
    """Tries in vain while no site answered; they lengthen the wait, and end nothing."""
    is_nameless: bool = False
    """Whether the resolver says that no host has the site's name."""


NOTHING_KNOWN = SiteKnowledge()


class Trouble:
    """The last answers of a site whose robots.txt is unavailable or unreachable.

    Class attributes hold the initial values.
    """

    answer: tuple[object, ...] = ()
    last_counted = 1
    """How many times the last of them counted."""
    times_apart = 0
    counted_at = 0.0
    """When `times_apart` last grew."""
    refetch_at = 0.0
    """When to request the file again while a stale copy is in use."""
    is_reported = False
    has_answered = False
    """Whether the host has sent any response."""
    uncounted = 0
    """Tries in vain while no site answered."""
    times_forgotten = 0
    """How often later requests met a dead host as if for the first time."""

    def __init__(self, times: int = 0) -> None:
        self.times = times
        """Consecutive requests with this answer."""

    def count(self, answer: Answer, now: float, *, has_answered: bool) -> None:
        """Count an answer, from one on if the last one was another."""
        if self.answer != answer.counted_as:
            self.answer = answer.counted_as
            self.times = 0
            self.times_apart = 0
            self.uncounted = 0
            self.refetch_at = 0.0
        self.times += 1
        self.last_counted = 1
        if not self.times_apart or now - self.counted_at >= BROKEN_OFF_APART:
            self.times_apart += 1
            self.counted_at = now
        self.has_answered |= has_answered

    def count_more(self, times: int) -> None:
        """Count the last answer so many times more, if any: it took as long as they."""
        self.last_counted += max(0, times)
        self.times += max(0, times)

    def uncount(self) -> None:
        """Do not count the last answer, as no site answers."""
        self.times = max(1, self.times - self.last_counted)
        self.uncounted += 1

    def forget(self) -> bool:
        """Forget that the host is dead, a few times; return whether it is forgotten."""
        if self.times_forgotten >= MOST_FORGOTTEN:
            return False
        self.times_forgotten += 1
        self.times = 0
        self.uncounted = 0
        return True

    @property
    def may_be_whole(self) -> bool:
        """Whether a body that ended there each time may be all of the file."""
        return self.times_apart >= ENOUGH_BROKEN_OFF


class OutcomePolicy(NamedTuple):
    """What the project and its dialect say about answers.

    >>> from mandelbot import Answer, OutcomePolicy
    >>> OutcomePolicy().outcome_of(Answer(404)).kind
    <OutcomeKind.ALLOW_ALL: 'allow all'>
    """

    tries: int = 8
    """As often a pause is tried to be waited out; a 4xx that outlasts them is a 4xx
    after all.
    """
    longest_stale: float = 2_592_000.0
    """Seconds for which a good copy serves while no better one can be had."""
    forbidding_statuses: Container[int] = frozenset()
    """Statuses that forbid the whole site."""
    only_status_200: bool = False
    """Whether any other 2xx counts as no file."""
    first_wait: float = 1.0
    """Seconds between the first two of the short tries."""

    @property
    def short_tries(self) -> int:
        """How often a host that never answered is asked before its requests fail."""
        # A site that is given up sooner is not asked more often than that either.
        return min(SHORT_TRIES, self.tries + 1)

    @property
    def longest_wait(self) -> float:
        """Seconds before the last of the short tries."""
        return self.first_wait * _GROWTH ** (SHORT_TRIES - 2)

    def waits_after(self, times: int) -> float:
        """Return the seconds of all waits between the short tries after so many.

        >>> OutcomePolicy().waits_after(1)
        121.0
        """
        steps = range(times - 1, self.short_tries - 1)
        return sum(self.first_wait * _GROWTH**step for step in steps)

    def outcome_of(
        self, answer: Answer, known: SiteKnowledge = NOTHING_KNOWN
    ) -> Outcome:
        """Return what the answer means, given what is known of the site.

        >>> OutcomePolicy().outcome_of(Answer(404)).reason
        'robots.txt: 404, there is none'
        """
        for row in TABLE:  # the last row takes any
            if row.takes(answer, known, self):
                break
        kind = row.kind or self.outcome_of_copy(known.copy_status or 404).kind
        is_heeded = row.case in {"unavailable", "stale_used"}
        said = f", {answer.meaning.said}" if is_heeded and answer.meaning.said else ""
        reason = f"robots.txt: {answer}{said}, {row.meaning}"
        retry_after = answer.meaning.wait if is_heeded else None
        outcome = Outcome(
            kind,
            reason,
            answer.status,
            retry_after,
            row.case,
            failure=answer.failure,
            is_nameless=known.is_nameless,
        )
        if row.takes is _never_answered:
            step = known.times - 1
            if known.uncounted:
                step = min(step + known.uncounted, _STEP_CUT_OFF)
            wait = self.first_wait * _GROWTH**step
            is_last = known.times == self.short_tries - 1
            return outcome._replace(wait=wait, is_last_wait=is_last)
        if row.takes is _ends_there_each_time:
            return outcome._replace(serves_for=BROKEN_OFF_SERVES)
        return outcome

    def outcome_of_copy(self, status: int) -> Outcome:
        """Return what a copy means that was kept under this status."""
        return self.outcome_of(Answer(status))

    def may_be_misreported(self, answer: Answer, known: SiteKnowledge) -> bool:
        """Return whether to find out now if the server says 5xx where it means 404.

        Not if it makes no difference: a good copy serves, and nothing pauses. Nor if
        the answer names a time in ``Retry-After``.
        """
        is_5xx = answer.status is not None and 500 <= answer.status < 600  # noqa: PLR2004
        if not is_5xx or answer.meaning.wait is not None or known.times < ENOUGH_5XX:
            return False
        return _asks_for_pause(answer, known, self) or not _has_good_copy(
            answer, known, self
        )


class Outcome(NamedTuple):
    """What one fetch of a robots.txt means, and why, as text for a log.

    >>> from mandelbot import Outcome, OutcomeKind
    >>> Outcome(OutcomeKind.ALLOW_ALL, "status 404", 404).reason
    'status 404'
    """

    kind: OutcomeKind
    reason: str
    status: int | None = None
    retry_after: float | None = None
    """Seconds that the server asks to be left alone, where it asked."""
    case: str = ""
    """The row of the table: ``rules``, ``allow_all``, ``forbid_all``, ``revalidated``,
    ``stale_used``, ``misreported_5xx``, ``unavailable``, ``unasked`` or ``unanswered``.
    """
    wait: float | None = None
    """Seconds until the next of the short tries, where it is one."""
    is_last_wait: bool = False
    """Whether the next of them is the last."""
    failure: Failure | None = None
    """Why there was no answer, if there was none."""
    serves_for: float | None = None
    """Seconds for which it holds, in this run alone; None: as long as the project says.
    """
    is_nameless: bool = False
    """Whether the resolver says that no host has the site's name."""

    @property
    def is_new(self) -> bool:
        """Whether the answer takes the place of the site's copy."""
        return self.case in {"rules", "allow_all", "forbid_all", "misreported_5xx"}

    @property
    def kept_status(self) -> int:
        """The status of the copy that is kept: 404 if the server means that."""
        if self.kind is OutcomeKind.ALLOW_ALL and not _is_4xx(self):
            return 404
        return self.status or 404


# The table, and the conditions of its rows.


def _is_4xx(answer: Answer | Outcome) -> bool:
    return answer.status is not None and 400 <= answer.status < 500  # noqa: PLR2004


_Takes = Callable[[Answer, SiteKnowledge, OutcomePolicy], bool]


def _is(what: Failure | int) -> _Takes:
    return lambda answer, *_: what in {answer.failure, answer.status}


def _confirms_the_copy(
    answer: Answer, known: SiteKnowledge, _policy: OutcomePolicy
) -> bool:
    return answer.status == 304 and known.copy_status is not None  # noqa: PLR2004


def _has_rules(answer: Answer, _known: SiteKnowledge, policy: OutcomePolicy) -> bool:
    return answer.status in range(200, 201 if policy.only_status_200 else 300)


def _is_whole(answer: Answer, known: SiteKnowledge, policy: OutcomePolicy) -> bool:
    return not answer.broken_off and _has_rules(answer, known, policy)


def _is_another_2xx_or_3xx(
    answer: Answer, _known: SiteKnowledge, _policy: OutcomePolicy
) -> bool:
    return answer.status is not None and 200 <= answer.status < 400  # noqa: PLR2004


def _forbids(answer: Answer, _known: SiteKnowledge, policy: OutcomePolicy) -> bool:
    return answer.status in policy.forbidding_statuses


def _is_misreported(
    answer: Answer, known: SiteKnowledge, policy: OutcomePolicy
) -> bool:
    return known.misreports and policy.may_be_misreported(answer, known)


def _has_good_copy(
    _answer: Answer, known: SiteKnowledge, policy: OutcomePolicy
) -> bool:
    return known.copy_status is not None and is_fresh(
        known.copy_age, 0.0, policy.longest_stale
    )


def _and_has_copy(takes: _Takes) -> _Takes:
    return lambda *all_three: takes(*all_three) and _has_good_copy(*all_three)


def _asks_for_pause(
    answer: Answer, known: SiteKnowledge, policy: OutcomePolicy
) -> bool:
    asks = answer.meaning.kind is Kind.NOT_NOW
    return asks and (not _is_4xx(answer) or known.times <= policy.tries)


def _breaks_off(answer: Answer, known: SiteKnowledge, policy: OutcomePolicy) -> bool:
    return bool(answer.broken_off) and _has_rules(answer, known, policy)


def _ends_there_each_time(
    answer: Answer, known: SiteKnowledge, policy: OutcomePolicy
) -> bool:
    is_all = answer.has_a_rule and known.times_apart >= ENOUGH_BROKEN_OFF
    return is_all and _breaks_off(answer, known, policy)


def _never_answered(
    answer: Answer, known: SiteKnowledge, _policy: OutcomePolicy
) -> bool:
    return answer.failure in SILENT and not known.has_answered


def _is_tried_enough(
    answer: Answer, known: SiteKnowledge, policy: OutcomePolicy
) -> bool:
    is_enough = known.is_nameless or known.times >= policy.short_tries
    return is_enough and _never_answered(answer, known, policy)


class _OutcomeRow(NamedTuple):
    case: str
    takes: _Takes
    kind: OutcomeKind | None
    """None: what the site's copy means."""
    meaning: str


_COPY_SERVES = "the last good copy stays in use"
_OF_ALL = "said of every missing page"
_NO_PAGE = "no page may be requested (RFC 9309; ROBOTSTXT_OBEY)"
TABLE = (
    _OutcomeRow("rules", _is_whole, OutcomeKind.RULES, "has rules"),
    # As with Scrapy's own middleware: someone else's component did not want it asked.
    _OutcomeRow(
        "unasked", _is(Failure.DROPPED), OutcomeKind.UNASKED, "its requests go on"
    ),
    # Only an answer of the site says something about the site. The request that needs
    # the file fails as its own download by that proxy would, and is retried by the
    # project's components.
    _OutcomeRow("stale_used", _and_has_copy(_is(Failure.PROXY)), None, _COPY_SERVES),
    _OutcomeRow(
        "unanswered", _is(Failure.PROXY), OutcomeKind.FAILED, "its request fails"
    ),
    # More hops than anyone means, or a target that may not be requested: as 404. A loop
    # is none of these, nor is a target that is no http(s) URL: such a server is broken,
    # its rules are unknown.
    _OutcomeRow(
        "allow_all", _is(Failure.NOWHERE), OutcomeKind.ALLOW_ALL, "there is none"
    ),
    _OutcomeRow("revalidated", _confirms_the_copy, None, "has not changed"),
    # "A message is considered complete when all of the octets indicated by its framing
    # are available." (RFC 9112, section 8). Of one that is not, no line can be relied
    # on: cut after "User-agent: *" it opens all, cut within a rule it closes what it
    # does not name.
    _OutcomeRow(
        "stale_used", _and_has_copy(_breaks_off), None, f"is truncated; {_COPY_SERVES}"
    ),
    _OutcomeRow(
        "rules", _ends_there_each_time, OutcomeKind.RULES, "ends there each time"
    ),
    _OutcomeRow(
        "unavailable",
        _breaks_off,
        OutcomeKind.UNAVAILABLE,
        "is truncated; its rules are unknown",
    ),
    _OutcomeRow(
        "allow_all", _is_another_2xx_or_3xx, OutcomeKind.ALLOW_ALL, "counts as none"
    ),
    _OutcomeRow(
        "forbid_all", _forbids, OutcomeKind.FORBID_ALL, "forbids the whole site"
    ),
    # "If Mandelbot determines a server is incorrectly returning 5xx status codes
    # instead of 404 status codes, it will treat 5xx errors as 404 errors." Before the
    # pauses: a server that says 503 for 404 is not down. A good copy is believed rather
    # than that the file has gone.
    _OutcomeRow(
        "stale_used", _and_has_copy(_is_misreported), None, f"{_OF_ALL}; {_COPY_SERVES}"
    ),
    _OutcomeRow("misreported_5xx", _is_misreported, OutcomeKind.ALLOW_ALL, _OF_ALL),
    # Whatever was asked. The document lets every 4xx allow all; a 429 is waited for
    # first, as is one that names a time.
    _OutcomeRow(
        "unavailable", _asks_for_pause, OutcomeKind.UNAVAILABLE, "asks for a pause"
    ),
    # 401 and 403 too. (Mandelbot, "HTTP Status Codes")
    _OutcomeRow(
        "allow_all",
        lambda answer, *_: _is_4xx(answer),
        OutcomeKind.ALLOW_ALL,
        "there is none",
    ),
    # Whatever follows: no rules are more recent than those of the copy.
    _OutcomeRow("stale_used", _has_good_copy, None, _COPY_SERVES),
    # As with Scrapy's own middleware: what the project's own code raises is no word of
    # the site.
    _OutcomeRow(
        "unasked", _is(Failure.OTHER), OutcomeKind.UNASKED, "its requests go on"
    ),
    # No site has been found to be polite to, and it is not waited for as one that is
    # known is.
    _OutcomeRow(
        "unanswered", _is_tried_enough, OutcomeKind.FAILED, "its requests fail"
    ),
    _OutcomeRow(
        "unavailable", _never_answered, OutcomeKind.UNAVAILABLE, "is asked again soon"
    ),
    # "If the robots.txt file is unreachable due to server or network errors ... the
    # crawler MUST assume complete disallow" (RFC 9309, section 2.3.1.4, which names 500
    # to 599). Of these Scrapy's RETRY_HTTP_CODES has 500, 502, 503, 504, 522 and 524.
    # 502 and 504 are what a proxy says of the server behind it (RFC 9110, sections
    # 15.6.3 and 15.6.5), 520 to 524 what Cloudflare says of it ("Cloudflare 5xx
    # errors"): the site itself has said nothing.
    *(
        _OutcomeRow(
            "unavailable",
            _is(status),
            OutcomeKind.UNAVAILABLE,
            f"{why}: its rules are unknown, {_NO_PAGE}",
        )
        for status, why in (
            (502, "the server behind it made no sense"),
            (504, "the server behind it did not answer in time"),
            (520, "the server behind it made no sense to Cloudflare"),
            (521, "the server behind it refused Cloudflare's connection"),
            (
                522,
                "the server behind it did not accept Cloudflare's connection in time",
            ),
            (523, "Cloudflare cannot reach the server behind it"),
            (524, "the server behind it did not answer Cloudflare in time"),
        )
    ),
    # What is left: 5xx, a status that no document speaks of, refused, lost, timed out,
    # TLS, and redirects in a loop or to an invalid URL.
    _OutcomeRow(
        "unavailable",
        lambda *_: True,
        OutcomeKind.UNAVAILABLE,
        f"nobody knows its rules now: {_NO_PAGE}",
    ),
)
