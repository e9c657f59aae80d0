"""The verb ``identity``: a robot's key, and its key directory."""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mandelbot.cli.invocation import Result
from mandelbot.cli.output import UnavailableError, joined
from mandelbot.cli.sources import errors_at, write_file

try:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    from scrapy_mandelbot.downloadermiddlewares.signing import (
        WELL_KNOWN,
        Signer,
        read_signer,
    )
except ImportError:
    takes = "identity needs cryptography: pip install scrapy-mandelbot[sign]"
    raise UnavailableError(takes) from None

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.project import ProjectInvocation

MEDIA_TYPE = "application/http-message-signatures-directory+json"
_TAG = "http-message-signatures-directory"
_PROVED_FOR = 30 * 86_400  # seconds
_SERVED_FOR = 86_400  # seconds for which a verifier may keep the keys


def identity_new(invocation: ProjectInvocation) -> Result:
    """Write a private key that only its owner can read.

    What is there already is not touched.
    """
    path = Path(invocation.opts.key)
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with errors_at(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(pem)
        except BaseException:  # the next try would find a part of a key in its way
            path.unlink()
            raise
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


def _digest(body: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"
