"""What other designs of the robotstxt package cost, beside the one it has, in one run::

    python benchmarks/robotstxt_designs.py

Each pair answers the same questions, and is held to the same answers.
"""

# ruff: noqa: SLF001 - it looks inside

from __future__ import annotations

import platform
from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

from robotstxt_speed import AGENT, ROUNDS, SITE, SMALL, duration, race, robots_txt, urls_for

from scrapy_mandelbot.robots.robotstxt import RobotsTxt, index
from scrapy_mandelbot.robots.robotstxt.grammar import Grammar

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

URLS = 2000


def indexed(body: bytes) -> RobotsTxt:
    robots = RobotsTxt.parse(body, max_bytes=None)
    for page in range(3):
        robots.allowed(f"{SITE}/{page}", AGENT)
    return robots


def ask(robots: RobotsTxt, urls: list[str]) -> list[bool]:
    return [robots.allowed(url, AGENT) for url in urls]


def ask_by_scan(robots: RobotsTxt, urls: list[str]) -> list[bool]:
    decider = robots._decider(AGENT)
    return [decider.scan(url[len(SITE) :])[0] for url in urls]


class PathsOnly:
    """The same intervals without the origin: the path is cut out of every URL first."""

    def __init__(self, robots: RobotsTxt) -> None:
        full = robots._decider(AGENT).index
        self.bounds = [bound[len(SITE) :] for bound in full.bounds]
        self.answers = full.answers

    def allowed(self, url: str) -> bool:
        if not url.startswith(SITE) or "%" in url or "#" in url or not url.isascii():
            raise ValueError(url)
        return self.answers[bisect_right(self.bounds, url[len(SITE) :])]

    def ask(self, urls: list[str]) -> list[bool]:
        return [self.allowed(url) for url in urls]


class HeadsOnly:
    """Only the beginnings of ranges are kept, half the memory; ends are found by climbing."""

    def __init__(self, body: bytes) -> None:
        rules = {}
        for line in body.decode().splitlines():
            field, _, path = line.partition(": ")
            if path.startswith("/"):
                rules[SITE + path] = rules.get(SITE + path, False) or field == "Allow"
        self.heads = ["", *sorted(rules)]
        self.answers = [True, *(rules[head] for head in self.heads[1:])]
        self.around: list[int] = []
        for at, head in enumerate(self.heads):
            outer = at - 1
            while outer > 0 and not head.startswith(self.heads[outer]):
                outer = self.around[outer]
            self.around.append(max(outer, 0))

    def allowed(self, url: str) -> bool:
        if "%" in url or "#" in url or not url.isascii():
            raise ValueError(url)
        at = bisect_right(self.heads, url) - 1
        while not url.startswith(self.heads[at]):
            at = self.around[at]
        return self.answers[at]

    def ask(self, urls: list[str]) -> list[bool]:
        return [self.allowed(url) for url in urls]


def compare(what: str, ours: str, others: dict[str, partial], share: int) -> None:
    best = race(others)
    answers = [call() for call in others.values()]
    assert all(answer == answers[0] for answer in answers), what
    print(what)
    for name, seconds in best.items():
        print(f"    {name:52}{duration(seconds / share):>12}{seconds / best[ours]:>9.2f}")


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, best of {ROUNDS} rounds")
    for rules, wildcards in ((10, 0.2), (100, 0.2), (1300, 0.0)):
        body = robots_txt(rules, wildcards)
        urls = urls_for(body, URLS)
        robots = indexed(body)
        compare(
            f"one decision, {rules:,} rules, {wildcards:.0%} wildcards",
            "index",
            {"index": partial(ask, robots, urls), "scan": partial(ask_by_scan, robots, urls)},
            URLS,
        )
    for rules in (100, 5600):
        body = robots_txt(rules, 0.0)
        urls = urls_for(body, URLS)
        robots = indexed(body)
        compare(
            f"one decision, {rules:,} rules, literal",
            "ranges, looked up by the whole URL",
            {
                "ranges, looked up by the whole URL": partial(ask, robots, urls),
                "ranges, looked up by the path": partial(PathsOnly(robots).ask, urls),
                "heads only, climbing to the range around": partial(HeadsOnly(body).ask, urls),
            },
            URLS,
        )
    body = robots_txt(1450, 0.5)
    urls = urls_for(body, URLS)
    made = {}
    for name, many in (("in tables from 48 on", 48), ("from 8 on", 8), ("one by one", 10**9)):
        with patch.object(index, "_MANY", many):
            made[name] = partial(ask, indexed(body), urls)
    compare("one decision, 1,450 rules, 50% wildcards", "in tables from 48 on", made, URLS)
    for name, body in (("300-byte file", SMALL), ("1,450 rules", robots_txt(1450, 0.5))):
        urls = urls_for(body, 100)
        compare(
            f"one scan, {name}",
            "lines that may match, by their colons",
            {
                "lines that may match, by their colons": partial(
                    scan, body, urls, Grammar.rules_like
                ),
                "all rule lines": partial(scan, body, urls, all_rule_lines),
            },
            len(urls),
        )


def scan(body: bytes, urls: list[str], lines: Callable[..., object]) -> list[bool]:
    with patch.object(Grammar, "rules_like", lines):
        return ask_by_scan(RobotsTxt.parse(body), urls)


def all_rule_lines(
    grammar: Grammar, _: str, text: str, start: int, end: int
) -> Iterator[re.Match[str]]:
    return grammar._any_rule.finditer(text, start, end)


if __name__ == "__main__":
    main()
