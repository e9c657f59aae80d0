"""What a project's settings get wrong, told in a line each.

Nothing of this stops a crawl: a setting that is none, a part that another setting switches off,
components wired by hand of which one is missing. It is told when the spider opens, as all is in its
place then. A value that a setting does not take does stop it, before: in one line too, where Scrapy
would write a traceback.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from difflib import get_close_matches
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import scrapy.core.scheduler
import scrapy.downloadermiddlewares.robotstxt
from scrapy.utils.misc import load_object

from scrapy_mandelbot import signals
from scrapy_mandelbot.config import is_setting, setting_defaults
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.setting_values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.config import Config

logger = logging.getLogger(__name__)

_PREFIX = "MANDELBOT_"


class Mistake(NamedTuple):
    """A line for the log."""

    text: str
    level: int = logging.WARNING


class Project(NamedTuple):
    """What is looked at: one crawler's settings, when all are in place."""

    settings: BaseSettings
    config: Config
    spider: type[Spider]

    def sets(self, name: str) -> bool:
        """Return whether the project sets it, not Scrapy's defaults or the add-on."""
        return (self.settings.getpriority(name) or 0) > 0

    def orders(self, name: str) -> dict[Any, int]:
        """Return the classes of a setting of components, in their order."""
        with_base: Callable[[str], Any] = getattr(
            self.settings,
            "get_component_priority_dict_with_base",
            self.settings.getwithbase,  # before Scrapy 2.15
        )
        orders = {
            load_object(key): order for key, order in with_base(name).items() if order is not None
        }
        return dict(sorted(orders.items(), key=itemgetter(1)))

    def switches_off(self, name: str, path: str) -> bool:
        """Return whether the project says of a component that it is not to be there."""
        own = self.settings.getdict(name)
        return any(order is None and _is_a(one, path) for one, order in own.items())


class _ComponentPart(NamedTuple):
    """A component of the package, and what a crawl without it does not do."""

    setting: str
    path: str
    lack: str
    is_needed: Callable[[Project], bool]


_DOWNLOADS, _SPIDERS, _EXTENSIONS = "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS"
_PARTS = (
    _ComponentPart(
        *(_DOWNLOADS, "scrapy_mandelbot.RobotsTxtMiddleware"),
        "robots.txt is not asked for",
        lambda project: project.config.obey,
    ),
    _ComponentPart(
        *(_DOWNLOADS, "scrapy_mandelbot.PauseMiddleware"),
        "a site that answers 503 is not paused",
        lambda _: True,
    ),
    _ComponentPart(
        *(_SPIDERS, "scrapy_mandelbot.RobotTagsMiddleware"),
        "robot tags of pages are not read",
        lambda project: project.config.robot_tags != "off" or project.config.nofollow_links,
    ),
    _ComponentPart(
        *(_SPIDERS, "scrapy_mandelbot.JobMiddleware"),
        "what a page yields is not kept in one step with that it is done",
        lambda project: _is_a(project.settings["SCHEDULER"], "scrapy_mandelbot.JobScheduler"),
    ),
    _ComponentPart(
        *(_DOWNLOADS, "scrapy_mandelbot.purposes.UsageMiddleware"),
        "what owners say of MANDELBOT_PURPOSE is not read",
        lambda project: bool(project.config.purposes) and project.config.usage != "off",
    ),
    _ComponentPart(
        *(_EXTENSIONS, "scrapy_mandelbot.SitemapFollower"),
        "MANDELBOT_SITEMAPS = 'follow' does nothing",
        lambda project: project.config.sitemaps == "follow",
    ),
    _ComponentPart(
        *(_EXTENSIONS, "scrapy_mandelbot.SpiderHooks"),
        "the spider's hook methods are not called",
        lambda project: any(
            callable(getattr(project.spider, name, None))
            for name in vars(signals)
            if not name.startswith("_")
        ),
    ),
)


def mistakes_in(project: Project) -> list[Mistake]:
    """Return what is to be told, each thing once; of a project that is right, nothing."""
    checks = (
        _no_settings,
        _unasked_robots,
        _other_parser,
        _missing_parts,
        _other_queue,
        _other_robots_middlewares,
        _wrong_orders,
        _no_purpose,
        _unsigned,
        _no_identity,
        _no_job_to_close_for,
    )
    return [mistake for check in checks for mistake in check(project)]


