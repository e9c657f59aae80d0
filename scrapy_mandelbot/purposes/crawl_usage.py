"""What a crawl knows of the use of each page that it fetches: by what stood when it was fetched."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import scrapy.signals
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot import engine
from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.checks import refusing
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import (
    LEDGER_CLOSED,
    LEDGER_FAILED,
    LEDGER_WRITTEN,
    USAGE_ITEMS_KEPT,
    USAGE_READ,
)
from scrapy_mandelbot.purposes.ledger_file import LedgerFile
from scrapy_mandelbot.purposes.tdm_files import SiteTdm, TdmFiles
from scrapy_mandelbot.robots.formatting import counted, moment, shown
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.outcome import OutcomeKind
from scrapy_mandelbot.robots.preferences import (
    NOTHING_SAID,
    Usage,
    usage_in,
    with_tdm_file,
    words_of,
)
from scrapy_mandelbot.robots.preferences.in_pages import HEADERS_READ, NO_WORDS
from scrapy_mandelbot.robots.preferences.ledger import (
    FetchRecord,
    RulesInForce,
    digest_of,
    entry_of,
)
from scrapy_mandelbot.rules.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.setting_values import SettingsError
from scrapy_mandelbot.sitemap_crawl.entry_files import OWN
from scrapy_mandelbot.store.memory import Recent
from scrapy_mandelbot.throttle.site_map import REFUSAL_FLAG, site_of_request

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.robots.preferences import PageWords, Statement
    from scrapy_mandelbot.rules.fetcher import SiteRules

_ATTRIBUTE = "_scrapy_mandelbot_usage"
_PRIORITY = 1_000  # of a robots.txt that is asked for here
_OF_TDM = frozenset({"tdm", "train-ai"})
"""The categories of which ``tdmrep.json`` speaks."""
_READ = frozenset(name.title().encode() for name in HEADERS_READ)
_UNKNOWN_RULES = frozenset({OutcomeKind.UNAVAILABLE, OutcomeKind.UNASKED})
KEPT_LIMIT = 8 * 1024 * 1024
"""Bytes of what is remembered of silent sites."""
_ASK_AGAIN_AFTER = 300.0  # seconds
_ENTRY_SIZE = 300  # bytes, beside the site's name


class Before(NamedTuple):
    """What stood when a page was asked for."""

    site: str
    agent: str | tuple[str, ...]
    rules: SiteRules | None
    """None: its robots.txt is not asked, or could not be had."""
    file: Usage
    """What its robots.txt says."""
    tdm: SiteTdm | None
    of_tdm: Usage
    """What its site's tdmrep.json says."""


class UsageRefusal(NamedTuple):
    """Why a page may not be used for what it is wanted for."""

    statement: Statement | None
    """None: nothing is said, and that is refused too."""

    def __str__(self) -> str:
        return "nothing is said" if self.statement is None else str(self.statement)


