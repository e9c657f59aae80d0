"""Signatures are what the documents say, octet by octet."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scrapy_mandelbot.signing import AGENT_FORMS, Signer

# RFC 9421, appendix B.1.4.
RFC_KEY = Ed25519PrivateKey.from_private_bytes(
    urlsafe_b64decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU=")
)
KEYID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

# Form, label of the agent's member, expires, nonce, signature.
VECTORS = {
    # draft-ietf-webbotauth-httpsig-protocol-01, "EdDSA Using Curve edwards25519"
    "draft-ietf-webbotauth-httpsig-protocol-01": (
        *("dictionary", "sig2", 4889289600),
        "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
        "CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==",
    ),
    # draft-meunier-webbotauth-httpsig-protocol-02, the same section
    "draft-meunier-webbotauth-httpsig-protocol-02": (
        *("origin", "agent2", 4889289600),
        "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
        "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
    ),
    # "Legacy Signature-Agent, sf-string" of both
    "draft-meunier-web-bot-auth-architecture-03": (
        *("string", "", 1735693200),
        "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==",
        "jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==",
    ),
}


def test_rfc8037_the_key_is_named_by_its_thumbprint():
    """The one of appendix A.3, for the key of appendix A.2."""
    key = Ed25519PrivateKey.from_private_bytes(
        urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    )
    assert Signer(key).keyid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert Signer(key).jwk["x"] == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


@pytest.mark.parametrize("draft", VECTORS)
def test_each_form_of_the_agent_has_its_drafts_vector(draft):
    """Bit by bit, as Ed25519 has one signature for a message."""
    name, member, expires, nonce, signature = VECTORS[draft]
    form = AGENT_FORMS[name]
    components = {
        '"@authority"': "example.com",
        form.component.format(label=member): '"https://signature-agent.test"',
    }
    parameters = (
        f';created=1735689600;keyid="{KEYID}";alg="ed25519";expires={expires};nonce="{nonce}"'
        ';tag="web-bot-auth"'
    )
    signed = Signer(RFC_KEY).sign("sig2", components, parameters)
    assert signed[0] == f"sig2=({' '.join(components)}){parameters}"
    assert signed[1] == f"sig2=:{signature}:"


def test_draft_ietf_the_proof_of_a_directory_has_its_vector():
    """Over the host of the request and the digest of the keys."""
    body = json.dumps(
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": KEYID, "x": Signer(RFC_KEY).jwk["x"]}]}
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
    assert signature == (
        "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/"
        "UMkBxsigzChM1Gpz7gOVBg==:"
    )


def test_the_key_is_not_shown():
    """Neither by repr() nor by what it keeps in sight."""
    assert repr(Signer(RFC_KEY)) == f"<Signer {KEYID}>"
    assert str(vars(Signer(RFC_KEY))).count("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW") == 0
