"""The verb ``identity check``: which of the crawler best practices a project keeps.

Source: draft-illyes-webbotauth-cbcp-00 (21 April 2026), "Crawler best practices": six
sentences with MUST, each with a section of the same number. The draft concerns
operators, so two of them are answered by the page that the User-Agent names, which is
fetched. docs/best_practices.rst has the table.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from mandelbot.cli import Result, joined
from mandelbot.formatting import shown
from scrapy import Spider
from scrapy.utils.misc import load_object

from scrapy_mandelbot.commands.project import ADDON
from scrapy_mandelbot.settings.checks import Project, identity_lack
from scrapy_mandelbot.settings.config import Config

if TYPE_CHECKING:
    from mandelbot.cli import Fetched

    from scrapy_mandelbot.commands.project import ProjectInvocation

_CACHE = "scrapy.extensions.httpcache.RFC2616Policy"
_ROBOTS_TXT = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
_RANGES = "client-ranges"
_MEMBERS = ("formatVersion", "synctoken", "creationTime", "prefixes")
_OK = 200
_URL = re.compile(r"https?://[^\s;,)]+")


class Practice(NamedTuple):
    """One of the six, and what a project makes of it.

    Attributes:
        number: of the sentence, 1 to 6; its section is 2.NUMBER.
        title: what a crawler must do.
        is_kept: whether this project does it.
        reason: what was found.
        change: the line or command with which it is kept, or kept better; ``""``:
            nothing is left to do.
    """

    number: int
    title: str
    is_kept: bool
    reason: str
    change: str = ""


def identity_check(invocation: ProjectInvocation) -> Result:
    """Check a key directory as it is served; without a URL, the project."""
    if invocation.opts.url:
        # Only this half needs cryptography.
        from scrapy_mandelbot.commands import identity_verb  # noqa: PLC0415

        return identity_verb.check_directory(invocation)
    found = practices(invocation)
    lines = []
    for one in found:
        word = "kept" if one.is_kept else "NOT KEPT"
        lines.append(f"{one.number}. {one.title}: {word}")
        lines.append(f"   {one.reason}")
        if one.change:
            lines.append(f"   {one.change}")
    kept = sum(one.is_kept for one in found)
    lines.append(f"{kept} of {len(found)} are kept")
    data = {"practices": [one._asdict() for one in found], "kept": kept}
    return Result(int(kept < len(found)), data, joined(lines))


def practices(invocation: ProjectInvocation) -> list[Practice]:
    """Return what a project makes of each of the six, in the draft's order.

    The settings are those of a crawl of the project; a spider's ``custom_settings`` do
    not count. The page of the robot is fetched.
    """
    settings = invocation.crawl_settings
    is_on = invocation.has_addon
    project = Project(settings, Config.from_settings(settings), Spider)
    page_url = _page_of(invocation.user_agent)
    page = invocation.fetch(page_url) if page_url else None
    return [
        _rules(project, is_on=is_on),
        _user_agent(project),
        _interference(project, is_on=is_on),
        _caching(project),
        _ranges(invocation, page_url, page),
        _explanation(page_url, page),
    ]


def _kept(number: int, title: str, reason: str, change: str = "") -> Practice:
    return Practice(number, title, is_kept=True, reason=reason, change=change)


def _not_kept(number: int, title: str, reason: str, change: str) -> Practice:
    return Practice(number, title, is_kept=False, reason=reason, change=change)


def _rules(project: Project, *, is_on: bool) -> Practice:
    title = "Respect robots.txt"
    if not project.settings.getbool("ROBOTSTXT_OBEY"):
        return _not_kept(
            1, title, "ROBOTSTXT_OBEY is off", "settings: ROBOTSTXT_OBEY = True"
        )
    if not is_on:
        if project.switches_off("DOWNLOADER_MIDDLEWARES", _ROBOTS_TXT):
            reason = "Scrapy's middleware for robots.txt is switched off"
            return _not_kept(1, title, reason, _add_on())
        reason = "Scrapy reads robots.txt; the add-on is not in ADDONS"
        return _kept(1, title, reason, _add_on())
    tags = project.config.robot_tags
    if tags == "obey":
        reason = "robots.txt and robot tags are obeyed"
        return _kept(1, title, reason)
    reason = f"robots.txt is obeyed; MANDELBOT_ROBOT_TAGS is {tags!r}"
    change = 'settings: MANDELBOT_ROBOT_TAGS = "obey", for sites without a robots.txt'
    return _kept(1, title, reason, change)


def _add_on() -> str:
    return f'settings: ADDONS = {{"{ADDON}": 500}}'


def _user_agent(project: Project) -> Practice:
    title = "Be identifiable by the User-Agent"
    lack = identity_lack(project)
    if lack is None:
        return _kept(2, title, "USER_AGENT names a robot and a contact")
    change = "settings: USER_AGENT = 'Examplebot/1.0 (+https://example.com/bot)'"
    return _not_kept(2, title, f"USER_AGENT {lack}", change)


def _interference(project: Project, *, is_on: bool) -> Practice:
    title = "Do not interfere with the operation of a site"
    settings = project.settings
    if not is_on:
        reason = "a site that answers 503 or 429 is requested again at once"
        return _not_kept(3, title, reason, _add_on())
    if settings.getbool("AUTOTHROTTLE_ENABLED"):
        reason = "refusals pause a site; AutoThrottle follows its response times"
        return _kept(3, title, reason)
    if settings.getfloat("DOWNLOAD_DELAY"):
        reason = "refusals pause a site; DOWNLOAD_DELAY limits its requests"
        return _kept(3, title, reason)
    reason = "refusals pause a site; what it can bear is not measured"
    if project.config.concurrency == "fixed":
        change = 'settings: MANDELBOT_CONCURRENCY = "measured"'
        return _kept(3, title, reason, change)
    if not project.config.recovers:
        change = 'settings: MANDELBOT_PAUSE_OPTIONS["recovery"] = True'
        return _kept(3, title, reason, change)
    reason = "refusals pause a site; requests at once follow what it can bear"
    return _kept(3, title, reason)


def _caching(project: Project) -> Practice:
    title = "Support caching directives"
    settings = project.settings
    change = (
        f'settings: HTTPCACHE_ENABLED = True, HTTPCACHE_POLICY = "{_CACHE}"'
        " (docs/recipes/unchanged.rst)"
    )
    if not settings.getbool("HTTPCACHE_ENABLED"):
        return _not_kept(4, title, "HTTPCACHE_ENABLED is off", change)
    policy = load_object(settings["HTTPCACHE_POLICY"])
    if not issubclass(policy, load_object(_CACHE)):
        reason = f"HTTPCACHE_POLICY {policy.__name__} ignores caching directives"
        return _not_kept(4, title, reason, change)
    reason = "pages are stored, and requested again with If-None-Match"
    return _kept(4, title, reason)


def _ranges(invocation: ProjectInvocation, url: str, page: Fetched | None) -> Practice:
    title = "Publish the addresses that the crawler uses"
    change = (
        "run: scrapy robots identity page --output index.html --address NETWORK, and"
        " serve both files"
    )
    if page is None:
        reason = "USER_AGENT has no URL of a page that could link them"
        return _not_kept(5, title, reason, change)
    if trouble := _trouble(page):
        reason = f"{shown(url)}: {trouble}"
        return _not_kept(5, title, reason, change)
    link = _linked_ranges(page)
    if link is None:
        reason = f'{shown(url)} has no link with rel="{_RANGES}"'
        return _not_kept(5, title, reason, change)
    if not invocation.may_redirect(page.final_url, link):
        reason = f"{shown(link)} leads into the network of this machine"
        return _not_kept(5, title, reason, change)
    ranges = invocation.fetch(link)
    wrong = _trouble(ranges) or _wrong_ranges(ranges.body)
    if wrong:
        reason = f"{shown(link)}: {wrong}"
        return _not_kept(5, title, reason, change)
    return _kept(5, title, f"they are at {shown(link)}")


def _explanation(url: str, page: Fetched | None) -> Practice:
    title = "Explain how the pages are used and how to block the crawler"
    change = (
        "run: scrapy robots identity page --output index.html, and serve it at the URL"
        " that USER_AGENT names"
    )
    if page is None:
        return _not_kept(6, title, "USER_AGENT has no URL of a page", change)
    if trouble := _trouble(page):
        return _not_kept(6, title, f"{shown(url)}: {trouble}", change)
    if b"robots.txt" not in page.body.lower():
        reason = f"{shown(url)} does not say how robots.txt blocks the crawler"
        return _not_kept(6, title, reason, change)
    reason = f"{shown(url)} is served; only you can judge what it says"
    return _kept(6, title, reason)


def _page_of(agent: str) -> str:
    """Return the URL in a User-Agent; ``""``: it has none, or Scrapy's own."""
    found = _URL.search(agent)
    return found[0] if found and "scrapy.org" not in agent else ""


