"""How fast scrapy_mandelbot.robots.robotstxt is, beside its peers, in one run::

    pip install protego robotspy gpyrobotstxt
    MANDELBOT_CORPUS=/path/to/corpus python benchmarks/robotstxt_speed.py

Peers that are not installed are left out. The corpus is a folder with real files in ``robots/``;
without it the rows about them are left out. All parsers take turns, several rounds long; the best
of each counts. Goals are multiples of Protego's speed; peers' columns, of our time.
"""

from __future__ import annotations

import os
import platform
import random
import sys
import time
import tracemalloc
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.robots.robotstxt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = "Mandelbot"
SITE = "https://www.example.com"
ROUNDS = 7
CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", "corpus"))


class Peer(NamedTuple):
    """A parser: what reads a body, and the method that decides, with URL or agent first."""

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


def protego() -> Peer:
    parse = import_module("protego").Protego.parse
    return Peer(lambda body: parse(text(body)), "can_fetch")


def urllib() -> Peer:
    parser = import_module("urllib.robotparser").RobotFileParser

    def parse(body: bytes) -> Any:
        parsed = parser()
        parsed.parse(text(body).splitlines())
        return parsed

    return Peer(parse, "can_fetch", url_first=False)


def robotspy() -> Peer:
    parse = import_module("robots").RobotsParser.from_string
    return Peer(lambda body: parse(text(body)), "can_fetch", url_first=False)


def gpyrobotstxt() -> Peer:
    matcher = import_module("gpyrobotstxt.robots_cc").RobotsMatcher

    class Reader(NamedTuple):  # it reads the file anew for every URL
        body: bytes

        def allowed(self, url: str, agent: str) -> bool:
            return matcher().allowed_by_robots(self.body, [agent], url)

    return Peer(Reader, "allowed")


OURS = Peer(partial(RobotsTxt.parse, max_bytes=None), "allowed")


def installed_peers() -> dict[str, Peer]:
    """Return ours and the peers that can be imported."""
    found = {"ours": OURS}
    for make in (protego, urllib, robotspy, gpyrobotstxt):
        try:
            found[make.__name__] = make()
        except ImportError:  # noqa: PERF203 - four of them
            print(f"({make.__name__} is not installed)", file=sys.stderr)
    return found


# What is read and asked.

WORDS = """
    shop news item category tag user images api search archive photo video blog page help about
    list view cart account wp-admin media forum static print login feed product press jobs
""".split()  # noqa: SIM905 - words to be read


def path(chance: random.Random, depth: int) -> str:
    words = (f"{chance.choice(WORDS)}{chance.randrange(40) or ''}" for _ in range(depth))
    return "/" + "/".join(words)


def rule(chance: random.Random, wildcards: float, at_root: float) -> str:
    """Return a rule as owners write them; of those with wildcards a share begins with ``/*``."""
    own = path(chance, chance.choice((1, 1, 2, 2, 3)))
    if chance.random() < wildcards:
        word = f"{chance.choice(WORDS)}{chance.randrange(400)}"
        head = "/" if chance.random() < at_root else own
        own = head + chance.choice((f"*/{word}/", f"*?{word}=", f"*{word}", f"*.{word}$"))
    elif chance.random() < 0.5:
        own += "/"
    return f"{'Allow' if chance.random() < 0.15 else 'Disallow'}: {own}"


def robots_txt(rules: int, wildcards: float, at_root: float = 0.1) -> bytes:
    chance = random.Random(rules)
    lines = {rule(chance, wildcards, at_root): None for _ in range(rules * 3)}
    return "\n".join(["User-agent: *", *list(lines)[:rules], ""]).encode()


def urls_for(body: bytes, number: int) -> list[str]:
    """Return URLs as a crawl finds them: one in five begins like a rule, the others like pages."""
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


SMALL = b"""\
User-agent: *
Disallow: /cgi-bin/
Disallow: /tmp/
Disallow: /private/
Disallow: /search
Allow: /search/about
Disallow: /*.pdf$
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php

User-agent: BadBot
Disallow: /

Sitemap: https://www.example.com/sitemap.xml
Sitemap: https://www.example.com/sitemap2.xml
"""


# Measuring.


