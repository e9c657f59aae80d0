"""The cookies of a crawl, for the next run and for other workers.

Scrapy keeps cookies in memory: a run that resumes a crawl behind a login would be a
stranger to the site. What changes in the jars is found in two steps. A request that is
settled names its jar and its host; the next commit compares the cookies of that host
with what is stored. So a cookie is in the same commit as the page that set it. A jar
with 100,000 cookies costs no more than one with ten. A cookie that changes with every
page is written once a commit. What a spider puts into a jar by itself is found with the
next request to that host, and at the end of the run.

Cookies are plain values, whatever may be pickled elsewhere: reading them runs no code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from hashlib import blake2b
from http.cookiejar import Cookie
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult

from scrapy.http.cookies import potential_domain_matches
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job.requests import dump_plain, load_plain

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.crawl import StoredJob
    from scrapy_mandelbot.engine import CookieJars

logger = logging.getLogger(__name__)

IN_JOB = "cookie/"  # what the names begin with under which a job stores cookies
MOST_COOKIES = 100_000  # of a job
MOST_OF_A_DOMAIN = 500  # in one jar; browsers keep 180
LONGEST_COOKIE = 8_192  # characters of name, value and path; browsers keep 4,096

# The parameters of Cookie() in their order, but for the last two.
_FIELDS = (
    "version",
    "name",
    "value",
    "port",
    "port_specified",
    "domain",
    "domain_specified",
    "domain_initial_dot",
    "path",
    "path_specified",
    "secure",
    "expires",
    "discard",
    "comment",
    "comment_url",
)


class CookiePlace(NamedTuple):
    """What identifies a cookie of a crawl."""

    jar: Any  # the meta key ``cookiejar``
    domain: str
    path: str
    name: str

    @property
    def key(self) -> str:
        """The name under which it is stored: its own may be long, or a secret."""
        identity = repr(tuple(self)).encode("utf-8", "surrogatepass")
        return blake2b(identity, digest_size=16).hexdigest()


class CookieChange(NamedTuple):
    """A cookie that is new or has another value; `body` None: it is gone."""

    place: CookiePlace
    body: bytes | None

    def written(self) -> bytes:
        """Return it for other workers, which learn of a cookie that is gone, too."""
        return dump_plain((*self.place,)) if self.body is None else self.body


def domains_of(host: str) -> list[str]:
    """Return the domains that a cookie of a host may have."""
    # A cookie of a host without a dot has the domain HOST.local.
    return [*potential_domain_matches(host), f"{host}.local", f".{host}.local"]


def write_cookie(jar: Any, cookie: Cookie) -> bytes:
    """Return a cookie as it is stored.

    Raises a ValueError, or what pickle raises, for a cookie or the key of a jar that is
    no plain value.
    """
    return dump_plain((jar, *_fields(cookie)))


def read_cookie(body: bytes) -> tuple[CookiePlace, Cookie | None]:
    """Return what :func:`write_cookie` or a change wrote; no cookie: it is gone.

    Raises anything for other bytes.
    """
    jar, *rest = load_plain(body)
    hash(jar)
    if len(rest) == len(CookiePlace._fields) - 1:
        return CookiePlace(jar, *map(_text, rest)), None
    *fields, others, is_rfc2109 = rest
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{len(fields)} fields")
    make: Any = Cookie
    cookie: Cookie = make(*fields, dict(others), is_rfc2109)
    place = map(_text, (cookie.domain, cookie.path, cookie.name))
    return CookiePlace(jar, *place), cookie


def _host_of(netloc: str) -> str | None:
    """Return the host in a URL's part between ``//`` and the path; None: there is none.

    It takes longer than all else that a request needs here.
    """
    return SplitResult("", netloc, "", "", "").hostname


def _fields(cookie: Cookie) -> tuple[Any, ...]:
    others = getattr(cookie, "_rest", {})
    fields = [getattr(cookie, name) for name in _FIELDS]
    return (*fields, tuple(sorted(others.items())), bool(cookie.rfc2109))


def _hash_of(cookie: Cookie) -> int:
    # Of what a project has put into it that has no hash, the text.
    fields = _fields(cookie)
    try:
        return hash(fields)
    except TypeError:
        return hash(repr(fields))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {type(value).__name__}")
    return value


class CookieWatch:
    """Finds what has changed in a crawl's jars since it was last asked.

    `now` returns seconds since the epoch. The jars are the middleware's own: a project
    may replace or empty them at any time.
    """

    def __init__(self, jars: CookieJars, now: Callable[[], float]) -> None:
        self._jars = jars
        self._now = now
        # Of what was last returned or restored: by jar and domain, hashes by path and
        # name.
        self._known: dict[tuple[Any, str], dict[tuple[str, str], int]] = {}
        self._count = 0  # cookies in it
        # Jars, and hosts as URLs have them, of requests that have ended.
        self._touched: set[tuple[Any, str]] = set()
        self._complaints: set[str] = set()  # what was logged

    def __len__(self) -> int:
        return self._count

    def touched(self, request: Request) -> None:
        """Note that a request has ended: it or its response may have set cookies."""
        if request.meta.get("dont_merge_cookies"):  # they do not reach the jar
            return
        netloc = urlparse_cached(request).netloc
        self._touched.add((request.meta.get("cookiejar"), netloc))

    def changes(self) -> list[CookieChange]:
        """Return what changed at the hosts of the requests that have ended."""
        touched = {(key, _host_of(netloc)) for key, netloc in self._touched}
        self._touched.clear()
        found: list[CookieChange] = []
        for key, host in touched:
            if host is None:
                continue
            jar = self._jars.get(key)
            domains = domains_of(host)
            cookies = {} if jar is None else engine.cookies_of(jar, domains)
            for domain in domains:
                self._compare(key, domain, cookies.get(domain, ()), found)
        return found

    def all_changes(self) -> list[CookieChange]:
        """Return what changed anywhere: it takes time in proportion to all cookies."""
        self._touched.clear()
        found: list[CookieChange] = []
        present: dict[tuple[Any, str], list[Cookie]] = {}
        for key, jar in list(self._jars.items()):
            for cookie in jar:
                present.setdefault((key, cookie.domain), []).append(cookie)
        for key, domain in [*present, *(self._known.keys() - present.keys())]:
            self._compare(key, domain, present.get((key, domain), ()), found)
        return found

    def restore(self, bodies: Iterable[bytes]) -> int:
        """Put stored cookies into their jars; return how many have not expired."""
        restored = 0
        for body in bodies:
            place, cookie = self._read(body)
            if place is None or cookie is None:
                continue
            self._know(place, cookie)
            if not self._is_over(cookie):
                restored += 1
                self._jars[place.jar].set_cookie(cookie)
        return restored

    def take(self, body: bytes) -> None:
        """Put another worker's change into its jar, if this crawl has no newer one."""
        place, cookie = self._read(body)
        if place is None:
            return
        jar = self._jars[place.jar]
        here = self._find(jar, place)
        known = self._known.get((place.jar, place.domain), {})
        before = known.get((place.path, place.name))
        if (None if here is None else _hash_of(here)) != before:
            return  # a change of this crawl's own is about to be stored
        if cookie is not None and not self._is_over(cookie):
            self._know(place, cookie)
            jar.set_cookie(cookie)
            return
        if here is not None:
            jar.clear(place.domain, place.path, place.name)
        self._forget(*place)

    def stop(self) -> None:
        """Find no more changes: the crawl is over."""
        self._touched.clear()

    def forget_known(self) -> None:
        """Let :meth:`all_changes` return every cookie: what was stored is lost."""
        self._known.clear()
        self._count = 0

    def _compare(
        self,
        key: Any,
        domain: str,
        cookies: Iterable[Cookie],
        found: list[CookieChange],
    ) -> None:
        known = self._known.setdefault((key, domain), {})
        present = set()
        for cookie in islice(cookies, MOST_OF_A_DOMAIN):
            if self._is_over(cookie):
                continue
            place = CookiePlace(key, domain, cookie.path, cookie.name)
            before = known.get(place[2:])
            if before is None or before != _hash_of(cookie):
                body = self._body(place, cookie, is_new=before is None)
                if body is None:
                    continue
                self._know(place, cookie)
                found.append(CookieChange(place, body))
            present.add(place[2:])
        for path, name in known.keys() - present:
            found.append(CookieChange(CookiePlace(key, domain, path, name), None))
            self._forget(key, domain, path, name)
        if not known:
            self._known.pop((key, domain), None)

    def _body(
        self, place: CookiePlace, cookie: Cookie, *, is_new: bool
    ) -> bytes | None:
        """Return a cookie as it is to be stored; None: it is not."""
        why = ""
        body = None
        try:
            length = len(cookie.name) + len(cookie.value or "") + len(cookie.path)
            if length > LONGEST_COOKIE:
                why = f"is longer than {LONGEST_COOKIE} characters"
            elif is_new and self._count >= MOST_COOKIES:
                why = f"comes after {MOST_COOKIES} others"
            else:
                body = write_cookie(place.jar, cookie)
        except Exception as error:  # noqa: BLE001 -- whatever a project's objects raise
            why = f"is no plain value ({type(error).__name__})"
        if why:  # neither name nor value: the log is no place for secrets
            self._warn_once(
                "A cookie of %s is not stored in the job, as it " + why, place.domain
            )
        return body

    def _forget(self, key: Any, domain: str, path: str, name: str) -> None:
        known = self._known.get((key, domain), {})
        if known.pop((path, name), None) is not None:
            self._count -= 1

    def _know(self, place: CookiePlace, cookie: Cookie) -> None:
        known = self._known.setdefault((place.jar, place.domain), {})
        where = place.path, place.name
        if where not in known:
            self._count += 1
        known[where] = _hash_of(cookie)

    def _find(self, jar: Any, place: CookiePlace) -> Cookie | None:
        for cookie in engine.cookies_of(jar, [place.domain]).get(place.domain, ()):
            if (cookie.path, cookie.name) == (place.path, place.name):
                return cookie
        return None

    def _is_over(self, cookie: Cookie) -> bool:
        return bool(cookie.is_expired(self._now()))  # type: ignore[arg-type]  # a float serves

    def _read(self, body: bytes) -> tuple[CookiePlace | None, Cookie | None]:
        try:
            return read_cookie(body)
        except Exception as error:  # noqa: BLE001 -- whatever another program wrote
            self._warn_once("A stored cookie cannot be read: %s", type(error).__name__)
            return None, None

    def _warn_once(self, message: str, value: str) -> None:
        if message not in self._complaints:
            self._complaints.add(message)
            logger.warning(message, value)


