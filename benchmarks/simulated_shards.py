"""How evenly a crawl is spread over shards by site, and over workers by whole sites.

Sites are as unequal as on the web: the one of rank r has a share of the pages that falls with r (a
power law; the exponent is told). Shards are chosen by a hash of the site's name, as a cluster does
by hash tags. Workers take a site when they have room, as of a job on Redis, and keep it until it is
empty; each crawls so many pages a second of all its sites, and no site gives more than its share.
Nothing is sent; the numbers follow from the seed.

Usage::

    python benchmarks/simulated_shards.py [SITES [PAGES]]
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from heapq import heappop, heappush

RATE = 50.0  # pages a second of a worker
SITE_RATE = 4.0  # pages a second that a site is asked for at most
SITES_AT_ONCE = 16


def sizes(sites: int, pages: int, exponent: float) -> list[int]:
    """Return the pages of each site, the largest first."""
    weights = [(rank + 1) ** -exponent for rank in range(sites)]
    total = sum(weights)
    return [max(1, round(pages * weight / total)) for weight in weights]


def shard_of(site: int, shards: int) -> int:
    digest = blake2b(f"https://site{site}.example".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def unevenness(all_sizes: list[int], shards: int) -> tuple[float, float]:
    """Return the fullest shard, in sites and in pages, as multiples of the mean."""
    sites, pages = [0] * shards, [0] * shards
    for site, size in enumerate(all_sizes):
        sites[shard_of(site, shards)] += 1
        pages[shard_of(site, shards)] += size
    return max(sites) * shards / sum(sites), max(pages) * shards / sum(pages)


def hours(all_sizes: list[int], workers: int) -> tuple[float, float]:
    """Return when 90 % and when all of the pages are crawled, in hours.

    A worker asks each of its sites at an equal share of its rate, at SITE_RATE at most; it takes
    another site when one of its own is empty.
    """
    waiting = sorted(enumerate(all_sizes), key=lambda one: shard_of(one[0], 1 << 30))
    ends: list[tuple[float, int]] = []  # when a site is empty, and its size
    each = min(SITE_RATE, RATE / SITES_AT_ONCE)
    slots = [(0.0, slot) for slot in range(workers * SITES_AT_ONCE)]
    for _, size in waiting:
        at, slot = heappop(slots)
        end = at + size / each
        heappush(slots, (end, slot))
        ends.append((end, size))
    ends.sort()
    done, total = 0, sum(all_sizes)
    ninety = next(end for end, size in ends if (done := done + size) >= 0.9 * total)
    return ninety / 3600, ends[-1][0] / 3600


def main(sites: int = 100_000, pages: int = 10_000_000) -> None:
    for exponent in (0.5, 0.8, 1.0):
        all_sizes = sizes(sites, pages, exponent)
        share = 100 * all_sizes[0] / sum(all_sizes)
        print(f"{sites:,} sites, {pages:,} pages, exponent {exponent}: largest {share:.2f} %")
        for shards in (2, 4, 16):
            of_sites, of_pages = unevenness(all_sizes, shards)
            told = f"{of_sites:.2f} of the mean's sites, {of_pages:.2f} of its pages"
            print(f"  {shards:>2} shards: fullest {told}")
        for workers in (1, 3, 10, 30):
            ninety, end = hours(all_sizes, workers)
            print(f"  {workers:>2} workers: 90 % after {ninety:6.1f} h, all after {end:6.1f} h")


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
    else:
        main(*map(int, sys.argv[1:]))
