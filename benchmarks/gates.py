"""What the package costs, as far as it can be counted, held to what it was.

Usage::

    python benchmarks/gates.py

Prints each figure beside its gate, names those above it, and exits with 1 if one is
above the gate and its room: 1 % of what is counted for a page, a refusal or a site, a
tenth of a number of modules, stops or dataclasses, so that a module can be divided. A
change that needs the room says in its message what users get for it; one that saves
more than the room lowers the gate.

calls      of functions of the package for one page more, by what is switched on; where
           nothing else is said, all answers to what was sent in one turn of the loop
           come in the next one
bytecodes  in these functions (of Python 3.11, which has the most)
queue      bytecodes of a push and a pop, as ``instructions.py queue`` counts them:
           among ten sites as a multiple of stock Scrapy's, else among 20,000 as a
           multiple of those among ten
refusal    a 503 from the download handler until the scheduler has the request again;
           the way alone, without what events have done; and a site's second one
modules    of any package, at the start of a crawl, that stock Scrapy obeying robots.txt
           does not load; of this one, loaded by a crawl with nothing but the add-on,
           and by the command; and the dataclasses in the crawl's, as each takes a
           while to make
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from instructions import ENVIRONMENT, FEW, MANY, crawl, of_one, queue_costs, way
from start import more_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

GATES = {
    "calls: a page": 34.7,
    "calls: a page, purpose, annotate": 55.7,
    "calls: a page, purpose, obey": 55.7,
    "calls: a page, report": 43.7,
    "calls: a page, metrics": 46.7,
    "calls: a page, job": 92.9,
    "calls: a page, answers apart": 40.0,
    "calls: a page, job, answers apart": 125.5,
    "calls: a page with twenty new links, job": 580.3,
    "calls: a new site with three pages": 291.0,
    "bytecodes: a page": 1513.8,
    "bytecodes: a page, job": 3080.6,
    "bytecodes: a page, answers apart": 1659.9,
    "bytecodes: a page, job, answers apart": 4053.8,
    "bytecodes: a new site with three pages": 10035.0,
    "queue: push, 10 sites": 1.64,
    "queue: pop, 10 sites": 0.84,
    "queue: push for a new site": 1.0,
    "queue: push for a known site": 1.0,
    "queue: first pop of a site": 0.38,
    "refusal: calls": 105,
    "refusal: stops": 70,
    "refusal: modules": 30,
    "refusal, the way alone: calls": 84,
    "refusal, the way alone: stops": 57,
    "refusal, the way alone: modules": 24,
    "second refusal: calls": 127,
    "second refusal: stops": 75,
    "second refusal: modules": 30,
    "modules: a start, over stock": 90,
    "modules: a crawl": 92,
    "dataclasses: a crawl": 19,
    "modules: scrapy robots check": 60,
}
MANY_SITES = 20_000
"""Sites that wait, for what a queue takes: a tenth of those of ``instructions.py``."""
ROOM = 1.01
ROOM_OF_MODULES = 1.1
SHAPES = {
    "a page": "package,page",
    "a page, purpose, annotate": "annotate,page",
    "a page, purpose, obey": "obey,page",
    "a page, report": "watched,page",
    "a page, metrics": "metrics,page",
    "a page, job": "package-job,page",
    "a page, answers apart": "package,apart",
    "a page, job, answers apart": "package-job,apart",
    "a page with twenty new links, job": "package-job,links",
    "a new site with three pages": "package,site",
}


def code() -> dict[str, float]:
    """Return the calls of the package's functions, and bytecodes, for one page more."""
    counted = crawl(
        *(
            # counting bytecodes takes longer than all else
            f"{shape},{pages},{'code' if f'bytecodes: {name}' in GATES else 'calls'}"
            for name, shape in SHAPES.items()
            for pages in (FEW, MANY)
        )
    )
    return {
        f"{what}: {name}": figure
        for at, what in enumerate(("calls", "bytecodes"))
        for name, figure in zip(
            SHAPES, of_one([sum(one[at].values()) for one in counted]), strict=True
        )
    }


def queues() -> dict[str, float]:
    """Return what the queue takes, as multiples."""
    return {
        f"queue: {name}": other / one
        for name, (one, other) in queue_costs(MANY_SITES).items()
    }


def refusals() -> dict[str, float]:
    """Return what the way of a 503 back to the scheduler takes: the first two."""
    first, second = crawl("package,refusal,1,trace", "package,refusal,2,trace")
    return {
        f"{what}: {name}": figure
        for what, calls in (
            ("refusal", first),
            ("refusal, the way alone", list(without_subscribers(first))),
            ("second refusal", second),
        )
        for name, figure in way([name for name, _ in calls]).items()
    }


def without_subscribers(calls: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield the calls that no event has made: of no log, stats, report or store."""
    emitted_at = None
    for name, depth in calls:
        if emitted_at is not None and depth > emitted_at:
            continue
        emitted_at = depth if name.startswith("events.emitter:Events.") else None
        if emitted_at is None:
            yield name, depth


def modules() -> dict[str, float]:
    """Return how many modules and dataclasses a crawl loads, and the command."""
    check = """
import sys
from scrapy.cmdline import execute
try:
    execute(["scrapy", "robots", "check", "-"])
except SystemExit:
    ours = ("mandelbot", "scrapy_mandelbot")
    print(sum(name.startswith(ours) for name in sys.modules))
"""
    command = [sys.executable, "-c", check]
    rules = "User-agent: *\nDisallow: /x\n"
    said = subprocess.check_output(command, input=rules, env=ENVIRONMENT, text=True)
    ((loaded, dataclasses),) = crawl("package,page,3,modules")
    return {
        "modules: a start, over stock": more_modules(),
        "modules: a crawl": loaded,
        "dataclasses: a crawl": dataclasses,
        "modules: scrapy robots check": int(said.split()[-1]),
    }


def room(name: str) -> float:
    """Return by how much a figure may exceed its gate, as a factor."""
    kinds = ("modules", "stops", "dataclasses")
    return ROOM_OF_MODULES if any(one in name for one in kinds) else ROOM


def main() -> None:
    """Count all of it, and hold it to the gates."""
    figures = code() | queues() | refusals() | modules()
    above = []
    for name, gate in GATES.items():
        figure = round(figures[name], 2 if name.startswith("queue") else 1)
        word = ""
        if figure > gate * room(name):
            word = "ABOVE ITS ROOM"
            above.append(name)
        elif figure > gate:
            word = "above"
        elif figure * room(name) < gate:
            word = "lower the gate"
        print(f"{name:<45}{figure:>9}  gate {gate:>8}  {word}".rstrip())
    if above:
        sys.exit(f"above the gate: {', '.join(above)}")


if __name__ == "__main__":
    main()
