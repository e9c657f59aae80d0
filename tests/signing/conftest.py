"""A key, and sites that verify what is signed with it."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from verifying import AGENT, Keys, VerifyingWeb, pem

from scrapy_mandelbot.downloadermiddlewares.signing import Signer


@pytest.fixture(scope="session")
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def keys(key) -> Keys:
    return Keys(Signer(key).keyid, key)


@pytest.fixture
def key_file(key, tmp_path):
    path = tmp_path / "robot.pem"
    path.touch(mode=0o600)
    path.write_bytes(pem(key))
    return path


@pytest.fixture
def signing(key_file) -> dict:
    """Settings with which all requests are signed, on loopback too."""
    return {
        "MANDELBOT_SIGN": "always",
        "MANDELBOT_SIGN_KEY": str(key_file),
        "MANDELBOT_SIGN_OPTIONS": {"agent": AGENT, "http": True},
        "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05},
    }


@pytest.fixture
def sites(keys):
    """Start sites that verify; all are closed in the end."""
    started = []

    def start(host: str = "127.0.0.1") -> VerifyingWeb:
        started.append(VerifyingWeb(host, keys).listen())
        return started[-1]

    yield start
    for one in started:
        one.close()
