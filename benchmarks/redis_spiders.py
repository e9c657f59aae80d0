"""Many spiders of several projects on one Redis, each crawled by three unlike workers.

Starts a web on loopback, a Redis, and three processes for each of three projects. A
process runs all spiders of its project: the first with a long lease, the second with a
short one, the third with a short one and slow callbacks, which let the others wait.
Each spider is a separate job and crawls all pages. Printed are the pages that no
callback of a spider ended for, callbacks that ended twice, how many pages came from
each kind of worker, leases that were lost, how the workers ended, what a page cost
Redis, and what the jobs leave there. Exits with 1 if a page is lost, a worker did not
end, or a job that has finished does not expire.

Usage::

    python benchmarks/redis_spiders.py [SPIDERS [PAGES [SITES]]]

SPIDERS is at most 60: there are three workers of each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import job_kill
import redis_workers
from loopback import Serving, crawled_together

PROJECTS = "shops", "news", "parts"
MOST_SPIDERS = 60
KINDS: dict[str, dict[str, Any]] = {
    "lease of 30 s": {"MANDELBOT_JOB_OPTIONS": {"lease": 30}},
    "lease of 5 s": {"MANDELBOT_JOB_OPTIONS": {"lease": 5}},
    "lease of 5 s, slow": {
        "MANDELBOT_JOB_OPTIONS": {"lease": 5},
        "PARSE_SECONDS": 0.2,
    },
}


def names_of(project: str, spiders: int) -> list[str]:
    """Return the names of a project's spiders: each third of all."""
    numbers = range(PROJECTS.index(project), spiders, len(PROJECTS))
    return [f"{project}-{number}" for number in numbers]


def crawl(url: str, project: str, kind: str, spiders: int, redis: str) -> None:
    """Run a worker of each spider of a project; print the stats of all."""
    classes = [
        type(
            "Spider",
            (job_kill.Noting,),
            {
                "__module__": f"{project}.spiders",
                "name": name,
                "number": f"-{name}-{kind}",
            },
        )
        for name in names_of(project, spiders)
    ]
    settings = {**redis_workers.SETTINGS, **KINDS[kind], "MANDELBOT_JOB": redis}
    crawlers = crawled_together(classes, settings, start_urls=[url])
    stats = [
        {
            name: value
            for name, value in crawler.stats.get_stats().items()
            if "time" not in name
        }
        for crawler in crawlers
    ]
    print(json.dumps(stats), flush=True)


def main(spiders: int = 30, pages: int = 120, sites: int = 12) -> int:
    """Crawl, and print what came of it."""
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    if not 0 < spiders <= MOST_SPIDERS:
        print(f"SPIDERS is 1 to {MOST_SPIDERS}")
        return 2
    with tempfile.TemporaryDirectory(prefix="redis-spiders-") as name:
        folder = Path(name)
        (folder / "redis").mkdir()
        with (
            Serving(
                redis_workers.__file__, "serve", pages, sites, folder=folder
            ) as port,
            RedisServer(folder / "redis", appendonly=True) as redis,
        ):
            urls = set(redis_workers.World(pages, sites).urls(port))
            began = time.monotonic()
            workers = [
                job_kill.start(
                    __file__,
                    folder,
                    *(f"http://127.0.0.1:{port}/", project, kind),
                    *(str(spiders), redis.url),
                    number=f"-{project}-{kind}",
                )
                for project in PROJECTS
                for kind in KINDS
            ]
            stats = stats_of(workers)
            print(
                f"{spiders} spiders of {len(PROJECTS)} projects, {len(urls)} pages"
                f" each, in {time.monotonic() - began:.0f} s"
            )
            ended = ends_in(folder)
            is_bad = report(spiders, urls, ended, stats)
            print(redis_workers.cost_of(redis.url, sum(ended.values())))
            return int(is_bad or not do_all_expire(redis.url))


def stats_of(workers: list[subprocess.Popen]) -> list[dict[str, Any]]:
    """Wait for all to end; return the stats of each worker of each spider."""
    deadline = time.monotonic() + redis_workers.LONGEST
    stats: list[dict[str, Any]] = []
    for one in workers:
        try:
            out, _ = one.communicate(timeout=max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            out, _ = one.communicate()
        stats += json.loads(out) if out.strip() else []
    return stats


def ends_in(folder: Path) -> Counter[tuple[str, str, str]]:
    """Return how often a callback has ended, by spider, kind of worker and URL."""
    ended: Counter[tuple[str, str, str]] = Counter()
    for path in folder.glob("ends-*.txt"):
        _, project, number, kind = path.stem.split("-", 3)
        for url in path.read_text().split():
            ended[f"{project}-{number}", kind, url] += 1
    return ended


def report(
    spiders: int,
    urls: set[str],
    ended: Counter[tuple[str, str, str]],
    stats: list[dict[str, Any]],
) -> bool:
    """Print what came of the crawls; return whether anything is wrong."""
    by_spider: dict[str, Counter[str]] = {
        name: Counter() for project in PROJECTS for name in names_of(project, spiders)
    }
    by_kind: Counter[str] = Counter()
    for (name, kind, url), count in ended.items():
        by_spider[name][url] += count
        by_kind[kind] += count
    lost = sum(len(urls - found.keys()) for found in by_spider.values())
    twice = sum(found.total() - len(found) for found in by_spider.values())
    print(f"pages lost {lost}, callbacks ended twice {twice}")
    print(f"pages by kind of worker {dict(by_kind)}")
    print(f"workers ended as {dict(Counter(one['finish_reason'] for one in stats))}")
    leases = sum(one.get("mandelbot/job/leases_lost", 0) for one in stats)
    errors = sum(one.get("log_count/ERROR", 0) for one in stats)
    print(f"leases lost {leases}; errors logged {errors}")
    return bool(lost) or len(stats) != spiders * len(KINDS)


def do_all_expire(url: str) -> bool:
    """Print how many keys the jobs have left; return whether each of them expires."""
    from redis import Redis  # noqa: PLC0415 -- of the extra

    with Redis.from_url(url) as client:
        lives = [client.ttl(key) for key in client.scan_iter("mandelbot:*")]
        memory = client.info("memory")["used_memory"]
    lasting = sum(seconds < 0 for seconds in lives)
    print(
        f"left on Redis: {len(lives)} keys, {lasting} of them without an end;"
        f" {memory / 1e6:.1f} MB"
    )
    return not lasting


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["crawl", url, project, kind, spiders, redis]:
            crawl(url, project, kind, int(spiders), redis)
        case ["-h" | "--help"]:
            print(__doc__)
        case [*numbers]:
            sys.exit(main(*map(int, numbers)))