class CrawlUsage:
    """What the components of one crawler share that ask what pages may be used for."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawl = Crawl.of(crawler)
        config = self.crawl.config
        self.purposes = config.purposes
        self.mode = config.usage if self.purposes else "off"
        self.is_wanted = config.enabled and (self.mode != "off" or config.ledger is not None)
        self._tdm = TdmFiles(crawler, self.crawl) if _OF_TDM & {*self.purposes} else None
        self._flight = self.crawl.throttle.in_flight.get
        self._before: WeakKeyDictionary[Request, Before] = WeakKeyDictionary()
        self._of_request: WeakKeyDictionary[Request, Usage] = WeakKeyDictionary()
        self.ledger: CrawlLedger | None = None
        self.kept_against = 0
        """Items that are kept though the use of their pages is refused."""
        self._silent: Recent[float] = Recent(KEPT_LIMIT)
        """Until when sites are not asked again for a robots.txt that is not obeyed."""
        if self.is_wanted and config.ledger is not None:
            with refusing(crawler):
                self.ledger = CrawlLedger(crawler, config.ledger, MANDELBOT_USAGE=self.mode)
            self.crawl.ledger = self.ledger
        if self.is_wanted:
            crawler.signals.connect(self._close, signal=scrapy.signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlUsage:
        """Return the crawler's one, made when first asked for."""
        found = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(found, cls):
            found = cls(crawler)
            setattr(crawler, _ATTRIBUTE, found)
        return found

    # Before a page is asked for.

    async def find_out(self, request: Request) -> Usage:
        """Return what is known of a page's use before it is asked for, and remember it.

        Not of what the package asks for itself: robots.txt, tdmrep.json, sitemaps.
        """
        is_ours = not OWN.isdisjoint(request.meta) or (
            request.callback is NO_CALLBACK
            and request.meta.get("dont_obey_robotstxt")
            and request.meta.get("dont_pause")
        )
        if is_ours or not request.url.startswith(("http://", "https://")):
            return NOTHING_SAID
        flight = self._flight(request)
        site = site_of_request(request) if flight is None else flight.site.name
        rules = None
        if not request.meta.get("dont_obey_robotstxt"):
            rules = None if flight is None else flight.site.rules()
            if rules is None or rules.outcome.kind in _UNKNOWN_RULES:
                rules = await self._rules(site, request)
        agent = self.crawl.agents.of(request)
        file = NOTHING_SAID if rules is None else rules.robots.usage(request.url, agent)
        tdm = None if self._tdm is None else await self._tdm.of(site, request)
        of_tdm = tdm.file.usage(request.url) if tdm and tdm.file.rules else NOTHING_SAID
        self._before[request] = Before(site, agent, rules, file, tdm, of_tdm)
        return file if of_tdm is NOTHING_SAID else file.and_also(of_tdm)

    async def _rules(self, site: str, request: Request) -> SiteRules | None:
        """Return the rules of a site; None: they cannot be had, and are not asked for for a while.

        Where they are obeyed, RobotsTxtMiddleware has found them out by now.
        """
        rules = self.crawl.fetcher.known(site)
        if rules is None:
            now = self.crawl.now()
            if (self._silent.get(site) or 0.0) > now:
                return None
            rules = await self.crawl.fetcher.rules(site, request, _PRIORITY)
            if rules is None or rules.outcome.kind is OutcomeKind.UNAVAILABLE:
                self._silent.put(site, now + _ASK_AGAIN_AFTER, _ENTRY_SIZE + len(site))
        return None if rules is None or rules.outcome.kind in _UNKNOWN_RULES else rules

    def refusal(self, usage: Usage, *, of_images: bool = False) -> UsageRefusal | None:
        """Return why a page may not be used for all that it is wanted for; None: it may.

        What is unknown counts as ``MANDELBOT_USAGE_UNKNOWN`` says.
        """
        for purpose in self.purposes:
            if usage.answer(purpose, of_images=of_images) == "disallowed":
                return UsageRefusal(usage.decided_by(purpose, of_images=of_images))
        if self.crawl.config.usage_unknown == "drop" and any(
            usage.answer(purpose, of_images=of_images) == "unknown" for purpose in self.purposes
        ):
            return UsageRefusal(None)
        return None

    # When it is there.

    def read(self, request: Request, response: Response) -> None:
        """Find out what is said of a page that was fetched: put it into the meta, and note it."""
        before = self._before.pop(request, None)
        if before is None:
            return
        body = response.body if isinstance(response, HtmlResponse) else b""
        headers: list[tuple[bytes, bytes]] = []
        if not _READ.isdisjoint(response.headers):
            of_each = response.headers.items()
            headers = [(name, value) for name, of in of_each if name in _READ for value in of]
        words = words_of(headers, body, before.agent)
        page = NOTHING_SAID if words is NO_WORDS else usage_in(words, before.agent)
        if before.of_tdm is not NOTHING_SAID:
            page = with_tdm_file(page, before.of_tdm)
        usage = before.file if page is NOTHING_SAID else before.file.and_also(page)
        if self.mode != "off":
            request.meta["usage"] = self._of_request[request] = usage
            if REFUSAL_FLAG not in response.flags:  # its site was not asked
                self._count(before.site, usage, response)
        if self.ledger is not None and self.ledger.has_answer(request, response):
            fetched = self._record(request, before, words, usage)._replace(
                status=response.status,
                is_image=is_image(response),
                is_cached="cached" in response.flags,
                body=digest_of(response.body),
            )
            self.ledger.note_page(fetched, before)

    def not_fetched(self, request: Request, known: Usage) -> None:
        """Note in the ledger that a page is not asked for, because of its use."""
        before = self._before.pop(request, None)
        if self.ledger is not None and before is not None:
            self.ledger.note_page(self._record(request, before, NO_WORDS, known), before)

    def _record(
        self, request: Request, before: Before, words: PageWords, usage: Usage
    ) -> FetchRecord:
        return FetchRecord(
            url=without_user(request.url),
            time=moment(self.crawl.now()).isoformat(timespec="milliseconds"),
            status=None,
            agent=before.agent,
            words=words,
            usage=usage,
            rules=None,
            purposes=self.purposes,
        )

    def usage_of(self, request: Request | None) -> Usage | None:
        """Return what was said of the page that a request has fetched; None: it is not known."""
        return None if request is None else self._of_request.get(request)

    def _count(self, site: str, usage: Usage, response: Response) -> None:
        answers: set[str] = {"unknown"}
        if usage.statements:
            of_images = is_image(response)
            answers = {usage.answer(purpose, of_images=of_images) for purpose in self.purposes}
        self.crawl.events.count(
            USAGE_READ,
            site=site,
            usage=usage,
            disallowed="disallowed" in answers,
            allowed=answers == {"allowed"},
            unknown="unknown" in answers and "disallowed" not in answers,
            terms=bool(usage.terms),
        )

    def _close(self, reason: str) -> None:
        if self.ledger is not None:
            self.ledger.close(reason)
        if count := self.kept_against:
            self.crawl.events.tell(USAGE_ITEMS_KEPT, items=counted(count, "item"), count=count)