def _trouble(found: Fetched) -> str:
    """Return why a response is no page; ``""``: it is one."""
    if found.failure is not None:
        return found.trouble
    return "" if found.status == _OK else f"its status is {found.status}"


def _linked_ranges(page: Fetched) -> str | None:
    """Return the URL that a page links as its ranges, by header or element."""
    for value in page.headers.get("link", "").split(","):
        target, _, parameters = value.partition(";")
        if re.search(rf'\brel="?[^";]*\b{_RANGES}\b', parameters):
            return urljoin(page.final_url, target.strip(" <>"))
    links = _Links()
    links.feed(page.body.decode("utf-8", "replace"))
    return urljoin(page.final_url, links.ranges) if links.ranges else None


class _Links(HTMLParser):
    """Finds the ``<link>`` to the ranges."""

    ranges = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        attributes = dict(attrs)
        relations = (attributes.get("rel") or "").lower().split()
        if tag == "link" and _RANGES in relations:
            self.ranges = self.ranges or attributes.get("href") or ""


def _wrong_ranges(body: bytes) -> str:
    """Return what is wrong with a list of networks; ``""``: nothing.

    Source: draft-illyes-webbotauth-jafar-00 (21 April 2026), "Top-Level Object
    Definition".
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(found, dict):
        return "it is not a JSON object"
    missing = [name for name in _MEMBERS if name not in found]
    if missing:
        return f"it has no {' and no '.join(missing)}"
    prefixes = found["prefixes"]
    if isinstance(prefixes, list) and any(map(_is_prefix, prefixes)):
        return ""
    return 'it has no networks, as {"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}'


def _is_prefix(value: object) -> bool:
    """Whether it has a network of one of the two kinds."""
    if not isinstance(value, dict):
        return False
    given = [value[name] for name in ("ipv4Prefix", "ipv6Prefix") if name in value]
    if len(given) != 1:
        return False
    try:
        ip_network(given[0])
    except ValueError:
        return False
    return True