def _no_settings(project: Project) -> Iterator[Mistake]:
    """Names that look like settings of the package and are none."""
    rests = [name.removeprefix(_PREFIX) for name in setting_defaults() if name.startswith(_PREFIX)]
    for name in map(str, project.settings):
        head, _, rest = name.upper().partition("_")
        if head.startswith(_PREFIX[:-1]):  # an underscore is missing
            rest = name.upper().removeprefix(_PREFIX[:-1]).lstrip("_")
            head = _PREFIX[:-1]
        if is_setting(name) or not get_close_matches(head, [_PREFIX[:-1]], cutoff=0.8):
            continue
        near = get_close_matches(rest, rests, n=1)
        if f"{head}_" != _PREFIX and near != [rest]:
            continue  # somebody else's, whose name is like ours
        meant = f": is {_PREFIX}{near[0]} meant?" if near else ", and none has a name like it."
        yield Mistake(f"{name} is no setting of scrapy-mandelbot{meant}")


def _unasked_robots(project: Project) -> Iterator[Mistake]:
    """What is set and needs robots.txt files, where none is asked for."""
    config = project.config
    if config.obey and project.settings.getbool("ROBOTSTXT_OBEY"):
        return
    vain = [
        f"{name} = {project.settings[name]!r}"
        for name, is_vain in (
            ("MANDELBOT_SITEMAPS", config.sitemaps == "follow"),
            ("MANDELBOT_PACE", config.pace == "obey"),
            ("MANDELBOT_DIALECT", project.sets("MANDELBOT_DIALECT")),
        )
        if is_vain
    ]
    off = "ROBOTSTXT_OBEY is off: robots.txt is not asked for"
    if vain:
        do = "do" if len(vain) > 1 else "does"
        yield Mistake(f"{off}, so that {' and '.join(vain)} {do} nothing.")
    elif not project.sets("ROBOTSTXT_OBEY"):  # Scrapy's default, as no add-on turned it on
        yield Mistake(f"{off}. Without the add-on it has to be set to True.")
    else:
        yield Mistake(f"{off}, pauses are kept.", logging.INFO)


def _other_parser(project: Project) -> Iterator[Mistake]:
    path = project.settings["ROBOTSTXT_PARSER"]
    ours = "scrapy_mandelbot.MandelbotRobotParser"
    if not project.config.obey or _is_a(path, ours):
        return
    decides = f"ROBOTSTXT_PARSER is {_name(path)}, which decides what is allowed"
    if project.sets("MANDELBOT_DIALECT"):
        text = f"{decides}: MANDELBOT_DIALECT = {project.settings['MANDELBOT_DIALECT']!r} does not."
        yield Mistake(text)
    elif not project.sets("ROBOTSTXT_PARSER"):
        yield Mistake(f"{decides}. Without the add-on it has to be set to {ours}.")


def _missing_parts(project: Project) -> Iterator[Mistake]:
    """Components that are needed for what is set, and are not wired."""
    for part in _PARTS:
        if not part.is_needed(project):
            continue
        if any(_is_a(one, part.path) for one in project.orders(part.setting)):
            continue
        is_meant = project.switches_off(part.setting, part.path)
        how = "switched off" if is_meant else "missing"
        text = f"{part.path} is {how} in {part.setting}: {part.lack}."
        yield Mistake(text, logging.INFO if is_meant else logging.WARNING)


def _other_queue(project: Project) -> Iterator[Mistake]:
    """A queue that is not ours, where no add-on has said so."""
    name, ours = "SCHEDULER_PRIORITY_QUEUE", "scrapy_mandelbot.SiteQueue"
    scheduler = load_object(project.settings["SCHEDULER"])
    cost = "requests of a paused site hold places of the downloader, and slow other sites."
    if _is_a(scheduler, "scrapy_mandelbot.ParkingScheduler"):
        if _is_a(project.settings[name], ours):
            text = f"{name} is {ours} within a ParkingScheduler, which has one: leave it as it is"
            yield Mistake(f"{text} in Scrapy, or requests are counted twice.")
        return
    if scrapy.core.scheduler.Scheduler not in scheduler.__mro__ and not _is_a(
        scheduler, "scrapy_mandelbot.JobScheduler"
    ):
        text = f"SCHEDULER is {_name(scheduler)}, and no add-on puts a ParkingScheduler around it"
        yield Mistake(f"{text}: {cost}")
    elif not _is_a(project.settings[name], ours) and not project.sets(name):
        yield Mistake(f"{name} is not {ours}: {cost}")


