"""Signs requests, so that a site can tell who asks: HTTP Message Signatures (RFC 9421) with the
profile of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol-01, 2026-10-09).

A request is signed when it leaves, with whatever its middlewares and its download slot have made of
it, and is as it was when its answer comes: no job, cache or retry keeps a signature.
"""  # noqa: D205 -- one sentence

from __future__ import annotations

import json
import logging
import os
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import http_sf
import scrapy.signals
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.events import CLOCKS_DIFFER, SIGNATURE_REQUESTED, SIGNED
from scrapy_mandelbot.robots.dates import IN_TAGS, read_date
from scrapy_mandelbot.settings.values import SIGN_KEY_TAKES, SettingsError, fail_cleanly
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.settings.config import Config

logger = logging.getLogger(__name__)

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
LABEL = "sig1"
LIFETIME = 60  # seconds
_SKEW = 1  # seconds that a signature is dated back: clocks are cut to whole seconds
_FAR_OFF = 30  # seconds between two clocks; half of what a signature lives
_REFUSALS = frozenset({401, 403, 429})
_ASKED = "mandelbot_signature_asked"  # meta key: of which site, label, nonce, components
_SIGNED = ("@authority", "@method", "@path")
_HEADERS = ("Signature-Agent", "Signature-Input", "Signature")
_AGE = re.compile("[0-9]{1,9}")
_MOST_SITES = 10_000  # that are known to ask for signatures
_MOST_ASKED = 1_000  # octets of what a site wants signed


