"""Checks of a project's settings; a mistake is one log line when the spider opens.

No mistake stops a crawl: an unknown setting, a part that another setting disables, a
second middleware for robots.txt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import scrapy.downloadermiddlewares.robotstxt
from mandelbot.formatting import shown
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

from scrapy_mandelbot.settings.config import is_setting, similar_setting

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.settings.config import Config

logger = logging.getLogger(__name__)

_PREFIX = "MANDELBOT_"


class Mistake(NamedTuple):
    """A log line."""

    text: str
    level: int = logging.WARNING


class Project(NamedTuple):
    """The checked settings of one crawler, in their final state."""

    settings: BaseSettings
    config: Config
    spider: type[Spider]

    def sets(self, name: str) -> bool:
        """Return whether the project sets it, not Scrapy or the add-on."""
        return (self.settings.getpriority(name) or 0) > 0

    def switches_off(self, name: str, path: str) -> bool:
        """Return whether the project disables a component."""
        own = self.settings.getdict(name)
        return any(order is None and _is_a(one, path) for one, order in own.items())


def mistakes_in(project: Project) -> list[Mistake]:
    """Return the mistakes of a project, each once."""
    checks = (
        _unknown_names,
        _robots_txt_off,
        _other_parser,
        _other_robots_middlewares,
        _no_purpose,
        _no_purpose_for_silence,
        _no_sitemaps_to_skip,
        _unsigned,
        _no_identity,
        _no_job_to_close_for,
    )
    mistakes: list[Mistake] = []
    for check in checks:
        mistakes += check(project)
    return mistakes


def _unknown_names(project: Project) -> Iterator[Mistake]:
    """Unknown settings of names that may be the package's.

    One that begins with the package's prefix and resembles a setting is an error, when
    it was set before the components were built.
    """
    for name in map(str, project.settings):
        head, _, rest = name.upper().partition("_")
        if head.startswith(_PREFIX[:-1]):  # an underscore is missing
            rest = name.upper().removeprefix(_PREFIX[:-1]).lstrip("_")
            head = _PREFIX[:-1]
        if hasattr(default_settings, name) or is_setting(name):
            continue
        from difflib import get_close_matches  # noqa: PLC0415 -- few need it

        if not get_close_matches(head, [_PREFIX[:-1]], cutoff=0.8):
            continue
        near = similar_setting(rest)
        if f"{head}_" != _PREFIX and near != f"{_PREFIX}{rest}":
            continue  # another package's setting with a similar name
        meant = f": did you mean {near}?" if near else "; none has a similar name."
        yield Mistake(f"{name} is an unknown setting{meant}")


def _robots_txt_off(project: Project) -> Iterator[Mistake]:
    """Settings that need robots.txt files, while none is fetched."""
    config = project.config
    if config.obey and project.settings.getbool("ROBOTSTXT_OBEY"):
        return
    vain = [
        f"{name} = {project.settings[name]!r}"
        for name, is_vain in (
            ("MANDELBOT_SITEMAPS", config.follows_sitemaps),
            ("MANDELBOT_PACE", config.pace == "obey"),
            ("MANDELBOT_CRAWL_DELAYS", set(config.crawl_delays.values()) == {"obey"}),
            ("MANDELBOT_DIALECT", project.sets("MANDELBOT_DIALECT")),
        )
        if is_vain
    ]
    off = "ROBOTSTXT_OBEY is off: robots.txt is not fetched"
    if vain:
        do = "do" if len(vain) > 1 else "does"
        yield Mistake(f"{off}, so {' and '.join(vain)} {do} nothing.")
    else:
        yield Mistake(f"{off}; pauses still apply.", logging.INFO)


def _other_parser(project: Project) -> Iterator[Mistake]:
    path = project.settings["ROBOTSTXT_PARSER"]
    name = "MANDELBOT_DIALECT"
    is_ours = _is_a(path, "scrapy_mandelbot.MandelbotRobotParser")
    if project.config.obey and project.sets(name) and not is_ours:
        decides = f"ROBOTSTXT_PARSER is {_name(path)} and decides what is allowed"
        yield Mistake(f"{decides}: {name} = {project.settings[name]!r} has no effect.")


def _other_robots_middlewares(project: Project) -> Iterator[Mistake]:
    path = "scrapy_mandelbot.RobotsTxtMiddleware"
    setting = "DOWNLOADER_MIDDLEWARES"
    components = project.settings.getdict(setting)
    wired = [load_object(one) for one, order in components.items() if order is not None]
    ours = load_object(path)
    if ours not in wired:  # replaced by a subclass, or disabled: both are fine
        return
    for one in wired:
        if one is not ours and is_for_robots(one):
            text = (
                f"{_name(one)} and {path} are both in {setting}: each fetches"
                " robots.txt and"
            )
            yield Mistake(f"{text} forbids requests. Set one of them to None.")


def is_for_robots(component: Any) -> bool:
    """Return whether a middleware, a class, is one for robots.txt."""
    stock = scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware
    if isinstance(component, type) and issubclass(component, stock):
        return True
    if _is_a(component, "scrapy_mandelbot.RobotsTxtMiddleware"):
        return True
    return "robotstxt" in _name(component).lower().replace("_", "")


def _no_purpose(project: Project) -> Iterator[Mistake]:
    if (
        project.settings.get("MANDELBOT_USAGE") == "obey"
        and not project.config.purposes
    ):
        yield Mistake(
            "MANDELBOT_USAGE is obey, but MANDELBOT_PURPOSE does not say what you use"
            " pages for: nothing is dropped."
        )


def _no_purpose_for_silence(project: Project) -> Iterator[Mistake]:
    """What silence means, without a use that it is asked for."""
    if project.config.usage_unknown == "drop" and not project.config.purposes:
        yield Mistake(
            "MANDELBOT_USAGE_UNKNOWN is drop, but MANDELBOT_PURPOSE does not say what"
            " you use pages for: nothing is dropped."
        )


def _no_sitemaps_to_skip(project: Project) -> Iterator[Mistake]:
    """Entries that would be skipped, of sitemaps that are not read."""
    config = project.config
    if config.sitemap_since is not None and not config.follows_sitemaps:
        yield Mistake(
            "MANDELBOT_SITEMAP_SINCE does nothing: no sitemap is read without"
            ' MANDELBOT_SITEMAPS = "follow".'
        )


def _unsigned(project: Project) -> Iterator[Mistake]:
    if project.config.sign is None and project.config.sign_key is not None:
        text = (
            "MANDELBOT_SIGN_KEY is set, but MANDELBOT_SIGN is not: no request is"
            " signed."
        )
        yield Mistake(text)


_CONTACT = re.compile(r"https?://[^\s;)]+\.|[^\s;(@]+@[^\s;)@]+\.")
_USER_AGENTS = "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware"


def identity_lack(project: Project) -> str | None:
    """Return what a User-Agent lacks that should identify the crawl; None: nothing.

    It goes on after "USER_AGENT". A User-Agent that the settings do not know counts as
    complete.

    Source: draft-illyes-webbotauth-cbcp-00 (21 April 2026), section 2.2: a unique
    identifier, "usually by including a URL", with a page that explains how the data is
    used.
    """
    agent = _user_agent(project)
    if agent is None:
        return None
    contact = _CONTACT.search(agent)
    if "scrapy.org" in agent:
        return (
            "is Scrapy's default: site owners cannot identify your crawl, and many"
            " forbid Scrapy by name, as public lists of AI robots do"
        )
    if contact is None and agent.startswith("Mozilla/"):
        return "claims to be a browser: site owners cannot recognize a robot"
    if contact is None:
        return "has no contact: site owners cannot reach you"
    if project.config.purposes and "://" not in contact[0]:
        purposes = ", ".join(project.config.purposes)
        return f"has no URL of a page that explains what you use pages for ({purposes})"
    return None


def _no_identity(project: Project) -> Iterator[Mistake]:
    """A User-Agent that does not identify the crawl or lacks a contact."""
    lack = identity_lack(project)
    if lack is None or not project.config.identity_warnings:
        return
    agent = _user_agent(project) or ""
    yield Mistake(
        f"USER_AGENT {lack}: {shown(agent)!r}. Set one such as 'Examplebot/1.0"
        " (+https://example.com/bot)', or MANDELBOT_IDENTITY_WARNINGS = False to"
        " silence this."
    )


def _user_agent(project: Project) -> str | None:
    """The one of requests that set none themselves; None: unknown."""
    if project.switches_off("DOWNLOADER_MIDDLEWARES", _USER_AGENTS):
        return None
    headers = project.settings.getdict("DEFAULT_REQUEST_HEADERS").items()
    given = [
        value for name, value in headers if str(name).lower() == "user-agent" and value
    ]
    if given:
        return str(given[0])
    of_the_spider = getattr(project.spider, "user_agent", None)
    agent = of_the_spider or project.settings["USER_AGENT"]
    return str(agent) if agent else None


def _no_job_to_close_for(project: Project) -> Iterator[Mistake]:
    config = project.config
    if config.closes_when_paused and not (
        config.shares_job or project.settings["JOBDIR"]
    ):
        yield Mistake(
            f'MANDELBOT_PAUSE_IDLE is "{config.pause_idle}", but there is no JOBDIR to'
            " store waiting requests for the next run: the spider waits for paused"
            " sites instead."
        )


def log_mistakes(settings: BaseSettings, config: Config, spider: type[Spider]) -> None:
    """Log the mistakes of a project, a line each."""
    for text, level in mistakes_in(Project(settings, config, spider)):
        logger.log(level, "%s", text)


def _is_a(component: Any, path: str) -> bool:
    """`component` is a class or an import path; a subclass counts, too."""
    component = load_object(component)
    return isinstance(component, type) and any(
        is_class_of(one, path) for one in component.__mro__
    )


def is_class_of(one: Any, path: str) -> bool:
    """Return whether a class is the one at an import path, without an import.

    Name and package suffice: no two classes of the package share a name.
    """
    package = path.partition(".")[0]
    name = path.rpartition(".")[2]
    return (
        getattr(one, "__name__", "") == name
        and one.__module__.partition(".")[0] == package
    )


def _name(component: Any) -> str:
    component = load_object(component)
    return f"{component.__module__}.{getattr(component, '__qualname__', component)}"
