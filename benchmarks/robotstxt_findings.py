"""What is found in real robots.txt files, and whether their corrected versions decide alike::

    MANDELBOT_CORPUS=/path/to/corpus python benchmarks/robotstxt_findings.py

The corpus is a folder with real files in ``robots/``. Printed are, for each finding, the files that
have it and how often it is there; the files in which two dialects decide a URL differently and no
finding says so; then for each dialect how many files were corrected and proved to
decide as before, over how many decisions; and what the checks and the correcting cost
in seconds of processor time.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from textwrap import fill

from scrapy_mandelbot.robots.fix import prove, rewrite
from scrapy_mandelbot.robots.lint import FINDINGS
from scrapy_mandelbot.robots.robotstxt import DIALECTS, RobotsTxt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from differences import unexplained

CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", "corpus")) / "robots"


def findings(bodies: list[bytes]) -> None:
    files: Counter[str] = Counter()
    times: Counter[str] = Counter()
    start = time.process_time()
    for body in bodies:
        found = RobotsTxt.parse(body).findings()
        files.update({one.code for one in found})
        for one in found:
            times[one.code] += 1 + one.more
    seconds = time.process_time() - start
    print(f"{'finding':<30}{'severity':<10}{'files':>6}{'times':>8}")
    for code, kind in FINDINGS.items():
        if files[code]:
            print(f"{code:<30}{kind.severity!s:<10}{files[code]:>6}{times[code]:>8}")
    never = [code for code in FINDINGS if not files[code]]
    print(fill(f"in no file, or about deliveries: {', '.join(never)}", 100, break_on_hyphens=False))
    print(f"{len(bodies)} files checked in {seconds:.1f} s of processor time\n")


def corrections(bodies: list[bytes]) -> None:
    print(f"{'dialect':<12}{'files':>6}{'proved':>8}{'stable':>8}{'decisions':>12}{'remarks':>9}")
    for dialect in DIALECTS:
        proved = stable = decisions = remarks = 0
        for body in bodies:
            result = rewrite(RobotsTxt.parse(body, dialect=dialect))
            again = RobotsTxt.parse(result.text.encode(), dialect=dialect).rewrite()
            proof = prove(body, result.text, dialect)
            proved += proof.holds and proof.is_whole
            stable += again == result.text
            decisions += proof.decisions
            remarks += bool(result.remarks)
        counts = f"{len(bodies):>6}{proved:>8}{stable:>8}{decisions:>12,}{remarks:>9}"
        print(f"{dialect:<12}{counts}", flush=True)
    print("stable: corrected twice is corrected once; remarks: files where the dialect keeps\n"
          "something from being as the document recommends\n")  # fmt: skip


def silences(bodies: list[bytes]) -> None:
    """Print what dialects decide differently without a finding."""
    found = [one for body in bodies for one in [list(unexplained(body))] if one]
    print(f"{len(found)} of {len(bodies)} files have a difference of dialects without a finding")
    for one in found:
        print(f"  {one[0].dialect}: {one[0].url} for {one[0].agent}")
    print()


def large_files() -> None:
    numbers = random.Random(1).sample(range(10**9), 47_000)
    literal = b"".join(b"Disallow: /some/%d/path\n" % number for number in numbers)
    wildcards = b"".join(b"Disallow: /*some/%d*path\n" % number for number in numbers)
    print(f"{'47,000 rules':<30}{'MB':>6}{'check, s':>10}{'correct, s':>12}")
    for name, rules in (("literal", literal), ("with wildcards", wildcards)):
        body = b"User-agent: *\n" + rules
        robots = RobotsTxt.parse(body, max_bytes=None)
        start = time.process_time()
        robots.findings()
        checked = time.process_time()
        rewrite(robots, max_bytes=None)
        corrected = time.process_time()
        row = f"{len(body) / 1e6:>6.1f}{checked - start:>10.2f}{corrected - checked:>12.2f}"
        print(f"{name:<30}{row}")


def main() -> None:
    if not CORPUS.is_dir():
        sys.exit(f"no corpus in {CORPUS}: MANDELBOT_CORPUS names its folder")
    bodies = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    print(f"Python {sys.version.split()[0]}, {len(bodies)} files\n")
    findings(bodies)
    silences(bodies)
    corrections(bodies)
    large_files()


if __name__ == "__main__":
    main()
