"""The page about a crawl: one file for a browser, without a network.

Every site with a record has a row. The page has the details of the most troubled sites,
as many as fit; ``report.json`` has those of all sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mandelbot import pages
from mandelbot.formatting import counted, number

from scrapy_mandelbot.fields import details, page_table, tiles
from scrapy_mandelbot.report.comparison import NOTICED
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.time_text import duration, without_zone

_PUNCTUAL = 0.05  # seconds that two clocks may be apart
_WORSE = 0.01  # more of the answers than at first: 5xx
_SLOWER = 1.5  # times the time to the first byte

if TYPE_CHECKING:
    from scrapy_mandelbot.fields import Column

_TROUBLES = {
    "unreachable": "never answered",
    "given up": "did not recover in time",
    "forbidden": "forbade all requests by robots.txt",
    "section given up": "answered, except a section that did not recover in time",
    "page given up": "answered, except pages that were always refused",
}
"""By the state of a site: what is said of their number."""


RESULTS = {"OK": "good", "INCOMPLETE": "warning", "FAILED": "error"}
"""The kind of each result, which gives it its colour."""


def changes(compared: dict[str, Any]) -> str:
    """Return in a sentence how a crawl differs from the previous one."""
    before = compared["previous_pages"]
    pages = compared["pages"]
    difference = ""
    if before and pages != before:
        share = f"{abs(pages - before) / before:.0%}"
        difference = f" ({share} {'fewer' if pages < before else 'more'})"
    parts = [f"{counted(pages, 'page')}{difference}, {before:,} last time"]
    parts += [
        f"{one['count']:,} {one['name']}" for one in compared["counts"] if one["count"]
    ]
    return "; ".join(parts) + "."


def in_short(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield problems and sums: ``warning`` or ``note``, a title, and a sentence."""
    total = report["total"]
    sites = report["sites"]
    yield from _missing(report)
    asked = total["retry_after"]
    if asked is not None and asked["broken"]:
        known = asked["kept"] + asked["broken"]
        text = f"{asked['broken']:,} of {known:,} times a request was sent too early."
        yield "warning", "Retry-After not observed", text
    yield from _gaps(sites)
    yield from _hurt(sites)
    compared = report.get("compared")
    if compared is not None:
        is_worse = any(
            one["count"] and one["name"] == "closed" for one in compared["counts"]
        )
        kind = "warning" if is_worse else "note"
        yield kind, "Since the previous crawl", changes(compared)
    if total["forbidden"]:
        where = sum(1 for one in sites if one["forbidden"])
        urls = counted(total["forbidden"], "URL")
        forbidding = counted(where, "site")
        yield "note", "Forbidden", f"{urls} at {forbidding}, not requested."
    if total["refused"]:
        refused = counted(total["refused"], "time")
        pauses = counted(total["pauses"], "pause")
        time = duration(total["paused_for"])
        yield "note", "Refused", f"{refused}; {pauses}, {time} in all."


_SETTING = re.compile(r"(MANDELBOT_[A-Z_]+)(?:\['(\w+)'\])?")
"""A setting, or one of its options, as the verdict names it."""


def linked(sentence: str) -> list[tuple[str, str]]:
    """Return a sentence in parts: texts, and the settings that they lead to, or ""."""
    parts = []
    at = 0
    for found in _SETTING.finditer(sentence):
        setting, option = found.groups()
        parts.append((sentence[at : found.start()], ""))
        parts.append((_short(setting, option), setting))
        at = found.end()
    parts.append((sentence[at:], ""))
    return parts


def _short(setting: str, option: str | None) -> str:
    if option is None:
        return setting
    group = setting.removeprefix("MANDELBOT_").removesuffix("_OPTIONS").lower()
    return f"the {group} option “{option}”"


