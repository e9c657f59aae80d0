"""Signatures are what the documents say, octet by octet."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode

import pytest
import scrapy
from crawling import ensureDeferred
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from verifying import DIRECTORY

from scrapy_mandelbot.downloadermiddlewares.signing import Signer, SigningMiddleware

# RFC 9421, appendix B.1.4.
RFC_KEY = Ed25519PrivateKey.from_private_bytes(
    urlsafe_b64decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU=")
)
KEYID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


def test_rfc8037_the_key_is_named_by_its_thumbprint():
    """The one of appendix A.3, for the key of appendix A.2."""
    key = Ed25519PrivateKey.from_private_bytes(
        urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    )
    assert Signer(key).keyid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert Signer(key).jwk["x"] == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


def test_draft_ietf_a_request_has_its_vector():
    """Of draft-ietf-webbotauth-httpsig-protocol-01, "EdDSA Using Curve edwards25519".

    Bit by bit, as Ed25519 has one signature for a message.
    """
    components = {
        '"@authority"': "example.com",
        '"signature-agent";key="sig2"': '"https://signature-agent.test"',
    }
    nonce = (
        "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1"
        "YsauiA=="
    )
    parameters = (
        f';created=1735689600;keyid="{KEYID}";alg="ed25519";expires=4889289600'
        f';nonce="{nonce}";tag="web-bot-auth"'
    )
    signed = Signer(RFC_KEY).sign("sig2", components, parameters)
    assert signed[0] == f"sig2=({' '.join(components)}){parameters}"
    assert signed[1] == (
        "sig2=:CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiX"
        "tLVfqE00xnABCQ==:"
    )


def test_draft_ietf_the_proof_of_a_directory_has_its_vector():
    """Over the host of the request and the digest of the keys."""
    body = json.dumps(
        {
            "keys": [
                {
                    "kty": "OKP",
                    "crv": "Ed25519",
                    "kid": KEYID,
                    "x": Signer(RFC_KEY).jwk["x"],
                }
            ]
        }
    )
    assert KEYID in body
    components = {
        '"@authority";req': "signature-agent.test",
        '"content-digest"': "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:",
    }
    parameters = (
        f';created=1735689600;expires=4889289600;keyid="{KEYID}"'
        ';tag="http-message-signatures-directory"'
    )
    _, signature = Signer(RFC_KEY).sign("binding", components, parameters)
    assert (
        signature
        == "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/"
        "UMkBxsigzChM1Gpz7gOVBg==:"
    )


def test_the_key_is_not_shown():
    """Neither by repr() nor by what it keeps in sight."""
    assert repr(Signer(RFC_KEY)) == f"<Signer {KEYID}>"
    assert str(vars(Signer(RFC_KEY))).count("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW") == 0


@ensureDeferred
@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://example.com/", "example.com"),
        ("http://example.com:80/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("http://user@example.com:80/", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("https://EXAMPLE.com:8443/", "example.com:8443"),
    ],
)
async def test_rfc9421_the_authority_leaves_out_its_schemes_default_port(
    make_crawler, key, signing, url, authority
):
    """Section 2.2.3: a verifier that is asked at that port finds no other."""
    middleware = SigningMiddleware.from_crawler(make_crawler(**signing))
    request = scrapy.Request(url)
    middleware.process_request(request)
    items, _, parameters = request.headers["Signature-Input"].decode().partition(")")
    components = {
        '"@authority"': authority,
        '"@method"': "GET",
        '"@path"': "/",
        '"signature-agent";key="sig1"': f'"{DIRECTORY}"',
    }
    assert items == f"sig1=({' '.join(components)}"
    _, signature = Signer(key).sign("sig1", components, parameters)
    assert request.headers["Signature"].decode() == signature
