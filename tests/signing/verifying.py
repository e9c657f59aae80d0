"""Sites that verify what they are asked, with an implementation of RFC 9421 that is not
ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from http_message_signatures import (
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)
from webs import Answer, Web

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

AGENT = "https://bot.example"
DIRECTORY = f"{AGENT}/.well-known/http-message-signatures-directory"


@dataclass
class Message:
    """A request as the library takes it."""

    method: str
    url: str
    headers: dict[str, str]


@dataclass
class Seen:
    """A request as it came, and what the library says of it."""

    message: Message
    path: str
    body: bytes
    covered: dict[str, str] = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    error: str = ""

    @property
    def is_signed(self) -> bool:
        return "signature" in self.message.headers


class Keys(HTTPSignatureKeyResolver):
    """Finds the one public key by its thumbprint."""

    def __init__(self, keyid: str, key: Ed25519PrivateKey) -> None:
        self._keyid = keyid
        self._public = key.public_key()

    def resolve_public_key(self, key_id):
        assert key_id == self._keyid
        return self._public


def verified(message: Message, keys: Keys):
    """Return what the library has verified; it raises where it has not."""
    verifier = HTTPMessageVerifier(
        signature_algorithm=algorithms.ED25519,
        key_resolver=keys,
    )
    (result,) = verifier.verify(message, expect_tag="web-bot-auth")
    return result


class VerifyingWeb(Web):
    """A site that verifies each request, and keeps what came of it."""

    def __init__(self, host: str, keys: Keys) -> None:
        super().__init__(host)
        self._keys = keys
        self.seen: list[Seen] = []

    def render(self, request):
        headers = {
            name.decode().lower(): values[0].decode("latin-1")
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        path = request.uri.decode()
        message = Message(request.method.decode(), self.url + path, headers)
        seen = Seen(message, path, request.content.read())
        if seen.is_signed:
            try:
                result = verified(message, self._keys)
            except InvalidSignature as error:
                seen.error = str(error)
            else:
                seen.covered, seen.parameters = (
                    result.covered_components,
                    result.parameters,
                )
        self.seen.append(seen)
        return super().render(request)

    def of(self, path: str) -> list[Seen]:
        return [one for one in self.seen if one.path == path]


def asking(*answers: Answer):
    """Return a page that gives each of the answers once, and the last one for ever."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
