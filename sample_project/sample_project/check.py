"""The crawl's own account, held against what the demo web has counted."""

from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice

from sample_project.record import SiteRecord

ALL_SITES = "all sites"
SHOWN = 3  # URLs of a difference


@dataclass
class Row:
    """What both sides say of one thing: a number, or how often each URL.

    Attributes:
        what: the thing.
        where: a site, or ALL_SITES.
        crawl: what the crawl says: of a site by signals, of all sites by Scrapy's
            stats.
        web: what the demo web says.
    """

    what: str
    where: str
    crawl: Counter | int
    web: Counter | int

    @property
    def holds(self):
        """Whether both sides say the same, of each URL."""
        return self.crawl == self.web


def compare(records, stats, sites):
    """Return the Rows of a crawl.

    Args:
        records: a SiteRecord per site.
        stats: Scrapy's stats collector.
        sites: the sites of the demo web.
    """
    rows = [
        Row(what, site.url, crawl, web)
        for site in sites
        for what, crawl, web in compare_site(records.get(site.url, SiteRecord()), site)
    ]
    closed = sum(len(site.closed) for site in sites)
    outages = sum(site.has_outage for site in sites)
    refused = sum(
        site.asked(status=HTTPStatus.SERVICE_UNAVAILABLE).total() for site in sites
    )
    for what, stat, web in (
        ("pages forbidden", "robotstxt/forbidden", closed),
        ("pauses", "mandelbot/pause/count", outages),
        ("pauses ended", "mandelbot/pause/resumed", outages),
        ("answers of 503", "downloader/response_status_count/503", refused),
    ):
        rows.append(Row(what, ALL_SITES, stats.get_value(stat, 0), web))
    return rows


def compare_site(record, site):
    """Yield what to compare of one site: the thing, and what both sides say of it."""
    crawled = Counter(url for _, url in record.pages)
    to_crawl = site.urls(site.linked - site.closed)
    ended = [pause for pause in record.pauses if pause.resumed_at]
    yield "pages crawled", crawled, site.asked(site.pages, HTTPStatus.OK)
    yield (
        "open pages, once each",
        Counter({url: crawled[url] for url in to_crawl}),
        to_crawl,
    )
    yield (
        "pages forbidden",
        Counter(url for url, _ in record.forbidden),
        site.urls(site.closed),
    )
    yield "requests for those", Counter(), site.asked(site.closed)
    yield (
        "robots.txt, once",
        int(record.robots_known),
        site.asked(["/robots.txt"]).total(),
    )
    yield "sitemaps", Counter(record.sitemaps), site.urls(site.sitemaps)
    yield "pauses", len(record.pauses), int(site.has_outage)
    yield "pauses ended", len(ended), int(site.has_outage)


def render(rows):
    """Return the Rows as a table, a column per site, and what differs below it."""
    cells = {(row.what, row.where): cell(row) for row in rows}
    things = dict.fromkeys(row.what for row in rows)
    places = dict.fromkeys(row.where for row in rows)
    lines = align(
        [("CRAWL = DEMO WEB", *(place.removeprefix("http://") for place in places))]
        + [
            (thing, *(cells.get((thing, place), "") for place in places))
            for thing in things
        ]
    )
    broken = [row for row in rows if not row.holds]
    for row in broken:
        lines += differences(row)
    lines += [
        "",
        f"{len(broken)} of {len(rows)} comparisons fail." if broken else "All agree.",
    ]
    return "\n".join(lines)


def cell(row):
    """Return both sides of a Row as numbers."""
    crawl, web = (
        side if isinstance(side, int) else side.total() for side in (row.crawl, row.web)
    )
    return f"{crawl} {'=' if row.holds else '!='} {web}"


def differences(row):
    """Yield the URLs that one side has more often, if a Row is of URLs."""
    if isinstance(row.crawl, int):
        return
    for side, more in (
        ("demo web", row.web - row.crawl),
        ("crawl", row.crawl - row.web),
    ):
        if more:
            yield ""
            yield f"{row.what}, only in the {side}: {more.total()}"
            yield from (f"  {url}" for url in islice(sorted(more), SHOWN))


def align(rows):
    """Return rows as lines, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