class JobCookies:
    """Stores the cookies of a crawl in the file of its job."""

    def __init__(self, job: StoredJob, watch: CookieWatch) -> None:
        self._job = job
        self._watch = watch
        self.touched = watch.touched

    def restore(self) -> int:
        """Put what previous runs stored into the jars; return how many cookies."""
        count = self._watch.restore(self._job.kept(IN_JOB).values())
        self._job.before_commits(self._store)
        return count

    def close(self, *, is_finished: bool) -> None:
        """Store what changed outside requests; a finished crawl stores nothing."""
        if is_finished:
            self._watch.stop()
            forget_cookies(self._job)
        else:
            self._put(self._watch.all_changes())

    def _store(self) -> None:
        self._put(self._watch.changes())

    def _put(self, changes: Iterable[CookieChange]) -> None:
        for change in changes:
            self._job.put(IN_JOB + change.place.key, change.body)


def forget_cookies(job: StoredJob) -> None:
    """Delete all cookies of a job: they are secrets, and a new crawl begins without."""
    for name in job.kept(IN_JOB):
        job.put(name, None)


def watch_cookies(crawler: Crawler) -> CookieWatch | None:
    """Return a watch over the crawl's cookies; None: it has no jars to store."""
    crawl = Crawl.of(crawler)
    jars = engine.cookie_jars(crawler) if crawl.config.job_cookies else None
    return None if jars is None else CookieWatch(jars, crawl.now)
