"""``scrapy robots fix``: the lines that evidently mean something else, and what they
close.
"""

from __future__ import annotations

import json

import pytest
from crawling import ensureDeferred
from mandelbot.fix import READERS, correct
from webs import Answer

STAR = "User-agent: *\n"
SITEMAP = "https://example.com/s/sitemap.xml"
KEPT = """\
# top
User-agent: *
Content-Signal: search=yes
Disallow: /a # b
Allow: /
Host: example.com

User-agent: Googlebot
Allow: /
"""
"""Neither groups, comments, signals nor rules move, and no group is invented."""

# What a file is, and becomes; the same: nothing is done.
CASES = [
    (f"{STAR}Disalow: /a\n", f"{STAR}Disallow: /a\n"),
    (f"{STAR}  disalow : /a   # drafts\r\n", f"{STAR}  Disallow: /a   # drafts\r\n"),
    ("Useragent: *\nDisallow: /a\n", f"{STAR}Disallow: /a\n"),
    (f"{STAR}Disallow: admin/\n", f"{STAR}Disallow: /admin/\n"),
    (f"{STAR}Disallow:admin # x\n", f"{STAR}Disallow: /admin # x\n"),
    (f"{STAR}Disallow /a\n", f"{STAR}Disallow: /a\n"),
    (f"{STAR}Disallow; /a\n", f"{STAR}Disallow: /a\n"),
    (f"{STAR}Disallow the rest\n",) * 2,
    (
        f"{STAR}Disallow: /a, /b,/c # d\n",
        f"{STAR}Disallow: /a # d\nDisallow: /b\nDisallow: /c\n",
    ),
    (f"{STAR}Disallow: /a /b\r", f"{STAR}Disallow: /a\rDisallow: /b\r"),
    (f"{STAR}Disallow: /a and b\n",) * 2,
    (f"{STAR}Disallow: *.pdf$\nDisallow: ?sort=\nDisallow: none\n",) * 2,
    (f"{STAR}Disallow: www.example.com\nDisallow: example.com/a\n",) * 2,
    (f"{STAR}Sitemap: /s/sitemap.xml\n", f"{STAR}Sitemap: {SITEMAP}\n"),
    (f"{STAR}Sitemap: s/sitemap.xml\n", f"{STAR}Sitemap: {SITEMAP}\n"),
    (f"{STAR}Sitemap: //example.com/s/sitemap.xml\n", f"{STAR}Sitemap: {SITEMAP}\n"),
    (f"{STAR}Sitemap: example.com/sitemap.xml\n",) * 2,
    (f"{STAR}Noindex: /a\nFoo: bar\n",) * 2,
    (f"{KEPT}Disalow: /b\n", f"{KEPT}Disallow: /b\n"),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_only_the_wrong_lines_are_corrected(before, after):
    """The rest is as it was; correcting again changes nothing; nothing opens."""
    correction = correct(before.encode(), "https://example.com/robots.txt")
    assert correction.text == after
    assert correction.is_harmless
    assert correct(after.encode(), "https://example.com/robots.txt").edits == ()


def test_bytes_that_are_not_corrected_stay():
    """A byte-order mark, too; neither UTF-16 nor what is no UTF-8 is corrected."""
    text = f"\ufeff{STAR}Disalow: /é\n"
    assert correct(text.encode()).text == text.replace("Disalow", "Disallow")
    assert correct(f"{STAR}Disalow: /é\n".encode("utf-16")).edits == ()
    assert correct(f"{STAR}Disalow: /é\n".encode("latin-1")).edits == ()


# What a correction would open, or close beyond what its line means, for whom; the rest
# is done.
LEFT_OUT = [
    (
        f"{STAR}Disallow: /a\nAlow: /a/b\n",
        "opens /a/b for others, as read by mandelbot,",
    ),
    (
        f"{STAR}Disallow: /a\nAllow: a/b\n",
        "opens /a/b for others, as read by mandelbot,",
    ),
    (
        f"{STAR}Disallow: /a\nUseragent: Foobot\nDisallow: /b\n",
        "opens /b for others, as read by mandelbot,",
    ),
    (f"{STAR}Disallow: /\nUseragent: Foobot\nAllow: /pub\n", "opens / for Foobot,"),
]


@pytest.mark.parametrize(("body", "harm"), LEFT_OUT)
def test_what_would_open_something_is_left_out(body, harm):
    """And it is said what to whom; the other lines are corrected."""
    correction = correct(
        f"{body}\nUser-agent: Barbot\nDisallow: /b\nDisalow: /x\n".encode()
    )
    (remark,) = correction.remarks
    assert " is left out: it " in remark
    assert harm in remark
    assert str(correction.edits[0]).endswith("Disalow: /x becomes Disallow: /x")
    assert correction.is_harmless
    forced = correct(body.encode(), unsafe=True)
    assert not forced.is_harmless
    assert len(forced.edits) == 1


def test_a_robot_is_asked_for_itself_though_another_has_the_same_rules():
    """To older readers bot obeys only the group that it shares with all others."""
    body = b"User-agent: a\nDisallow: /x\nUseragent: *\nuser agent: bot\nDisallow: /a\n"
    body += b"user agent: bot\nAllow: /ab\n"
    correction = correct(body, unsafe=True)
    lost = {
        one.reader
        for one in correction.effects
        if ("https://www.example.com/ab", "bot") in one.lost
    }
    assert lost == {"rep1994", "rep2008", "extended2"}


def test_the_command_says_what_it_corrects_and_closes(robots):
    """Each line, whom it keeps out, and that nothing opens."""
    body = b"User-agent: *\nDisalow: /a\nDisallow: /x\nAlow: /x/y\n"
    run = robots("fix", "-", stdin=body)
    assert (run.returncode, run.stdout) == (0, body.replace(b"Disalow", b"Disallow"))
    said = run.stderr.decode().replace("scrapy robots: ", "").splitlines()
    assert said[0] == "line 2: Disalow: /a becomes Disallow: /a"
    assert said[1].startswith(
        "line 4: Alow: /x/y becomes Allow: /x/y is left out: it opens /x/y"
    )
    assert (
        said[2]
        == "closes /a for others, as read by mandelbot, rfc9309, rep1994, rep2008,"
        " extended2, urllib.robotparser, urllib.robotparser before 3.13.14"
    )
    assert said[3].startswith("verified: nothing opens, ")
    assert said[3].endswith(
        f" allow/disallow decisions of {len(READERS)} readers compared"
    )
    run = robots("fix", "-", "--unsafe", stdin=body)
    assert run.stdout == body.replace(b"Disalow", b"Disallow").replace(
        b"Alow", b"Allow"
    )
    assert b": opens /x/y for others, as read by mandelbot, " in run.stderr


def test_a_file_without_mistakes_stays(robots):
    """Octet by octet, and there is nothing to say."""
    body = b"# c\nuser-agent: *\r\ndisallow:/a\n\n\nAllow: /\n"
    run = robots("fix", "-", stdin=body)
    assert (run.returncode, run.stdout, run.stderr) == (0, body, b"")


def test_a_file_of_more_than_64_kib_is_not_corrected(robots):
    """That it is not is said."""
    body = b"User-agent: *\nDisalow: /a\n#" + b"x" * 65_536 + b"\n"
    run = robots("fix", "-", stdin=body)
    assert (run.returncode, run.stdout) == (0, body)
    assert (
        b"line 2: Disalow: /a becomes Disallow: /a: The file is too large" in run.stderr
    )


def test_json_has_the_lines(robots):
    """What a program needs."""
    body = b"User-agent: *\nDisallow: /a, /b\n"
    report = json.loads(robots("fix", "-", "--format", "json", stdin=body).stdout)
    assert report["edits"] == [
        {
            "line": 2,
            "before": "Disallow: /a, /b",
            "after": ["Disallow: /a", "Disallow: /b"],
        }
    ]
    assert report["text"] == "User-agent: *\nDisallow: /a\nDisallow: /b\n"
    assert (report["changed"], report["harmless"], report["proof"]) == (
        True,
        True,
        None,
    )
    closed = {one["reader"]: one["closed"] for one in report["effects"]}
    assert min(closed.values()) > 0


@ensureDeferred
async def test_the_sitemap_of_a_site_gets_its_url(webs, robots_later):
    """Where the file came from is known then."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nSitemap: /s.xml\n")
    run = await robots_later("fix", web.url)
    assert run.stdout.decode() == f"User-agent: *\nSitemap: {web.url}/s.xml\n"