class CrawlLedger:
    """The lines that one run of a crawl adds to its ledger."""

    def __init__(self, crawler: Crawler, path: str, **settings: object) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._file = _opened(path)
        self._run = token_hex(8)
        self._lines = self._missing = 0
        """Lines of this run, and those that the disk did not take."""
        self._is_open = True
        self._rules: WeakKeyDictionary[SiteRules, RulesInForce] = WeakKeyDictionary()
        self._answered: WeakSet[Request] = WeakSet()
        crawler.signals.connect(self._heard, signal=scrapy.signals.response_downloaded)
        crawler.signals.connect(self._begin, signal=scrapy.signals.spider_opened)
        self._settings = settings

    def _begin(self) -> None:
        self._note({"event": "run", "settings": {**_in_force(self._crawler), **self._settings}})

    def _heard(self, request: Request) -> None:
        self._answered.add(request)

    def has_answer(self, request: Request, response: Response) -> bool:
        """Return whether a server, or a cache, gave a response, and not a component."""
        has_come = request in self._answered or "cached" in response.flags
        return has_come and REFUSAL_FLAG not in response.flags

    def note_page(self, page: FetchRecord, before: Before) -> None:
        """Note that a page was fetched, or was not because of the use that is made of it."""
        rules, of_tdm = None, None
        try:
            if before.rules is not None:
                rules = self._rules.get(before.rules) or self._rules_in_force(before.rules)
            if before.tdm is not None:
                of_tdm = before.tdm.digest = before.tdm.digest or self._file.keep(before.tdm.body)
        except OSError as error:
            self._failed(error)
        else:
            self._note(entry_of(page._replace(rules=rules, tdm_digest=of_tdm)))

    def note_items(self, url: str, kept: int, dropped: int, why: UsageRefusal | None) -> None:
        """Note how many items of a page were handed on, and how many were not, and why."""
        said = None if why is None else shown(str(why))
        line = {"event": "items", "url": url, "kept": kept, "dropped": dropped, "why": said}
        self._note(line)

    def close(self, reason: str) -> dict[str, Any]:
        """Write the last line, if there is none yet; return the path, lines and head."""
        if self._is_open:
            end = {"event": "end", "reason": reason, "lines": self._lines - 1}
            self._note({**end, "missing": self._missing})
            self._is_open = False
            self._file.close()
            told = self.told()
            lines = counted(told["lines"], "line")
            self._crawl.events.tell(LEDGER_CLOSED, **{**told, "lines": lines})
        return self.told()

    def told(self) -> dict[str, Any]:
        """Return the path, how many lines the file has, and the hash of the last one."""
        return {
            "path": str(self._file.path),
            "lines": self._file.lines,
            "head": self._file.head,
            "missing": self._missing,
        }

    def _note(self, entry: dict[str, Any]) -> None:
        if not self._is_open:
            return
        time = entry.get("time") or moment(self._crawl.now()).isoformat(timespec="milliseconds")
        try:
            self._file.write({"run": self._run, "time": time, **entry})
        except OSError as error:
            self._failed(error)
        else:
            self._lines += 1
            self._crawl.events.count(LEDGER_WRITTEN)

    def _failed(self, error: OSError) -> None:
        self._missing += 1
        events = self._crawl.events
        (events.tell if self._missing == 1 else events.count)(LEDGER_FAILED, error=str(error))
        if self._missing == 1 and self._crawl.config.ledger_required:
            engine.close_spider(self._crawler, "ledger_not_saved")

    def _rules_in_force(self, rules: SiteRules) -> RulesInForce:
        self._rules[rules] = in_force = RulesInForce(
            rules.robots,
            self._file.keep(rules.robots.body),
            self._crawl.config.robots_max_bytes,
            rules.outcome.case,
            isinstance(rules.parser, MandelbotRobotParser),
        )
        return in_force


def _in_force(crawler: Crawler) -> dict[str, object]:
    """Return what decides which pages are fetched, and what is done with them."""
    config = Crawl.of(crawler).config
    return {
        "made_by": f"scrapy-mandelbot {__version__}, Scrapy {scrapy.__version__}",
        "USER_AGENT": shown(str(crawler.settings["USER_AGENT"])),
        "ROBOTSTXT_OBEY": config.obey,
        "MANDELBOT_DIALECT": config.dialect.name,
        "MANDELBOT_PURPOSE": list(config.purposes),
        "MANDELBOT_USAGE_UNKNOWN": config.usage_unknown,
        "MANDELBOT_ROBOT_TAGS": config.robot_tags,
        "MANDELBOT_PACE": config.pace,
    }


def _opened(path: str) -> LedgerFile:
    """Open a ledger, or say at start which setting names what cannot be one."""
    try:
        return LedgerFile(path)
    except OSError as error:
        takes = f"the path of a file that can be written ({error.strerror or error})"
        raise SettingsError("MANDELBOT_LEDGER", path, takes) from None


def is_image(response: Response) -> bool:
    """Return whether a response is an image, of which noimageai speaks."""
    kind = response.headers.get("Content-Type") or b""
    return bool(kind.strip().lower().startswith(b"image/"))
