"""``scrapy robots identity``: a key, and its directory."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass

import pytest
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, algorithms

from scrapy_mandelbot.commands.identity_verb import MEDIA_TYPE
from scrapy_mandelbot.downloadermiddlewares.signing import WELL_KNOWN, read_signer

CLEAR = ("-s", 'MANDELBOT_SIGN_OPTIONS={"http": true}')


@pytest.fixture
def key(robots, tmp_path):
    """A key as the verb makes it."""
    run = robots("identity", "new", "robot.pem")
    assert run.returncode == 0, run.stderr
    return tmp_path / "robot.pem"


def signer_of(path):
    return read_signer("KEY", str(path))


def test_only_its_owner_can_read_a_new_key(robots, key):
    """With its thumbprint told; it signs; and one that is there is not written over."""
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    again = robots("identity", "new", "robot.pem")
    assert again.returncode == 2
    assert b"robot.pem: file exists" in again.stderr
    assert key.read_bytes() == before
    other = robots("identity", "new", "other.pem", "--format", "json")
    told = json.loads(other.stdout)
    assert told["thumbprint"] == signer_of(key.with_name("other.pem")).keyid
    assert b"PRIVATE" not in other.stdout + other.stderr


@dataclass
class Asked:
    method: str
    url: str
    headers: dict


@dataclass
class Answered:
    status_code: int
    headers: dict
    request: Asked


def test_the_directory_is_proved_by_each_of_its_keys(robots, key, tmp_path):
    """By another implementation; its body is what --output writes, octet by octet."""
    robots("identity", "new", "next.pem")
    arguments = ["directory", "robot.pem", "next.pem", "--host", "bot.example"]
    run = robots("identity", *arguments, "--output", "keys.json", "--format", "json")
    assert run.returncode == 0, run.stderr
    assert f"serve it at https://bot.example{WELL_KNOWN}".encode() in run.stderr
    told = json.loads(run.stdout)
    assert (tmp_path / "keys.json").read_text() == told["body"]
    asked = Asked("GET", told["url"], {})
    for number, name in enumerate(("robot.pem", "next.pem")):
        signer = signer_of(tmp_path / name)
        assert json.loads(told["body"])["keys"][number]["kid"] == signer.keyid
        public = read_public(tmp_path / name)
        verifier = HTTPMessageVerifier(
            signature_algorithm=algorithms.ED25519,
            key_resolver=MappingKeyResolver(
                private_keys={}, public_keys={signer.keyid: public}
            ),
        )
        headers = one_proof(told["headers"], number)
        (result,) = verifier.verify(
            Answered(200, headers, asked),
            expect_tag="http-message-signatures-directory",
            body=told["body"].encode(),
        )
        assert result.covered_components['"@authority";req'] == "bot.example"


def read_public(path):
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(path.read_bytes(), None).public_key()


def one_proof(headers, number):
    """Return the headers with one proof: the library verifies all with one key."""
    split = {
        name: (
            headers[name].split(", ")[number]
            if name.startswith("Signature")
            else headers[name]
        )
        for name in headers
    }
    assert split["Signature-Input"].startswith(f"proof{number}=")
    return split


def test_text_is_the_headers_and_the_body(robots, key):
    """As a server answers."""
    run = robots("identity", "directory", "robot.pem", "--host", "bot.example")
    head, _, body = run.stdout.decode().partition("\n\n")
    assert f"Content-Type: {MEDIA_TYPE}" in head.splitlines()
    assert json.loads(body)["keys"][0]["kty"] == "OKP"
    assert "d" not in json.loads(body)["keys"][0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["new"],
        ["new", "a", "b"],
        ["directory", "--host", "bot.example"],
        ["directory", "a.pem"],
        ["check", "https://bot.example", "--output", "x"],
        ["page", "x"],
        ["show"],
        [],
    ],
)
def test_identity_usage_errors(robots, arguments):
    """In one line, with Scrapy's exit code for that."""
    run = robots("identity", *arguments)
    assert run.returncode == 2
    assert run.stderr.startswith(b"usage: scrapy robots identity")


def test_an_invalid_key_is_a_one_line_error(robots, tmp_path):
    """Without what is in it."""
    (tmp_path / "bad.pem").write_text("secret")
    run = robots("identity", "directory", "bad.pem", "--host", "bot.example")
    assert run.returncode == 2
    assert b"KEY = 'bad.pem': it takes the path of a PEM file" in run.stderr
    assert b"secret" not in run.stderr


# What is deployed.


# The page.
