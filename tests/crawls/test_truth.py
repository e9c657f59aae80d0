"""Sentences with a number, or with "no", "all" or "only", compared with who counted.

Of files these are the readers themselves, of crawls the sites. ``-s`` prints how many
sentences.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot import RobotsTxt
from mandelbot.cli.output import TerminalStyle, check_report, fix_report
from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.findings import FINDINGS, lint
from mandelbot.fix import READERS, named, normalize
from mandelbot.fix.effects import PROTEGO
from mandelbot.fix.questions import SITE, probes
from webs import Answer, Closed, html, site

from scrapy_mandelbot.report.summary import headings
from scrapy_mandelbot.time_text import duration

STAR = "User-agent: *\n"
TODAY = ("mandelbot", "rfc9309", "google", PROTEGO)
"""The readers of "may fetch": those in use that follow RFC 9309."""

FILES = [
    "",
    "# a\n",
    f"{STAR}Disallow: /\n",
    f"{STAR}Disallow: /*\n\nUser-agent: a\nDisallow: /\n",
    f"{STAR}Disallow: /a\n",
    f"{STAR}Disallow: /a\nDisallow: /a\nDisallow: /a\n",
    f"{STAR}Disallow: /a\nAllow: /a\n",
    f"{STAR}Disallow: /a\nAllow: /a/b\n",
    f"{STAR}Allow: /\nDisallow: /a\nDisallow: /b\nDisallow: /c\n",
    f"{STAR}Disallow: /a, /b, /c\nDisallow: /d /e\n",
    f"{STAR}Disalow: /a\nDisallow: b/\nAlow: /a/c\n",
    f"{STAR}Disallow /a\nDisallow; /b\n",
    "useragent: *\nDisallow: /a\n",
    (
        "user agent: *\ndisallow: /a\nUser-agent: Foo\nDisallow: /b\nUser-agent:"
        " Bar\nDisallow: /c\n"
    ),
    f"{STAR}Disallow: /a\n\nUser-agent: Googlebot\nAllow: /\n",
    (
        f"{STAR}Disallow: /a\nDisallow: /b\nDisallow: /c\n\nUser-agent:"
        " Googlebot\nDisallow: /b\n"
    ),
    (
        f"{STAR}Disallow: /a\nAllow: /a/b\nDisallow: /c\n\nUser-agent:"
        " Bingbot\nCrawl-delay: 9\n"
    ),
    "User-agent: Googlebot\n\nUser-agent: GPTBot\nDisallow: /\n",
    (
        "User-agent: Googlebot\nCrawl-delay: 1\nUser-agent: GPTBot\nUser-agent:"
        " CCBot\nDisallow: /\n"
    ),
    (
        "User-agent: Googlebot\nAllow: /\n\nUser-agent: Googlebot\nDisallow:"
        f" /\n\n{STAR}Disallow: /\n"
    ),
    f"User-agent: Googlebot\nAllow: /\n\n{STAR}Disallow: /\n",
    f"{STAR}Disallow: /a\n\n{STAR}Disallow: /b\n",
    f"{STAR}Disallow: /a\n\nDisallow: /b\n",
    f"{STAR}Crawl-delay: 1\nCrawl-delay: 2\nDisallow: /a\n",
    f"{STAR}Crawl-delay: 300\nDisallow: /a\n",
    "Disallow: /a\nAllow: /a/b\n",
    "User-agent: x\nDisallow: /a\nSitemap: /s.xml\nSitemap: /s.xml\n",
    f"{STAR}Disallow: /a Disallow: /b\n",
    f"{STAR}Disallow: /a*\nDisallow: /a/b\nAllow: /a*b\n",
    f"{STAR}Disallow: /a/*/b\nAllow: /a/\n",
    f"{STAR}Disallow: https://www.example.com/a\n",
    "User-agent:\nDisallow: /a\n",
    "User-agent: *bot\nDisallow: /a\n",
    "User-agent: foobot/2.1\nDisallow: /a\n",
    "User-agent: Foo, Bar\nDisallow: /a\n",
    f"{STAR}Noindex: /a\nFoo: bar\nhttps://www.example.com/\n: /a\n/a\n",
    f"{STAR}Disallow: /a#b\nDisallow: /c # d\n",
    f"{STAR}Disallow: /(a|b)\nDisallow: /a.*\n",
    f"{STAR}\rDisallow: /a\r\nDisallow: /b\n",
    f"\ufeff{STAR}Disallow: /a\n" + "".join(f"Disalow: /{n}\n" for n in range(60)),
]
LINES_OF = re.compile(r"lines? (\d+)(?: to (\d+))?")
UNREAD = re.compile(
    r"\b(no robot|all robots|matches nothing|robots skip|robots ignore)\b",
    re.IGNORECASE,
)
"""Of these the line does nothing in any reader, but for those that the same sentence
names.
"""
SOME = re.compile(
    r"Protego|Google|many|most|some|urllib|1994|where white", re.IGNORECASE
)


class Compared:
    """Counts the sentences that are compared."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def __call__(self, sentence: str, said: object, is_so: object) -> None:
        self.sentences.append(sentence)
        assert said == is_so, sentence