def _other_robots_middlewares(project: Project) -> Iterator[Mistake]:
    """Another middleware that asks for robots.txt, or a second one of ours."""
    stock = scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware
    path, setting = "scrapy_mandelbot.RobotsTxtMiddleware", "DOWNLOADER_MIDDLEWARES"
    wired, ours = project.orders(setting), load_object(path)
    if ours not in wired:  # a subclass of it in its place is all right, and so is none
        return
    for one in wired:
        is_robots = isinstance(one, type) and issubclass(one, (ours, stock))
        is_robots |= "robotstxt" in _name(one).lower().replace("_", "")
        if one is not ours and is_robots:
            text = f"{_name(one)} stands beside {path} in {setting}: each asks for robots.txt and"
            yield Mistake(f"{text} forbids by itself. Set one of them to None.")


class _ComponentOrder(NamedTuple):
    """A component of ours, and those of Scrapy's that have to stand on one side of it."""

    setting: str
    path: str
    is_before: bool
    others: tuple[str, ...]
    place: str
    harm: str


_ORDERS = (
    _ComponentOrder(
        "DOWNLOADER_MIDDLEWARES",
        "scrapy_mandelbot.PauseMiddleware",
        is_before=False,
        others=(
            "scrapy.downloadermiddlewares.retry.RetryMiddleware",
            "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware",
        ),
        place="950",
        harm="a 503 is retried or cached before it is seen",
    ),
    _ComponentOrder(
        "DOWNLOADER_MIDDLEWARES",
        "scrapy_mandelbot.RobotsTxtMiddleware",
        is_before=True,
        others=(
            "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware",
            "scrapy_mandelbot.PauseMiddleware",
        ),
        place="100",
        harm="a request is answered before its rules are asked for",
    ),
    _ComponentOrder(
        "SPIDER_MIDDLEWARES",
        "scrapy_mandelbot.RobotTagsMiddleware",
        is_before=True,
        others=("scrapy.spidermiddlewares.httperror.HttpErrorMiddleware",),
        place="40",
        harm="tags of error pages are not read",
    ),
)


def _wrong_orders(project: Project) -> Iterator[Mistake]:
    for row in _ORDERS:
        orders = project.orders(row.setting)
        listed = list(orders)
        place = next((listed.index(one) for one in listed if _is_a(one, row.path)), None)
        if place is None:
            continue
        wrong = listed[:place] if row.is_before else listed[place:]
        others = [one for one in wrong if any(_is_a(one, other) for other in row.others)]
        if others:
            where = f"{row.path} ({orders[listed[place]]}) in {row.setting}"
            side = "behind" if row.is_before else "before"
            named = ", ".join(f"{_name(one)} ({orders[one]})" for one in others)
            text = f"{where} stands {side} {named}: {row.harm}. Its place is {row.place}."
            yield Mistake(text)


def _no_purpose(project: Project) -> Iterator[Mistake]:
    if project.settings.get("MANDELBOT_USAGE") == "obey" and not project.config.purposes:
        yield Mistake(
            "MANDELBOT_USAGE is obey, and no MANDELBOT_PURPOSE says what pages are wanted for:"
            " nothing is dropped."
        )


def _unsigned(project: Project) -> Iterator[Mistake]:
    if project.config.sign is None and project.config.sign_key is not None:
        text = "MANDELBOT_SIGN_KEY is set, and MANDELBOT_SIGN is not: no request is signed."
        yield Mistake(text)


_CONTACT = re.compile(r"https?://[^\s;)]+\.|[^\s;(@]+@[^\s;)@]+\.")
_USER_AGENTS = "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware"


