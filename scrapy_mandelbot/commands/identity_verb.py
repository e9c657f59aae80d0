"""The verb ``identity``: a robot's key, its key directory and its page."""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator
from datetime import datetime, timezone
from hashlib import sha256
from html import escape
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import http_sf
from mandelbot.cli import Result, UnavailableError, errors_at, joined, write_file
from mandelbot.formatting import shown
from mandelbot.robotstxt import product_tokens

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    from scrapy_mandelbot.downloadermiddlewares.signing import (
        WELL_KNOWN,
        Signer,
        read_signer,
        thumbprint,
    )
except ImportError:
    takes = "identity needs cryptography: pip install scrapy-mandelbot[sign]"
    raise UnavailableError(takes) from None

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from mandelbot.cli import Fetched

    from scrapy_mandelbot.commands.project import ProjectInvocation

MEDIA_TYPE = "application/http-message-signatures-directory+json"
_TAG = "http-message-signatures-directory"
_PROVED_FOR = 30 * 86_400  # seconds
_SERVED_FOR = 86_400  # seconds for which a verifier may keep the keys
_OK = 200
_EXAMPLE_KEY = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"  # RFC 9421, appendix B.1.4
_ERROR = "error"
_WARNING = "warning"


def identity_new(invocation: ProjectInvocation) -> Result:
    """Write a private key that only its owner can read.

    What is there already is not touched.
    """
    path = Path(invocation.opts.key)
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with errors_at(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(pem)
    keyid = Signer(key).keyid
    text = f"{path} is a new private key: keep it secret. Its thumbprint is {keyid}\n"
    return Result(0, {"key": str(path), "thumbprint": keyid}, text)


def directory(signers: list[Signer], host: str, now: int) -> tuple[dict[str, str], str]:
    """Return headers and body of a key directory at a time, in seconds since the epoch.

    Source: draft-ietf-webbotauth-httpsig-protocol-01, "Possession Proof on the
    Directory Response". There is a signer for each key; the host that serves it has its
    port unless that is 443.
    """
    keys = [{**one.jwk, "kid": one.keyid, "use": "sig"} for one in signers]
    body = json.dumps({"keys": keys}, separators=(",", ":"))
    digest = _digest(body.encode())
    covered = {'"@authority";req': host, '"content-digest"': digest}
    proofs = [
        one.sign(
            f"proof{number}",
            covered,
            f";created={now};expires={now + _PROVED_FOR}"
            f';keyid="{one.keyid}";tag="{_TAG}"',
        )
        for number, one in enumerate(signers)
    ]
    headers = {
        "Content-Type": MEDIA_TYPE,
        "Cache-Control": f"max-age={_SERVED_FOR}",
        "Content-Digest": digest,
        "Signature-Input": ", ".join(given for given, _ in proofs),
        "Signature": ", ".join(signature for _, signature in proofs),
    }
    return headers, body


def identity_directory(invocation: ProjectInvocation) -> Result:
    """Write the directory of the given keys, and the headers to serve it with."""
    signers = [read_signer("KEY", place) for place in invocation.opts.keys]
    now = int(time.time())
    headers, body = directory(
        signers, invocation.opts.host.lower().removesuffix(":443"), now
    )
    until = datetime.fromtimestamp(now + _PROVED_FOR, tz=timezone.utc)
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if left := _left_of(body, invocation):
        lines += ["", left]
    data = {
        "url": f"https://{invocation.opts.host}{WELL_KNOWN}",
        "headers": headers,
        "body": body,
    }
    remark = f"serve it at {data['url']}; its proof expires on {until:%Y-%m-%d}"
    return Result(0, {**data, "expires": until.isoformat()}, joined(lines), [remark])


def _left_of(text: str, invocation: ProjectInvocation) -> str:
    """Write a text to ``--output``, and return what is left to print."""
    if not invocation.opts.output:
        return text
    write_file(invocation.opts.output, text)
    return ""


def check_directory(invocation: ProjectInvocation) -> Result:
    """Check a directory as it is served."""
    url = invocation.opts.url
    if not urlsplit(url).path.strip("/"):
        url = url.rstrip("/") + WELL_KNOWN
    found = invocation.fetch(url)
    if found.failure is not None:
        raise UnavailableError(found.trouble)
    findings = list(
        _of_delivery(url, found, may_be_http=invocation.setting("sign_http"))
    )
    keys = _keys_in(found.body)
    names = [thumbprint(key) for key in keys]
    for key, name in zip(keys, names, strict=True):
        findings += [
            (level, f"{shown(str(name))} {text}") for level, text in _of_key(key, name)
        ]
    place = invocation.setting("sign_key")
    if place and read_signer("MANDELBOT_SIGN_KEY", place).keyid not in names:
        findings.append((_ERROR, "the key of MANDELBOT_SIGN_KEY is not in it"))
    proved: set[str] = set()
    for label, (items, parameters) in _dictionary(found, "signature-input").items():
        if isinstance(items, list) and parameters.get("tag") == _TAG:
            proof = _of_proof(url, found, label, keys, proved)
            findings += [
                (level, f"its proof {shown(label)} {text}") for level, text in proof
            ]
    unproved = [shown(str(name)) for name in names if name not in proved]
    findings += [(_WARNING, f"{name} has no proof of possession") for name in unproved]
    head = [
        f"{shown(url)}: {len(keys)} keys",
        *(f"  {shown(str(name))}" for name in names),
    ]
    lines = [f"{level}: {text}" for level, text in findings] or ["clean"]
    levels = {level for level, _ in findings}
    code = 3 if _ERROR in levels else int(_WARNING in levels)
    found_data = [{"severity": level, "message": text} for level, text in findings]
    data = {"url": url, "thumbprints": names, "findings": found_data}
    return Result(code, data, joined([*head, *lines]))


def _of_delivery(
    url: str, found: Fetched, *, may_be_http: bool
) -> Iterator[tuple[str, str]]:
    """Find what is wrong with how a directory is served, and with what it is."""
    kind = found.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not url.startswith("https:") and not may_be_http:
        yield _ERROR, "it is not served over https"
    if found.redirects:
        yield (
            _ERROR,
            f"it redirects to {shown(found.final_url)}: verifiers follow no redirects",
        )
    if found.status != _OK:
        yield _ERROR, f"its status is {found.status}, and not 200"
    if kind != MEDIA_TYPE and urlsplit(url).path == WELL_KNOWN:
        yield (
            _ERROR,
            f"its Content-Type is {shown(kind) or 'missing'}, and not {MEDIA_TYPE}",
        )
    if not _keys_in(found.body):
        yield _ERROR, 'it has no keys, as {"keys": [...]} (RFC 7517, section 5)'
    digest = found.headers.get("content-digest")
    if digest and digest != _digest(found.body) and not found.content_encoding:
        yield _ERROR, "its Content-Digest is not that of its body"
    if "cache-control" not in found.headers:
        yield (
            _WARNING,
            "it has no Cache-Control: how long verifiers keep the keys is up to them",
        )


def _digest(body: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"


def _keys_in(body: bytes) -> list[dict[str, Any]]:
    try:
        keys = json.loads(body)["keys"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    if isinstance(keys, list):
        return [one for one in keys if isinstance(one, dict)]
    return []


def _of_key(key: dict[str, Any], name: str | None) -> Iterator[tuple[str, str]]:
    """Find what is wrong with a key; its name is its thumbprint."""
    if name is None:
        yield _ERROR, "is a key without the members of its kind (RFC 7638, section 3.2)"
    if key.get("kid", name) != name:
        yield _ERROR, f"has the kid {shown(str(key['kid']))}, and not its thumbprint"
    if "d" in key:
        yield _ERROR, "is there with its PRIVATE half: remove it, and make a new one"
    if name == _EXAMPLE_KEY:
        yield _ERROR, "is a key that everyone has: the example of RFC 9421"
    if _number(key.get("exp"), inf) <= time.time():
        yield _ERROR, "has expired"


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, (int, float)) else default


def _of_proof(
    url: str, found: Fetched, label: str, keys: list[dict[str, Any]], proved: set[str]
) -> Iterator[tuple[str, str]]:
    """Find what is wrong with the signature by which a directory proves a key."""
    items, parameters = _dictionary(found, "signature-input")[label]
    signature = _dictionary(found, "signature").get(label, (None, {}))[0]
    port = ":443" if url.startswith("https:") else ":80"
    known = {
        '"@authority";req': (
            urlsplit(url).netloc.rpartition("@")[2].lower().removesuffix(port)
        ),
        '"content-digest"': found.headers.get("content-digest", ""),
    }
    covered = [http_sf.ser(item) for item in items]
    key = next((one for one in keys if thumbprint(one) == parameters.get("keyid")), {})
    if (
        key.get("crv") != "Ed25519"
        or not {'"@authority";req'} <= {*covered} <= known.keys()
    ):
        yield _WARNING, "cannot be verified: its key or what it covers is not known"
        return
    lines = [f"{identifier}: {known[identifier]}" for identifier in covered]
    base = "\n".join(
        [*lines, f'"@signature-params": {http_sf.ser([(items, parameters)])}']
    )
    try:
        public = Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(key["x"] + "=="))
        public.verify(signature, base.encode("latin-1"))
    except (InvalidSignature, TypeError, ValueError):
        yield _ERROR, "does not verify: was it made for this host and these keys?"
        return
    proved.add(str(thumbprint(key)))
    if len(covered) == 1:
        yield _WARNING, "does not cover Content-Digest"
    if _number(parameters.get("expires"), 0) <= time.time():
        yield _ERROR, "has expired"
    if _number(parameters.get("created"), 0) > time.time():
        yield _ERROR, "is dated in the future"


def _dictionary(found: Fetched, name: str) -> dict[str, Any]:
    try:
        members: Any = http_sf.parse(
            found.headers.get(name, "").encode(), tltype="dictionary"
        )
    except (http_sf.StructuredFieldError, ValueError, ArithmeticError):
        return {}
    return dict(members)


_RANGES = "addresses.json"
_OBEYS = "It obeys the Crawl-delay, Request-rate and Visit-time of your robots.txt. "


def identity_page(invocation: ProjectInvocation) -> Result:
    """Write the page about the robot for owners of sites, from the project's settings.

    Source: draft-illyes-webbotauth-cbcp-00 (21 April 2026), sections 2.2, 2.5 and 2.6.
    """
    agent = invocation.user_agent
    name = _named(agent)
    if not name or "scrapy.org" in agent:
        raise UnavailableError(
            "USER_AGENT names no robot: set one as 'Examplebot/1.0 (+https://…)'"
        )
    token = invocation.setting("agent") or name
    mail = next((one.strip("();,+") for one in agent.split() if "@" in one), "")
    networks = [one.network for one in invocation.opts.address or ()]
    about = {
        "name": name,
        "user_agent": agent,
        "robots_txt_token": _named(token if isinstance(token, str) else token[0]),
        "purposes": list(invocation.setting("purposes")),
        "key_directory": invocation.setting("sign_agent"),
        "addresses": _addresses(networks),
    }
    sentences = {
        f"The pages are wanted for: {', '.join(about['purposes'])}.": about["purposes"],
        f"They are signed with a key of {about['key_directory']}.": about[
            "key_directory"
        ],
        f"They come from {', '.join(map(str, networks))}.": networks,
        f"Write to {mail} for any question.": mail,
    }
    delay = invocation.settings.getfloat("DOWNLOAD_DELAY")
    pace = {
        f"It waits {delay:g} seconds between two requests to a host. ": delay,
        _OBEYS: invocation.setting("pace") == "obey",
    }
    page = Path(__file__).with_name("robot.html").read_text("utf-8")
    page = page.format(
        name=escape(name),
        agent=escape(agent),
        about="".join(
            f"<p>{escape(one)}</p>\n" for one, is_so in sentences.items() if is_so
        ),
        pace="".join(one for one, is_so in pace.items() if is_so),
        hours=invocation.fresh_for / 3_600,
        token=escape(about["robots_txt_token"]),
        ranges=f'<link rel="client-ranges" href="{_RANGES}">\n' if networks else "",
    )
    if mail:
        remarks = []
    else:
        remarks = ["USER_AGENT has no e-mail address: add to the page how to reach you"]
    if networks and invocation.opts.output:
        ranges = Path(invocation.opts.output).with_name(_RANGES)
        write_file(ranges, json.dumps(about["addresses"]))
    return Result(0, about, _left_of(page, invocation), remarks)


def _addresses(networks: list[IPv4Network | IPv6Network]) -> dict[str, Any]:
    """Return the list of a robot's networks.

    Source: draft-illyes-webbotauth-jafar-00 (21 April 2026), "Top-Level Object
    Definition": the token changes whenever the networks do.
    """
    prefixes = [{f"ipv{one.version}Prefix": str(one)} for one in networks]
    token = sha256(json.dumps(prefixes).encode()).hexdigest()
    now = datetime.now(timezone.utc)
    return {
        "formatVersion": "1.0",
        "synctoken": token[:16],
        "creationTime": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "prefixes": prefixes,
    }


def _named(agent: str) -> str:
    """Return a robot's name as it is written in its User-Agent; ``""``: it has none."""
    token = next(iter(product_tokens(agent)), "")
    found = re.search(re.escape(token), agent, re.IGNORECASE)
    return found[0] if found else ""
