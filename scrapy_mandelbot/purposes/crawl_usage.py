"""What a crawl knows of the use of each page that it fetches: by what stood when it was fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import scrapy.signals
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.checks import refusing
from scrapy_mandelbot.clock import moment
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import LEDGER_FAILED, LEDGER_LACKS, LEDGER_WRITTEN, USAGE_READ
from scrapy_mandelbot.purposes.ledger_file import LedgerFile
from scrapy_mandelbot.purposes.tdm_files import SiteTdm, TdmFiles
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.outcome import OutcomeKind
from scrapy_mandelbot.robots.preferences import (
    NOTHING_SAID,
    Usage,
    usage_in,
    with_tdm_file,
    words_of,
)
from scrapy_mandelbot.robots.preferences.in_pages import HEADERS_READ
from scrapy_mandelbot.robots.preferences.ledger import FetchRecord, RulesInForce, line_of
from scrapy_mandelbot.rules.robot_parser import MandelbotRobotParser
from scrapy_mandelbot.setting_values import SettingsError
from scrapy_mandelbot.sitemap_crawl.entry_files import is_own
from scrapy_mandelbot.store.memory import Recent
from scrapy_mandelbot.throttle.site_map import site_of_request

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
"""Bytes of what is remembered of the copies that the ledger has of sites, or of silent sites."""
_ASK_AGAIN_AFTER = 300.0  # seconds
_ENTRY_SIZE = 300  # bytes, beside the site's name


class Before(NamedTuple):
    """What stood when a page was asked for."""

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
        self._ledger: LedgerFile | None = None
        self._missing = 0
        """Lines that the disk did not take."""
        self._kept: Recent[tuple[Any, str]] = Recent(KEPT_LIMIT)
        self._silent: Recent[float] = Recent(KEPT_LIMIT)
        """Until when sites are not asked again for a robots.txt that is not obeyed."""
        if self.is_wanted and config.ledger is not None:
            with refusing(crawler):
                self._ledger = _opened(config.ledger)
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

    def concerns(self, request: Request) -> bool:
        """Return whether a request is for a page, and not for a file that tells of pages.

        The files are those that the package asks for: robots.txt, tdmrep.json, sitemaps.
        """
        is_ours = is_own(request) or (
            request.callback is NO_CALLBACK
            and request.meta.get("dont_obey_robotstxt")
            and request.meta.get("dont_pause")
        )
        return request.url.startswith(("http://", "https://")) and not is_ours

    async def find_out(self, request: Request) -> Usage:
        """Return what is known of a page's use before it is asked for, and remember it."""
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
        of_tdm = NOTHING_SAID if tdm is None else tdm.file.usage(request.url)
        self._before[request] = Before(agent, rules, file, tdm, of_tdm)
        return file.and_also(of_tdm)

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
        of_each = response.headers.items()
        headers = [(name, value) for name, of in of_each if name in _READ for value in of]
        words = words_of(headers, body, before.agent)
        page = usage_in(words, before.agent)
        if before.of_tdm is not NOTHING_SAID:
            page = with_tdm_file(page, before.of_tdm)
        usage = before.file.and_also(page)
        if self.mode != "off":
            request.meta["usage"] = self._of_request[request] = usage
            self._count(request, usage, of_images=is_image(response))
        if self._ledger is not None:
            self._note(request, response, words, usage, before)

    def usage_of(self, request: Request | None) -> Usage | None:
        """Return what was said of the page that a request has fetched; None: it is not known."""
        return None if request is None else self._of_request.get(request)

    def _count(self, request: Request, usage: Usage, *, of_images: bool) -> None:
        answers: set[str] = {"unknown"}
        if usage.statements:
            answers = {usage.answer(purpose, of_images=of_images) for purpose in self.purposes}
        self.crawl.events.count(
            USAGE_READ,
            request=request,
            usage=usage,
            disallowed="disallowed" in answers,
            allowed=answers == {"allowed"},
            unknown="unknown" in answers and "disallowed" not in answers,
            terms=bool(usage.terms),
        )

    # The ledger.

    def _note(
        self,
        request: Request,
        response: Response,
        words: PageWords,
        usage: Usage,
        before: Before,
    ) -> None:
        if self._ledger is None:
            return
        try:
            rules = None if before.rules is None else self._rules_in_force(before.rules)
            tdm = None if before.tdm is None else self._kept_tdm(request, before.tdm)
            page = FetchRecord(
                url=without_user(request.url),
                time=moment(self.crawl.now()).isoformat(timespec="milliseconds"),
                status=response.status,
                agent=before.agent,
                words=words,
                usage=usage,
                rules=rules,
                tdm_digest=tdm,
                purposes=self.purposes,
                is_image=is_image(response),
                is_cached="cached" in response.flags,
            )
            self._ledger.write(line_of(page))
        except OSError as error:
            self._missing += 1
            url = without_user(request.url)
            tell = self.crawl.events.tell if self._missing == 1 else self.crawl.events.count
            tell(LEDGER_FAILED, url=url, error=str(error))
        else:
            self.crawl.events.count(LEDGER_WRITTEN)

    def _rules_in_force(self, rules: SiteRules) -> RulesInForce:
        return RulesInForce(
            rules.robots,
            self._digest(rules.site, rules, rules.robots.body),
            self.crawl.config.robots_max_bytes,
            rules.outcome.case,
            isinstance(rules.parser, MandelbotRobotParser),
        )

    def _kept_tdm(self, request: Request, tdm: SiteTdm) -> str:
        return self._digest(f"tdm {site_of_request(request)}", tdm, tdm.body)

    def _digest(self, key: str, holder: Any, body: bytes) -> str:
        """Return the digest of a copy that is kept beside the ledger: once for each holder."""
        known = self._kept.get(key)
        if known is not None and known[0]() is holder:
            return known[1]
        digest = self._ledger.keep(body) if self._ledger is not None else ""
        self._kept.put(key, (ref(holder), digest), _ENTRY_SIZE + len(key))
        return digest

    def _close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
        if self._missing > 1:
            self.crawl.events.tell(LEDGER_LACKS, count=self._missing)


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
