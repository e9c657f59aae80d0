"""``cache`` and ``job``: what a project stores; what waits in a job, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import cut, joined
from mandelbot.formatting import columns, counted, printable, shown

from scrapy_mandelbot.politeness.budget import Spent
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.time_text import iso_time, moment, without_zone

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle

    from scrapy_mandelbot.job.opened_job import JobContents, Repair
    from scrapy_mandelbot.job.site_handover import StoredBudget
    from scrapy_mandelbot.store import CachedRobots

_COPY_HEAD = ("status", "bytes", "fetched (UTC)", "", "site")
_JOB_HEAD = ("waiting", "in flight", "site", "why it waits")
_MOST = 50  # lines for a terminal
_SITE_WIDTH = 40
_NO_PAUSE = LeftPause(0, "")


def _minute(iso: str) -> str:
    return f"{without_zone(iso, 'minutes')} UTC"


def copy_data(
    site: str, copy: CachedRobots, now: float, fresh_for: float
) -> dict[str, Any]:
    """Return what is known of a cached robots.txt, but for its text."""
    return {
        "site": site,
        "url": copy.url,
        "status": copy.status,
        "bytes": len(copy.body),
        "fetched_at": iso_time(copy.fetched_at),
        "fresh": copy.is_fresh(now, fresh_for),
        "etag": copy.etag,
        "last_modified": copy.last_modified,
    }


def copies_text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return the list of cached files for a terminal."""
    rows = [
        (
            str(one["status"]),
            f"{one['bytes']:,}",
            without_zone(one["fetched_at"], "minutes"),
            "" if one["fresh"] else "stale",
            printable(one["site"]),
        )
        for one in report["copies"]
    ]
    if not rows:
        return "No robots.txt is cached.\n"
    lines = paint.table([_COPY_HEAD, *rows], frozenset({0, 1}))
    return joined(
        [*lines, "", f"{counted(len(rows), 'copy', 'copies')} in {report['store']}"]
    )


