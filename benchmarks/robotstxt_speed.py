"""How fast mandelbot.robotstxt is, beside its peers, in one run::

    pip install protego robotspy jwm.robotstxt gpyrobotstxt fast-robotstxt
    pip install texting-robots-py
    MANDELBOT_CORPUS=/path/to/corpus python benchmarks/robotstxt_speed.py

Peers that are not installed are left out. The corpus is a folder with real files in
``robots/``, and with Google's verdicts on them; without it the rows about them are left
out. All parsers take turns, several rounds long; the best of each counts. Goals are
multiples of Protego's speed; peers' columns, of our time. The last table is of files of
10 to 50 lines, parsed and asked so many times: how many times as fast as Protego each
parser is, and how many of its decisions are as Google's.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import random
import sys
import time
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.robotparser import RobotFileParser

from mandelbot import RobotsTxt
from protego import Protego

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "Mandelbot"
SITE = "https://www.example.com"
ROUNDS = 7
FILES = 120
DECISIONS = (1, 3, 10, 30)
OTHERS = (
    *("protego", "robotspy", "texting_robots"),
    *("jwm_robotstxt", "gpyrobotstxt", "fast_robotstxt"),
)
CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", "corpus"))


class Peer(NamedTuple):
    """A parser: what reads a body, and the method that decides, with URL or agent
    first.
    """

    parse: Callable[[bytes], Any]
    method: str
    url_first: bool = True

    def decide(self, parsed: Any, urls: list[str]) -> None:
        """Ask for every URL, as a caller would."""
        ask = getattr(parsed, self.method)
        if self.url_first:
            for url in urls:
                ask(url, AGENT)
        else:
            for url in urls:
                ask(AGENT, url)


def text(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def urllib(body: bytes) -> Any:
    parsed = RobotFileParser()
    parsed.parse(text(body).splitlines())
    return parsed


OURS = Peer(partial(RobotsTxt.parse, max_bytes=None), "allowed")
PEERS = {
    "ours": OURS,
    "protego": Peer(lambda body: Protego.parse(text(body)), "can_fetch"),
    "urllib": Peer(urllib, "can_fetch", url_first=False),
}


# What is read and asked.

WORDS = """
    shop news item category tag user images api search archive photo video blog page
    help about list view cart account wp-admin media forum static print login feed
    product press jobs
""".split()  # noqa: SIM905 - words to be read


def path(chance: random.Random, depth: int) -> str:
    words = (
        f"{chance.choice(WORDS)}{chance.randrange(40) or ''}" for _ in range(depth)
    )
    return "/" + "/".join(words)


def rule(chance: random.Random, wildcards: float) -> str:
    """Return a rule as owners write them; of those with wildcards a share begins with
    ``/*``.
    """
    own = path(chance, chance.choice((1, 1, 2, 2, 3)))
    if chance.random() < wildcards:
        word = f"{chance.choice(WORDS)}{chance.randrange(400)}"
        head = "/" if chance.random() < 0.1 else own
        own = head + chance.choice(
            (f"*/{word}/", f"*?{word}=", f"*{word}", f"*.{word}$")
        )
    elif chance.random() < 0.5:
        own += "/"
    return f"{'Allow' if chance.random() < 0.15 else 'Disallow'}: {own}"


def robots_txt(rules: int, wildcards: float) -> bytes:
    chance = random.Random(rules)
    lines = {rule(chance, wildcards): None for _ in range(rules * 3)}
    return "\n".join(["User-agent: *", *list(lines)[:rules], ""]).encode()


def urls_for(body: bytes, number: int) -> list[str]:
    """Return URLs as a crawl finds them: one in five begins like a rule, the others
    like pages.
    """
    chance = random.Random(number)
    values = (line.partition(": ")[2] for line in text(body).splitlines())
    rules = [value for value in values if value.startswith("/")]
    urls = []
    for at in range(number):
        if chance.random() < 0.2:
            page = chance.choice(rules).replace("*", f"x{at}").rstrip("$")
        else:
            page = path(chance, chance.choice((1, 2, 3, 4)))
        end = chance.choice(("", "/", ".html", f"-{at}", f"?page={at}"))
        urls.append(f"{SITE}{page}{end}")
    return urls


# Measuring.


