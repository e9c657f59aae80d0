"""Linters for robots.txt beside each other: what they find, miss and report in vain.

The linters are this library's (errors and warnings of ``check``), ai-crawler-robots of
PyPI, the check that Lighthouse makes of a site's robots.txt, and the one of
@nuxtjs/robots, both of npm; of these two only the functions that judge a robots.txt
run. All but the first come from the package indexes, in the newest version.

``FAULTS`` are files with one line that does not do what it says, each with the reason
and its source; ``SOUND`` are files that look odd and hold. A linter *finds* a fault if
it reports an error or a warning for that line; one that names no lines, if it reports
any. Whatever it reports as error or warning for a sound file is a *false alarm*. The
files were written for this table, by the authors of one of the linters.

With a folder of robots.txt files, the errors and warnings for a hundred of them (drawn
by a seed) are counted by kind, for a person to judge.

Usage::

    python linters.py [FOLDER]

It needs pip, npm and Node.js.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mandelbot import lint
from mandelbot.findings import Severity

SEED = 20261128
FILES = 100
NPM = {"Lighthouse": "lighthouse", "@nuxtjs/robots": "@nuxtjs/robots"}
PYPI = "ai-crawler-robots"
NODE = shutil.which("node") or "node"
NPM_PROGRAM = shutil.which("npm") or "npm"
OURS = "mandelbot"


class Fault(NamedTuple):
    """A file with one line that does not do what it says.

    Attributes:
        body: the file.
        line: of the fault, from 1.
        why: what becomes of the line, with the source.
    """

    body: str
    line: int
    why: str


class Report(NamedTuple):
    """An error or a warning.

    Attributes:
        line: from 1; 0: the linter names none.
        kind: what is reported, without the values.
    """

    line: int
    kind: str


_GROUP = "User-agent: *\n"
_RFC = "RFC 9309, section 2.2"
FAULTS = {
    "no slash": Fault(f"{_GROUP}Disallow: admin/\n", 2, f"matches nothing: {_RFC}.2"),
    "a full URL": Fault(
        f"{_GROUP}Disallow: https://example.com/a/\n", 2, f"matches nothing: {_RFC}.2"
    ),
    "two paths": Fault(f"{_GROUP}Disallow: /a /b\n", 2, "one path with a space in it"),
    "quotes": Fault(f'{_GROUP}Disallow: "/a"\n', 2, f"matches nothing: {_RFC}.2"),
    "a backslash": Fault(f"{_GROUP}Disallow: \\a\n", 2, f"matches nothing: {_RFC}.2"),
    "a suffix without *": Fault(
        f"{_GROUP}Disallow: .pdf$\n", 2, f"matches nothing: {_RFC}.2"
    ),
    "$ in the middle": Fault(
        f"{_GROUP}Disallow: /a$b\n", 2, f"an anchor only at the end: {_RFC}.3"
    ),
    "a no-break space": Fault(
        f"{_GROUP}Disallow: /a\u00a0\n",
        2,
        "part of the path: not whitespace in the ABNF",
    ),
    "a zero width space": Fault(
        f"{_GROUP}Disallow: \u200b/a\n", 2, "the path begins with it"
    ),
    "a raw percent sign": Fault(
        f"{_GROUP}Disallow: /50%off\n", 2, "no escape: RFC 3986, section 2.1"
    ),
    "no colon": Fault(f"{_GROUP}Disallow /a\n", 2, f"no rule: {_RFC}"),
    "an equals sign": Fault(f"{_GROUP}Disallow = /a\n", 2, f"no rule: {_RFC}"),
    "a misspelt field": Fault(f"{_GROUP}Disalow: /a\n", 2, f"no rule: {_RFC}"),
    "an unknown field": Fault(f"{_GROUP}Forbid: /a\n", 2, f"no rule: {_RFC}"),
    "Noindex": Fault(
        f"{_GROUP}Noindex: /a\n", 2, "Google stopped reading it on 1 September 2019"
    ),
    "rules before any robot": Fault(
        f"Disallow: /a\n{_GROUP}Disallow: /b\n", 1, f"in no group: {_RFC}.1"
    ),
    "an empty name": Fault("User-agent:\nDisallow: /a\n", 1, f"names none: {_RFC}.1"),
    "names with a comma": Fault(
        "User-agent: Googlebot, Bingbot\nDisallow: /a\n", 1, f"one name: {_RFC}.1"
    ),
    "a whole header": Fault(
        "User-agent: Mozilla/5.0 (compatible; GPTBot/1.2)\nDisallow: /a\n",
        1,
        f"not the product token: {_RFC}.1",
    ),
    "a star in a name": Fault(
        "User-agent: Google*\nDisallow: /a\n", 1, f"no wildcard in names: {_RFC}.1"
    ),
    "User-agent: All": Fault(
        "User-agent: All\nDisallow: /a\n", 1, f"the name of a robot: {_RFC}.1"
    ),
    "a name in quotes": Fault(
        'User-agent: "Googlebot"\nDisallow: /a\n', 1, f"not a name: {_RFC}.1"
    ),
    "a field on the same line": Fault(
        "User-agent: * Disallow: /a\n", 1, f"one record a line: {_RFC}"
    ),
    "a group without rules": Fault(
        f"User-agent: Googlebot\nSitemap: https://example.com/s.xml\n\n{_GROUP}"
        "Disallow: /a\n",
        4,
        "the two names share one group: only rules end a list of names",
    ),
    "a commented rule, ;": Fault(
        f"{_GROUP}Disallow: /b\n;Disallow: /a\n", 3, f"only # begins a comment: {_RFC}"
    ),
    "a commented rule, //": Fault(
        f"{_GROUP}Disallow: /b\n//Disallow: /a\n", 3, f"only # begins a comment: {_RFC}"
    ),
    "a comment in HTML": Fault(
        f"<!-- our rules -->\n{_GROUP}Disallow: /b\n", 1, f"no comment: {_RFC}"
    ),
    "a web page": Fault(
        "<!DOCTYPE html>\n<html><body>Not found</body></html>\n", 1, "no robots.txt"
    ),
    "a relative sitemap": Fault(
        f"{_GROUP}Disallow: /b\n\nSitemap: /sitemap.xml\n", 4, "sitemaps.org: full URLs"
    ),
    "a sitemap in brackets": Fault(
        f"{_GROUP}Disallow: /b\n\nSitemap: <https://example.com/s.xml>\n",
        4,
        "sitemaps.org: a URL",
    ),
    "a sitemap without a field": Fault(
        f"{_GROUP}Disallow: /b\n\nhttps://example.com/s.xml\n", 4, "no record"
    ),
    "a delay in words": Fault(
        f"{_GROUP}Crawl-delay: ten\nDisallow: /a\n", 2, "not a number"
    ),
    "a signal of another form": Fault(
        f"{_GROUP}Content-Signal: ai-train=n\nAllow: /\n",
        2,
        "Content Signals: yes or no",
    ),
    "a usage of another form": Fault(
        f"{_GROUP}Content-Usage: train-ai=no\nAllow: /\n",
        2,
        "draft-ietf-aipref-vocab, 19 August 2026: y or n",
    ),
    "allowed and disallowed": Fault(
        f"{_GROUP}Disallow: /\nAllow: /\n", 2, f"Allow wins a tie: {_RFC}.2"
    ),
    "the whole site closed": Fault(
        f"# for all\n{_GROUP}Disallow: /\n", 3, "closes the site, often by accident"
    ),
    "a group that drops rules": Fault(
        f"{_GROUP}Disallow: /private/\n\nUser-agent: Googlebot\nDisallow: /tmp/\n",
        4,
        f"Googlebot reads no other group, so /private/ is open to it: {_RFC}.1",
    ),
    "a robot that is none": Fault(
        "User-agent: Goglebot\nDisallow: /a\n", 1, "no robot has this name"
    ),
    "beyond 500 KiB": Fault(
        _GROUP + "Disallow: /aaaaaaaaaaaaaaaaaaaaaaaa\n" * 20_000 + "Disallow: /b\n",
        14_222,  # where the limit falls
        "RFC 9309, section 2.5: crawlers need read no more than 500 KiB",
    ),
}
SOUND = {
    "small letters": "user-agent: *\ndisallow: /a\n",
    "no space": "User-agent:*\nDisallow:/a\n",
    "CR alone": "User-agent: *\rDisallow: /a\r",
    "a comment behind": "User-agent: * # all\nDisallow: /a # here\n",
    "nothing disallowed": "User-agent: *\nDisallow:\n",
    "wildcards": "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*?sort=\n",
    "a path of a star": "User-agent: *\nDisallow: *?print=\n",
    "escapes": "User-agent: *\nDisallow: /caf%C3%A9\n",
    "several names": "User-agent: Googlebot\nUser-agent: Bingbot\nDisallow: /a\n",
    "a blank line": "User-agent: *\n\nDisallow: /a\n",
    "a sitemap between": (
        "Sitemap: https://example.com/s.xml\n\nUser-agent: *\nDisallow: /a\n"
    ),
    "a sitemap elsewhere": (
        "User-agent: *\nDisallow: /a\n\nSitemap: https://cdn.example.net/s.xml.gz\n"
    ),
    "Allow within": "User-agent: *\nDisallow: /a/\nAllow: /a/b\n",
    "a delay": "User-agent: Bingbot\nCrawl-delay: 5\nDisallow: /a\n",
    "the extended standard": (
        "User-agent: *\nRequest-rate: 1/5\nVisit-time: 0600-0845\nDisallow: /a\n"
    ),
    "a content signal": "User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n",
    "a usage preference": "User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n",
    "a usage preference of a path": (
        "User-agent: *\nContent-Usage: /news/ train-ai=n\nAllow: /\n"
    ),
    "a token": "User-agent: Google-Extended\nDisallow: /\n",
    "Clean-param": "User-agent: Yandex\nClean-param: ref /a\nDisallow: /b\n",
    "nothing": "# no rules\n",
}

# The linters: each takes texts, and returns the reports of each.


def of_mandelbot(bodies: list[str]) -> list[list[Report]]:
    """Ask this library."""
    found = []
    for body in bodies:
        findings = lint(body.encode())
        found.append(
            [
                Report(one.line or 0, one.code)
                for one in findings
                if one.severity is not Severity.NOTE
            ]
        )
    return found


def of_ai_crawler_robots(bodies: list[str], folder: Path) -> list[list[Report]]:
    """Ask ai-crawler-robots, which is installed into a folder."""
    program = """
