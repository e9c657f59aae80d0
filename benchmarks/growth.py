"""How the time of each public pure function grows with what is sent: the slowest shape of each::

    python benchmarks/growth.py [part of a row's name]

The rows and shapes are those of ``tests/growth``; the slowest is that at 128 KB. Processor time,
the least of three runs, at 128, 256 and 512 KB; the last column is for 100 KB of the largest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from growth.measuring import seconds_of
from growth.test_growth import ROWS

SIZES = (128_000, 256_000, 512_000)
RUNS = 3


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'':72}{'128 KB':>10}{'256 KB':>10}{'512 KB':>10}{'100 KB':>10}")
    for row in ROWS:
        if part not in row.name:
            continue
        shape = max(row.shapes, key=lambda one: seconds_of(row, one, SIZES[0]))
        times = [min(seconds_of(row, shape, size) for _ in range(RUNS)) for size in SIZES]
        columns = [*times, times[-1] * 100_000 / SIZES[-1]]
        name = f"{row.name.removeprefix('robotstxt.RobotsTxt.')}: {shape}"
        print(f"{name[:71]:72}" + "".join(f"{1000 * one:7.1f} ms" for one in columns), flush=True)


if __name__ == "__main__":
    main()
