"""What a signature costs: microseconds of CPU for a request, with what Ed25519 takes of them.

Usage::

    python benchmarks/signing.py

Signs requests as they leave a crawl, and takes the signatures away again as its answers come; five
rounds of 2,000, the median and the range. Beside it the PyPI library http-message-signatures signs
the same components of the same requests.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_mandelbot.signing import SigningMiddleware

ROUNDS, COUNT = 5, 2_000
AGENT = "https://bot.example"


class Message:
    """A request as the library takes it."""

    def __init__(self, request: Request) -> None:
        self.method, self.url = request.method, request.url
        self.headers = {"Signature-Agent": f'sig1="{AGENT}"'}


def requests() -> list[Request]:
    return [Request(f"https://shop.example/page/{number}?q=1") for number in range(COUNT)]


def microseconds(sign) -> tuple[float, float, float]:
    """Return the median, the least and the most of CPU for one call."""
    rounds = []
    for _ in range(ROUNDS):
        them = requests()
        began = time.process_time()
        for one in them:
            sign(one)
        rounds.append((time.process_time() - began) / COUNT * 1e6)
    return statistics.median(rounds), min(rounds), max(rounds)


def main() -> None:
    key = Ed25519PrivateKey.generate()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.pem")
        path.touch(mode=0o600)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        settings = {
            "MANDELBOT_SIGN": "always",
            "MANDELBOT_SIGN_KEY": str(path),
            "MANDELBOT_SIGN_OPTIONS": {"agent": AGENT},
        }
        ours = SigningMiddleware(get_crawler(Spider, settings))
    library = HTTPMessageSigner(
        signature_algorithm=algorithms.ED25519,
        key_resolver=MappingKeyResolver(private_keys={"k": key}, public_keys={}),
    )
    covered = ("@authority", "@method", "@path", '"signature-agent";key="sig1"')

    def both_ways(request: Request) -> None:
        ours.process_request(request)
        ours.process_exception(request, OSError())

    rows = {
        "signed, and as it was": both_ways,
        "of that, Ed25519": lambda _: key.sign(bytes(300)),
        "http-message-signatures": lambda request: library.sign(
            Message(request), key_id="k", covered_component_ids=covered, tag="web-bot-auth"
        ),
    }
    for name, sign in rows.items():
        print("{:<26}{:>7.1f} µs  ({:.1f} to {:.1f})".format(name, *microseconds(sign)))


if __name__ == "__main__":
    main()
