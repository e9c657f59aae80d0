"""Refusals that no pause status shows. Loaded with the first answer that may be one.

A challenge, a price or a bare 403; a redirect of all pages to one notice, or the notice in place of
each; and what the function in ``MANDELBOT_REFUSAL`` recognises.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from copy import copy
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware

from scrapy_mandelbot import events
from scrapy_mandelbot.politeness.faults import REFUSES_ROBOTS, place_of
from scrapy_mandelbot.politeness.pause import PauseEffect
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.politeness.retry_after import AskedFor
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.preferences.in_pages import stated_terms
from scrapy_mandelbot.settings.values import fail_cleanly, loaded_function
from scrapy_mandelbot.throttle.in_flight import ASKS_AGAIN, is_of_the_package

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.crawl import Crawl
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site

MOST_SUSPECTED = 1_000  # sites whose last redirects, or bodies, are remembered
MOST_REDIRECTED = 100  # of their requests that are held, each, as they may have met a notice
_ENOUGH = 5  # pages that are redirected to one URL, or have one body
_STRAY = 2  # good pages between: servers begin, or end, maintenance one after the other
_PLACES = 3  # those pages are of so many, or of that of the last good page
_BODIES = 3  # of a site are remembered: that before a notice, and those of stray pages
_VARIED = 20  # pages, at least, with a body of their own: then the site has no one page for all
_MOST_SHARED = 3  # bodies, of a site, that are found to be no notice; then none is looked for
_CHECKED = 1.0  # seconds until a page goes again that waits to know what the site sends
_LONGEST = 100  # characters of a problem's type, and of its title
# Where a site sends visitors of whom it needs to know something, or who want what is gone.
_OF_VISITORS = re.compile(
    r"log-?_?[io]n|sign-?_?(in|on|up)|auth|account|member|session|consent|cookie|privacy|captcha"
    r"|challenge|\b(sso|age|region|country|locale|lang)|404|410|not.?found|gone|discontinued|sold.?out",
    re.IGNORECASE,
)


class Redirected:
    """The pages of a site that were redirected to one URL lately."""

    what = "redirects its pages to %s, which no link led to"

    def __init__(self, target: str, first: Flight) -> None:
        site = first.site
        self.target, self.tick, self.good = target, first.tick, 0
        # Those whose redirects were followed, by URL.
        self.flights: dict[str, Flight] = {}
        # Whether the target was fetched only because of a redirect: no link led there.
        self.has_notice = target in site.reported
        self.is_certain = False
        self._place = place_of(site.well_url) if site.well_url else None

    def decide(self) -> bool:
        """Return whether all pages lead to a notice: there are enough, and the site was well."""
        places = set(map(place_of, self.flights))
        is_all = self._place in places or len(places) >= _PLACES
        is_enough = len(self.flights) >= _ENOUGH and is_all and self._place is not None
        self.is_certain = self.is_certain or (self.has_notice and is_enough)
        return self.is_certain


class Bodies:
    """The bodies of a site's last pages, by their hashes, and those that got one of them lately."""

    what = "sends one page for every URL, also for %s, which has another"

    def __init__(self) -> None:
        self.last: dict[int, Flight] = {}
        self.pages = self.varied = 0
        self.shared: frozenset[int] = frozenset()  # of different pages by nature
        self.end_run()

    def end_run(self) -> None:
        """Suspect no body."""
        self.body: int | None = None
        # The URLs of pages that went back to the queue until it is known what they got.
        self.again: frozenset[str] = frozenset()
        self.is_checked = self.is_certain = False

    def begin_run(self, body: int) -> Flight:
        """Suspect a body; return the first request that got it."""
        self.body, first = body, self.last[body]
        # A page that had another one before.
        self.known = [one.request for other, one in self.last.items() if other != body][-1]
        self.target, self.tick, self.good = self.known.url, first.tick, 0
        self.flights = {first.request.url: first}
        return first