import json
import sys

sys.path.insert(0, sys.argv[1])
from ai_crawler_robots import lint

found = [lint(body)["findings"] for body in json.load(sys.stdin)]
print(json.dumps([[[f["line"] or 0, f["code"]] for f in one if f["level"] != "info"]
                  for one in found]))
"""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, PYPI]
    subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)
    return _asked([sys.executable, "-c", program, str(folder)], bodies)


def of_npm(name: str, bodies: list[str], folder: Path) -> list[list[Report]]:
    """Ask a package of npm: the functions of it that judge a robots.txt."""
    pack = [NPM_PROGRAM, "pack", "--silent", NPM[name]]
    archive = subprocess.run(
        pack, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    with tarfile.open(folder / archive) as opened:
        opened.extractall(folder, filter="data")
    if name == "Lighthouse":
        source = (folder / "package/core/audits/seo/robots-txt.js").read_text("utf-8")
        head = source[source.index("const DIRECTIVE_SITEMAP") :].partition(
            "const UIStrings"
        )[0]
        body = source[source.index("function verifyDirective") :].partition("\nclass ")[
            0
        ]
        judge = "validateRobots(text).map(one => [Number(one.index), one.message])"
    else:
        source = (folder / "package/dist/util.mjs").read_text("utf-8")
        head = source[source.index("function parseRobotsTxt") :]
        head = head.partition("function matches(")[0]
        body = source[source.index("function validateRobots") :]
        body = body.partition("function asArray")[0]
        judge = (
            "(found => [...found.errors, ...found.warnings].map(one => ["
            "/^L\\d+: /.test(one) ? Number(one.match(/\\d+/)[0]) + 1 : 0,"
            " one.replace(/^L\\d+: /, '')]))(validateRobots(parseRobotsTxt(text)))"
        )
    program = folder / "judge.mjs"
    program.write_text(
        f"import {{readFileSync}} from 'node:fs';\n{head}\n{body}\n"
        "const texts = JSON.parse(readFileSync(0, 'utf8'));\n"
        f"console.log(JSON.stringify(texts.map(text => {judge})));\n",
        encoding="utf-8",
    )
    return _asked([NODE, str(program)], bodies)


def _asked(command: list[str], bodies: list[str]) -> list[list[Report]]:
    """Give a program the texts as JSON; return the reports that it prints."""
    run = subprocess.run(
        command, input=json.dumps(bodies), check=True, capture_output=True, text=True
    )
    return [[Report(*one) for one in reports] for reports in json.loads(run.stdout)]


Linter = Callable[[list[str]], list[list[Report]]]


def linters(folder: Path) -> dict[str, Linter]:
    """Return each linter by name; what they need is put into a folder."""
    (folder / "pip").mkdir()
    found: dict[str, Linter] = {
        OURS: of_mandelbot,
        PYPI: lambda bodies: of_ai_crawler_robots(bodies, folder / "pip"),
    }
    for name in NPM:
        place = folder / name.strip("@").replace("/", "-")
        place.mkdir()
        found[name] = lambda bodies, name=name, place=place: of_npm(name, bodies, place)
    return found


# The tables.


def finds(fault: Fault, reports: list[Report]) -> bool:
    """Return whether the line is reported, or something without a line."""
    return any(one.line in {0, fault.line} for one in reports)


def print_cases(
    answers: dict[str, tuple[list[list[Report]], list[list[Report]]]],
) -> None:
    """Print what was found of each fault, and the false alarms."""
    width = max(map(len, [*FAULTS, *SOUND]))
    names = list(answers)
    print(f"{'fault':{width}}  " + "  ".join(names))
    for number, (case, fault) in enumerate(FAULTS.items()):
        marks = [
            ("found" if finds(fault, answers[name][0][number]) else "-").ljust(
                len(name)
            )
            for name in names
        ]
        print(f"{case:{width}}  " + "  ".join(marks).rstrip())
    print()
    print(f"{'sound':{width}}  " + "  ".join(names))
    for number, case in enumerate(SOUND):
        marks = [
            ("alarm" if answers[name][1][number] else "-").ljust(len(name))
            for name in names
        ]
        print(f"{case:{width}}  " + "  ".join(marks).rstrip())
    print()
    for name, (faults, sound) in answers.items():
        found = sum(
            finds(fault, reports)
            for fault, reports in zip(FAULTS.values(), faults, strict=True)
        )
        alarms = sum(bool(reports) for reports in sound)
        print(
            f"{name}: {found} of {len(FAULTS)} faults found,"
            f" {alarms} false alarms for {len(SOUND)} sound files"
        )


def print_kinds(texts: list[str], name: str, reports: list[list[Report]]) -> None:
    """Print how often a linter reports what, in how many files."""
    kinds = [re.sub(r'"[^"]*"', '"…"', one.kind) for each in reports for one in each]
    lines = Counter(kinds)
    files = sum(bool(each) for each in reports)
    print(f"\n{name}: {lines.total()} reports in {files} of {len(texts)} files")
    for kind, number in lines.most_common():
        print(f"  {number:5} {kind}")


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        asked = linters(Path(made))
        faults = [one.body for one in FAULTS.values()]
        answers = {
            name: (ask(faults), ask(list(SOUND.values())))
            for name, ask in asked.items()
        }
        print_cases(answers)
        if sys.argv[1:]:
            paths = sorted(Path(sys.argv[1]).rglob("*.txt"))
            drawn = random.Random(SEED).sample(  # noqa: S311 -- no secret
                paths, min(FILES, len(paths))
            )
            texts = [path.read_bytes().decode("utf-8", "replace") for path in drawn]
            for name, ask in asked.items():
                print_kinds(texts, name, ask(texts))


if __name__ == "__main__":
    main()
