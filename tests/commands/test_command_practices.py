"""``scrapy robots identity check`` without a URL: the crawler best practices."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from crawling import ensureDeferred
from test_command_page import EVERY, fields_of, told_of
from webs import Answer

PAGE = Path(__file__).parents[2] / "docs" / "best_practices.rst"
RANGES = (
    b'{"formatVersion": "1.0", "synctoken": "1", "creationTime": "2026-11-28T00:00:00Z"'
    b', "prefixes": [%s]}'
)
NETWORK = b'{"ipv4Prefix": "192.0.2.0/24"}'
ADDON = ("-s", 'ADDONS={"scrapy_mandelbot.Addon": 500}')
CACHE = (
    "-s",
    "HTTPCACHE_ENABLED=True",
    "-s",
    "HTTPCACHE_POLICY=scrapy.extensions.httpcache.RFC2616Policy",
)


def kept_in(run) -> dict[int, bool]:
    return {
        one["number"]: one["is_kept"] for one in json.loads(run.stdout)["practices"]
    }


def practice(run, number) -> dict:
    return json.loads(run.stdout)["practices"][number - 1]


def checked(robots, *options):
    return robots("identity", "check", "--format", "json", *options)


@pytest.fixture
def site(webs):
    """A site with the robot's page and its networks."""
    web = webs()
    web.pages["/bot"] = Answer(
        b'<link rel="client-ranges" href="/addresses.json"><p>Block it in robots.txt'
    )
    web.pages["/addresses.json"] = Answer(RANGES % NETWORK)
    return web


def agent_of(web) -> tuple[str, str]:
    return "-s", f"USER_AGENT=Examplebot/1.0 (+{web.url}/bot)"


def test_stock_scrapy_keeps_one_of_six_or_none(robots):
    """Scrapy's own default is not to obey robots.txt; a new project's is."""
    run = checked(robots)
    assert run.returncode == 1
    assert kept_in(run) == dict.fromkeys(range(1, 7), False)
    obeying = checked(robots, "-s", "ROBOTSTXT_OBEY=True")
    assert [number for number, kept in kept_in(obeying).items() if kept] == [1]


def test_the_add_on_alone_adds_two(robots):
    run = checked(robots, *ADDON)
    assert [number for number, kept in kept_in(run).items() if kept] == [1, 3]
    assert practice(run, 3)["change"] == ""


@pytest.mark.parametrize(
    ("setting", "reason", "change"),
    [
        ("AUTOTHROTTLE_ENABLED=True", "AutoThrottle follows", ""),
        ("DOWNLOAD_DELAY=1", "DOWNLOAD_DELAY limits", ""),
        (
            "MANDELBOT_CONCURRENCY=fixed",
            "what it can bear is not measured",
            'settings: MANDELBOT_CONCURRENCY = "measured"',
        ),
        (
            'MANDELBOT_PAUSE_OPTIONS={"recovery": false}',
            "what it can bear is not measured",
            'settings: MANDELBOT_PAUSE_OPTIONS["recovery"] = True',
        ),
    ],
    ids=["AutoThrottle", "a delay", "fixed", "no recovery"],
)
def test_what_keeps_a_site_from_harm_is_named(robots, setting, reason, change):
    """Only what acts in a crawl with these settings."""
    found = practice(checked(robots, *ADDON, "-s", setting), 3)
    assert found["is_kept"]
    assert reason in found["reason"]
    assert found["change"] == change


@ensureDeferred
async def test_a_project_can_keep_all_six(robots_later, site):
    """It then exits with 0, and nothing is left to change."""
    every = [
        *ADDON,
        *CACHE,
        *agent_of(site),
        "-s",
        "MANDELBOT_ROBOT_TAGS=obey",
        "-s",
        "MANDELBOT_CONCURRENCY=measured",
    ]
    run = await checked(robots_later, *every)
    assert run.returncode == 0, run.stdout
    report = json.loads(run.stdout)
    assert report["kept"] == 6
    assert [one["change"] for one in report["practices"]] == [""] * 6
    told = fields_of(report) - EVERY
    documented = {name for name in told_of("identity") if "practices" in name}
    assert told == documented | {"kept"}
    text = (await robots_later("identity", "check", *every)).stdout.decode()
    assert text.endswith("6 of 6 are kept\n")
    assert "NOT KEPT" not in text