def copy_text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return a cached file for a terminal."""
    stale = "" if report["fresh"] else ", stale"
    size = counted(report["bytes"], "byte")
    lines = [
        paint("strong", printable(report["url"] or report["site"])),
        (
            f"  status {report['status']}, {size}, fetched"
            f" {_minute(report['fetched_at'])}{stale}"
        ),
    ]
    for name, value in (
        ("ETag", report["etag"]),
        ("Last-Modified", report["last_modified"]),
    ):
        if value:
            lines.append(f"  {name}: {printable(value)}")
    body = report["text"].replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    if body:
        lines += [
            "",
            *(
                f"{n:>5}  {printable(t)}"
                for n, t in enumerate(body.split("\n"), start=1)
            ),
        ]
    return joined(lines)


def job_report(
    job: JobContents, tries: int, now: float, paint: TerminalStyle
) -> tuple[dict[str, Any], str]:
    """Return what waits, as data and as text; the site with most of it comes first.

    A site is given up after as many failed probes as `tries`.
    """
    report = _job_data(job, tries, now)
    return report, _job_text(report, paint)


def _job_data(job: JobContents, tries: int, now: float) -> dict[str, Any]:
    pauses = {}
    until_of = {}
    for site, known in job.known.items():
        for one in known.pauses:
            if one.section:
                until_of[site, one.section] = one.until
            else:
                pauses[site] = one
    pauses |= job.pauses
    budgets = {
        site: known.budget
        for site, known in job.known.items()
        if known.budget is not None
    }

    def later(seconds: float | None) -> str | None:
        if seconds and seconds > now:
            return moment(seconds).isoformat()
        return None

    def site_data(site: str, count: int) -> dict[str, Any]:
        pause = pauses.get(site, _NO_PAUSE)
        until = later(pause.until)
        is_given_up = pause.failed_probes >= tries and until is None
        budget = budgets.get(site)
        state = "paused" if until else "waiting"
        if is_given_up:
            state = "given up"
        return {
            "site": site,
            "state": _state(count, budget, state),
            "budget": _budget_data(budget),
            "waiting": count - job.in_flight[site],
            "in_flight": job.in_flight[site],
            "paused_until": until,
            "failed_probes": pause.failed_probes,
            "given_up": is_given_up,
            "set_aside": [
                {
                    "section": path,
                    "waiting": some,
                    "until": later(until_of.get((site, path))),
                }
                for path, some in sorted(job.sections.get(site, {}).items())
            ],
            "reason": pause.reason if site in pauses else None,
            "next_turn": later(job.turns.get(site)),
        }

    # sites of which nothing waits, and which are worth a line all the same
    paused = (site for site in pauses if later(pauses[site].until))
    counts = {**dict.fromkeys([*paused, *budgets], 0), **job.requests}
    in_flight = job.in_flight.total()
    return {
        "waiting": job.requests.total() - in_flight,
        "in_flight": in_flight,
        "sites": [
            site_data(site, counts[site])
            for site in sorted(counts, key=lambda one: (-counts[one], one))
        ],
        "running": job.is_running,
        "set_aside": dict(job.given_up),
        "workers": [
            {"worker": worker, "lease": round(lease, 1), "sites": count}
            for worker, (lease, count) in sorted(job.workers.items())
        ],
    }


def waiting_data(job: JobContents, tries: int, now: float) -> list[dict[str, Any]]:
    """Return the sites with waiting requests, as the report on a crawl has them."""
    report = _job_data(job, tries, now)
    waiting = []
    for one in report["sites"]:
        if not (one["waiting"] or one["in_flight"]):
            continue
        waiting.append(
            {
                "site": shown(one["site"]),
                "reason": _reason(one),
                "until": one["paused_until"] or one["next_turn"],
                "details": shown(one["reason"] or ""),
                "waiting": one["waiting"],
                "under_way": one["in_flight"],
            }
        )
    return waiting


def _section_text(section: dict[str, Any]) -> str:
    if not section["until"]:
        return str(section["section"])
    return f"{section['section']} until {_minute(section['until'])}"


def _reason(site: dict[str, Any]) -> str:
    if site["given_up"]:
        return "given up"
    if site["paused_until"]:
        return "paused"
    return "pace" if site["next_turn"] else "next"


def _state(count: int, budget: StoredBudget | None, default: str) -> str:
    if not count:
        return "complete"
    if budget is not None and budget.is_reached:
        return "budget reached"
    return default


def _budget_data(stored: StoredBudget | None) -> dict[str, Any] | None:
    if stored is None:
        return None
    return {**stored.spent._asdict(), "reached": stored.is_reached}


def _job_text(report: dict[str, Any], paint: TerminalStyle) -> str:
    run, were = (
        ("a run has it", "are") if report["running"] else ("no run has it", "were")
    )
    unfinished = [one for one in report["sites"] if one["state"] != "complete"]
    sites = counted(len(unfinished), "site")
    requests = counted(report["waiting"], "request")
    lines = [
        f"{requests} of {sites} wait, {report['in_flight']:,} {were} in flight ({run})"
    ]
    for why, count in report["set_aside"].items():
        lines.append(f"{counted(count, 'request')} set aside: {cut(why, 200)}")
    rows = [
        (
            one["waiting"],
            one["in_flight"],
            cut(one["site"], _SITE_WIDTH),
            cut(_why(one), 100),
        )
        for one in report["sites"][:_MOST]
    ]
    if rows:
        head, *table = map("  ".join, columns([_JOB_HEAD, *rows]))
        lines += ["", paint("strong", head), *table]
    if report["sites"][_MOST:]:
        lines.append(f"And {len(report['sites']) - _MOST:,} more.")
    for one in report["workers"]:
        sites = counted(one["sites"], "site")
        ends = f"its lease ends in {one['lease']} s"
        lines.append(f"worker {one['worker']}: {sites}, {ends}")
    return joined(lines)


def _why(site: dict[str, Any]) -> str:
    tries = counted(site["failed_probes"], "failed try", "failed tries")
    if site["paused_until"]:
        return (
            f"paused until {_minute(site['paused_until'])}, {tries}: {site['reason']}"
        )
    if site["state"] == "budget reached":
        budget = site["budget"]
        spent = Spent(budget["pages"], budget["bytes"], budget["seconds"])
        return f"budget reached after {spent.as_text()}"
    if site["given_up"]:
        return f"given up after {tries}, the next run tries again: {site['reason']}"
    reasons = []
    if site["next_turn"]:
        time_of_day = without_zone(site["next_turn"], "seconds")
        reasons.append(f"its crawl delay ends at {time_of_day} UTC")
    if site["set_aside"]:
        requests = counted(sum(one["waiting"] for one in site["set_aside"]), "request")
        sections = ", ".join(map(_section_text, site["set_aside"]))
        reasons.append(f"{requests} set aside: {sections}")
    return "; ".join(reasons)


def added_text(count: int) -> str:
    """Return how many requests are added."""
    return f"{counted(count, 'request')} added\n"


def fingerprints_text(why: str) -> str:
    """Return a warning: the fingerprints of the project cannot be used."""
    return (
        f"Scrapy's fingerprints are used: REQUEST_FINGERPRINTER_CLASS fails here: {why}"
    )


def unread_text(count: int) -> str:
    """Return how many requests an export lacks."""
    return f"{counted(count, 'request')} cannot be read, and left out"


def repaired_text(found: Repair) -> str:
    """Return what a repair has read, and what is lost."""
    requests = counted(found.requests, "waiting request")
    fingerprints = counted(found.fingerprints, "fingerprint")
    loss = "how many requests are lost is unknown"
    if found.lost is not None:
        loss = f"at least {counted(found.lost, 'request')} lost"
    return (
        f"kept {requests} and {fingerprints}; {loss}\n"
        f"the damaged file is {found.aside}\n"
    )


def requeued_text(sites: list[str]) -> str:
    """Return which sites are requested again."""
    return "".join(f"the next run requests {cut(site, 200)} again\n" for site in sites)
