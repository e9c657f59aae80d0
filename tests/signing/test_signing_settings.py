"""What is set wrongly is said in one line, at start, without the key."""

from __future__ import annotations

import logging
import sys
from importlib import import_module

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from mandelbot.cli.output import UnavailableError
from scrapy.settings import Settings
from verifying import AGENT, DIRECTORY, pem

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.downloadermiddlewares.signing import agent_url, read_signer
from scrapy_mandelbot.settings.config import Config

NAME = "MANDELBOT_SIGN_KEY"


def config(**settings) -> Config:
    return Config.from_settings(Settings(settings))


@pytest.mark.parametrize(
    ("agent", "url"),
    [
        (AGENT, DIRECTORY),
        (AGENT + "/", DIRECTORY),
        (DIRECTORY, DIRECTORY),
        (f"{AGENT}/keys.json", f"{AGENT}/keys.json"),
    ],
)
def test_a_bare_site_means_the_directory_at_its_well_known_path(agent, url):
    """Any other URL is that of the key set."""
    assert agent_url(config(MANDELBOT_SIGN_OPTIONS={"agent": agent})) == url


@pytest.mark.parametrize(
    ("settings", "takes"),
    [
        (
            {},
            (
                'MANDELBOT_SIGN_OPTIONS["agent"] = None: it takes the https URL of the'
                " key directory"
            ),
        ),
        (
            {"MANDELBOT_SIGN_OPTIONS": {"agent": "http://bot.example"}},
            "an https URL, or the option",
        ),
    ],
)
def test_an_agent_that_fits_no_header_is_an_error(settings, takes):
    """One line with the setting, and what it takes."""
    with pytest.raises(
        SettingsError, match=r"MANDELBOT_SIGN_OPTIONS\[.agent.\]"
    ) as error:
        agent_url(config(**settings))
    assert takes in str(error.value)


def with_passphrase() -> bytes:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is none"),
        (
            b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
            "it is none",
        ),
        (b"\xff\xfe secret", "it is none"),
        (pem(Ed448PrivateKey.generate()), "it is a key of another kind"),
        (with_passphrase(), "it has a passphrase"),
    ],
)
def test_an_invalid_key_is_an_error_that_does_not_show_it(tmp_path, content, why):
    """The file is named, and what it takes."""
    path = tmp_path / "robot.pem"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as error:
        read_signer(NAME, str(path))
    assert str(error.value).startswith(
        f"{NAME} = {str(path)!r}: it takes the path of a PEM file"
    )
    assert str(error.value).endswith(f"({why})")
    assert error.value.__cause__ is None


def test_a_missing_key_file_is_an_error(tmp_path):
    """As is a variable that is not set, and none of them."""
    with pytest.raises(SettingsError, match="No such file"):
        read_signer(NAME, str(tmp_path / "none.pem"))
    with pytest.raises(SettingsError, match="it is not set"):
        read_signer(NAME, "env:MANDELBOT_NO_SUCH_VARIABLE")
    with pytest.raises(SettingsError, match="to sign requests"):
        read_signer(NAME, None)


def test_a_key_given_instead_of_its_path_is_not_shown(key):
    """It would be in the log of whoever made that mistake."""
    secret = pem(key).decode()
    with pytest.raises(SettingsError) as error:
        config(MANDELBOT_SIGN_KEY=secret)
    assert str(error.value).startswith("MANDELBOT_SIGN_KEY = '...': it takes the path")


@pytest.mark.parametrize("escaped", [False, True])
def test_the_key_may_be_in_an_environment_variable(key, monkeypatch, escaped):
    r"""With its lines, or on one with \n between them, as env files have it."""
    text = pem(key).decode()
    monkeypatch.setenv("ROBOT_KEY", text.replace("\n", "\\n") if escaped else text)
    assert read_signer(NAME, "env:ROBOT_KEY").jwk["kty"] == "OKP"


@pytest.mark.parametrize(
    ("mode", "lines"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1)]
)
def test_a_key_that_others_can_read_is_a_warning(key_file, caplog, mode, lines):
    """It says what to do."""
    key_file.chmod(mode)
    with caplog.at_level(logging.WARNING):
        read_signer(NAME, str(key_file))
    assert caplog.text.count(f"chmod 600 {key_file}") == lines


def test_without_cryptography_one_line_names_the_extra(monkeypatch):
    """In a crawl, which does not start, and of the command."""
    monkeypatch.setitem(
        sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None
    )
    with pytest.raises(
        SettingsError, match=r"MANDELBOT_SIGN = 'always': .*mandelbot\[sign\]$"
    ):
        config(MANDELBOT_SIGN="always")
    assert config(MANDELBOT_SIGN=None).sign is None
    monkeypatch.delitem(
        sys.modules, "scrapy_mandelbot.commands.identity_verb", raising=False
    )
    with pytest.raises(UnavailableError, match=r"^identity needs .*mandelbot\[sign\]$"):
        import_module("scrapy_mandelbot.commands.identity_verb")


@pytest.mark.parametrize("missing", ["MANDELBOT_SIGN_KEY", "MANDELBOT_SIGN_OPTIONS"])
@ensureDeferred
async def test_a_crawl_that_cannot_sign_does_not_start(signing, missing, caplog):
    """It ends with one line: unsigned it would be another crawl than was asked for."""
    with pytest.raises(SettingsError, match=missing):
        await crawl(
            LinksSpider, {**signing, missing: None}, start_urls=["http://127.0.0.1:1/"]
        )
    assert [one.levelname for one in caplog.records if missing in one.getMessage()] == [
        "CRITICAL"
    ]
