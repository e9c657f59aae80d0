"""Signs requests, so that a site can verify the crawler.

Source: HTTP Message Signatures (RFC 9421), with the profile of Web Bot Auth
(draft-ietf-webbotauth-httpsig-protocol-01, 2026-10-09).

A request is signed as it leaves, after all middlewares and the download slot, and the
signature is removed when the response arrives: no job, cache or retry stores one.
"""

from __future__ import annotations

import json
import logging
import os
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
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
from mandelbot.dates import IN_TAGS, read_date
from mandelbot.files import open_regular
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
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
_UNREQUESTED: tuple[str, str, Sequence[str]] = (LABEL, "", ())
"""Label, nonce and components of a signature that no site has asked for."""
LIFETIME = 60  # seconds
_SKEW = 1  # seconds that a signature is dated back: timestamps are whole seconds
_FAR_OFF = 30  # seconds between two clocks; half the lifetime of a signature
_REFUSALS = frozenset({401, 403, 429})
_REQUESTED = "mandelbot_signature_requested"  # meta key: site, label, nonce, components
_SIGNED = ("@authority", "@method", "@path")
_HEADERS = ("Signature-Agent", "Signature-Input", "Signature")
_LONGEST_KEY = 65_536  # bytes of a file
_MOST_SITES = 10_000  # known to request signatures
_MOST_REQUESTED = 1_000  # octets of an Accept-Signature header


