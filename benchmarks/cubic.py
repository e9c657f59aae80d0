"""Would a smaller law do? The rate limit from the last run alone, in place of the limit
estimator.

The package finds a site's rate limit from all its refusals (``limit_estimator.py``).
The rival here takes what the last run let through for the limit, if that were twenty
pages at least, and grows from it by the same cube (RFC 9438): a dozen lines in place of
180. The rows and seeds are none of those by which either law was chosen.

Prints for each row pages got, seconds until the last of them, and refusals: by the
package's law, by the rival, and the rival's seconds as a multiple. ``CUBIC.rst`` has
the table, and what follows from it.

Usage::

    python benchmarks/cubic.py [--seeds 10]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from laws import Result, results
from simulated_scenarios import (
    All,
    AtOnce,
    Bucket,
    Dead,
    Scenario,
    by_chance,
    chance,
    down,
    flat,
    limit,
    quota,
    slow,
    some,
)

from scrapy_mandelbot.politeness import pause
from scrapy_mandelbot.politeness.rate_control import Mode, RateControl

FIRST_SEED = 7_000
_LEAST = 20  # pages of a run that say what a site lets through
_BURST = 5.0  # requests that its bucket is taken to hold


class LastRun(RateControl):
    """Takes what the last run let through for the limit."""

    def _judge(self, now: float, goods: int, took: float, *, is_short: bool) -> None:
        if goods >= _LEAST and took > 0.0:
            self.mode = Mode.LIMIT
            self._limit = max(0.02, goods / took)
            self._burst = _BURST
            self._cruise(now)
        elif self.mode is Mode.CHANCE or (is_short and self._pauses > 2):
            self._go_by_chance()
        else:
            self.mode = Mode.RAMP
            self.rate = max(4.0, self._lately(self.ended_at))

    @property
    def share(self) -> float:
        """The share of requests that was refused."""
        return self._pauses / (self._all_good + self._pauses + 1.0)


ROWS: dict[str, Scenario] = {
    "25/10, 5 ms": limit(25, 10, 600, 0.005),
    "40/3, 20 ms": limit(40, 3, 800, 0.02),
    "80/20, 10 ms": limit(80, 20, 1_500, 0.01),
    "150/5, 2 ms": limit(150, 5, 2_000, 0.002),
    "8/2, 20 ms": limit(8, 2, 200, 0.02),
    "40/3, 64 in flight": limit(40, 3, 800, 0.1, in_flight=64),
    "90/0, held up": limit(90, 0, 1_200, 0.002, held_up=0.03),
    "5 at once": Scenario(lambda _: AtOnce(5), flat(800), latency=0.05),
    "25/min, burst 8": slow(25, 8, 120),
    "4/min, burst 2": slow(4, 2, 50),
    "40/min with 4 dead": slow(40, 4, 120, dead=4),
    "30 in any minute": quota(30, 60, 150, sliding=True),
    "15 in a minute": quota(15, 60, 90, sliding=False),
    "chance 2 %": chance(0.02, 1_000),
    "chance 10 %": chance(0.10, 500),
    "40/10 and 2 % chance": Scenario(
        lambda one: All(by_chance(0.02, one), Bucket(40, 10)), flat(800), latency=0.005
    ),
    "60 dead, flat": Scenario(lambda _: Dead(some(30, 90)), flat(300)),
    "60 dead, flat, 40/5": Scenario(
        lambda _: All(Dead(some(30, 90)), Bucket(40, 5)), flat(300)
    ),
    "down 20 s": down(20),
    "down 200 s": down(200),
}


def crawled(law: type[RateControl], scenario: Scenario, seeds: int) -> list[Result]:
    """Return what came of crawls whose rate is controlled so."""
    pause.RateControl = law
    return results(scenario, "ours", range(FIRST_SEED, FIRST_SEED + seeds))


def cells(some: list[Result]) -> tuple[int, float, float]:
    """Return pages of the worst seed, and the medians of seconds and refusals."""
    return (
        min(one.got for one in some),
        median(one.last_good for one in some),
        median(one.refused for one in some),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print(f"{'':22} {'of all':>6} {'ours: got':>9} {'s':>8} {'refused':>8}", end="")
    print(f" {'last run: got':>13} {'s':>8} {'refused':>8} {'times':>6}")
    for name, scenario in ROWS.items():
        ours = crawled(RateControl, scenario, seeds)
        got, seconds, refused = cells(ours)
        other, slower, more = cells(crawled(LastRun, scenario, seeds))
        print(
            f"{name:22} {ours[0].gettable:6} {got:9} {seconds:8.1f} {refused:8.0f}"
            f" {other:13} {slower:8.1f} {more:8.0f} {slower / seconds:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