class Signer:
    """Signs messages with an Ed25519 key, of which it shows the public half alone."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._sign = key.sign
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.jwk = {"crv": "Ed25519", "kty": "OKP", "x": _base64url(public)}
        """The public key (RFC 8037, section 2)."""
        self.keyid = str(thumbprint(self.jwk))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.keyid}>"

    def sign(self, label: str, components: Mapping[str, str], parameters: str) -> tuple[str, str]:
        """Return the values of Signature-Input and Signature (RFC 9421, sections 2.5 and 3.1).

        What is signed are values by serialized identifier, in order; the parameters are serialized,
        each with its semicolon.
        """
        signed = f"({' '.join(components)}){parameters}"
        lines = [f"{name}: {value}" for name, value in components.items()]
        base = "\n".join([*lines, f'"@signature-params": {signed}'])
        signature = b64encode(self._sign(base.encode("latin-1"))).decode()
        return f"{label}={signed}", f"{label}=:{signature}:"


_MEMBERS = {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}


def thumbprint(jwk: Mapping[str, object]) -> str | None:
    """Return the name of a public key (RFC 7638, section 3; RFC 8037, appendix A.3).

    None: it has not the members of its kind.
    """
    members = {name: jwk.get(name) for name in _MEMBERS.get(str(jwk.get("kty")), ("kty",))}
    if len(members) == 1 or not all(isinstance(one, str) for one in members.values()):
        return None
    text = json.dumps(members, separators=(",", ":"), sort_keys=True)
    return _base64url(sha256(text.encode()).digest())


def _base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def read_signer(name: str, place: str | None) -> Signer:
    """Return what signs with the key of a file, or of an environment variable (``env:NAME``).

    Raises:
        SettingsError: there is no such key; with the name of the setting.
    """
    if place is None:
        raise SettingsError(name, None, f"{SIGN_KEY_TAKES}, to sign requests")
    try:
        if place.startswith("env:"):
            pem = os.environ[place.removeprefix("env:")].replace("\\n", "\n").encode()
        else:
            pem = Path(place).read_bytes()
            if os.name == "posix" and Path(place).stat().st_mode & 0o077:
                logger.warning("%s can be read by other users: chmod 600 %s", place, place)
        key = load_pem_private_key(pem, None)
    except KeyError:
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it is not set)") from None
    except OSError as error:
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} ({error.strerror})") from None
    except TypeError:
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it has a passphrase)") from None
    except (ValueError, UnsupportedAlgorithm):  # whose message may quote the file
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it is none)") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it is a key of another kind)")
    return Signer(key)


def agent_url(config: Config) -> str:
    """Return the URL of the key directory, as Signature-Agent has it.

    Raises:
        SettingsError: there is none, or it is no https URL.
    """
    name, agent = 'MANDELBOT_SIGN_OPTIONS["agent"]', config.sign_agent
    if agent is None:
        raise SettingsError(name, agent, "the https URL of the key directory, to sign requests")
    if not agent.startswith("https:") and not config.sign_http:
        raise SettingsError(name, agent, 'an https URL, or the option "http" to be True')
    scheme, _, rest = agent.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}"
    return origin + WELL_KNOWN if agent.removeprefix(origin) in {"", "/"} else agent


class SigningMiddleware:
    """Signs requests as they leave, all of them or those of sites that ask for it. Order 960.

    It stands nearest the downloader, so that a request that PauseMiddleware sends back, or that is
    answered from a cache, is not signed.
    """

    def __init__(self, crawler: Crawler, now: Callable[[], float] = time.time) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        config = self._crawl.config
        if not config.enabled or config.sign is None:
            raise NotConfigured
        with fail_cleanly(crawler):
            self._agent = agent_url(config)
            self._signer = read_signer("MANDELBOT_SIGN_KEY", config.sign_key)
        self._schemes = {"https", "http"} if config.sign_http else {"https"}
        self._signs_all = config.sign == "always"
        self._now = now  # Not the crawl's clock: who verifies goes by the time of day.
        self._asking: dict[str, None] = {}  # sites that ask for signatures
        self._signed: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._signs_as_it_leaves = False
        self._knows_clocks = self._has_told_of_clocks = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SigningMiddleware:
        """Build the middleware."""
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_opened, signal=scrapy.signals.spider_opened)
        return middleware

    def spider_opened(self) -> None:
        """Sign requests when their download slot lets them leave, where Scrapy allows that."""
        self._signs_as_it_leaves = engine.download_by(self._crawler, self._download)

    def process_request(self, request: Request) -> None:
        """Sign a request whose leaving is not told."""
        if not self._signs_as_it_leaves:
            self._sign(request)

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Take the signature away again."""
        self._restore(request, None)
        self._signed.pop(request, None)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Send a request once more where its site asks for a signature that it did not have.

        After a status that pauses the site it is sent again anyway, and signed then.
        """
        self._restore(request, response)
        was_signed = self._signed.pop(request, None) is not None
        if response.status not in _REFUSALS or "cached" in response.flags:
            return response
        site = site_of_request(request)
        asked = self._asked_of(request, response)
        if asked is None or request.meta.get(_ASKED, [None])[0] == site:
            return response
        if was_signed and not asked[1]:  # as it asks to have them
            return response
        request.meta[_ASKED] = [site, *asked]
        self._learn(site)
        throttle, statuses = self._crawl.throttle, self._crawl.config.pause_statuses
        if response.status in statuses and not request.meta.get("dont_pause"):
            return response
        flight = throttle.flight_of(request)
        if not flight.is_noticed:
            throttle.answered(flight, is_page=False)
        flight.is_noticed = False
        if not throttle.can_go_back(flight):
            return request
        request = throttle.in_flight.send_back(flight)
        throttle.ended(flight)
        return request

    def _learn(self, site: str) -> None:
        if site in self._asking:
            self._crawl.events.count(SIGNATURE_REQUESTED)
            return
        self._crawl.events.emit(SIGNATURE_REQUESTED, site=site)
        if len(self._asking) >= _MOST_SITES:
            del self._asking[next(iter(self._asking))]
        self._asking[site] = None

    def _asked_of(self, request: Request, response: Response) -> tuple[str, str, list[str]] | None:
        """Return label, nonce and components of a signature that a response asks for.

        None: it asks for none that is made here (RFC 9421, section 5.1).
        """
        value = b", ".join(response.headers.getlist("Accept-Signature"))
        if not value or len(value) > _MOST_ASKED or "Signature-Input" in request.headers:
            return None
        if urlparse_cached(request).scheme not in self._schemes:
            return None
        try:
            members: Any = http_sf.parse(value, tltype="dictionary")
        except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
            return None
        for label, (items, wanted) in members.items():
            is_ours = (
                isinstance(items, list)
                and wanted.get("tag", "web-bot-auth") == "web-bot-auth"
                and wanted.get("alg", "ed25519") == "ed25519"
                and wanted.get("keyid", self._signer.keyid) == self._signer.keyid
            )
            if is_ours:
                nonce = wanted.get("nonce")
                names = [name for name, kind in items if not kind and isinstance(name, str)]
                return label, nonce if isinstance(nonce, str) else "", names
        return None

    def _sign(self, request: Request) -> None:
        url = urlparse_cached(request)
        if url.scheme not in self._schemes:
            return
        if not self._signs_all and site_of_request(request) not in self._asking:
            return
        if "Signature-Input" in request.headers:  # the project's own
            return
        site, label, nonce, names = request.meta.get(_ASKED) or (None, LABEL, "", ())
        if site is not None and site != site_of_request(request):  # it was redirected
            label, nonce, names = LABEL, "", ()
        known = _derived(request)
        components = {f'"{name}"': known[name] for name in (*_SIGNED, *names) if name in known}
        components[f'"signature-agent";key="{label}"'] = f'"{self._agent}"'
        created = int(self._now()) - _SKEW
        parameters = f';created={created};expires={created + LIFETIME};keyid="{self._signer.keyid}"'
        if nonce:
            parameters += f";nonce={http_sf.ser(nonce)}"
        signed = self._signer.sign(label, components, f'{parameters};tag="web-bot-auth"')
        agent = f'{label}="{self._agent}"'
        for name, value in zip(_HEADERS, (agent, *signed), strict=True):
            request.headers[name] = value
        self._signed[request] = created
        self._crawl.events.count(SIGNED)

    async def _download(self, download: engine.Download, request: Request) -> Response:
        self._sign(request)
        response: Response | None = None
        try:
            response = await download(request)
        finally:
            self._restore(request, response)
        return response

    def _restore(self, request: Request, response: Response | None) -> None:
        """Make a request what it was before it was signed."""
        created = self._signed.get(request)
        if created is None or _HEADERS[0] not in request.headers:
            return
        for name in _HEADERS:
            request.headers.pop(name, None)
        if response is not None and (not self._knows_clocks or response.status in _REFUSALS):
            self._compare_clocks(request, response, created + _SKEW)

    def _compare_clocks(self, request: Request, response: Response, sent: int) -> None:
        """Warn where a response's Date is far from both the request's time and its own."""
        date = read_date((response.headers.get("Date") or b"").decode("latin-1"), IN_TAGS)
        age = (response.headers.get("Age") or b"0").decode("latin-1")
        self._knows_clocks = True
        if date is None or self._has_told_of_clocks or not _AGE.fullmatch(age):
            return
        at = date.timestamp()
        off = int(max(sent - at - int(age), at - self._now()))
        if off > _FAR_OFF:
            self._has_told_of_clocks = True
            self._crawl.events.emit(CLOCKS_DIFFER, site=site_of_request(request), seconds=off)


def _derived(request: Request) -> dict[str, str]:
    """Return what RFC 9421, section 2.2, derives from a request, by name."""
    url = urlparse_cached(request)
    host = request.headers.get("Host")
    authority = url.netloc.rpartition("@")[2] if host is None else host.decode("latin-1")
    default = ":443" if url.scheme == "https" else ":80"
    path = (url.path or "/") + (f";{url.params}" if url.params else "")
    query = f"?{url.query}" if url.query else ""
    authority = authority.strip().lower().removesuffix(default)
    return {
        "@authority": authority,
        "@method": request.method,
        "@path": path,
        "@query": query or "?",
        "@request-target": path + query,
        "@scheme": url.scheme,
        "@target-uri": f"{url.scheme}://{authority}{path}{query}",
    }
