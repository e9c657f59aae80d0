"""The verbs ``explain`` and ``compare``: verdicts on one URL or ten thousand."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mandelbot.answers.outcome import Failure
from mandelbot.cli.file_verbs import page_of
from mandelbot.cli.invocation import Result
from mandelbot.cli.output import UnavailableError
from mandelbot.cli.output import compare_report as comparison
from mandelbot.cli.output import explain_report as explanation
from mandelbot.cli.output.rules_in_force import Question, Rules, robots_listed, unlisted
from mandelbot.cli.sources import Url, read_urls, rules_of

if TYPE_CHECKING:
    from mandelbot.cli.invocation import Invocation


def explain(invocation: Invocation) -> Result:
    """Say of each URL whether it may be crawled, and which line decides."""
    questions = _questions(invocation)
    opts = invocation.opts
    reports = [
        explanation.explain(
            *(one, invocation.dialect_for(one.agent)),
            purposes=opts.purpose or (),
        )
        for one in questions
    ]
    return _result(invocation, explanation, questions, reports)


def compare(invocation: Invocation) -> Result:
    """Say of each URL how the robots of all dialects decide."""
    questions = _questions(invocation)
    return _result(
        invocation, comparison, questions, list(map(comparison.compare, questions))
    )


def _result(
    invocation: Invocation,
    made_by: ModuleType,
    questions: list[Question],
    reports: list[dict[str, Any]],
) -> Result:
    wanted = invocation.opts.format or ("text" if len(questions) == 1 else "table")
    if wanted == "html" and not questions:
        raise UnavailableError(
            "there is no URL, and so no robots.txt to make a page of"
        )
    text = ""
    if wanted == "text":
        text = "\n".join(
            made_by.text(report, invocation.terminal.paint) for report in reports
        )
    elif wanted == "table":
        text = made_by.table(reports, invocation.terminal.paint)
    page = None
    if questions:
        urls = list(dict.fromkeys(one.url for one in questions))
        page = partial(page_of, invocation, questions[0].rules, urls=urls)
    listed = {id(one.rules): one.rules for one in questions if invocation.opts.robots}
    return Result(
        made_by.exit_code(reports),
        {"urls": reports},
        text,
        page=page,
        remarks=[
            f"{rules.source} names {left:,} more robots, which are left out"
            for rules in listed.values()
            if (left := unlisted(rules))
        ],
    )


def _questions(invocation: Invocation) -> list[Question]:
    asked = _rules_of(invocation)
    if not invocation.opts.robots:
        return [Question(one.url, invocation.agent, rules) for one, rules in asked]
    urls_of: defaultdict[int, list[str]] = defaultdict(list)
    for one, rules in asked:
        urls_of[id(rules)].append(one.url)
    return [
        Question(url, name, rules, robot)
        for rules in {id(rules): rules for _, rules in asked}.values()
        for name, robot in robots_listed(rules)
        for url in urls_of[id(rules)]
    ]


def _rules_of(invocation: Invocation) -> list[tuple[Url, Rules]]:
    """Return the URLs, each with the rules of its site, or those of the file."""
    urls = read_urls(invocation.opts)
    opts = invocation.opts
    if opts.file:
        if opts.robots and not opts.urls and not opts.urls_file:
            urls = [Url("/")]
        for one in urls:
            one.check_is_absolute()
        rules = rules_of(invocation, opts.file)
        return [(one, rules) for one in urls]
    robots_of = {one.url: one.robots_url for one in urls}
    rules_at = dict.fromkeys(robots_of.values(), Rules(""))
    if opts.format == "html" and len(rules_at) > 1:
        raise UnavailableError(
            f"a page is about one site, and these URLs are of {len(rules_at)}"
        )
    for url in rules_at:
        rules = rules_of(invocation, url)
        rules_at[url] = rules
        # Of several sites one that is not there is a line of the report, as one that is
        # down.
        if rules.trouble and len(rules_at) == 1:
            failure = rules.answer and rules.answer.failure
            if failure in {Failure.NO_SUCH_HOST, Failure.OTHER}:
                raise UnavailableError(rules.trouble)
    return [(one, rules_at[robots_of[one.url]]) for one in urls]
