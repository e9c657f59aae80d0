"""All lines that a crawl logs of its sites, read one after the other: none contradicts
another.
"""

from __future__ import annotations

import logging
import re
from datetime import datetime

import pytest
from crawling import FailuresSpider, crawl, ensureDeferred
from loop_time import TIME
from webs import Answer, Closed, html, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

MOMENT = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC"
LINES = {
    "paused": rf"Paused (?P<place>\S+) until (?P<until>{MOMENT})",
    "still": (
        rf"(?P<place>\S+) is still paused until (?P<until>{MOMENT})"
        rf".* given up at about (?P<end>{MOMENT})"
    ),
    "resumed": r"Resumed (?P<place>\S+) after (?P<seconds>[\d.]+) s",
    "given up": r"Gave up (?P<place>http\S+) after.*(?P<fate>they fail|sent once)",
    "paused section": (
        rf"Set aside (?P<path>\S+) of (?P<place>\S+) until (?P<until>{MOMENT})"
    ),
    "still section": (
        rf"(?P<path>\S+) of (?P<place>\S+) is still set aside until (?P<until>{MOMENT})"
        rf".* given up at about (?P<end>{MOMENT})"
    ),
    "resumed section": r"Resumed (?P<path>\S+) of (?P<place>\S+):",
    "given up section": r"Gave up (?P<path>/\S*) of (?P<place>[^\s,]+),",
}
# seconds in which an answer has come, and of which times to the second are short
LATE = 2.0
STATUS = re.compile(
    r"(\d+) sites? (paused|probed|given up|with a section set aside|recovering)"
)


class Timed(logging.Handler):
    """Keeps lines, and when they were logged by the turned clock."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[tuple[float, str]] = []

    def emit(self, record):
        if record.name.startswith("scrapy_mandelbot"):
            self.lines.append((TIME.now(), record.getMessage()))


@pytest.fixture
def timed():
    """Hear of all lines of the package."""
    handler = Timed()
    logging.getLogger("scrapy_mandelbot").addHandler(handler)
    yield handler
    logging.getLogger("scrapy_mandelbot").removeHandler(handler)


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text.replace(" UTC", "+00:00")).timestamp()


class Reader:
    """What is believed of each place by who has read all lines so far."""

    def __init__(self) -> None:
        self.since: dict[str, float] = {}
        self.until: dict[str, float] = {}
        self.end: dict[str, float] = {}
        self.given_up: set[str] = set()
        self.last_round: set[str] = set()
        self.read: set[str] = set()
        self.untold = 1
        """Sites of which nothing is told until it is known that they do not answer."""

    def line(self, at: float, text: str) -> None:
        for kind, pattern in LINES.items():
            found = re.match(pattern, text)
            if found:
                told = found.groupdict()
                self.read.add(kind)
                self.take(at, kind.removesuffix(" section"), told)
        if "has never answered in this run, and its requests fail" in text:
            self.untold -= 1
        if "next at" in text or "requests wait" in text:
            self.status(text)

    def take(self, at: float, kind: str, told: dict[str, str]) -> None:
        place = told["place"] + told.get("path", "")
        assert place not in self.given_up, "nothing is told of what was given up"
        if kind == "paused":
            assert place not in self.since, "it is paused already"
            self.since[place] = at
        else:
            assert place in self.since, "it was not paused"
        if "until" in told:
            self.until[place] = seconds_of(told["until"])
            assert self.until[place] > at - 1
        if kind == "still":
            end = seconds_of(told["end"])
            assert end <= self.end.get(place, end) + LATE, (
                "it may be sooner, and never later"
            )
            self.end[place] = end
        if kind in {"resumed", "given up"}:
            assert (
                at >= min(self.until[place], self.end.get(place, self.until[place])) - 1
            )
            assert at <= self.end.get(place, at) + LATE, "later than was said"
            lasted = at - self.since.pop(place)
            if "seconds" in told:
                assert abs(float(told["seconds"]) - lasted) < LATE
        if kind == "given up":
            self.given_up.add(place)
        if told.get("fate") == "sent once":  # one of them may be answered
            self.since[place] = at - lasted
            self.end.pop(place)
            self.given_up.remove(place)
            self.last_round.add(place)
        if kind == "resumed":
            self.last_round.discard(place)

    def status(self, text: str) -> None:
        counts = {words: int(count) for count, words in STATUS.findall(text)}
        sites = [place for place in self.since if place.count("/") == 2]
        assert (
            counts.get("paused", 0) + counts.get("probed", 0)
            <= len(sites) + self.untold
        )
        over = [one for one in self.given_up | self.last_round if one.count("/") == 2]
        assert counts.get("given up", 0) <= len(over)
        self.read.add("status")


def as_read(timed) -> Reader:
    reader = Reader()
    for at, text in timed.lines:
        reader.line(at, text)
    return reader


def shop(webs, host: str):
    """Serve a site of which a section answers 503 for good."""
    web = site(webs, 30, host)
    dead = {f"/dead/{number}": Answer(b"dead", 503) for number in range(12)}
    links = [path for path in web.pages if path not in {"/", "/robots.txt"}]
    web.pages |= dead | {"/": html(*dead, *links)}
    return web


@pytest.mark.parametrize(
    "options", [{"tries": 6}, {"total": 20}, {"tries": 3}], ids=str
)
@ensureDeferred
async def test_no_two_lines_of_a_crawl_contradict_each_other(webs, timed, options):
    """One site comes back, one never does, one has a dead section, and one never
    answers.
    """
    back, down, part, gone = (
        # some are left to be sent once each when it is well again
        site(webs, 40, "127.0.0.2"),
        site(webs, 5, "127.0.0.3"),
        shop(webs, "127.0.0.4"),
        site(webs, 1, "127.0.0.5"),
    )
    back.refuse = Closed(seconds=20, after=6)
    down.refuse = Closed(seconds=10**6, after=3)
    urls = [web.url + "/" for web in (back, down, part, gone)]
    gone.close()
    settings = {
        "MANDELBOT_PAUSE_OPTIONS": options,
        "LOGSTATS_INTERVAL": 3,
        "MANDELBOT_STORE": "memory",
    }

    result = await crawl(FailuresSpider, settings, start_urls=urls)

    reader = as_read(timed)
    assert set(LINES) - {"resumed section"} <= reader.read
    assert reader.untold == 0
    assert reader.since.keys() == reader.last_round, "each pause that is told of ends"
    over = {f"{part.url}/dead/", down.url} | (
        {back.url} if "total" in options else set()
    )
    assert reader.given_up | reader.last_round == over
    (line,) = result.logged(f"Gave up /dead/ of {part.url}")
    unsent = [
        path
        for path in part.pages
        if path.startswith("/dead/") and not part.asked(path)
    ]
    assert not unsent or "sent once" not in line
    stats = result.stats
    (account,) = result.logged("Requests: ")
    taken, *ends = map(int, re.findall(r"\d+", account.replace(",", ", ")))
    assert taken == sum(ends)
    (lost,) = [one for one in result.messages if "links on those pages" in one]
    all_lost, *parts = map(int, re.findall(r"(\d+) (?:req|with|of)", lost))
    assert all_lost == sum(parts) == stats["mandelbot/requests/lost"]
