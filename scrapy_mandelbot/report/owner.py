"""What a site's owner may want to know of a crawl: a text that can be sent as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_RULES = 3


def letter(site: dict[str, Any], agent: str, began: str | None, ended: str | None) -> str:
    """Return what happened at a site, in plain sentences.

    Args:
        site: as the report has it.
        agent: the crawl's User-Agent.
        began: when the site was first asked for, ISO 8601.
        ended: when the crawl ended.
    """
    head = (
        f"{site['site']}: how our crawler ({agent}) asked it, {_time(began)} to {_time(ended)} UTC."
    )
    return "\n".join([head, "", *(f"- {line}" for line in _lines(site))])


def _lines(site: dict[str, Any]) -> Iterator[str]:
    others = f", and {_count(site['others'], 'other answer')}" if site["others"] else ""
    yield f"We fetched {_count(site['pages'], 'page')}{others}."
    robots = (f"{one['name']} ({_count(one['count'], 'time')})" for one in site["robots"])
    if site["robots"]:
        yield f"Your robots.txt, as we had it: {', '.join(robots).replace('_', ' ')}."
    if site["forbidden"]:
        rules = "; ".join(
            f"line {rule['line']}, {rule['text']}"
            for rule in site["rules"][:_MOST_RULES]
            if rule["line"]
        )
        named = f" ({rules})" if rules else ""
        yield f"Your rules forbade {_count(site['forbidden'], 'URL')}{named}: none was asked for."
    yield from _rhythm(site)
    yield from _refusals(site)
    answers = site["answers"]
    if answers["all"]:
        all_answers = _count(answers["all"], "answer")
        first = f"{answers['first_errors']:,} of the first {answers['first']:,}"
        yield f"{answers['errors']:,} of {all_answers} had a status of 5xx; {first}."
    if answers["time"] is not None and answers["first_time"] is not None:
        yield (
            f"The first byte came after {_seconds(answers['time'])} in the median; at first it was"
            f" {_seconds(answers['first_time'])}."
        )
    if site["usage"] is not None:
        pages = _count(site["usage"]["pages"], "page")
        yield f"What you say of the use of your pages we have read on {pages}."


def _rhythm(site: dict[str, Any]) -> Iterator[str]:
    pace, gaps = site["pace"], site["gaps"]
    if pace is not None:
        yield f"You ask for {_seconds(pace['asked'])} between requests ({pace['source']})."
    if gaps is not None:
        yield (
            f"Between two requests there were {_seconds(gaps['least'])} at least and"
            f" {_seconds(gaps['median'])} in the median."
        )


def _refusals(site: dict[str, Any]) -> Iterator[str]:
    if not site["refused"]:
        return
    kinds = ", ".join(f"{one['name']}: {one['count']:,}" for one in site["refusals"])
    yield (
        f"You refused {_count(site['refused'], 'time')} ({kinds}). We left you alone"
        f" {_count(site['pauses'], 'time')}, for {_seconds(site['paused_for'])} in all, and then"
        " asked with a single request."
    )
    asked = site["retry_after"]
    if asked is not None:
        times = f"{_count(asked['asked'], 'refusal')} asked for a time"
        after, before = _count(asked["kept"], "time"), _count(asked["broken"], "time")
        yield (
            f"{times}, up to {_seconds(asked['longest'])}: the next request came after it"
            f" {after}, before it {before}."
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _seconds(number: float | None) -> str:
    return "no known time" if number is None else f"{number:,.3f}".rstrip("0").rstrip(".") + " s"


def _time(moment: str | None) -> str:
    return "an unknown time" if moment is None else moment[:16].replace("T", " ")