def decide(body: bytes, paths: list[str], agents: list[str]) -> dict[str, list[bool]]:
    """Ask each reader: is the path open to the robot?"""
    found = {}
    for name, read in READERS.items():
        allowed = read(body)
        if allowed is not None:
            found[name] = [
                allowed(SITE + path, agent) for path in paths for agent in agents
            ]
    return found


def about(text: str) -> tuple[list[str], list[str]]:
    """Return the paths and the robots to ask about."""
    records = RobotsTxt.parse(text.encode()).records
    rules = [
        one.value for one in records if one.field in {"allow", "disallow"} and one.value
    ]
    loose = re.findall(r"/[\w.]+", text)
    near = [path for value in [*rules, *loose] for path in probes(value)]
    agents = [one.value.split("/")[0] for one in records if one.field == "user-agent"]
    near = [path for path in near if not set(path) & set(" *$,")]  # as no robot asks
    return [*dict.fromkeys(["/", "/zz", *near])][:60], [
        *dict.fromkeys([*filter(None, agents), "zz"])
    ]


@pytest.mark.parametrize("number", range(len(FILES)))
def test_check_says_what_the_readers_do(number, compared):
    """Who may fetch what, how many rules there are, which lines are meant, what does
    nothing.
    """
    text = FILES[number]
    lines = text.encode().splitlines()
    findings = lint(text.encode())
    report = check_report.check(Rules("x", text.encode()))
    said = check_report.text(report, TerminalStyle(colours=False)).splitlines()[-1]
    for severity, count in report["counts"].items():
        told = re.search(rf"(\d+) {severity}", said)
        compared(said, int(told[1]) if told else 0, _listed(findings, severity))
        assert count == _listed(findings, severity)
    for one in findings:
        where = f"{one} {FINDINGS[one.code].why}"
        _who_may_fetch(text, one, compared)
        for first, last in LINES_OF.findall(one.message):
            assert 1 <= int(first) <= int(last or first) <= len(lines), where
        many = re.search(r"has (\d+) paths in one line: write (\d+) lines", one.message)
        if many:
            paths = re.split(r"[ ,]+", lines[one.line - 1].decode().partition(": ")[2])
            compared(where, [*map(int, many.groups())], [len(paths)] * 2)
        same = re.search(
            r"already (?:named )?in line (\d+)|in line (\d+) already", one.message
        )
        if same and "The rule" in one.message:
            compared(where, lines[int(same[1]) - 1], lines[one.line - 1])
        elif same:
            field = lines[one.line - 1].partition(b":")[0]
            compared(
                where, lines[int(same[1] or same[2]) - 1].partition(b":")[0], field
            )
        if (
            UNREAD.search(FINDINGS[one.code].why)
            and one.line
            and not SOME.search(where)
        ):
            without = b"\n".join([*lines[: one.line - 1], b"#", *lines[one.line :]])
            asked = about(text)
            compared(where, decide(text.encode(), *asked), decide(without, *asked))


def _listed(findings, severity):
    return sum(1 + one.more for one in findings if str(one.severity) == severity)


