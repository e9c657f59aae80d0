"""What the package costs, as far as it can be counted in seconds, held to what it was.

Usage::

    python benchmarks/gates.py

Prints each figure beside its gate, and exits with 1 if one is above it: by more than 3 % for
calls, 2 % for instructions, at all for the rest. A figure that fell is marked, and its gate is
to be lowered to it in the same change: what was won is held from then on.

calls     of functions of the package for one page more, by what is switched on
thousand  instructions for one new site more, with its robots.txt and three pages, over stock Scrapy
refusal   a 503 from the download handler until the scheduler has the request again; the way alone,
          without what events have done; and a site's second one
modules   of any package, at the start of a crawl, that stock Scrapy obeying robots.txt does not
          load; of this one, loaded by a crawl with nothing but the add-on, and by the command; and
          the dataclasses in the crawl's, as each takes a while to make
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from instructions import ENVIRONMENT, FEW, MANY, crawl, per_page, way
from start import more_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

GATES = {
    "calls: a page": 39.7,
    "calls: a page, purpose, annotate": 58.7,
    "calls: a page, purpose, obey": 58.7,
    "calls: a page, purpose, ledger": 85.7,
    "calls: a page, report": 48.7,
    "calls: a page, metrics": 50.7,
    "calls: a page, job": 98.5,
    "calls: a page with twenty new links, job": 638.0,
    "calls: a new site with three pages": 389.0,
    "thousand: a new site with three pages": 788,
    "refusal: calls": 114,
    "refusal: stops": 73,
    "refusal: modules": 23,
    "refusal, the way alone: calls": 89,
    "refusal, the way alone: stops": 60,
    "refusal, the way alone: modules": 18,
    "second refusal: calls": 130,
    "second refusal: stops": 81,
    "second refusal: modules": 25,
    "modules: a start, over stock": 80,
    "modules: a crawl": 80,
    "dataclasses: a crawl": 24,
    "modules: scrapy robots check": 49,
}
SHAPES = {
    "calls: a page": ("package", "page"),
    "calls: a page, purpose, annotate": ("annotate", "page"),
    "calls: a page, purpose, obey": ("obey", "page"),
    "calls: a page, purpose, ledger": ("ledger", "page"),
    "calls: a page, report": ("watched", "page"),
    "calls: a page, metrics": ("metrics", "page"),
    "calls: a page, job": ("package-job", "page"),
    "calls: a page with twenty new links, job": ("package-job", "links"),
    "calls: a new site with three pages": ("package", "site"),
}
SLACK = {"calls": 0.03, "thousand": 0.02}
LOADED = "import sys; print(sum(name.startswith('scrapy_mandelbot') for name in sys.modules))"


def calls(variant: str, shape: str) -> float:
    """Return the calls of functions of the package for one page, or site, more."""
    few, many = (sum(json.loads(crawl(variant, shape, n, "calls")).values()) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def a_new_site() -> dict[str, float]:
    """Return the thousand instructions that a new site takes over stock Scrapy."""
    stock, package = per_page("site", "still")
    return {"thousand: a new site with three pages": package - stock}


def refusals() -> dict[str, float]:
    """Return what the way of a 503 back to the scheduler takes, of a site's first and second."""
    first, second = (json.loads(crawl("package", "refusal", n, "trace")) for n in (1, 2))
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
    """Yield the calls but those that an event has made: the log, stats, reports, the store."""
    emitted_at = None
    for name, depth in calls:
        if emitted_at is not None and depth > emitted_at:
            continue
        emitted_at = depth if name.startswith("events.emitter:Events.") else None
        if emitted_at is None:
            yield name, depth


def modules() -> dict[str, float]:
    """Return how many modules are loaded by a crawl and by the command, and its dataclasses."""
    check = f"""
import sys
from scrapy.cmdline import execute
try:
    execute(["scrapy", "robots", "check", "-"])
except SystemExit:
    {LOADED}
"""
    command = [sys.executable, "-c", check]
    run = subprocess.run(
        command,
        input="User-agent: *\nDisallow: /x\n",
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, dataclasses = map(int, crawl("package", "page", 3, "modules").split())
    return {
        "modules: a start, over stock": more_modules(),
        "modules: a crawl": loaded,
        "dataclasses: a crawl": dataclasses,
        "modules: scrapy robots check": int(run.stdout.split()[-1]),
    }


def main() -> None:
    """Count all of it, and hold it to the gates."""
    figures = {name: calls(*shape) for name, shape in SHAPES.items()}
    figures |= a_new_site() | refusals() | modules()
    above = []
    for name, figure in figures.items():
        gate = GATES[name]
        slack = SLACK.get(name.partition(":")[0], 0)
        if figure > gate * (1 + slack):
            above.append(name)
            word = "ABOVE"
        else:
            word = "lower the gate" if figure < gate * (1 - slack) else ""
        print(f"{name:<44}{figure:>8.1f}  gate {gate:>7.1f}  {word}")
    if above:
        sys.exit(f"above the gate: {', '.join(above)}")


if __name__ == "__main__":
    main()