def settings_named(sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Return each setting that sentences name, and how it is written."""
    written: dict[str, list[str]] = {}
    for sentence in sentences:
        for setting, option in _SETTING.findall(sentence):
            options = written.setdefault(setting, [])
            if option and option not in options:
                options.append(option)
    return [(name, _assignment(name, options)) for name, options in written.items()]


def _assignment(name: str, options: list[str]) -> str:
    if not options:
        return f"{name} = …"
    values = ", ".join(f'"{option}": …' for option in options)
    return f"{name} = {{{values}}}"


def _missing(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    sites = report["sites"]
    lost = report["total"]["lost"]
    if lost and not report["missing"]:
        text = "Links on those pages were not followed."
        yield "warning", "Lost", f"{counted(lost, 'request')} failed. {text}"
    for state, what in _TROUBLES.items():
        found = [one["site"] for one in sites if one["state"] == state]
        if found:
            text = f"{counted(len(found), 'site')} {what}, such as {found[0]}."
            yield "warning", state.capitalize(), text
    waiting = sum(one["waiting"] for one in report["waiting"])
    if waiting:
        text = f'{counted(waiting, "request")} not sent; see "What waits".'
        yield "warning", "Left", text


def _gaps(sites: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    asking = [one for one in sites if one["pace"] and one["pace"]["asked"]]
    ignored = [one for one in asking if not one["pace"]["is_obeyed"]]
    if ignored:
        where = counted(len(ignored), "site")
        text = f"{where} with a Crawl-delay; MANDELBOT_PACE is not 'obey'."
        yield "warning", "Delay not obeyed", text + _worst_delay(ignored)
    paced = [one for one in asking if one["pace"]["is_obeyed"] and one["gaps"]]
    short = sum(
        one["gaps"]["least"] < one["pace"]["asked"] - _PUNCTUAL for one in paced
    )
    if short:
        text = (
            f"At {short:,} of {len(paced):,} sites with one the least gap is shorter."
        )
        yield "warning", "Delay not observed", text


def _worst_delay(sites: list[dict[str, Any]]) -> str:
    known = [one for one in sites if one["pace"]["came_every"]]
    if not known:
        return ""

    def share(one: dict[str, Any]) -> float:
        return float(one["pace"]["came_every"] / one["pace"]["asked"])

    worst = min(known, key=share)
    asked = duration(worst["pace"]["asked"])
    came = duration(worst["pace"]["came_every"])
    delay = f"Crawl-delay {asked} asked for; requests came every {came}."
    return f" {worst['site']}: {delay}"


def _hurt(sites: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield at how many sites later answers are worse than the first ones."""
    judged = [(one, one["answers"]) for one in sites if one["answers"]["all"]]
    more = []
    slower = []
    for one, answers in judged:
        share = answers["errors"] / answers["all"]
        first = answers["first_errors"] / max(1, answers["first"])
        if share > first + _WORSE:
            of_all = f"{share:.1%} of {answers['all']:,} answers"
            text = f"{one['site']}: {of_all}; of the first {first:.1%}"
            more.append((share - first, text))
        time = answers["time"]
        first_time = answers["first_time"]
        if time is None or first_time is None:
            continue
        if time >= NOTICED and time > _SLOWER * first_time:
            now = f"median time to the first byte {duration(time)}"
            text = f"{one['site']}: {now}, at first {duration(first_time)}"
            slower.append((time / first_time, text))
    for title, found in (("More 5xx", more), ("Slower", slower)):
        if found:
            where = f"{len(found):,} of {counted(len(judged), 'site')}"
            yield "warning", title, f"{where}, such as {max(found)[1]}."


def times(report: dict[str, Any]) -> str:
    """Return begin and end as text, UTC."""
    began = without_zone(report["began"])
    ended = without_zone(report["ended"])
    if began[:10] == ended[:10]:
        ended = ended[11:]  # the time of the same day
    return f"{began} to {ended} UTC"


_DETAILS = 1_350_000  # characters of JSON with details of sites
_NAMES = 600_000  # characters of site names, which a site can choose
_SITES_AT_FIRST = 20  # without scripts
_RULES = 15
_WAITING = 20
_SCRIPTS = ("chart.js", "report.js")
_FIRST = (("site", "Site"), ("state", "End"))
"""The first columns: fields of the JSON, and headings."""


def columns() -> list[tuple[str, str]]:
    """Return the columns of the table of sites: names and headings."""
    others = page_table(SiteRecord.FIELDS)
    names = [(column.name or about.json, column.heading) for about, column in others]
    return [*_FIRST, *names]


def page_of(report: dict[str, Any]) -> str:
    """Return the page about a crawl, given its report as in the JSON file.

    Needs Jinja2.
    """
    rows = list(_rows(report["sites"]))
    folded = len(report["sites"]) - len(rows)
    if report["rest"]:
        folded += report["rest"]["sites"]
    return pages.render(
        __name__,
        "report.html.jinja",
        {
            "report": report,
            "total": report["total"],
            "columns": [words for _, words in columns()],
            "first_rows": [_as_text(row) for row in rows[:_SITES_AT_FIRST]],
            "sites_listed": len(rows),
            "sites": report["total"]["sites"],
            "folded": folded,
            "in_short": list(in_short(report)),
            "missing": list(map(linked, report["missing"])),
            "to_do": list(map(linked, report["to_do"])),
            "settings": settings_named([*report["missing"], *report["to_do"]]),
            "result_kind": RESULTS.get(report["result"], ""),
            "tiles": list(_tiles(report["total"])),
            "compared": report["compared"],
            "changed": _changed(report["compared"]),
            "rules": report["rules"][:_RULES],
            "waiting": report["waiting"][:_WAITING],
            "waiting_more": max(0, report["sites_waiting"] - _WAITING),
            "period": times(report),
            "duration": duration(report["seconds"]),
            "data": _data(report, rows),
        },
        style=pages.file_of(pages.__name__, "report.css"),
        script="".join(pages.file_of(__name__, name) for name in _SCRIPTS),
    )


def _data(report: dict[str, Any], rows: list[list[Any]]) -> str:
    """Return what the script of the page reads, as JSON."""
    timeline = report["total"]["timeline"]
    data = {
        "began": report["began"],
        "seconds": report["seconds"],
        "columns": [name for name, _ in columns()],
        "rows": rows,
        "total": timeline and _packed(timeline),
    }
    members = {name: pages.as_json(value) for name, value in data.items()}
    members["details"] = _details(report["sites"][: len(rows)])
    return pages.script_members(members)


def _tiles(total: dict[str, Any]) -> Iterator[tuple[str, int, str, str]]:
    """Yield heading, number, kind, and the choice of sites that it leads to."""
    for about, tile in tiles(SiteRecord.FIELDS):
        name = about.json or about.name
        count = total[name]
        if count and tile.kind:
            yield tile.heading, count, tile.kind, name
        else:
            yield tile.heading, count, "", ""


def _changed(compared: dict[str, Any] | None) -> list[tuple[str, ...]]:
    """Return a row for each site that changed."""
    if compared is None:
        return []
    return [
        (
            one["change"],
            one["site"],
            number(one["previous_pages"]),
            number(one["pages"]),
            number(one["previous_time"]),
            number(one["time"]),
            one["state"] or "",
        )
        for one in compared["changes"]
    ]


def _rows(sites: list[dict[str, Any]]) -> Iterator[list[Any]]:
    others = page_table(SiteRecord.FIELDS)
    room = _NAMES
    for site in sites:
        room -= len(site["site"])
        if room < 0:
            return
        row = [site[name] for name, _ in _FIRST]
        row += [_cell(site[about.json], column) for about, column in others]
        yield row


def _as_text(row: list[Any]) -> list[str]:
    return [value if isinstance(value, str) else number(value) for value in row]


def _cell(value: Any, column: Column) -> Any:
    """Return what is in a column, given the value of its field in the JSON."""
    if value is None or not column.path:
        return value
    if column.where and not value[column.where]:
        return None
    return value[column.path]


def _details(sites: list[dict[str, Any]]) -> str:
    """Return the details of the first sites, as many as fit, as JSON."""
    names = details(SiteRecord.FIELDS)
    room = _DETAILS
    pieces = []
    for place, site in enumerate(sites):
        shown = {name: site[name] for name in names if site.get(name) is not None}
        if "timeline" in shown:
            shown["timeline"] = _packed(shown["timeline"])
        text = pages.as_json(shown)
        room -= len(text)
        if room < 0:
            break
        pieces.append(f'"{place}":{text}')
    return f"{{{','.join(pieces)}}}"


def _packed(timeline: dict[str, Any]) -> dict[str, Any]:
    # as `chart.js` reads them
    buckets = [list(bucket.values()) for bucket in timeline["buckets"]]
    return {"width": timeline["width"], "buckets": buckets}
