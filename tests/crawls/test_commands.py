"""Scrapy's own commands, with the package set up as a project does it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from crawling import ensureDeferred
from twisted.internet.threads import deferToThread
from webs import Answer

if TYPE_CHECKING:
    from pathlib import Path


def site(webs):
    web = webs()
    web.chain(1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/1\n")
    return web


@pytest.fixture
def scrapy_command(forked):
    """Run Scrapy's command in a folder, while this process serves the sites that it
    asks.
    """

    def run(folder: Path, *arguments: str):
        ended = forked.program(folder, "scrapy", *arguments)
        ended.stdout, ended.stderr = ended.stdout.decode(), ended.stderr.decode()
        return ended

    return partial(deferToThread, run)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    package = tmp_path / "project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "spiders.py").write_text(
        "import scrapy\nclass Spider(scrapy.Spider):\n    name = 'one'\n    def"
        " parse(self, response):\n        yield {'title':"
        " response.css('title::text').get()}"
    )
    (package / "settings.py").write_text(
        "ADDONS = {'scrapy_mandelbot.Addon': 500}\nSPIDER_MODULES ="
        " ['project.spiders']\nTELNETCONSOLE_ENABLED = False\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        (["fetch", "URL"], "<title>page</title>"),
        (["shell", "URL", "-c", "response.css('title::text').get()"], "page"),
        (["parse", "--spider=one", "URL"], "{'title': 'page'}"),
    ],
)
@ensureDeferred
async def test_scrapys_commands_work_where_robots_txt_is_unavailable(
    webs, scrapy_command, project, command, shows
):
    """They show the page, say that its rules are not known, and do not wait for better
    times.
    """
    web = site(webs)
    web.pages["/robots.txt"] = Answer(b"", 503, {"Retry-After": "3600"})
    run = await scrapy_command(
        project, *[web.url if it == "URL" else it for it in command]
    )
    assert shows in run.stdout, run.stderr
    assert (
        f"WARNING: The rules of {web.url} are not known (robots.txt: 503, "
        in run.stderr
    )
    assert web.asked("/robots.txt") == 1


@pytest.mark.parametrize("command", [["fetch", "--headers"], ["parse", "--spider=one"]])
@ensureDeferred
async def test_scrapys_commands_show_a_503_at_once(
    webs, scrapy_command, project, command
):
    """A page that asks for a pause is what they were asked to show."""
    web = site(webs)
    web.pages["/"] = Answer(b"", 503, {"Retry-After": "3600"})
    run = await scrapy_command(project, *command, "-s", "RETRY_ENABLED=False", web.url)
    assert "(503) <GET" in run.stderr
    assert "Paused" not in run.stderr
    assert web.asked("/", 503) == 1


@pytest.mark.parametrize(
    "command", [["fetch"], ["shell", "-c", "response.text"], ["parse", "--spider=one"]]
)
@ensureDeferred
async def test_scrapys_commands_do_not_wait_for_a_turn(
    webs, scrapy_command, project, command
):
    """Nor for a visit time that begins in half a day: a person waits for the page."""
    web = site(webs)
    far = (time.gmtime().tm_hour + 12) % 24
    robots = f"User-agent: *\nCrawl-delay: 50\nVisit-time: {far:02}00-{far:02}30\n"
    web.pages["/robots.txt"] = Answer(robots.encode())
    began = time.monotonic()
    run = await scrapy_command(project, *command, "-s", "MANDELBOT_PACE=obey", web.url)
    assert "page</title>" in run.stdout or "{'title': 'page'}" in run.stdout, run.stderr
    assert time.monotonic() - began < 30
    assert "Paused" not in run.stderr


@ensureDeferred
async def test_scrapy_parse_shows_what_robot_tags_forbid(webs, scrapy_command, project):
    """Nothing is dropped from what a person at a terminal has asked for."""
    web = site(webs)
    web.pages["/"].headers["X-Robots-Tag"] = "none"
    options = ("-s", "MANDELBOT_ROBOT_TAGS=obey", "-o", "items.jsonl")
    run = await scrapy_command(project, "parse", "--spider=one", *options, web.url)
    assert "{'title': 'page'}" in run.stdout, run.stderr
    assert (project / "items.jsonl").read_text() == '{"title": "page"}\n'
    assert "'mandelbot/tags/pages': 1" in run.stderr


@ensureDeferred
async def test_a_project_keeps_its_copies_in_its_data_folder(
    webs, scrapy_command, project
):
    """Commands and crawls of a project share them; outside, nothing is left behind."""
    web = site(webs)
    for _ in range(2):
        run = await scrapy_command(project, "fetch", web.url)
        assert run.returncode == 0, run.stderr
    assert web.asked("/robots.txt") == 1
    assert [file.name for file in (project / ".scrapy").iterdir()] == ["mandelbot.db"]


@pytest.mark.parametrize(
    "command",
    [
        ["fetch", "URL"],
        ["shell", "URL", "-c", "response.url"],
        ["parse", "--spider=one", "URL"],
    ],
    ids=["fetch", "shell", "parse"],
)
@ensureDeferred
async def test_commands_follow_no_sitemaps(webs, scrapy_command, project, command):
    """Who asks for a page is not crawling the site."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(f"Sitemap: {web.url}/sitemap.xml".encode())
    settings = project / "project" / "settings.py"
    settings.write_text(settings.read_text() + "MANDELBOT_SITEMAPS = 'follow'\n")
    arguments = [part.replace("URL", web.url + "/page/0") for part in command]
    done = await scrapy_command(project, *arguments)
    assert done.returncode == 0, done.stderr
    assert {hit.path for hit in web.hits} == {"/robots.txt", "/page/0"}


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (503, "1 request (2 retries): 503"),
        (200, "1 request: 200"),
        (404, "1 request: 404"),
    ],
)
@ensureDeferred
async def test_a_command_accounts_for_its_one_request(
    webs, scrapy_command, project, status, says
):
    """The retries are no requests of their own."""
    web = site(webs)
    web.pages["/page/0"] = Answer(b"<title>page</title>", status=status)
    run = await scrapy_command(project, "fetch", f"{web.url}/page/0")
    assert f"Requests: {says}\n" in run.stderr
    assert sum(hit.path == "/page/0" for hit in web.hits) == (3 if status == 503 else 1)