class Refusals:
    """Recognises the refusals of one crawl."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler, self._crawl = crawler, crawl
        self.redirected: dict[Site, Redirected] = {}
        """Of sites that may be in maintenance."""
        self._bodies: dict[Site, Bodies] = defaultdict(Bodies)
        self._has_failed = False
        self._hold = getattr(crawl.job_rows, "hold", lambda *_: None)
        self._release_held = getattr(crawl.job_rows, "release_held", lambda *_: None)

    # Maintenance.

    def note_redirect(self, flight: Flight, response: Response) -> AskedFor | None:
        """Note a temporary redirect; return what it asks for if it leads to a notice."""
        request, site = flight.request, flight.site
        run, target = self.redirected.get(site), _notice_at(response)
        if not target or request.method != "GET":
            return None
        if run is None or (run.target != target and not run.is_certain):
            if is_of_the_package(request):
                return None
            if run is not None or len(self.redirected) >= MOST_SUSPECTED:
                self._forget(site if run is not None else next(iter(self.redirected)))
            run = self.redirected[site] = Redirected(target, flight)
        if run.target != target:
            return None
        is_held = flight.is_from_queue and not run.is_certain
        if is_held and len(run.flights) < MOST_REDIRECTED:
            run.flights[request.url] = flight
            self._hold(request, site.name)
        if not run.decide():
            return None
        self._bring_back(site, run, flight)
        if site.pause.probe is flight:  # it lasts: next time the notice is known
            site.reported |= {target}
        return AskedFor(None, f"redirected to {target}, as all pages")

    def is_notice(self, flight: Flight, response: Response) -> bool:
        """Note an answer of a suspected site; return whether it is the notice itself."""
        request, site = flight.request, flight.site
        run = self.redirected[site]
        is_target = bool(request.url == run.target)
        run.has_notice |= is_target and "redirect_urls" in request.meta
        is_notice = is_target and run.has_notice
        if run.decide():
            self._bring_back(site, run)
        if not is_notice and response.status < HTTPStatus.MULTIPLE_CHOICES:
            run.good += flight.tick > run.tick
            if is_target or run.good > _STRAY:
                self._forget(site)
        return is_notice

    def _forget(self, site: Site) -> None:
        del self.redirected[site]
        self._release_held(site.name)

    def _bring_back(self, site: Site, run: Redirected | Bodies, last: Flight | None = None) -> None:
        """Put requests back that met a notice: it, or the redirect to it, was taken for a page."""
        flights, run.flights = run.flights, {}
        if flights:
            emit, what = self._crawl.events.emit, run.what % run.target
            emit(events.MAINTENANCE, site=site.name, what=what, pages=len(flights))
        for flight in flights.values():
            if flight is last:
                continue
            if self._crawl.config.shares_job:
                request = flight.request.replace(dont_filter=True)  # Redis drops what it has seen
            else:
                is_page = isinstance(run, Bodies)
                request = self._crawl.throttle.in_flight.bring_back(flight, is_page=is_page)
            request.meta["dont_cache"] = True  # a cache may hold the answer
            self._crawler.engine.crawl(request)
        self._release_held(site.name)  # in one commit with those that come back

    def repeats(self, flight: Flight, response: Response) -> bool:
        """Note the body of a page; return whether a site whose pages differ has sent it before.

        Also any answer of a site that may be in maintenance.
        """
        bodies, is_get = self._bodies[flight.site], flight.request.method == "GET"
        if len(self._bodies) > MOST_SUSPECTED:
            del self._bodies[next(iter(self._bodies))]
        if bodies.body is not None or not flight.is_from_queue or not is_get:
            return bodies.body is not None
        bodies.pages += 1
        body, last = hash(response.body), bodies.last
        if last.setdefault(body, flight) is flight:
            bodies.varied += 1
            if len(last) > _BODIES:
                del last[next(iter(last))]
            return False
        is_varied = bodies.varied >= max(_VARIED, bodies.pages / 2) and len(last) > 1
        return is_varied and len(bodies.shared) < _MOST_SHARED and body not in bodies.shared

    def note_body(self, flight: Flight, response: Response) -> AskedFor | None:
        """Note a body for which :meth:`repeats` is True; return what it asks for if it is a notice.

        It is one if a page that had another body before has it now, or if a page that had it has
        another one a second later.
        """
        url, site, run = flight.request.url, flight.site, self._bodies[flight.site]
        body, is_check, pause = hash(response.body), ASKS_AGAIN in flight.request.meta, site.pause
        if run.body is None:
            self._hold(run.begin_run(body).request, site.name)
        is_proof = is_check if body == run.body else url in run.again
        run.is_checked |= is_check
        if is_proof and not run.is_certain:
            run.is_certain = True
            self._bring_back(site, run)
        if body != run.body:
            run.good += flight.tick > run.tick
            if run.good > _STRAY and (run.is_certain or not run.again):
                self._end_run(site, run)
            return None
        if run.is_certain:
            is_last = pause.probe is flight and pause.failed_probes + 1 >= pause.policy.tries
            wait = None if is_last else AskedFor(None, "the page that it sends for every URL")
        elif not flight.is_from_queue or flight.request.method != "GET" or url in run.flights:
            return None
        elif len(run.flights) < _ENOUGH - 1:
            run.flights[url] = flight
            self._hold(flight.request, site.name)
            return None
        else:
            wait = self._wait_for_check(flight, run)
        if wait is None:
            if run.is_certain or not run.is_checked:
                self._crawl.events.emit(events.ONE_PAGE_UNPROVED, site=site.name, url=url)
            run.shared |= {body}
            self._end_run(site, run)
        return wait

    def _wait_for_check(self, flight: Flight, run: Bodies) -> AskedFor | None:
        """Request a page again that had another body; None: that is done, or cannot be."""
        site, url, check = flight.site, flight.request.url, self._crawl.throttle.pauses.health_check
        if not run.again:
            site.well_url, site.well_way = run.target, (run.known.headers, run.known.meta)
            check.request(site)
        if url in run.again if run.is_checked else site not in check:
            return None
        run.again |= {url}
        flight.not_before = self._crawl.now() + _CHECKED
        return AskedFor(None, "")

    def _end_run(self, site: Site, run: Bodies) -> None:
        run.end_run()
        self._release_held(site.name)

    # Challenges.

    @staticmethod
    def terms_of(response: Response) -> str | None:
        """Return the terms that a response states in place of a page; None: it states none."""
        headers = ((name, value) for name, values in response.headers.items() for value in values)
        return stated_terms(response.status, headers)

    def is_bot_block(self, flight: Flight, response: Response) -> bool:
        """Note a challenge, a price or a plain 403; return whether the request goes back.

        Only the probe of a site or section that blocks robots goes back to the queue.
        """
        request, mark = flight.request, self.terms_of(response)
        if is_of_the_package(request) or (mark is None and response.status != HTTPStatus.FORBIDDEN):
            return False
        throttle, site = self._crawl.throttle, flight.site
        section = site.faults.of(request)
        is_probe = section is not None and section.robots and section.is_probed_by(flight)
        if mark is not None and not is_probe:
            request.meta["dont_retry"] = True  # a retry gets the same
        why = f"{response.status} for {request}, {mark or 'no good page since'}"
        refusal = Refusal(self._crawl.now(), f"{REFUSES_ROBOTS}: {why}", marked=mark is not None)
        effect = site.refused(flight, throttle.fingerprint(flight), refusal)
        if effect is not None:
            if effect is PauseEffect.REFUSES_ROBOTS:
                throttle.in_flight.evict(site)
            throttle.pauses.section(effect, site, request)
            throttle.update(site)
        return is_probe

    # Bodies.

    def load(self) -> None:
        """Import the project's function."""
        with fail_cleanly(self._crawler):
            self._looks_refused = loaded_function("MANDELBOT_REFUSAL", self._crawl.config.refusal)

    def recognised(self, request: Request, response: Response) -> AskedFor | None:
        """Return what an answer asks for, if the project's function says that it is a refusal."""
        function = self._looks_refused
        name = f"{function.__module__}.{getattr(function, '__qualname__', function)}"
        try:
            said: Any = function(self._decoded(request, response))
            seconds, problem = float(said or 0), f"it returned {said!r}"
        except Exception as error:  # noqa: BLE001 -- whatever the project's function raises
            said, seconds, problem = None, -1.0, repr(error)
        if not 0 <= seconds < inf:
            emit = self._crawl.events.count if self._has_failed else self._crawl.events.emit
            self._has_failed = True
            emit(events.REFUSAL_FAILED, function=name, url=response.url, error=problem)
            return None
        wait = None if said is True else seconds
        return AskedFor(wait, f"recognised by {name}") if said else None

    def problem(self, request: Request, response: Response) -> str:
        """Return type and title of the problem details in an answer, as the rest of a log line."""
        try:
            problem = json.loads(self._decoded(request, response).body)
            said = [str(problem[name]) for name in ("type", "title") if problem.get(name)]
        except (ValueError, AttributeError, RecursionError):
            return ""
        return "".join(f", {shown(' '.join(one.split())[:_LONGEST])}" for one in said)

    def _decoded(self, request: Request, response: Response) -> Response:
        """Decode an answer as for the spider; one that cannot be decoded stays as it is."""
        response.request = request
        middleware: Any = copy(self._crawler.get_downloader_middleware(HttpCompressionMiddleware))
        if middleware is None or "Content-Encoding" not in response.headers:
            return response
        middleware.stats = None  # it counts the answer when it comes by
        try:
            decoded: Response = middleware.process_response(request, response.copy())
        except Exception:  # noqa: BLE001 -- too large, or damaged: no spider sees it
            return response
        decoded.request = request
        return decoded


def _notice_at(response: Response) -> str:
    """Find out where a redirect leads; an empty string: no notice can be there."""
    try:
        target = urljoin(response.url, (response.headers.get("Location") or b"").decode("latin-1"))
        to, here = urlsplit(target), urlsplit(response.url)
    except ValueError:
        return ""
    is_here = to.hostname == here.hostname and to.path not in {"", "/", here.path}
    return "" if not is_here or _OF_VISITORS.search(to.path) else target
