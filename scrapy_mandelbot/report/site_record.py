"""What happened at one site: sums and bounded samples.

Times are in seconds since the epoch. Texts from the web are escaped and shortened
(``shown``) before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from operator import attrgetter
from types import MappingProxyType
from typing import TypeVar

from mandelbot.answers.outcome import PAUSE_STATUSES

from scrapy_mandelbot.fields import (
    Column,
    Fold,
    Tile,
    computed,
    field,
    recorded,
)
from scrapy_mandelbot.politeness.tally import End, Tally, with_more
from scrapy_mandelbot.report.samples import (
    MOST_PAUSES,
    MOST_ROBOTS,
    MOST_RULES,
    ConcurrencyRecord,
    LoadRecord,
    PaceRecord,
    PauseRecord,
    QuantileSketch,
    RetryAfterRecord,
    RobotsRecord,
    RuleRecord,
    SitemapsRecord,
    TagsRecord,
    Timeline,
    UsageRecord,
    joined_answers,
    joined_pauses,
    joined_rules,
    without_middle,
)
from scrapy_mandelbot.time_text import duration, rate_text

Sample = TypeVar("Sample")

MOST_EXAMPLES = 3
MOST_SITEMAPS = 20
MOST_STATEMENTS = 10
FIRST_ANSWERS = 20
"""Answers that show the state of a site before the crawl."""
_OF_MOST_SITES = (
    *("number", "is_watched", "timeline", "taken", "in_flight", "first_seen"),
    *("first_errors", "first_timed", "timed", "has_robots", "robots_seen", "robots"),
    *("sitemaps", "pace", "_last_sent", "gaps", "by_load", "pages", "others", "ends"),
    *("statuses", "tags", "usage"),
)
"""Fields of which most sites have a value of their own."""
_ANSWERED = frozenset({"rules", "allow_all", "forbid_all", "revalidated"})
"""Cases of robots.txt in which its site has answered."""


@recorded
class SiteRecord(Tally):
    """What happened at one site; with the name ``""``, at several sites together.

    Class attributes hold the initial values, so a quiet site takes little memory.
    """

    since: float = field(inf, fold=Fold.LEAST)
    """When it was created, in seconds since the epoch."""
    sites = field(1, "sites", tile=Tile("Sites", 10))
    """The number of sites in this record; a site that returns counts again."""
    number = -1
    """The number of records created before it."""
    is_watched = False
    """Whether its requests are recorded."""
    forbidden = field(
        0,
        "requests",
        Fold.SUM,
        json="forbidden",
        column=Column("FORBIDDEN", 40),
        page=[Column("Forbidden", 30)],
        tile=Tile("Forbidden", 40, "note"),
    )
    failures = field(
        0,
        "requests",
        Fold.SUM,
        json="failures",
        page=[Column("No answer", 60)],
        tile=Tile("No answer", 70, "warning"),
        is_left=False,
    )
    """Requests without an answer, where requests are recorded."""
    refusals: Mapping[str, int] = field(
        MappingProxyType({}),
        "answers",
        Fold.BY_KEY,
        json="refusals",
        is_detailed=True,
    )
    """Answers and failures that call for a pause, by status or kind of failure."""
    pages_kept = field(0, "requests", Fold.SUM)
    """Pages that alone were refused, and are kept for the next run."""
    pauses_seen = field(
        0,
        "pauses",
        Fold.SUM,
        json="pauses",
        column=Column("PAUSES", 60),
        page=[Column("Pauses", 50)],
        tile=Tile("Pauses", 60, "warning"),
    )
    """The number of pauses of the whole site."""
    pauses_ended = field(0, "pauses", Fold.SUM, json="resumed")
    in_pauses = field(0.0, "s", Fold.SUM)
    """Seconds of the ended pauses."""
    given_up = field(0, "sites", Fold.SUM)
    has_reached_budget = field(False, fold=Fold.ANY)  # noqa: FBT003 -- its value
    """Whether MANDELBOT_SITE_BUDGET keeps the rest of its pages back."""
    turns = field(0, "requests", Fold.SUM, json="turns", is_detailed=True)
    """Requests that waited for a crawl delay."""
    turn_waits = field(0.0, "s", Fold.SUM, json="turn_waits", is_detailed=True)
    pace: PaceRecord | None = field(
        None,
        fold=Fold.LAST,
        kind=PaceRecord,
        json="pace",
        page=[Column("Delay asked, s", 80, path="asked", name="delay")],
        is_detailed=True,
    )
    limit: float | None = field(
        None, "requests a second", Fold.FIRST, kind=float, json="limit"
    )
    """The rate limit found."""
    concurrency: ConcurrencyRecord | None = field(
        None,
        fold=Fold.LAST,
        kind=ConcurrencyRecord,
        json="concurrency",
        is_detailed=True,
    )
    """The requests at once that it bears, if they are fewer than the project allows."""
    gaps: QuantileSketch | None = field(
        None,
        "s",
        json="gaps",
        page=[
            Column("Least gap, s", 90, path="least", name="least_gap"),
            Column("Median gap, s", 100, path="median", name="median_gap"),
        ],
        is_detailed=True,
        is_left=False,
    )
    """Seconds between requests: of a site with a delay, or where requests are recorded.
    """
    _last_sent: float | None = None
    retry_after: RetryAfterRecord | None = field(
        None,
        fold=Fold.PART,
        kind=RetryAfterRecord,
        json="retry_after",
        is_detailed=True,
    )
    by_load: LoadRecord | None = field(
        None, json="in_flight", is_detailed=True, is_left=False
    )
    """Its answers by the requests in flight."""
    robots_seen: Mapping[str, int] = field(
        MappingProxyType({}), "answers", Fold.BY_KEY, json="robots"
    )
    """Answers to /robots.txt, by case, for the report and the metrics."""
    robots: Sequence[RobotsRecord] = field(
        (),
        fold=Fold.SAMPLE,
        kind=RobotsRecord,
        json="robots_answers",
        is_detailed=True,
        join=joined_answers,
    )
    has_robots = field(False, fold=Fold.ANY)  # noqa: FBT003 -- its value
    """Whether the site has answered a request for /robots.txt."""
    pauses: Sequence[PauseRecord] = field(
        (),
        fold=Fold.SAMPLE,
        kind=PauseRecord,
        json="pause_list",
        is_detailed=True,
        join=joined_pauses,
    )
    rules: Sequence[RuleRecord] = field(
        (), fold=Fold.SAMPLE, kind=RuleRecord, join=joined_rules
    )
    sitemaps: SitemapsRecord | None = field(
        None,
        fold=Fold.PART,
        kind=SitemapsRecord,
        json="sitemaps",
        column=Column("SITEMAPS", 80, path="cited"),
        is_detailed=True,
    )
    tags: TagsRecord | None = field(
        None,
        fold=Fold.PART,
        kind=TagsRecord,
        json="tags",
        column=Column("ROBOT TAGS", 110, path="pages"),
        is_detailed=True,
    )
    usage: UsageRecord | None = field(
        None, fold=Fold.PART, kind=UsageRecord, json="usage", is_detailed=True
    )
    timeline: Timeline | None = field(
        None, json="timeline", is_detailed=True, is_left=False
    )
    """None: requests are not recorded."""
    first_seen = field(0, "answers", Fold.SUM, is_left=False)
    first_errors = field(0, "answers", Fold.SUM, is_left=False)
    """Of the first answers: how many have come, and how many are 5xx."""
    first_timed: QuantileSketch | None = field(None, "s", Fold.SKETCH, is_left=False)
    timed: QuantileSketch | None = field(None, "s", Fold.SKETCH, is_left=False)
    """Seconds to the first byte, of the first answers and of all."""
    in_flight = 0
    """Requests on their way now, where requests are recorded."""

    def __init__(self, site: str, since: float) -> None:
        super().__init__()
        self.site = site
        self.since = since

    def share_names(self) -> None:
        """Let Python store the names of fields once for all records, not with each.

        It does so (3.11) for those that the first instances have: sites that are met at
        once get most of theirs later, and their names took 500 bytes each.
        """
        for name in _OF_MOST_SITES:
            setattr(self, name, getattr(self, name))

    def __repr__(self) -> str:
        return (
            f"<{self.site or 'other sites'}: {self.pages} pages, {self.pauses_seen}"
            " pauses>"
        )

    @property
    @computed(
        "answers",
        json="refused",
        after="failures",
        column=Column("REFUSED", 50),
        page=[Column("Refused", 40)],
        tile=Tile("Refused", 50, "warning"),
    )
    def refused(self) -> int:
        """The number of answers and failures that call for a pause."""
        return sum(self.refusals.values())

    @property
    def is_troubled(self) -> bool:
        """Whether anything went wrong."""
        return bool(self.refusals or self.pauses_seen or self.given_up)

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """Sort key, largest first: over, forbidden, then by what happened."""
        is_over = self.given_up or self.is_unreachable
        return (
            2 if is_over else int(self.is_forbidden),
            self.lost,
            self.refused + self.pauses_seen,
            self.pages,
            self.forbidden,
        )

    @property
    def is_unreachable(self) -> bool:
        """Whether requests failed without an answer, and none had any."""
        is_silent = not (
            self.pages or self.others or self.refusals.keys() - {"no answer"}
        )
        if self.has_robots:
            return False  # its robots.txt has come, perhaps through another proxy
        return is_silent and not {End.NETWORK, End.NO_HOST}.isdisjoint(self.ends)

    @property
    def is_forbidden(self) -> bool:
        """Whether robots.txt forbade all requests, and nothing came of the site."""
        if self.pages or self.others or self.cached or self.refusals:
            return False
        ends = {end for end, count in self.ends.items() if count}
        return End.FORBIDDEN in ends and ends <= {End.FORBIDDEN, End.SEEN}

    def state(self) -> str:
        """Return the state of the site; a failing section or page is one of its own."""
        if self.given_up:
            return "given up"
        if self.is_unreachable:
            return "unreachable"
        return self._state_of_pauses() or self._state_of_pages()

    def _state_of_pauses(self) -> str:
        """Return what the open pauses say; empty: nothing."""
        open_ones = [one for one in self.pauses if one.ended is None]
        if End.SECTION in self.ends or any(one.is_given_up for one in open_ones):
            return "section given up"
        if any(is_pause(one.kind) for one in open_ones):
            return "paused"
        if any(one.kind == "section" for one in open_ones):
            return "section set aside"
        return ""

    def _state_of_pages(self) -> str:
        if self.is_forbidden:
            return "forbidden"
        if self.has_reached_budget:
            return "budget reached"
        if End.URL in self.ends or self.pages_kept:
            return "page given up"
        if sum(self.errors.values()) > self.handed_on / 2:
            return "mostly errors"
        return "well"

    @computed("s", json="paused_for", after="resumed", page=[Column("Paused, s", 70)])
    def paused_for(self, now: float) -> float:
        """Return the seconds of all pauses, open ones included."""
        lasting = [one for one in self.pauses if one.ended is None]
        seconds = [one.seconds(now) for one in lasting if is_pause(one.kind)]
        return self.in_pauses + sum(seconds)

    # What is put together for the report.

    @computed(column=Column("END", 30))
    def end(self) -> str | None:
        """Return its state if it is not well; None: well, or several sites."""
        state = self.state()
        if self.site and state != "well":
            return state
        return None

    @computed(column=Column("OTHER", 45))
    def errors_text(self) -> str | None:
        """Return how many answers were 4xx or 5xx, and the commonest; None: none."""
        errors = self.errors
        if not errors:
            return None
        (status, count), *others = errors.items()
        commonest = f"{count:,} of {status}"
        return f"{commonest} …" if others else commonest

    @computed(column=Column("PAUSED FOR", 70))
    def paused_text(self, now: float) -> str | None:
        """Return how long it was paused; None: it was not."""
        return duration(self.paused_for(now)) if self.pauses_seen else None

    @computed(column=Column("DELAY", 90))
    def delay_text(self) -> str | None:
        """Return the crawl delay, and whether it is obeyed; None: it has none."""
        if self.pace is None:
            return None
        asked = duration(self.pace.asked)
        if self.pace.is_obeyed:
            return f"{asked}, obeyed"
        came = self.came_every()
        if came is None:
            return f"{asked}, not obeyed"
        return f"{asked}, not obeyed: {duration(came)}"

    @computed(column=Column("LIMIT", 100))
    def limits_text(self) -> str | None:
        """Return the limits that were found; None: there are none."""
        limits = []
        if self.limit is not None:
            limits.append(rate_text(self.limit).replace(" requests", ""))
        if self.concurrency is not None:
            at_once = self.concurrency
            limits.append(f"{at_once.bound} of {at_once.most} at once")
        return ", ".join(limits) or None

    @computed(
        json="answers",
        after="in_flight",
        page=[
            Column("5xx of answers", 110, path="errors", name="errors", where="all"),
            Column("First byte, s", 120, path="time", name="time"),
        ],
        is_detailed=True,
    )
    def answers(self) -> dict[str, float | None]:
        """Return how fast it answered, and how many answers were errors."""
        buckets = [bucket for _, bucket in self.timeline or ()]
        return {
            "first": self.first_seen,
            "first_errors": self.first_errors,
            "first_time": _quantile(self.first_timed, 0.5),
            "all": sum(bucket.answers for bucket in buckets),
            "errors": sum(bucket.errors for bucket in buckets),
            "time": _quantile(self.timed, 0.5),
            "slow_time": _quantile(self.timed, 0.95),
        }

    @property
    @computed(json="rules", after="pause_list", is_detailed=True)
    def most_used_rules(self) -> list[RuleRecord]:
        """Its rules, those that forbade most first."""
        return sorted(self.rules, key=attrgetter("count"), reverse=True)

    # Events: pauses.

    def refusal(self, kind: str, now: float, retry_after: float | None) -> None:
        """Record an answer or failure that calls for a pause.

        `retry_after`: the seconds that it asks for, or None.
        """
        self.refusals = {**self.refusals, kind: self.refusals.get(kind, 0) + 1}
        if self.timeline is not None:
            self.timeline.numbers[self.timeline.at(now) + Timeline.REFUSALS] += 1
        if retry_after is None:
            return
        if self.retry_after is None:
            self.retry_after = RetryAfterRecord()
        asked = self.retry_after
        asked.asked += 1
        asked.longest = max(asked.longest, retry_after)
        asked.asked_at = now
        asked.until = max(asked.until or 0.0, now + retry_after)

    def pause(self, pause: PauseRecord) -> None:
        """Record the start of a pause, or the new end of an open one."""
        if self.pauses:
            open_one = self._open(pause.where)
            if open_one is not None:
                open_one.until = pause.until
                open_one.reason = pause.reason
                return
        self.pauses_seen += is_pause(pause.kind)
        self.pauses = _with(self.pauses, pause, MOST_PAUSES)

    def prolong(
        self, where: str, until: float, reason: str, failed_probes: int
    ) -> None:
        """Record a longer pause."""
        pause = self._open(where)
        if pause is not None:
            pause.until = until
            pause.reason = reason
            pause.failed_probes = failed_probes

    def resume(self, where: str, now: float, paused_for: float | None = None) -> None:
        """Record the end of a pause; `paused_for` None: since its begin."""
        pause = self._open(where)
        if pause is not None:
            pause.ended = now
        if paused_for is None:
            if pause is None:
                return
            paused_for = now - pause.since
        if pause is None or is_pause(pause.kind):
            self.pauses_ended += 1
            self.in_pauses += paused_for

    def give_up(
        self, where: str, reason: str, failed_probes: int, *, is_section: bool = False
    ) -> None:
        """Record that the site or section is given up."""
        self.given_up += not is_section
        pause = self._open(where)
        if pause is not None:
            pause.reason = reason
            pause.failed_probes = failed_probes
            pause.is_given_up = True

    # Events: robots.txt, rules, sitemaps, tags, usage.

    def received_robots(self, case: str) -> None:
        """Remember whether an answer to /robots.txt came from the site."""
        if case in _ANSWERED:
            self.has_robots = True

    def count_robots(self, case: str) -> None:
        """Count how a request for /robots.txt went, with an answer or without."""
        self.robots_seen = with_more(self.robots_seen, case)

    def answered_robots(self, answer: RobotsRecord) -> None:
        """Record an answer to /robots.txt."""
        self.count_robots(answer.case)
        self.robots = _with(self.robots, answer, MOST_ROBOTS)

    def forbid(self, url: str, line: int | None, text: str, agent: str) -> None:
        """Record that a rule forbade a request."""
        self.forbidden += 1
        rule = self._rule(line, text, agent)
        rule.count += 1
        if len(rule.examples) < MOST_EXAMPLES and url not in rule.examples:
            rule.examples.append(url)

    def _rule(self, line: int | None, text: str, agent: str) -> RuleRecord:
        for rule in self.rules:
            if (rule.line, rule.text, rule.agent) == (line, text, agent):
                return rule
        new = RuleRecord(line, text, agent)
        kept = list(self.rules)
        if len(kept) >= MOST_RULES:
            kept.remove(min(kept, key=attrgetter("count")))
        self.rules = [*kept, new]
        return new

    def cited_sitemaps(self, count: int, urls: Iterable[str]) -> None:
        """Record the sitemaps that robots.txt cites, and some of their URLs."""
        self.sitemaps = self.sitemaps or SitemapsRecord()
        self.sitemaps.cited += count
        self.sitemaps.urls += islice(urls, MOST_SITEMAPS - len(self.sitemaps.urls))

    def read_sitemap(self, entries: int | None) -> None:
        """Record a sitemap with so many entries; None: it was not read."""
        self.sitemaps = self.sitemaps or SitemapsRecord()
        if entries is None:
            self.sitemaps.failed += 1
        else:
            self.sitemaps.read += 1
            self.sitemaps.entries += entries

    def tagged(self, counts: Mapping[str, int]) -> None:
        """Record a page with robot tags."""
        if self.tags is None:
            self.tags = TagsRecord()
        tags = self.tags
        tags.pages += 1
        tags.noindex += counts["noindex"]
        tags.nofollow += counts["nofollow"]
        tags.unavailable += counts["unavailable"]

    # Requests, where they are recorded; of a site with a crawl delay, always.

    def waited(self, seconds: float) -> None:
        """Record that a request waited for a crawl delay."""
        self.turns += 1
        self.turn_waits += seconds

    def left(self, now: float) -> None:
        """Record a request with a crawl delay, unless `sent` records all requests."""
        if not self.is_watched:
            self._note_gap(now)

    def ignored_delay(self) -> str:
        """Return as text the delay that is not obeyed, and how fast requests came."""
        pace = self.pace
        came = self.came_every()
        if pace is None or came is None:
            return ""
        return (
            f"Crawl-delay {duration(pace.asked)} asked for; requests came every"
            f" {duration(came)}"
        )

    def came_every(self) -> float | None:
        """Return the mean seconds between requests sooner than a delay asks.

        None: none are. A gap longer than the delay, such as a pause, counts as the
        delay.
        """
        pace = self.pace
        gaps = self.gaps
        if pace is None or pace.is_obeyed or gaps is None:
            return None
        if gaps.least >= pace.asked:
            return None
        return max(0.001, float(f"{gaps.mean(pace.asked):.3g}"))

    def sent(self, now: float, *, is_robots_txt: bool = False) -> float | None:
        """Record a request; return the seconds since the previous one, or None."""
        self.in_flight += 1
        if self.timeline is not None:
            self.timeline.numbers[self.timeline.at(now) + Timeline.SENT] += 1
        if self.retry_after is not None:
            self.retry_after.sent(now)
        if is_robots_txt:  # no delay is known before it
            return None
        return self._note_gap(now)

    def answered(
        self,
        status: int,
        first_byte: float | None,
        now: float,
        rate: float,
        at_once: int = 0,
    ) -> None:
        """Record an answer.

        `first_byte`: seconds, None: not timed; `rate`: see `Bucket`; `at_once`: the
        requests in flight when its own was sent, 0: not known.
        """
        is_error = status >= 500  # noqa: PLR2004
        if is_error:
            first_byte = None  # an error page says nothing about the speed of the site
        if self.first_seen < FIRST_ANSWERS:
            self.first_seen += 1
            self.first_errors += is_error
            if first_byte is not None:
                self.first_timed = self.first_timed or QuantileSketch()
                self.first_timed.add(first_byte)
        if first_byte is not None:
            self.timed = self.timed or QuantileSketch()
            self.timed.add(first_byte)
        is_refused = status in PAUSE_STATUSES
        if at_once and (first_byte is not None or is_refused):
            self.by_load = self.by_load or LoadRecord()
            seconds = None if is_refused else first_byte
            self.by_load.add(at_once, seconds)
        if self.timeline is not None:
            place = self.timeline.at(now)
            numbers = self.timeline.numbers
            numbers[place + Timeline.ANSWERS] += 1
            numbers[place + Timeline.ERRORS] += is_error
            numbers[place + Timeline.RATE] = rate or numbers[place + Timeline.RATE]
            if first_byte is not None:
                numbers[place + Timeline.FIRST_BYTE] += first_byte
                numbers[place + Timeline.TIMED] += 1

    def failed(self, now: float) -> None:
        """Record a request without an answer."""
        self.failures += 1
        if self.timeline is not None:
            self.timeline.numbers[self.timeline.at(now) + Timeline.FAILURES] += 1

    def fold(self, other: SiteRecord, now: float) -> None:
        """Add the sums of another record, without its samples."""
        self.sites += other.sites
        self.add(other)
        if other.pauses:  # open ones count until now
            self.in_pauses += other.paused_for(now) - other.in_pauses

    def join(self, other: SiteRecord) -> None:
        """Add what another worker recorded of the same site, samples too."""
        passed_on = sum(is_pause(one.kind) for one in (*self.pauses, *other.pauses))
        self.add(other, is_one_site=True)
        passed_on -= sum(is_pause(one.kind) for one in self.pauses)
        self.pauses_seen -= passed_on
        self.pauses = without_middle(self.pauses, MOST_PAUSES)
        self.sites = 1

    def thin(self) -> None:
        """Drop the samples and keep the sums."""
        self.timeline = None
        self.robots = self.robots[-1:]
        self.rules = ()
        self.pauses = [one for one in self.pauses if one.ended is None]

    def _open(self, where: str) -> PauseRecord | None:
        for one in reversed(self.pauses):
            if one.where == where and one.ended is None:
                return one
        return None

    def _note_gap(self, now: float) -> float | None:
        last = self._last_sent
        self._last_sent = now
        if last is None or now < last:
            return None
        self.gaps = self.gaps or QuantileSketch()
        self.gaps.add(now - last)
        return now - last


def _with(samples: Sequence[Sample], new: Sample, most: int) -> list[Sample]:
    """Return samples with a new one, without one in the middle if they are too many."""
    found = [*samples, new]
    if len(found) > most:
        del found[most // 2]
    return found


def _quantile(sketch: QuantileSketch | None, share: float) -> float | None:
    return None if sketch is None else sketch.quantile(share)


def is_pause(kind: str) -> bool:
    """Return whether a kind of pause is one of the whole site, visit times excluded."""
    return kind not in {"visit time", "section"}