def _no_identity(project: Project) -> Iterator[Mistake]:
    """A User-Agent by which a site's owner cannot tell who asks, and how to reach them.

    Source: draft-illyes-webbotauth-cbcp, section 2: "easily identifiable through their user agent",
    with a page that says how the data is used.
    """
    agent = _user_agent(project)
    if not project.config.identity_warnings or agent is None:
        return
    contact = _CONTACT.search(agent)
    if "scrapy.org" in agent:
        lack = "is Scrapy's own, so that site owners cannot tell whose crawl this is"
    elif contact is None and agent.startswith("Mozilla/"):
        lack = "claims to be a browser, so that site owners cannot tell that a robot asks"
    elif contact is None:
        lack = "has no contact, so that site owners cannot ask whose crawl this is"
    elif project.config.purposes and "://" not in contact[0]:
        purposes = ", ".join(project.config.purposes)
        lack = f"names no page that could say what pages are wanted for ({purposes})"
    else:
        return
    yield Mistake(
        f"USER_AGENT {lack}: {shown(agent)!r}. Set one such as 'Examplebot/1.0"
        " (+https://example.com/bot)', or MANDELBOT_IDENTITY_WARNINGS to False if it is meant."
    )


def _user_agent(project: Project) -> str | None:
    """Return the User-Agent of requests that have none of their own; None: it is not known."""
    if project.switches_off("DOWNLOADER_MIDDLEWARES", _USER_AGENTS):
        return None
    headers = project.settings.getdict("DEFAULT_REQUEST_HEADERS").items()
    given = [value for name, value in headers if str(name).lower() == "user-agent" and value]
    agent = getattr(project.spider, "user_agent", None) or project.settings["USER_AGENT"]
    return str(given[0] if given else agent) if given or agent else None


def _no_job_to_close_for(project: Project) -> Iterator[Mistake]:
    config = project.config
    if config.closes_when_paused and not (config.shares_job or project.settings["JOBDIR"]):
        yield Mistake(
            'MANDELBOT_PAUSE_IDLE is "close", and there is no JOBDIR to keep what waits for the'
            " next run: paused sites are waited for."
        )


def tell_mistakes(project: Project) -> None:
    """Log what is wrong, a line each."""
    for text, level in mistakes_in(project):
        logger.log(level, "%s", text)


@contextmanager
def refusing(crawler: Crawler | None) -> Iterator[None]:
    """Have a crawl end for a wrong value with one line in the log, and an exit code that is not 0.

    Scrapy lets the error go to whoever awaits the crawl. Its own commands await none: asyncio or
    Twisted logs a traceback then, which tells nothing more than this line, and is left out. (Where
    a script runs a ``CrawlerProcess``, Twisted writes one past the log, on stderr.)

    Args:
        crawler: the one that does not start; None: it is not known.

    Raises:
        SettingsError: as what is done in it does.
    """
    try:
        yield
    except SettingsError as error:
        if not error.is_told:
            _tell_refusal(crawler, error)
        raise


def _tell_refusal(crawler: Crawler | None, error: SettingsError) -> None:
    error.is_told = True
    logger.critical("%s", error)
    for name in ("asyncio", "twisted"):
        logging.getLogger(name).addFilter(_is_news)  # the same one is added once
    if crawler is not None:
        # By this scrapy crawl knows that there was no crawl; before 2.15 by nothing else.
        crawler.spider = None


def _is_news(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return not (isinstance(error, SettingsError) and error.is_told)


def _is_a(component: Any, path: str) -> bool:
    """Return whether a class, or the one of an import path, is the other or a subclass of it."""
    component = load_object(component)
    return isinstance(component, type) and any(is_class_of(one, path) for one in component.__mro__)


def is_class_of(one: Any, path: str) -> bool:
    """Return whether a class is the one of an import path, without importing what is not there.

    Its name and its package tell: no two classes of the package have one name.
    """
    package, name = path.partition(".")[0], path.rpartition(".")[2]
    return getattr(one, "__name__", "") == name and one.__module__.partition(".")[0] == package


def _name(component: Any) -> str:
    component = load_object(component)
    return f"{component.__module__}.{getattr(component, '__qualname__', component)}"