def _who_may_fetch(text, finding, compared):
    paths, agents = about(text)
    message = finding.message
    records = RobotsTxt.parse(text.encode()).records
    may = re.match(
        r"(\S+) may fetch what (?:lines? (\d+)(?: to (\d+))?|(\d+) rules from line"
        r" (\d+))",
        message,
    )
    if may:
        name, first, last, count, begin = may.groups()
        begin, end = int(first or begin), int(last or first or len(records))
        rules = [
            one.value
            for one in records[begin - 1 : end]
            if one.field == "disallow"
            and one.value
            and name in text.split(one.raw)[1] + text
        ]
        closed = [
            value
            for value in dict.fromkeys(rules)
            if decide(text.encode(), [value], ["zz"])["google"] == [False]
            and decide(text.encode(), [value], [name])["google"] == [True]
        ]
        compared(message, int(count or end - begin + 1), len(closed))
        for reader in TODAY:
            assert all(decide(text.encode(), closed, [name])[reader]), (message, reader)
            assert not any(decide(text.encode(), closed, ["zz"])[reader]), (
                message,
                reader,
            )
    if (
        message.endswith("may fetch nothing.")
        or message == "No robot may fetch anything."
    ):
        named = re.match(r"(\S+?)(?: and (\S+?))? may", message)
        who = [one for one in named.groups() if one] if named else agents
        if "more robots" in message:
            who = who[:1]
        for reader in TODAY[:3]:
            found = decide(
                text.encode(), [path for path in paths if path != "/robots.txt"], who
            )
            compared(f"{message} ({reader})", sum(found[reader]), 0)
    if message == "There is no directive in the file.":
        closed = [
            one
            for found in decide(text.encode(), paths, agents).values()
            for one in found
        ]
        compared(message, closed.count(False), 0)


CHANGE = re.compile(
    r"(opens|closes) (\S+) for (\S+), as read by ([^:]+?)(, though .*|\.)?$"
)


@pytest.mark.parametrize("number", range(len(FILES)))
def test_normalize_says_what_the_readers_do(number, compared):
    """Which lines become what, what closes to whom, how many decisions and readers are
    compared.
    """
    text = FILES[number]
    body = text.encode()
    correction = normalize(body)
    after = correction.text.encode()
    for remark in fix_report.corrected(Rules("x", body), correction)["remarks"]:
        if CHANGE.match(remark):
            _changes(remark, body, after, compared)
        elif "decisions compared" in remark:
            told = re.match(r"verified: ([\d,]+) .* as read by (.*)", remark)
            decisions = sum(one.decisions for one in correction.effects)
            compared(remark, told and int(told[1].replace(",", "")), decisions)
            compared(remark, told[2], named(READERS))
            asked = about(text)
            was, is_now = decide(body, *asked), decide(after, *asked)
            assert not any(
                now and not then
                for name in was.keys() & is_now.keys()
                for then, now in zip(was[name], is_now[name], strict=True)
            )
        elif "decisions unchanged" in remark:
            asked = about(text)
            compared(
                remark,
                decide(body, *asked)["mandelbot"],
                decide(after, *asked)["mandelbot"],
            )


def _changes(sentence, before, after, compared):
    does, path, agent, readers, _ = CHANGE.match(sentence).groups()
    names = [name for name in READERS if name in re.split(", |; | ", readers)]
    names += [name for name in READERS if " " in name and name in readers]
    if readers == "all readers":
        names = [*READERS]
    agent = "zz" if agent == "others" else agent
    was, is_now = (decide(body, [path], [agent]) for body in (before, after))
    changed = {
        name
        for name in was
        if (was[name], is_now[name]) == ([does == "closes"], [does == "opens"])
    }
    assert changed >= set(names), sentence
    if readers == "all readers":
        compared(sentence, set(names), changed)
    else:
        compared(sentence, set(names) - changed, set())


FORBIDS = b"User-agent: *\nDisallow: /private\n"


def _plain(webs):
    return [site(webs, 5)], {}


def _two(webs):
    return [site(webs, 3), site(webs, 7, "127.0.0.2")], {}


def _forbidden(webs, links=("/private/a", "/private/b")):
    web = site(webs, 3)
    web.pages["/"] = html(*links, "/page/0", "/page/1", "/page/2")
    web.pages["/robots.txt"] = Answer(FORBIDS)
    return [web], {}


def _one_forbidden(webs):
    return _forbidden(webs, ("/private/a",))


def _no_pages(webs):
    web = site(webs, 0)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    return [web], {}


def _missing(webs):
    web = site(webs, 2)
    web.pages["/"] = html("/gone/1", "/gone/2", "/page/0", "/page/1")
    return [web], {}


def _pause(webs):
    web = site(webs, 10)
    web.refuse = Closed(seconds=5, after=5, retry_after="5", robots_too=False)
    return [web], {}


def _pause_without_hint(webs):
    web = site(webs, 6)
    web.refuse = Closed(seconds=5, after=3, robots_too=False)
    return [web], {}


def _given_up(webs):
    web = site(webs, 6)
    web.refuse = Closed(seconds=1e6, after=3, robots_too=False)
    return [web], {"MANDELBOT_PAUSE_OPTIONS": {"tries": 2, "total": 100}}


def _pace(webs):
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 2\n")
    return [web], {"MANDELBOT_PACE": "obey"}