def race(turns: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Let all take turns, and return the best seconds of each: of CPU, as others may use it too.

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


def per_decision(peers: dict[str, Peer], body: bytes, number: int = 4000) -> dict[str, float]:
    """Return seconds per decision on a file that has been asked before."""
    urls = urls_for(body, number)
    turns, asked = {}, {}
    for name, peer in peers.items():
        parsed = peer.parse(body)
        start = time.perf_counter()
        peer.decide(parsed, urls[:10])
        share = 0.1 / max(time.perf_counter() - start, 1e-9)  # of ten URLs, in a tenth of a second
        asked[name] = max(10, min(number, int(10 * share)))
        turns[name] = partial(peer.decide, parsed, urls[: asked[name]])
    # A part of the URLs is close to all of them; only those that need long get a part.
    return {name: best / asked[name] for name, best in race(turns).items()}


def from_cold(peers: dict[str, Peer], asked: list[tuple[bytes, list[str]]]) -> dict[str, float]:
    """Return seconds per file to parse it and decide its URLs."""

    def turn(peer: Peer) -> None:
        for body, urls in asked:
            peer.decide(peer.parse(body), urls)

    best = race({name: partial(turn, peer) for name, peer in peers.items()})
    return {name: seconds / len(asked) for name, seconds in best.items()}


def memory(peer: Peer, bodies: list[bytes], decisions: int) -> float:
    """Return bytes held per byte of text, besides the text itself."""
    urls = [SITE + "/some/path/page.html"] * decisions
    peer.decide(peer.parse(bodies[0]), urls)
    tracemalloc.start()
    parsed = [peer.parse(body) for body in bodies]
    for one in parsed:
        peer.decide(one, urls)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / sum(map(len, bodies))


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
    few, many = (per_decision({"ours": OURS}, robots_txt(n, 0.0))["ours"] for n in (5000, 50000))
    print(f"{'decision, 50,000 rules: times that of 5,000':44}{'1.4':>8}{many / few:>12.2f}")


def cold_starts(peers: dict[str, Peer]) -> None:
    for number, goal in ((1, 4), (10, 2), (1000, 6)):
        asked = [(SMALL, urls_for(SMALL, number))] * max(1, 300 // number)
        what = f"300-byte file, {number:,} decisions from cold"
        row(what, f"{goal}x", from_cold(peers, asked), peers)


def hostile_files(peers: dict[str, Peer]) -> None:
    stars = b"User-agent: *\n" + b"".join(
        b"Disallow: /%s*b%d\n" % (b"*a" * 20, n) for n in range(1000)
    )
    long_url = [f"{SITE}/{'a' * 8000}"]
    bounded = {name: peer for name, peer in peers.items() if name in ("ours", "protego")}
    times = from_cold(bounded, [(stars, long_url)])
    row("1,000 times /*a*a...*b, 8 KB URL, first", "1x", times, peers)
    turns = {n: partial(p.decide, asked_before(p, stars), long_url) for n, p in bounded.items()}
    row("1,000 times /*a*a...*b, 8 KB URL, later", "1x", race(turns), peers)
    names = "".join(f"User-agent: bot{n}\n" for n in range(3500))
    shared = (names + "".join(f"Disallow: /page{n}/x\n" for n in range(3500))).encode()
    bounded.pop("protego", None)  # quadratic: a quarter of a minute, a gigabyte
    times = from_cold(bounded, [(shared, [f"{SITE}/page7/x"])])
    row(f"3,500 agents share 3,500 rules, {len(shared) // 1000} KB", "50 ms", times, peers)


def asked_before(peer: Peer, body: bytes) -> Any:
    parsed = peer.parse(body)
    peer.decide(parsed, [f"{SITE}/{number}" for number in range(60)])
    return parsed


def real_files(peers: dict[str, Peer]) -> None:
    bodies = [path.read_bytes() for path in sorted((CORPUS / "robots").iterdir())]
    megabytes = sum(map(len, bodies)) / 1e6
    page = [f"{SITE}/some/path/page.html"]
    fast = {name: peer for name, peer in peers.items() if name != "urllib"}
    times = from_cold(fast, [(body, page) for body in bodies])
    row(f"parse and first decision, {len(bodies):,} real files", "8x", times, peers)
    rate = megabytes / times["ours"] / len(bodies)
    print(f"{f'  {megabytes:.1f} MB, in MB/s':44}{'':8}{rate:>12.1f}")
    small = [body for body in bodies if 10 <= body.count(b"\n") <= 50 and b": /" in body]
    for number, goal in ((1, 3.4), (3, 3.2), (10, 3), (30, 3)):
        times = from_cold(peers, [(body, urls_for(body, number)) for body in small])
        row(f"{number} decisions, {len(small)} files of 10 to 50 lines", f"{goal}x", times, peers)
    for number, what, goal in ((0, "unused", "0.8"), (5, "in use", "4")):
        held = {name: memory(peer, bodies, number) for name, peer in fast.items()}
        row(f"MB held per MB of text, besides it, {what}", goal, held, peers, unit=1.0)


def row(
    work: str, goal: str, times: dict[str, float], peers: dict[str, Peer], unit: float = 0.0
) -> None:
    """Print what ours took, and how many times that the others took."""
    ours = f"{times['ours']:.2f}" if unit else duration(times["ours"])
    ratios = [times.get(name, 0) / times["ours"] for name in peers if name != "ours"]
    cells = "".join(
        f"{ratio:>9,.{0 if ratio >= 100 else 1}f}" if ratio else f"{'-':>9}" for ratio in ratios
    )
    print(f"{work:44}{goal:>8}{ours:>12}{cells}", flush=True)


def duration(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def main() -> None:
    peers = installed_peers()
    names = "".join(f"{name[:8]:>9}" for name in peers if name != "ours")
    print(f"Python {platform.python_version()}, {platform.machine()}, best of {ROUNDS} rounds")
    print(f"{'':44}{'goal':>8}{'ours':>12}{names}")
    decisions(peers)
    cold_starts(peers)
    if (CORPUS / "robots").is_dir():
        real_files(peers)
    else:
        print(f"(no real files: MANDELBOT_CORPUS is {CORPUS})")
    hostile_files(peers)


if __name__ == "__main__":
    main()