def race(turns: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Let all take turns, and return the best seconds of each: of CPU, as others may
    use it too.

    Who needs more than a second a turn gets one.
    """
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(ROUNDS):
        for name, turn in turns.items():
            if 1 < best[name] < float("inf"):
                continue
            start = time.process_time()
            turn()
            best[name] = min(best[name], time.process_time() - start)
    return best


def per_decision(
    peers: dict[str, Peer], body: bytes, number: int = 4000
) -> dict[str, float]:
    """Return seconds per decision on a file that has been asked before."""
    urls = urls_for(body, number)
    turns = {}
    asked = {}
    for name, peer in peers.items():
        parsed = peer.parse(body)
        start = time.perf_counter()
        peer.decide(parsed, urls[:10])
        # of ten URLs, in a tenth of a second
        share = 0.1 / max(time.perf_counter() - start, 1e-9)
        asked[name] = max(10, min(number, int(10 * share)))
        turns[name] = partial(peer.decide, parsed, urls[: asked[name]])
    # All have to be asked the same: a part of the URLs is not the same as all, but
    # close, and only those that need long get a part.
    return {name: best / asked[name] for name, best in race(turns).items()}


# Reporting.


def decisions(peers: dict[str, Peer]) -> None:
    for rules, wildcards, goal in (
        (10, 0.2, 10),
        (100, 0.2, 20),
        (1300, 0.0, 80),
        (5600, 0.0, 180),
        (1450, 0.5, 50),
    ):
        times = per_decision(peers, robots_txt(rules, wildcards))
        what = f"{wildcards:.0%} wildcards" if wildcards else "literal"
        row(f"decision, {rules:,} rules, {what}", f"{goal}x", times, peers)
    few, many = (
        per_decision({"ours": OURS}, robots_txt(n, 0.0))["ours"] for n in (5000, 50000)
    )
    what = "decision, 50,000 rules: times that of 5,000"
    print(f"{what:44}{'1.4':>8}{many / few:>12.2f}")


def small_files() -> None:
    """Print speed and agreement of all parsers, of which many read a file for each URL
    anew.
    """
    files = {path.name: path.read_bytes() for path in (CORPUS / "robots").iterdir()}
    small = [
        body
        for body in files.values()
        if 10 <= body.count(b"\n") <= 50 and b": /" in body
    ]
    small = random.Random(1).sample(sorted(small), min(FILES, len(small)))
    with gzip.open(CORPUS / "google_verdicts.jsonl.gz", "rt") as lines:
        verdicts = [json.loads(line) for line in lines]
    asks = installed_parsers()
    best = []
    for number in DECISIONS:
        asked = [(body, urls_for(body, number)) for body in small]
        best.append(
            race({name: partial(ask_all, ask, asked) for name, ask in asks.items()})
        )
    print(
        f"{len(small)} files of 10 to 50 lines, as fast as Protego; decisions as"
        " Google's"
    )
    print(f"{'':34}{''.join(f'{number:>7}' for number in DECISIONS)}{'agree':>11}")
    for name, ask in asks.items():
        same = sum(
            ask(files[one["file"]], one["agent"], one["url"]) == one["allowed"]
            for one in verdicts
        )
        speeds = "".join(f"{times['protego'] / times[name]:>7.2f}" for times in best)
        print(f"{name:34}{speeds}{same / len(verdicts):>11.2%}", flush=True)


def ask_all(ask: Callable, asked: list[tuple[bytes, list[str]]]) -> None:
    for body, urls in asked:
        for url in urls:
            ask(body, AGENT, url)


def installed_parsers() -> dict[str, Callable[[bytes, str, str], bool]]:
    """Return ours in two dialects, and those of conformance/parsers.py that can be
    imported.
    """

    def ours(dialect: str) -> Callable[[bytes, str, str], bool]:
        parse = lru_cache(maxsize=1)(
            partial(RobotsTxt.parse, max_bytes=None, dialect=dialect)
        )
        return lambda body, agent, url: parse(body).allowed(url, agent)

    found = {
        f"ours, dialect {dialect}": ours(dialect) for dialect in ("mandelbot", "google")
    }
    sys.path.append(
        str(Path(__file__).parents[1] / "packages" / "mandelbot" / "conformance")
    )
    parsers = import_module("parsers")
    for name in OTHERS:
        try:
            getattr(parsers, name)(b"User-agent: *", AGENT, SITE)
        except ImportError:  # noqa: PERF203 - a few of them
            print(f"({name} is not installed)", file=sys.stderr)
        else:
            found[name] = getattr(parsers, name)
    return found


def row(work: str, goal: str, times: dict[str, float], peers: dict[str, Peer]) -> None:
    """Print what ours took, and how many times that the others took."""
    ratios = [times.get(name, 0) / times["ours"] for name in peers if name != "ours"]
    cells = "".join(
        f"{ratio:>9,.{0 if ratio >= 100 else 1}f}" if ratio else f"{'-':>9}"
        for ratio in ratios
    )
    print(f"{work:44}{goal:>8}{times['ours'] * 1e6:>9.2f} us{cells}", flush=True)


def main() -> None:
    peers = PEERS
    names = "".join(f"{name[:8]:>9}" for name in peers if name != "ours")
    print(
        f"Python {platform.python_version()}, {platform.machine()}, best of {ROUNDS}"
        " rounds"
    )
    print(f"{'':44}{'goal':>8}{'ours':>12}{names}")
    decisions(peers)
    if (CORPUS / "google_verdicts.jsonl.gz").exists():
        small_files()
    else:
        print(f"(no real files: MANDELBOT_CORPUS is {CORPUS})")


if __name__ == "__main__":
    main()
