"""What ``scrapy robots explain`` and ``compare`` cost for a list of URLs::

    MANDELBOT_CORPUS=/path/to/corpus python benchmarks/robotstxt_lists.py [URLs, 10,000 by default]

The corpus is a folder with real files in ``robots/``: the one nearest to 57 KB is asked about, for
URLs made of its own rules. Printed are, for each verb and format, the seconds of processor time of
the whole command, the least of three runs, and how many lines it prints.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from scrapy_mandelbot.robots.robotstxt import RobotsTxt

CORPUS = Path(os.environ.get("MANDELBOT_CORPUS", "corpus")) / "robots"
SIZE = 57_000
RUNS = 3
WAYS = (
    ("explain", "table"),
    ("explain", "json"),
    ("compare", "table"),
)


def urls_of(body: bytes, count: int) -> list[str]:
    paths = [
        record.value.replace("*", "abc").replace("$", "")
        for record in RobotsTxt.parse(body).records
        if record.field in {"allow", "disallow"} and record.value.startswith("/")
    ]
    chosen = random.Random(1).choices(paths, k=count)
    return [f"https://example.com{path}{number}" for number, path in enumerate(chosen)]


def processor_time(command: list[str], folder: str) -> tuple[float, int]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, run.stdout.count(b"\n")


def main() -> None:
    if not CORPUS.is_dir():
        sys.exit(f"no corpus in {CORPUS}: MANDELBOT_CORPUS names its folder")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    file = min(CORPUS.iterdir(), key=lambda path: abs(path.stat().st_size - SIZE))
    body = file.read_bytes()
    print(f"Python {sys.version.split()[0]}, {file.name}, {len(body):,} bytes, {count:,} URLs\n")
    print(f"{'verb':<10}{'format':<10}{'CPU, s':>8}{'lines':>12}")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "robots.txt").write_bytes(body)
        Path(folder, "urls.txt").write_text("\n".join(urls_of(body, count)), encoding="utf-8")
        about = ["--urls", "urls.txt", "--file", "robots.txt", "--agent", "Googlebot"]
        for verb, form in WAYS:
            command = [sys.executable, "-m", "scrapy", "robots", verb, *about, "--format", form]
            runs = [processor_time(command, folder) for _ in range(RUNS)]
            seconds, lines = min(runs)
            print(f"{verb:<10}{form:<10}{seconds:>8.2f}{lines:>12,}", flush=True)


if __name__ == "__main__":
    main()
