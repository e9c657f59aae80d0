"""The verbs of ``scrapy robots``: those of ``mandelbot``, and a project's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mandelbot.cli import verbs
from mandelbot.cli.verbs import OUTPUT, Verb, argument, flag

if TYPE_CHECKING:
    from argparse import Namespace


def _wrong_drop(opts: Namespace) -> str:
    wrong = opts.word == "drop" and bool(opts.url) == opts.all
    return "drop takes a URL or --all" if wrong else ""


def _wrong_use_of_job(opts: Namespace) -> str:
    used = [
        opts.export and "--export",
        opts.report is not None and "--report",
    ]
    both = [name for name in (*used, opts.what) if name]
    if len(both) > 1:
        return f"{both[0]} and {both[1]} cannot be used together"
    if opts.what == "add" and not opts.site:
        return "add takes a FILE"
    return ""


VERBS = {
    **verbs.VERBS,
    "cache": Verb(
        "scrapy_mandelbot.commands.project_verbs:look_at_copies",
        "list, show or drop the cached robots.txt files of the project",
        {
            "list": (),
            "show": (argument("url", metavar="URL"),),
            "drop": (
                argument("url", nargs="?", metavar="URL"),
                flag("--all", "drop all of them"),
            ),
        },
        "0: done; 1: no such file",
        ("list", "drop https://example.com"),
        wrong_use=_wrong_drop,
    ),
    "job": Verb(
        "scrapy_mandelbot.commands.job_verb:look_at_job",
        "show what waits in a job; requeue, add or forget requests; repair",
        (
            argument("job", metavar="JOBDIR|URL#NAME"),
            argument(
                "what",
                nargs="?",
                choices=("requeue", "add", "forget", "repair"),
                metavar="requeue|add|forget|repair",
            ),
            argument("site", nargs="?", metavar="SITE|FILE"),
            flag("--export", "print all requests of the job, as JSON lines"),
            argument(
                "--report",
                "report on the whole job, from what its workers have left; also to a"
                " file (.json or .html)",
                nargs="?",
                const="",
                metavar="FILE",
            ),
            flag("--only-unfinished", "leave out the sites of which nothing waits"),
        ),
        "0: done; 1: nothing to requeue, or a request or a line cannot be read",
        ("crawls/shop-1 requeue https://shop.example", "crawls/shop-1 add urls.txt"),
        wrong_use=_wrong_use_of_job,
    ),
    "identity": Verb(
        {
            "new": "scrapy_mandelbot.commands.identity_verb:identity_new",
            "directory": "scrapy_mandelbot.commands.identity_verb:identity_directory",
        },
        "make a robot's key and key directory",
        {
            "new": (argument("key", metavar="KEY"),),
            "directory": (
                argument("keys", nargs="+", metavar="KEY"),
                argument(
                    "--host",
                    "the host that serves the directory",
                    metavar="HOST",
                    required=True,
                ),
                OUTPUT,
            ),
        },
        "0: done",
        ("new robot.pem", "directory robot.pem --host example.com"),
    ),
    "settings": Verb(
        "scrapy_mandelbot.commands.project_verbs:show_settings",
        "show the settings in force, and where each comes from",
        (),
        "0: done",
        ("", "--format json"),
    ),
}
