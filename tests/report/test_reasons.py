"""Why a site's requests wait: one reason, from the state of the site."""

from __future__ import annotations

from math import inf

import pytest
from clocks import MIDNIGHT as NOW
from flights import follow
from mandelbot import RobotsTxt
from scrapy import Request

from scrapy_mandelbot.politeness.flight import Flight
from scrapy_mandelbot.politeness.pace import Pace
from scrapy_mandelbot.politeness.pause_policy import Mode, PausePolicy, Refusal
from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.report.snapshots import SiteSnapshot, Why, held, limit_text
from scrapy_mandelbot.report.status import Reason

SITE = "https://example.com"


@pytest.fixture
def site() -> Site:
    return Site(SITE, PausePolicy(tries=2))


def flight(site: Site, path: str = "/a", *, scout: bool = False) -> Flight:
    one = Flight(Request(url=SITE + path), site)
    site.handed_out(one, NOW, as_scout=scout)
    return one


def refuse(site: Site, now: float = NOW, seconds: float | None = 60.0) -> None:
    one = flight(site)
    site.refused(
        one, b"a", Refusal(now, "503 for <GET https://example.com/a>", seconds)
    )


def why(site: Site, now: float) -> Why | None:
    found = held(site, now)
    return (
        None
        if found is None
        else found._replace(details=SiteSnapshot(site, found, 0, 0).details)
    )


def reason(site: Site, now: float = NOW):
    found = why(site, now)
    return None if found is None else (found.reason, found.until)


def test_nothing_holds_a_plain_site_back(site):
    """No reason is made up."""
    assert why(site, NOW) is None


def test_paused(site):
    """Until the time that the site has named, and why."""
    refuse(site)
    found = why(site, NOW)
    assert (found.reason, found.until) == (Reason.PAUSED, NOW + 60)
    assert found.details == "503 for <GET https://example.com/a>"


def test_probed(site):
    """When the time is over one request asks; until it is answered there is no time."""
    refuse(site)
    assert reason(site, NOW + 61) == (Reason.PROBED, NOW + 60)
    probe = Flight(Request(url=f"{SITE}/b"), site)
    site.handed_out(probe, NOW + 61, as_scout=False)
    assert reason(site, NOW + 61) == (Reason.PROBED, None)


def test_recovering(site):
    """After a good probe the rate is limited: the next time is known."""
    refuse(site)
    probe = Flight(Request(url=f"{SITE}/b"), site)
    site.handed_out(probe, NOW + 61, as_scout=False)
    site.answered(probe, NOW + 61, b"b")
    after = Flight(Request(url=f"{SITE}/c"), site)
    site.handed_out(after, NOW + 61, as_scout=False)
    found = why(site, NOW + 61)
    assert found.reason is Reason.RECOVERING
    assert NOW + 61 < found.until < NOW + 72
    assert "requests a second" in found.details


@pytest.mark.parametrize(
    ("mode", "waiting", "words"),
    [
        (Mode.RAMP, 140, ""),
        (Mode.SLOW, 140, "a limit of about 30 requests a minute: about 4 min 40 s"),
        (Mode.LIMIT, 0, "a limit of about 30 requests a minute"),
    ],
)
def test_a_rate_limit_comes_with_the_time_for_the_waiting_requests(
    site, mode, waiting, words
):
    """Of a site that counts what it is asked; of others the rate says little."""
    assert limit_text(site, waiting) == ""
    refuse(site)
    recovery = site.pause.rate_control
    recovery.mode, recovery.rate = mode, 0.5
    assert limit_text(site, waiting) == words
    assert SiteSnapshot(site, held(site, NOW), waiting, 0).details.startswith(
        words or "503"
    )


def test_given_up(site):
    """There is no time in this run."""
    refuse(site)
    site.give_up("MANDELBOT_PAUSE_OPTIONS['total'] is over")
    assert reason(site) == (Reason.GIVEN_UP, None)


@pytest.mark.parametrize("until", [NOW + 5, inf])
def test_paused_by_hand(site, until):
    """It goes before what the site asked for."""
    refuse(site)
    site.hold(NOW, until)
    assert reason(site) == (Reason.MANUAL, until)


def test_robots_txt_is_pending(site):
    """One request is on its way to find out the rules."""
    flight(site, scout=True)
    assert reason(site) == (Reason.ROBOTS_TXT, None)


def test_pace(site):
    """The next turn; while the last request has no answer there is no time."""
    follow(site, Pace(5.0, source="set manually"), inf, NOW)
    one = flight(site)
    assert reason(site) == (Reason.PACE, None)
    site.sent(one, NOW)
    site.ended(one, NOW + 1)
    found = why(site, NOW + 1)
    assert (found.reason, found.until) == (Reason.PACE, NOW + 6)
    assert found.details == "5 s between requests (set manually)"
    assert why(site, NOW + 6) is None


def test_a_recovery_does_not_hide_a_pace(site):
    """A site that recovers, and may be asked as far as that goes, may have a pace."""
    follow(site, Pace(500.0, source="set manually"), inf, NOW)
    refuse(site)
    probe = Flight(Request(url=f"{SITE}/b"), site)
    site.handed_out(probe, NOW + 61, as_scout=False)
    site.sent(probe, NOW + 61)
    site.answered(probe, NOW + 61, b"b")
    site.ended(probe, NOW + 61)
    assert reason(site, NOW + 200) == (Reason.PACE, NOW + 561)


def test_visit_time(site):
    """Until the hours begin at which the owner takes visitors."""
    robots = RobotsTxt.parse(b"User-agent: *\nVisit-time: 0600-0845\n")
    follow(site, Pace(visits=robots.visit_times("x")), inf, NOW)
    assert reason(site) == (Reason.VISIT_TIME, NOW + 6 * 3600)