class Signer:
    """Signs messages with an Ed25519 key. Exposes only the public key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._sign = key.sign
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.jwk = {"crv": "Ed25519", "kty": "OKP", "x": _base64url(public)}
        """The public key (RFC 8037, section 2)."""
        self.keyid = str(thumbprint(self.jwk))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.keyid}>"

    def sign(
        self, label: str, components: Mapping[str, str], parameters: str
    ) -> tuple[str, str]:
        """Return the values of Signature-Input and Signature.

        RFC 9421, sections 2.5 and 3.1.

        `components` maps serialized identifiers to values, in order; `parameters` is
        serialized, each parameter with its semicolon.
        """
        signed = f"({' '.join(components)}){parameters}"
        lines = [f"{name}: {value}" for name, value in components.items()]
        base = "\n".join([*lines, f'"@signature-params": {signed}'])
        signature = b64encode(self._sign(base.encode("latin-1"))).decode()
        return f"{label}={signed}", f"{label}=:{signature}:"


_MEMBERS = {
    "OKP": ("crv", "kty", "x"),
    "EC": ("crv", "kty", "x", "y"),
    "RSA": ("e", "kty", "n"),
}


def thumbprint(jwk: Mapping[str, object]) -> str | None:
    """Return the thumbprint of a public key.

    RFC 7638, section 3; RFC 8037, appendix A.3.

    None: the key lacks members that its type requires.
    """
    members = {
        name: jwk.get(name) for name in _MEMBERS.get(str(jwk.get("kty")), ("kty",))
    }
    if len(members) == 1 or not all(isinstance(one, str) for one in members.values()):
        return None
    text = json.dumps(members, separators=(",", ":"), sort_keys=True)
    return _base64url(sha256(text.encode()).digest())


def _base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def read_signer(name: str, place: str | None) -> Signer:
    """Return the signer with the key in a file, or in a variable (``env:NAME``).

    Raises:
        SettingsError: the key is missing or unusable; the error names the setting.
    """
    if place is None:
        raise SettingsError(name, None, f"{SIGN_KEY_TAKES}, to sign requests")
    try:
        if place.startswith("env:"):
            pem = os.environ[place.removeprefix("env:")].replace("\\n", "\n").encode()
        else:
            with open_regular(place) as file:
                pem = file.read(_LONGEST_KEY)
            if os.name == "posix" and Path(place).stat().st_mode & 0o077:
                logger.warning(
                    "%s can be read by other users: chmod 600 %s", place, place
                )
        key = load_pem_private_key(pem, None)
    except KeyError:
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it is not set)") from None
    except OSError as error:
        raise SettingsError(
            name, place, f"{SIGN_KEY_TAKES} ({error.strerror})"
        ) from None
    except TypeError:
        raise SettingsError(
            name, place, f"{SIGN_KEY_TAKES} (it has a passphrase)"
        ) from None
    except (ValueError, UnsupportedAlgorithm):  # their messages may quote the key
        raise SettingsError(name, place, f"{SIGN_KEY_TAKES} (it is none)") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsError(
            name, place, f"{SIGN_KEY_TAKES} (it is a key of another kind)"
        )
    return Signer(key)


def agent_url(config: Config) -> str:
    """Return the URL of the key directory for ``Signature-Agent``.

    Raises:
        SettingsError: the option is missing, or not an https URL.
    """
    name = 'MANDELBOT_SIGN_OPTIONS["agent"]'
    agent = config.sign_agent
    if agent is None:
        raise SettingsError(
            name, agent, "the https URL of the key directory, to sign requests"
        )
    if not agent.startswith("https:") and not config.sign_http:
        raise SettingsError(
            name, agent, 'an https URL, or the option "http" to be True'
        )
    scheme, _, rest = agent.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}"
    if agent.removeprefix(origin) in {"", "/"}:
        return origin + WELL_KNOWN
    return agent


class SigningMiddleware:
    """Signs all requests, or those to sites that request signatures. Order 960.

    It stands nearest the downloader: requests that PauseMiddleware sends back, or a
    cache answers, are not signed.
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
        self._now = now  # the wall clock, as verifiers use it
        self._sites_to_sign: dict[str, None] = {}  # a set in order of insertion
        self._signed: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._signs_as_it_leaves = False
        self._knows_clocks = False
        self._has_warned_of_clocks = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SigningMiddleware:
        """Build the middleware."""
        middleware = cls(crawler)
        crawler.signals.connect(
            middleware.spider_opened, signal=scrapy.signals.spider_opened
        )
        return middleware

    def spider_opened(self) -> None:
        """Sign requests as they leave their slot, if Scrapy's internals allow it."""
        self._signs_as_it_leaves = engine.download_by(self._crawler, self._download)

    def process_request(self, request: Request) -> None:
        """Sign a request, unless that happens as it leaves the slot."""
        if not self._signs_as_it_leaves:
            self._sign(request)

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Remove the signature."""
        self._restore(request, None)
        self._signed.pop(request, None)

    def process_response(
        self, request: Request, response: Response
    ) -> Request | Response:
        """Send a request again, signed, if its site asks for a signature.

        After a status that pauses the site it is sent again anyway, and signed then.
        """
        self._restore(request, response)
        was_signed = self._signed.pop(request, None) is not None
        if response.status not in _REFUSALS or "cached" in response.flags:
            return response
        site = site_of_request(request)
        wanted = self._wanted_by(request, response)
        if wanted is None or request.meta.get(_REQUESTED, [None])[0] == site:
            return response
        if was_signed and not wanted[1]:  # with all that it requests
            return response
        request.meta[_REQUESTED] = [site, *wanted]
        self._learn(site)
        throttle = self._crawl.throttle
        statuses = self._crawl.config.pause_statuses
        if response.status in statuses and not request.meta.get("dont_pause"):
            return response
        flight = throttle.flight_of(request)
        if flight.meaning is None:
            throttle.answered(flight, is_page=False)
        flight.meaning = None
        if not throttle.can_go_back(flight):
            return request
        request = throttle.in_flight.send_back(flight)
        throttle.ended(flight)
        return request

    def _learn(self, site: str) -> None:
        if site in self._sites_to_sign:
            self._crawl.events.count(events.SIGNATURE_REQUESTED)
            return
        self._crawl.events.emit(events.SIGNATURE_REQUESTED, site=site)
        if len(self._sites_to_sign) >= _MOST_SITES:
            del self._sites_to_sign[next(iter(self._sites_to_sign))]
        self._sites_to_sign[site] = None

    def _wanted_by(
        self, request: Request, response: Response
    ) -> tuple[str, str, list[str]] | None:
        """Return label, nonce and components of the signature that a response requests.

        None: it requests none, or one of another kind (RFC 9421, section 5.1).
        """
        value = b", ".join(response.headers.getlist("Accept-Signature"))
        if not value or len(value) > _MOST_REQUESTED:
            return None
        if "Signature-Input" in request.headers:
            return None
        if urlparse_cached(request).scheme not in self._schemes:
            return None
        try:
            members: Any = http_sf.parse(value, tltype="dictionary")
        except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
            return None
        for label, (items, wanted) in members.items():
            if not isinstance(items, list) or not self._can_make(wanted):
                continue
            nonce = wanted.get("nonce")
            if not isinstance(nonce, str):
                nonce = ""
            names = [name for name, kind in items if not kind and isinstance(name, str)]
            return label, nonce, names
        return None

    def _can_make(self, wanted: Mapping[str, object]) -> bool:
        """Return whether a signature with these parameters is of this kind and key."""
        ours = {
            "tag": "web-bot-auth",
            "alg": "ed25519",
            "keyid": self._signer.keyid,
        }
        return all(wanted.get(name, value) == value for name, value in ours.items())

    def _sign(self, request: Request) -> None:
        url = urlparse_cached(request)
        if url.scheme not in self._schemes:
            return
        if not self._signs_all and site_of_request(request) not in self._sites_to_sign:
            return
        if "Signature-Input" in request.headers:  # the project's own
            return
        site, *requested = request.meta.get(_REQUESTED) or (None,)
        label, nonce, names = _UNREQUESTED
        if site == site_of_request(request):  # else it was redirected
            label, nonce, names = requested
        known = _derived(request)
        components = {
            f'"{name}"': known[name] for name in (*_SIGNED, *names) if name in known
        }
        components[f'"signature-agent";key="{label}"'] = f'"{self._agent}"'
        created = int(self._now()) - _SKEW
        keyid = self._signer.keyid
        expires = created + LIFETIME
        parameters = f';created={created};expires={expires};keyid="{keyid}"'
        if nonce:
            parameters += f";nonce={http_sf.ser(nonce)}"
        signed = self._signer.sign(
            label, components, f'{parameters};tag="web-bot-auth"'
        )
        agent = f'{label}="{self._agent}"'
        for name, value in zip(_HEADERS, (agent, *signed), strict=True):
            request.headers[name] = value
        self._signed[request] = created
        self._crawl.events.count(events.SIGNED)

    async def _download(self, download: engine.Download, request: Request) -> Response:
        self._sign(request)
        response: Response | None = None
        try:
            response = await download(request)
        finally:
            self._restore(request, response)
        return response

    def _restore(self, request: Request, response: Response | None) -> None:
        """Remove the signature, and compare the clocks of both sides."""
        created = self._signed.get(request)
        if created is None or _HEADERS[0] not in request.headers:
            return
        for name in _HEADERS:
            request.headers.pop(name, None)
        if response is None:
            return
        if not self._knows_clocks or response.status in _REFUSALS:
            self._compare_clocks(request, response, created + _SKEW)

    def _compare_clocks(self, request: Request, response: Response, sent: int) -> None:
        """Warn if a response's Date is far from the request's time and from now."""
        date = read_date(
            (response.headers.get("Date") or b"").decode("latin-1"), IN_TAGS
        )
        age = response.headers.get("Age") or b"0"
        self._knows_clocks = True
        if date is None or self._has_warned_of_clocks or not age.isdigit():
            return
        at = date.timestamp()
        off = int(max(sent - at - int(age[:9]), at - self._now()))
        if off > _FAR_OFF:
            self._has_warned_of_clocks = True
            self._crawl.events.emit(
                events.CLOCKS_DIFFER, site=site_of_request(request), seconds=off
            )


def _derived(request: Request) -> dict[str, str]:
    """Return the derived components of a request (RFC 9421, section 2.2), by name."""
    url = urlparse_cached(request)
    host = request.headers.get("Host")
    if host is None:
        authority = url.netloc.rpartition("@")[2]
    else:
        authority = host.decode("latin-1")
    default = ":443" if url.scheme == "https" else ":80"
    path = url.path or "/"
    if url.params:
        path += f";{url.params}"
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
