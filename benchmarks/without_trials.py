"""Simulates what a crawl could know of the requests that a site bears, without trials.

The package halves and doubles the requests in flight by turns. With
``MANDELBOT_CONCURRENCY = "fixed"`` their number changes, too: as a spider finds links,
at a crawl's begin and end, after pauses. Here such a crawl notes each answer's time
with the requests in flight. A site is said to bear fewer requests as well as more if

- at least 16 answers had a number in flight near to the smaller and to the greater one,
- and the greater number brings less than a fifth of its share of pages a second, by
  Little's law, beyond three standard errors of these means.

The spiders:

all    knows all pages at the begin
lists  finds twenty pages and one more list on each list, and follows that list first
last   the same, and follows it last
tree   finds none to three pages on each

The sites are those of ``bearable.py``, and some that bear all that the project allows,
whose pages are of two kinds (a list takes 10 ms and a page 300, and so on). Prints each
crawl of which a number is said, then of how many crawls of sites that bear all that is
so, falsely, and of how many of sites that get slow.

Usage::

    python benchmarks/without_trials.py [--seeds 3] [--pages 800]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from itertools import product
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean, variance
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from bearable import HEALTHY, ROWS, LoadedCrawl, LoadedServer, Ramp, Row

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST_ANSWERS = 16  # of a group
_ENOUGH = 0.2  # of its share that the greater number brings
_ERRORS = 3.0  # standard errors
_OF_A_LIST = 21  # links: the next list, and twenty pages
SPIDERS = ("all", "lists", "last", "tree")


class Answer(NamedTuple):
    """An answer to a page."""

    at_once: int
    """Requests in flight when its request was sent, itself included."""
    seconds: float


class Said(NamedTuple):
    """Two numbers of requests in flight, of which the smaller is enough."""

    fewer: float
    more: float
    times_as_long: float


class WatchedCrawl(LoadedCrawl):
    """A crawl by a spider that finds links, which notes each answer."""

    def __init__(self, row: Row, pages: int, seed: int, spider: str) -> None:
        super().__init__(row, pages, seed, Ramp)
        self.answers: list[Answer] = []
        self._spider = spider
        self._sent_with: dict[str, tuple[int, float]] = {}
        self._chance = random.Random(seed + 5)
        self._unknown: list[str] = []
        if spider != "all":
            self._unknown = self.queue[1:]
            del self.queue[1:]
        self._answered = self.law.answered
        self.law.answered = self._note

    def _send(self, url: str) -> None:
        self._sent_with[url] = (self._in_flight + 1, self.now)
        super()._send(url)

    def _note(self, told: Any, url: str, now: float) -> None:
        if url in self._sent_with:
            at_once, sent_at = self._sent_with.pop(url)
            self.answers.append(Answer(at_once, now - sent_at))
            self._find_links(url)
        self._answered(told, url, now)

    def _find_links(self, url: str) -> None:
        if self._spider == "tree":
            self._find(self._chance.choice((0, 0, 1, 1, 1, 2, 3)))
            if not self.queue and self._in_flight < 4:
                self._find(4)
        elif self._spider in {"lists", "last"} and _number(url) % _OF_A_LIST == 0:
            self._find(_OF_A_LIST, is_last_first=self._spider == "lists")

    def _find(self, number: int, *, is_last_first: bool = False) -> None:
        found = self._unknown[:number]
        del self._unknown[:number]
        if is_last_first:
            found = found[-1:] + found[:-1]
        self.queue[:0] = found


def said_of(answers: list[Answer]) -> Said | None:
    """Return what the answers say of a site; None: nothing."""
    groups: dict[int, list[Answer]] = {}
    for one in answers:
        groups.setdefault((one.at_once - 1).bit_length(), []).append(one)
    known = [groups[at] for at in sorted(groups) if len(groups[at]) >= _LEAST_ANSWERS]
    for group in known[:-1]:
        said = _compare(group, known[-1])
        if said is not None:
            return said
    return None


def _compare(fewer: list[Answer], more: list[Answer]) -> Said | None:
    number = mean(one.at_once for one in fewer)
    greater = mean(one.at_once for one in more)
    seconds = mean(one.seconds for one in fewer)
    longer = mean(one.seconds for one in more)
    error = sqrt(_squared_error(fewer, seconds) + _squared_error(more, longer))
    share = 1 - (log(longer / seconds) - _ERRORS * error) / log(greater / number)
    if share >= _ENOUGH:
        return None
    return Said(number, greater, longer / seconds)


def _squared_error(group: list[Answer], seconds: float) -> float:
    """Return the squared error of a group's mean, as a share of it."""
    return variance(one.seconds for one in group) / len(group) / seconds**2


def _number(url: str) -> int:
    return int(url.removeprefix("/p"))


def _of_two_kinds(
    is_first: Callable[[int], bool], seconds: float, others: float, sigma: float = 0.0
) -> Callable[[random.Random], LoadedServer]:
    """Return a site that bears all: so many seconds for some pages and for the others.

    `sigma`: of the logarithm of each page's time.
    """

    def service(url: str, _now: float) -> float:
        if not url.startswith("/p"):
            return others  # the visitor's
        number = _number(url)
        kind = seconds if is_first(number) else others
        return kind * exp(random.Random(number).gauss(0, sigma))

    return lambda _chance: LoadedServer(service=service)


def _is_list(number: int) -> bool:
    return number % _OF_A_LIST == 0


def _is_of_a_menu(number: int) -> bool:
    """The first eight links of each list."""
    return 0 < number % _OF_A_LIST <= 8


TWO_KINDS = {
    f"{name}, {number}": Row(_of_two_kinds(*kinds), number)
    for number in (8, 16, 32)
    for name, kinds in {
        "lists 10 ms, pages 300": (_is_list, 0.01, 0.3),
        "lists 1 s, pages 30 ms": (_is_list, 1.0, 0.03),
        "menu 20 ms, pages 300": (_is_of_a_menu, 0.02, 0.3, 0.3),
    }.items()
}
"""Sites that bear all that the project allows."""
_SLOW = ("downloads", "one thread", "thrashing", "4 workers, ", "16 workers, 32")
GET_SLOW = {name for name in ROWS if name.startswith(_SLOW) and name not in HEALTHY}
"""Sites that get slow under load, and of which fewer requests at once are enough."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=800)
    options = parser.parse_args()
    crawls: Counter[str] = Counter()
    said_of_kind: Counter[str] = Counter()
    for name, row in (HEALTHY | TWO_KINDS | ROWS).items():
        for spider, seed in product(SPIDERS, range(options.seeds)):
            crawl = WatchedCrawl(row, options.pages, seed, spider)
            crawl.run()
            said = said_of(crawl.answers)
            kind = _kind_of(name)
            crawls[kind] += 1
            if said is None:
                continue
            said_of_kind[kind] += 1
            print(
                f"{name:32} {spider:5} seed {seed}: {said.fewer:4.1f} are enough of"
                f" {said.more:4.1f}, {said.times_as_long:4.1f} times as long"
            )
    print("\nCrawls in which fewer requests are said to be enough")
    for kind, number in crawls.items():
        print(f"{kind}: {said_of_kind[kind]} of {number}")


def _kind_of(name: str) -> str:
    if name in TWO_KINDS:
        return "bear all, pages of two kinds (said falsely)"
    if name in HEALTHY:
        return "bear all (said falsely)"
    if name in GET_SLOW:
        return "get slow"
    return "other limits"


if __name__ == "__main__":
    main()
