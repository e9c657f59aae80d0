"""What correcting real robots.txt files changes, and for whom::

    MANDELBOT_CORPUS=/path/to/corpus python benchmarks/robotstxt_corrections.py [every nth file]

The corpus is a folder with real files in ``robots/``, and with ``google_verdicts.jsonl.gz``, what
Google's parser decided of them. Each file is corrected as ``scrapy robots fix`` does it. Printed
are the processor time for each, the number of lines that ``check`` prints, and for each reader (the
six dialects, Python's own ``urllib.robotparser``, Protego) the files and URLs that open, that close
though the file's own dialect leaves them open, and that close as they are closed to its own
dialect; what opens and closes of what Google's parser decided; then how many files were put in the
order that the document recommends, and why the others were not.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from scrapy_mandelbot.robots.fix import correct
from scrapy_mandelbot.robots.fix.effects import READERS
from scrapy_mandelbot.robots.reports import check_report
from scrapy_mandelbot.robots.robotstxt import RobotsTxt

CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", "corpus")) / "robots"
_WAYS = {"So the file stays": "as it is"}


def main() -> None:
    if not CORPUS.is_dir():
        sys.exit(f"no corpus in {CORPUS}: MANDELBOT_CORPUS names its folder")
    paths = sorted(CORPUS.iterdir())[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1]
    files: Counter[tuple[str, str]] = Counter()
    urls: Counter[tuple[str, str]] = Counter()
    ways: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    decisions = unproved = 0
    verdicts = _read_verdicts()
    googles: Counter[str] = Counter()
    start = time.process_time()
    times: list[float] = []
    printed: list[int] = []
    for path in paths:
        body = path.read_bytes()
        report = check_report.check(path.name, RobotsTxt.parse(body), None)
        printed.append(check_report.text(report).count("\n"))
        began = time.process_time()
        correction = correct(body)
        times.append(time.process_time() - began)
        decisions += correction.proof.decisions
        unproved += not correction.proof.holds
        for effect in correction.effects:
            for what in ("opened", "lost", "closed"):
                count = len(getattr(effect, what))
                files[effect.reader, what] += bool(count)
                urls[effect.reader, what] += count
        ways[_way(correction.remarks)] += 1
        reasons.update(_reason(one) for one in correction.remarks if one.startswith("Put in"))
        text = correction.text.encode()  # of which that parser reads all
        after = RobotsTxt.parse(text, dialect="google", max_bytes=None)
        for said in verdicts.get(path.name, ()):
            is_open = after.allowed(said["url"], said["agent"])
            googles["asked"] += 1
            googles["open"] += is_open and not said["allowed"]
            googles["close"] += said["allowed"] and not is_open
    seconds = time.process_time() - start
    print(f"Python {sys.version.split()[0]}, {len(paths)} files, {seconds:.0f} s\n")
    times.sort()
    printed.sort()
    half, most = len(paths) // 2, len(paths) * 95 // 100
    told = f"median {times[half]:.3f} s, p95 {times[most]:.3f} s, worst {times[-1]:.3f} s"
    print(f"to correct a file: {told}")
    print(f"lines that check prints: median {printed[half]}, p90 {printed[len(paths) * 9 // 10]}\n")
    print(f"{'files (URLs) that':<22}{'open':>16}{'close, own open':>20}{'close, own closed':>20}")
    for reader in READERS:
        cells = [f"{files[reader, w]} ({urls[reader, w]:,})" for w in ("opened", "lost", "closed")]
        print(f"{reader:<22}{cells[0]:>16}{cells[1]:>20}{cells[2]:>20}")
    told = f"{googles['open']} open, {googles['close']} close"
    print(f"of {googles['asked']:,} decisions of Google's parser {told}")
    print(f"\n{unproved} files not proved, of {decisions:,} decisions in mandelbot")
    for way, count in ways.most_common():
        print(f"{count:>6} {way}")
    for reason, count in reasons.most_common():
        print(f"{count:>6} not in order: it {reason}")


def _read_verdicts() -> dict[str, list[dict[str, Any]]]:
    """Return what Google's parser decided, by the files' names; empty: it is not in the corpus."""
    by_file: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    path = CORPUS.parent / "google_verdicts.jsonl.gz"
    if path.exists():
        with gzip.open(path, "rt") as lines:
            for line in map(json.loads, lines):
                by_file[line["file"]].append(line)
    return by_file


def _way(remarks: tuple[str, ...]) -> str:
    found = (way for one in remarks for begins, way in _WAYS.items() if one.startswith(begins))
    return next(found, "in order")


def _reason(remark: str) -> str:
    """Return who would be let in or kept out."""
    does = remark.removeprefix("Put in order, the file ").split(" ", 1)[0]
    return f"{does} to {remark.partition(' to ')[2].partition(';')[0]}"


if __name__ == "__main__":
    main()