def _pace_not_obeyed(webs):
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 2\n")
    return [web], {}


def _dead(webs):
    return [site(webs, 3)], {"MANDELBOT_PAUSE_OPTIONS": {"tries": 1, "total": 20}}


CRAWLS = [
    *(_plain, _two, _forbidden, _one_forbidden, _no_pages, _missing, _pause),
    *(_pause_without_hint, _given_up, _pace, _pace_not_obeyed, _dead),
]


@pytest.mark.usefixtures("loop_is_turned")
@pytest.mark.parametrize("made", CRAWLS)
@ensureDeferred
async def test_a_crawl_says_what_the_sites_saw(webs, made, tmp_path, compared):
    """The account, the verdict, the end table and the report, by the sites' own log."""
    sites, settings = made(webs)
    urls = [web.url for web in sites]
    if made is _dead:
        sites[0].drop()
    path = tmp_path / "report.json"
    result = await crawl(
        LinksSpider,
        {"MANDELBOT_REPORT": str(path), **settings},
        start_urls=[f"{url}/" for url in urls],
    )
    report = json.loads(path.read_text())
    hits = [hit for web in sites for hit in web.hits if hit.path != "/robots.txt"]
    # A page may also answer the package's own request, which asks whether the site is
    # well again.
    pages = len({(hit.headers["host"], hit.path) for hit in hits if hit.status == 200})
    (account,) = result.logged("Requests: ")
    ends = {words: int(n) for n, words in re.findall(r"(\d+) ([a-z][^,:]*)", account)}
    (verdict,) = [
        one
        for one in result.messages
        if re.match(r"[A-Z]+: (Finished|Stopped) after ", one)
    ]
    compared("report verdict", f"{report['result']}: {report['verdict']}", verdict)
    told = re.search(r"(\d+) pages?\.", verdict)
    compared(account, ends.get("pages", ends.get("page", 0)), pages)
    compared(verdict, int(told[1]), pages)
    failed = re.search(r"(\d+) requests? failed", verdict)
    lost = sum(one["lost"] for one in report["sites"])
    compared(verdict, int(failed[1]) if failed else 0, lost)
    (table,) = result.logged("What happened at the sites:")
    tables = [one.splitlines() for one in table.partition("\n")[2].split("\n\n")]
    for web, url in zip(sites, urls, strict=True):
        row = dict.fromkeys(headings(), "")
        for head, *rows in tables:
            line = next((one for one in rows if url in one), None)
            if line is not None:
                row |= {
                    name: _cell(head, line, name) for name in headings() if name in head
                }
        data = next(one for one in report["sites"] if one["site"] == url)
        own = [hit for hit in web.hits if hit.path != "/robots.txt"]
        facts = {
            "PAGES": len({hit.path for hit in own if hit.status == 200}),
            "REFUSED": sum(hit.status == 503 for hit in web.hits),
        }
        for name, fact in facts.items():
            if made is not _dead or name == "PAGES":
                compared(f"{name} {row}", int(row[name] or 0), fact)
                compared(f"report {name}", data[name.lower()], fact)
        pauses = sum(url in one for one in result.logged(f"Paused {url} "))
        compared(f"PAUSES {row}", int(row["PAUSES"] or 0), pauses)
        compared(f"END {row}", row["END"], data["state"].replace("well", ""))
        links = re.findall('href="/private/', web.pages["/"].body.decode())
        forbidden = 1 if made is _no_pages else len(links)
        compared(f"FORBIDDEN {row}", int(row["FORBIDDEN"] or 0), forbidden)
        compared("report forbidden", data["forbidden"], forbidden)
        if data["pace"]:
            sent = [hit.at for hit in web.hits]
            least = min(after - before for before, after in pairwise(sent))
            came = data["pace"]["came_every"]
            _, kept = row["DELAY"].split(", ")
            compared(f"DELAY {row}", kept == "obeyed", least >= 2 - 0.05)
            compared(
                f"DELAY {row}", kept.partition(": ")[2], duration(came) if came else ""
            )


def _cell(head, line, name):
    """Return what stands below a heading; empty: nothing does."""
    headings = list(re.finditer(r"\S+(?: \S+)*", head))
    for cell in re.finditer(r"\S+(?: \S+)*", line):
        for heading in headings:
            if heading[0] != name:
                continue
            if cell.start() < heading.end() and heading.start() < cell.end():
                return cell[0]
    return ""


@pytest.fixture(scope="module")
def compared():
    found = Compared()
    yield found
    sys.stdout.write(f"\n{len(found.sentences)} sentences compared\n")
