"""The table that a crawl ends with."""

from itertools import chain

STATS = {
    "robotstxt/forbidden": "requests forbidden",
    "downloader/response_status_count/503": "answers of 503",
    "mandelbot/pause/count": "pauses",
    "mandelbot/pause/resumed": "pauses ended",
    "mandelbot/pause/bounced": "requests given back to the queue",
}


def render(records, stats):
    """Return the table as text.

    Args:
        records: a SiteRecord per site.
        stats: Scrapy's stats collector.
    """
    records = dict(sorted(records.items()))
    sections = [
        overview(records),
        forbidden(records),
        paused(records),
        sitemaps(records),
        totals(stats),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if len(lines) > 1)


def overview(records):
    """Return a line of numbers per site."""
    return align(
        [("SITE", "PAGES", "FORBIDDEN", "PAUSES", "SITEMAPS")]
        + [
            (site, len(r.pages), len(r.forbidden), len(r.pauses), len(r.sitemaps))
            for site, r in records.items()
        ]
    )


def forbidden(records):
    """Return a line per URL that was not asked for, with the place of the rule that forbids it."""
    return align(
        [("FORBIDDEN", "BY LINE", "RULE")]
        + [
            (url.removeprefix(site), f"{site}/robots.txt:{rule.line}", f"Disallow: {rule.path}")
            for site, record in records.items()
            for url, rule in sorted(record.forbidden, key=lambda pair: pair[1].line)
        ]
    )


def paused(records):
    """Return two lines per pause: its times, with the pages of other sites meanwhile; why."""
    rows = [("PAUSED", "AT", "RESUMED", "AFTER", "ELSEWHERE")]
    reasons = []
    for site, record in records.items():
        for pause in record.pauses:
            if pause.resumed_at is None:
                end = "never", "", ""
            else:
                times = [at for other, r in records.items() if other != site for at, _ in r.pages]
                pages = sum(pause.at < at < pause.resumed_at for at in times)
                end = clock(pause.resumed_at), f"{pause.paused_for:.1f} s", f"{pages} pages"
            rows.append((site, clock(pause.at), *end))
            reasons.append(f"  {pause.reason}")
    header, *lines = align(rows)
    return [header, *chain.from_iterable(zip(lines, reasons, strict=True))]


def sitemaps(records):
    """Return the sitemaps that robots.txt files name."""
    return ["SITEMAPS", *(url for record in records.values() for url in record.sitemaps)]


def totals(stats):
    """Return what Scrapy's stats say of all sites together."""
    lines = align([(name, stats.get_value(name, 0), what) for name, what in STATS.items()])
    return ["STATS", *lines]


def clock(time):
    """Return the time of day, local, to the tenth of a second."""
    return f"{time.astimezone():%H:%M:%S.%f}"[:-5]


def align(rows):
    """Return rows as lines, in columns; numbers stand to the right."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            str(cell).rjust(width) if isinstance(cell, int) else str(cell).ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
