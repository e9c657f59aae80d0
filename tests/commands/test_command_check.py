"""``scrapy robots check``: faults of a file and of how a site delivers it."""

from __future__ import annotations

import json

from crawling import ensureDeferred
from webs import Answer

RULES = b"User-agent: *\nDisallow: /private/\n"
TEXT = {"Content-Type": "text/plain"}


def codes(run) -> list[str]:
    return [one["code"] for one in json.loads(run.stdout)["findings"]]


@ensureDeferred
async def test_a_site_is_fetched_with_the_projects_user_agent(
    webs, robots_later, project
):
    """Its agent requests a bare site's /robots.txt, though its rules forbid all."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n", headers=TEXT)
    run = await robots_later("check", web.url)
    assert (run.returncode, run.stderr) == (1, b"")
    assert "2  warning   No robot may fetch anything" in run.stdout.decode()
    assert run.stdout.decode().endswith(f"{web.url}/robots.txt: 1 warning\n")
    assert [hit.path for hit in web.hits] == ["/robots.txt"]
    assert web.hits[0].headers["user-agent"].startswith("Examplebot/1.0")


@ensureDeferred
async def test_a_site_is_fetched_outside_of_a_project(webs, robots_later):
    """With Scrapy's default agent; settings can be given."""
    web = webs()
    web.pages["/robots.txt"] = Answer(RULES, headers=TEXT)
    run = await robots_later("check", f"{web.url}/robots.txt", "-s", "USER_AGENT=mine")
    assert (run.returncode, run.stderr) == (0, b"")
    assert web.hits[0].headers["user-agent"] == "mine"


@ensureDeferred
async def test_moderatobot_a_slow_file(webs, robots_later):
    """From five seconds on it is slow; a shorter timeout reports that nothing came."""
    web = webs()
    web.pages["/robots.txt"] = Answer(RULES, headers=TEXT, delay=5.2)
    slow = robots_later("check", web.url, "--format", "json")
    impatient = await robots_later(
        "check", web.url, "-s", 'MANDELBOT_LIMITS={"robots_timeout": 1}'
    )
    assert (impatient.returncode, impatient.stdout) == (2, b"")
    assert (
        impatient.stderr.decode()
        == f"scrapy robots: {web.url}/robots.txt: no answer in time\n"
    )
    assert codes(await slow) == ["slow"]


@ensureDeferred
async def test_an_endless_body_is_read_until_the_timeout(webs, robots_later):
    """A drip that outlasts the time: what came is checked, and it is told that it is
    not all.
    """
    web = webs()

    def drip(request):
        from twisted.internet.task import LoopingCall

        drops = LoopingCall(request.write, b"Disalow: /\n")
        request.notifyFinish().addBoth(lambda _: drops.stop())
        request.write(b"User-agent: *\n")
        drops.start(0.2)
        return Answer(b"", headers=TEXT, delay=60)

    web.pages["/robots.txt"] = drip
    run = await robots_later(
        "check",
        web.url,
        "--format",
        "json",
        "-s",
        'MANDELBOT_LIMITS={"robots_timeout": 5.5}',
    )
    assert {"incomplete", "slow", "misspelt-field"} <= set(codes(run))
    assert json.loads(run.stdout)["delivery"]["seconds"] >= 5.5
