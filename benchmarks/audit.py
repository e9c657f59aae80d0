"""How long ``scrapy robots audit`` takes for a log of a million lines::

    python benchmarks/audit.py [lines]
    python benchmarks/audit.py nginx

Three logs, made here: one in which every line is the robot's, one in which it is one line of
twenty, and the first packed by gzip. The robots.txt has a hundred rules. Printed are the seconds of
processor time, least of three runs, the memory at its peak over that of a log of a hundred lines,
and what was found. With ``nginx`` the same site, which allows 20 requests a second and says
Retry-After: 2, is crawled by this package and by stock Scrapy, and both of its logs are audited.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START = 1_780_000_000
ROBOT = "Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com/bot)"
OTHERS = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
RUN = """
import resource, sys, time
from scrapy.cmdline import execute
start = time.process_time()
try:
    execute(["scrapy", "robots", *sys.argv[1:]])
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(time.process_time() - start, peak, file=sys.stderr)
"""


SPIDER = """
import scrapy
class Links(scrapy.Spider):
    name, start_urls = "links", ["{url}/"]
    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a::attr(href)")
"""
AGENT = "USER_AGENT=Examplebot/1.0"
CRAWLS = {
    "scrapy-mandelbot": (AGENT, 'ADDONS={"scrapy_mandelbot.Addon": 500}', "DOWNLOAD_DELAY=0"),
    "stock Scrapy": (AGENT, "ROBOTSTXT_OBEY=True", "DOWNLOAD_DELAY=0"),
}


def lines(count: int, every: int):
    """Yield the lines of a log: ten requests a second, robots.txt each day, some refusals."""
    for number in range(count):
        agent = OTHERS if number % every else ROBOT
        moment = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(START + number // 10))
        is_robots = number % 864_000 < every
        path = "/robots.txt" if is_robots else f"/shop/{number % 997}/item-{number}?v=1"
        status = 503 if number % 10_007 == 0 and number else 200
        asked = f'"GET {path} HTTP/1.1" {status} 5120 "-" "{agent}"'
        yield f"203.0.113.{number % 8} - - [{moment}] {asked}\n"


def run(log: Path, robots: Path) -> tuple[float, int, dict]:
    words = ["audit", str(log), "--agent", "Examplebot", "--robots-txt", str(robots)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words, "--retry-after", "5", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds, peak = done.stderr.split("\n")[-2].split()
    return float(seconds), int(peak), json.loads(done.stdout)


def beside_each_other() -> None:
    """Print the audits of the logs of two crawls."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from nginx import LOG_FORMAT, Nginx  # noqa: PLC0415 - of the tests

    for name, settings in CRAWLS.items():
        with tempfile.TemporaryDirectory() as made:
            server = Nginx(Path(made), rate=20, burst=5, retry_after=2)
            server.pages(200)
            server.start()
            words = [word for one in settings for word in ("-s", one)]
            spider = Path(made) / "spider.py"
            spider.write_text(SPIDER.format(url=server.url))
            scrapy = [sys.executable, "-m", "scrapy"]
            began = time.monotonic()
            subprocess.run(
                [*scrapy, "runspider", spider, *words, "-s", "LOG_ENABLED=False"],
                check=True,
                cwd=made,
            )
            print(f"{name}, {time.monotonic() - began:.0f} s:")
            server.stop()
            robots = Path(made) / "www" / "robots.txt"
            rest = ["--robots-txt", robots, "--log-format", LOG_FORMAT]
            command = [*scrapy, "robots", "audit", "access.log", "--agent", "Examplebot", *rest]
            done = subprocess.run(command, check=False, cwd=made, capture_output=True, text=True)
            print("\n".join(f"  {line}".rstrip() for line in done.stdout.splitlines()))
            print(f"  exit code {done.returncode}\n")


def main() -> None:
    if sys.argv[1:] == ["nginx"]:
        beside_each_other()
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        robots = folder / "robots.txt"
        rules = "".join(f"Disallow: /shop/{number}/item-1\n" for number in range(100))
        robots.write_text(f"User-agent: *\n{rules}")
        small = folder / "small.log"
        small.write_text("".join(lines(100, 1)))
        _, least, _ = run(small, robots)
        logs = {"all of them": 1, "one of twenty": 20}
        print(f"{count:,} lines; of the robot  seconds   MB  requests  forbidden  in pauses")
        for name, every in logs.items():
            log = folder / f"{every}.log"
            with log.open("w") as file:
                file.writelines(lines(count, every))
            told(name, log, robots, least)
        packed = folder / "packed"
        with (folder / "1.log").open("rb") as plain, gzip.open(packed, "wb", 6) as file:
            file.write(plain.read())
        told("all of them, gzip", packed, robots, least)


def told(name: str, log: Path, robots: Path, least: int) -> None:
    runs = [run(log, robots) for _ in range(3)]
    seconds, peak, report = min(runs, key=lambda one: one[0])
    (site,) = report["sites"]
    found = {one["code"]: one["count"] for one in site["findings"]}
    print(
        f"  {name:<24}{seconds:>10.1f}{(peak - least) / 1024:>5.0f}{report['requests']:>10,}"
        f"{found.get('forbidden', 0):>11,}{found.get('during-pause', 0):>11,}"
    )


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
