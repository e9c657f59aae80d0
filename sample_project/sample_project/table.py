"""The table that a crawl ends with."""

STATS = {
    "robotstxt/forbidden": "requests forbidden",
    "downloader/response_status_count/503": "answers of 503",
    "mandelbot/pause/count": "pauses",
    "mandelbot/pause/resumed": "pauses ended",
    "mandelbot/pause/bounced": "requests given back to the queue",
}


def render(records, stats):
    """Returns the table as text.

    Args:
        records: a SiteRecord per site.
        stats: Scrapy's stats collector.
    """
    records = dict(sorted(records.items()))
    sections = [
        overview(records),
        ["FORBIDDEN", *forbidden(records)],
        ["PAUSED", *paused(records)],
        ["SITEMAPS", *sitemaps(records)],
        ["STATS", *totals(stats)],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if len(lines) > 1)


def overview(records):
    """Returns a line of numbers per site."""
    return align(
        [("SITE", "PAGES", "FORBIDDEN", "PAUSES", "SITEMAPS")]
        + [
            (site, len(r.pages), len(r.forbidden), len(r.pauses), len(r.sitemaps))
            for site, r in records.items()
        ]
    )


def forbidden(records):
    """Yields the URLs that were not asked for, below the file and beside the line that say so."""
    for site, record in records.items():
        if not record.forbidden:
            continue
        yield f"{site}/robots.txt"
        yield from align(
            [
                ("  line", rule.line, f"{'Allow' if rule.allow else 'Disallow'}: {rule.path}", url)
                for url, rule in sorted(record.forbidden, key=lambda pair: pair[1].line)
            ]
        )


def paused(records):
    """Yields when each pause began and ended, and what the crawl did meanwhile."""
    for site, record in records.items():
        for pause in record.pauses:
            yield f"{site}  {pause.reason}"
            yield f"  paused   {clock(pause.at)}  until {clock(pause.until)}"
            if pause.resumed_at is None:
                yield "  not resumed"
                continue
            yield f"  resumed  {clock(pause.resumed_at)}  after {pause.paused_for:.1f} s"
            elsewhere = (r.pages for other, r in records.items() if other != site)
            meanwhile = sum(pause.at < at < pause.resumed_at for r in elsewhere for at, _ in r)
            yield f"  pages of other sites meanwhile: {meanwhile}"


def sitemaps(records):
    """Yields the sitemaps that robots.txt files name."""
    yield from (url for record in records.values() for url in record.sitemaps)


def totals(stats):
    """Returns what Scrapy's stats say of all sites together."""
    return align([(name, stats.get_value(name, 0), what) for name, what in STATS.items()])


def clock(time):
    """Returns the time of day, local, to the tenth of a second."""
    return f"{time.astimezone():%H:%M:%S.%f}"[:-5]


def align(rows):
    """Returns rows as lines, in columns; numbers stand to the right."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            str(cell).rjust(width) if isinstance(cell, int) else str(cell).ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