@ensureDeferred
@pytest.mark.parametrize(
    ("replaced", "numbers", "reason"),
    [
        ({"/bot": Answer(b"gone", status=404)}, [5, 6], "status is 404"),
        ({"/bot": Answer(b"<p>A robot. robots.txt")}, [5], "client-ranges"),
        (
            {"/bot": Answer(b'<link rel="client-ranges" href="/addresses.json">')},
            [6],
            "",
        ),
        ({"/addresses.json": Answer(b"gone", status=404)}, [5], "status is 404"),
        ({"/addresses.json": Answer(RANGES % b"")}, [5], "no networks"),
        ({"/addresses.json": Answer(b"[" * 100_000)}, [5], "not JSON"),
        ({"/addresses.json": Answer(b"\xff\x00")}, [5], "not JSON"),
    ],
    ids=["no page", "no link", "no words", "no list", "empty", "deep", "no text"],
)
async def test_the_page_and_the_list_must_be_there(
    robots_later, site, replaced, numbers, reason
):
    site.pages.update(replaced)
    run = await checked(robots_later, *ADDON, *CACHE, *agent_of(site))
    assert [number for number, kept in kept_in(run).items() if not kept] == numbers
    assert reason in practice(run, numbers[0])["reason"]


@ensureDeferred
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[]", "not a JSON object"),
        (b'{"prefixes": []}', "no formatVersion and no synctoken and no creationTime"),
        (RANGES % b'{"ipv4Prefix": "here"}', "no networks"),
        (RANGES % b'{"ipv4Prefix": "192.0.2.0/24", "ipv6Prefix": "2001:db8::/32"}', ""),
        (RANGES % b"1, null, []", "no networks"),
    ],
)
async def test_a_list_has_what_its_draft_requires(robots_later, site, body, reason):
    site.pages["/addresses.json"] = Answer(body)
    run = await checked(robots_later, *ADDON, *agent_of(site))
    assert not practice(run, 5)["is_kept"]
    assert reason in practice(run, 5)["reason"]


@ensureDeferred
async def test_the_files_that_the_verb_writes_pass(
    robots, robots_later, site, tmp_path
):
    """Both, when they are served."""
    agent = agent_of(site)
    networks = ("--address", "192.0.2.0/24", "--address", "2001:db8::/32")
    made = robots("identity", "page", "--output", "index.html", *networks, *agent)
    assert made.returncode == 0, made.stderr
    site.pages["/bot"] = Answer((tmp_path / "index.html").read_bytes())
    listed = (tmp_path / "addresses.json").read_bytes()
    site.pages["/addresses.json"] = Answer(listed)
    run = await checked(robots_later, *ADDON, *agent)
    assert practice(run, 5)["is_kept"]
    assert practice(run, 6)["is_kept"]
    assert json.loads(listed)["creationTime"].endswith("Z")


@ensureDeferred
async def test_the_list_may_be_linked_by_a_header(robots_later, site):
    header = {
        "Link": "<https://example.com/>; rel=author,"
        ' </addresses.json>; rel="client-ranges"'
    }
    site.pages["/bot"] = Answer(b"robots.txt", headers=header)
    run = await checked(robots_later, *ADDON, *agent_of(site))
    assert practice(run, 5)["is_kept"]


@pytest.mark.parametrize(
    ("setting", "number", "is_kept"),
    [
        ("ROBOTSTXT_OBEY=False", 1, False),
        ("USER_AGENT=Mozilla/5.0 (X11)", 2, False),
        ("USER_AGENT=Examplebot/1.0 (bot@example.com)", 2, True),
        ("AUTOTHROTTLE_ENABLED=True", 3, True),
        ("HTTPCACHE_ENABLED=True", 4, False),  # its policy stores all, for ever
        ("HTTPCACHE_POLICY=scrapy.extensions.httpcache.RFC2616Policy", 4, False),
    ],
)
def test_one_setting_decides(robots, setting, number, is_kept):
    run = checked(robots, *ADDON, "-s", setting)
    assert practice(run, number)["is_kept"] is is_kept


def test_the_page_has_all_six(robots):
    """With the titles of the command, and the settings that it proposes."""
    page = PAGE.read_text(encoding="utf-8")
    for one in json.loads(checked(robots).stdout)["practices"]:
        assert re.search(rf"^{one['number']}\. .*{one['title']}", page, re.MULTILINE)
    for name in ("MANDELBOT_ROBOT_TAGS", "HTTPCACHE_POLICY"):
        assert name in page
