"""``scrapy robots identity``: a key, its directory and the page, made and checked by a
person.
"""

from __future__ import annotations

import json
import stat
import time
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256

import pytest
from crawling import ensureDeferred
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, algorithms
from test_command_page import EVERY, fields_of, told_of
from webs import Answer

from scrapy_mandelbot.commands.identity_verb import MEDIA_TYPE, directory
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


def served(web, signer, **changed):
    """Have a site serve the directory of a key, with changed headers, body or time."""
    host = web.url.removeprefix("http://")
    now = changed.pop("now", 1_700_000_000)
    headers, body = directory([signer], changed.pop("host", host), now)
    keys = changed.pop("keys", None)
    if keys is not None:
        body = json.dumps({"keys": keys(json.loads(body)["keys"])})
        headers["Content-Digest"] = (
            f"sha-256=:{b64encode(sha256(body.encode()).digest()).decode()}:"
        )
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    web.pages[WELL_KNOWN] = Answer(
        body.encode(), headers={name: value for name, value in headers.items() if value}
    )


@pytest.fixture
def web(webs):
    return webs()


def now() -> int:
    return int(time.time())


@ensureDeferred
async def test_a_valid_directory_is_clean(robots_later, web, key):
    """Asked for by its site alone; the project's own key is in it."""
    served(web, signer_of(key), now=now())
    run = await robots_later(
        "identity", "check", web.url, *CLEAR, "-s", f"MANDELBOT_SIGN_KEY={key}"
    )
    assert run.returncode == 0, run.stdout
    assert run.stdout.decode().splitlines()[1:] == [
        f"  {signer_of(key).keyid}",
        "clean",
    ]
    again = await robots_later("identity", "check", web.url + WELL_KNOWN)
    assert again.returncode == 3
    assert again.stdout.decode().splitlines()[2:] == [
        "error: it is not served over https"
    ]


def with_kid(kid):
    return lambda keys: [{**keys[0], "kid": kid}]


EXAMPLE = {
    "kty": "OKP",
    "crv": "Ed25519",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
}
WRONG = [
    ({"now": 1_700_000_000}, 3, "its proof proof0 has expired"),
    ({"now": 4_000_000_000}, 3, "its proof proof0 is dated in the future"),
    (
        {"host": "other.example"},
        3,
        "its proof proof0 does not verify: was it made for this host",
    ),
    ({"keys": with_kid("mine")}, 3, "has the kid mine, and not its thumbprint"),
    (
        {"keys": lambda keys: [{**keys[0], "d": "x"}]},
        3,
        "is there with its PRIVATE half",
    ),
    ({"keys": lambda _: [EXAMPLE]}, 3, "is a key that everyone has"),
    ({"keys": lambda keys: [{**keys[0], "exp": 1}]}, 3, "has expired"),
    (
        {"keys": lambda _: [{"kty": "OKP"}]},
        3,
        "None is a key without the members of its kind",
    ),
    ({"keys": lambda _: []}, 3, "it has no keys"),
    ({"keys": lambda _: "none"}, 3, "it has no keys"),
    (
        {"Content_Type": "application/json"},
        3,
        "its Content-Type is application/json, and not",
    ),
    (
        {"Content_Digest": "sha-256=:AAAA:"},
        3,
        "its Content-Digest is not that of its body",
    ),
    ({"Cache_Control": ""}, 1, "it has no Cache-Control"),
    ({"Signature": "", "Signature_Input": ""}, 1, "has no proof of possession"),
    ({"Signature_Input": "((("}, 1, "has no proof of possession"),
    ({"Signature": "proof0=1"}, 3, "its proof proof0 does not verify"),
]


@pytest.mark.parametrize("wrong", WRONG)
@ensureDeferred
async def test_faults_of_a_directory_are_reported(robots_later, web, key, wrong):
    """Each in a line, with its severity."""
    changed, code, told = wrong
    served(web, signer_of(key), **{"now": now(), **changed})
    run = await robots_later("identity", "check", web.url, *CLEAR)
    assert run.returncode == code, run.stdout + run.stderr
    assert told in " ".join(run.stdout.decode().split())
    assert b"Traceback" not in run.stderr


@ensureDeferred
async def test_a_directory_elsewhere_or_without_the_projects_key_is_an_error(
    robots_later, robots, web, webs, key
):
    """Verifiers follow no redirects, and find no other key."""
    other = webs("127.0.0.2")
    served(other, signer_of(key), now=now(), host=web.url.removeprefix("http://"))
    web.pages[WELL_KNOWN] = Answer(
        status=301, headers={"Location": other.url + WELL_KNOWN}
    )
    robots("identity", "new", "mine.pem")
    mine = f"MANDELBOT_SIGN_KEY={key.with_name('mine.pem')}"
    run = await robots_later("identity", "check", web.url, *CLEAR, "-s", mine)
    assert run.returncode == 3
    assert b"verifiers follow no redirects" in run.stdout
    assert b"the key of MANDELBOT_SIGN_KEY is not in it" in run.stdout


@ensureDeferred
async def test_a_site_that_is_down_is_unavailable(robots_later, web):
    """The exit code is 2."""
    web.close()
    run = await robots_later("identity", "check", web.url)
    assert run.returncode == 2


# The page.


def test_the_page_says_what_the_settings_say(robots, project, tmp_path):
    """Name, User-Agent, purpose, pace, token, key, addresses; nothing of them is
    markup.
    """
    project.write_text(
        "USER_AGENT = 'ExampleBot/1.0 (<b>; +https://example.com/bot;"
        " me@example.com)'\nROBOTSTXT_USER_AGENT = 'ExampleBot'\nDOWNLOAD_DELAY ="
        " 2.5\nMANDELBOT_PACE = 'obey'\nMANDELBOT_PURPOSE = ['search',"
        " 'tdm']\nMANDELBOT_SIGN_OPTIONS = {'agent': 'https://bot.example'}\n"
    )
    networks = ["--address", "192.0.2.0/24", "--address", "2001:db8::1"]
    run = robots(
        "identity", "page", *networks, "--output", "bot.html", "--format", "json"
    )
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "bot.html").read_text()
    assert "ExampleBot/1.0 (&lt;b&gt;; " in page
    assert "User-agent: ExampleBot\nDisallow: /" in page
    assert "search, tdm" in page
    assert "2.5 seconds" in page
    assert "Crawl-delay" in page
    assert "https://bot.example" in page
    assert "me@example.com" in page
    assert "48 hours" in page
    assert '<link rel="client-ranges" href="addresses.json">' in page
    ranges = json.loads((tmp_path / "addresses.json").read_text())
    assert ranges["prefixes"] == [
        {"ipv4Prefix": "192.0.2.0/24"},
        {"ipv6Prefix": "2001:db8::1/128"},
    ]
    assert json.loads(run.stdout)["addresses"] == ranges


def test_a_page_needs_a_robot_with_a_name(robots, tmp_path):
    """Scrapy's own names none; without an address to write to that is said."""
    assert b"USER_AGENT names no robot" in robots("identity", "page").stderr
    run = robots("identity", "page", "-s", "USER_AGENT=Examplebot/1.0")
    assert run.returncode == 0
    assert b"<h1>Examplebot</h1>" in run.stdout
    assert b"has no e-mail address" in run.stderr


def test_an_invalid_network_is_a_usage_error(robots):
    """In a line."""
    run = robots(
        "identity", "page", "-s", "USER_AGENT=Examplebot/1.0", "--address", "here"
    )
    assert run.returncode == 2
    assert b"argument --address: invalid ip_interface value: 'here'" in run.stderr


@ensureDeferred
async def test_json_has_the_fields_that_the_page_lists(
    robots, robots_later, web, key, project
):
    """All of them, of all four."""
    found = fields_of(
        json.loads(robots("identity", "new", "x.pem", "--format", "json").stdout)
    )
    arguments = ["directory", "x.pem", "--host", "bot.example", "--format", "json"]
    told = json.loads(robots("identity", *arguments).stdout)
    found |= set(told)
    served(web, signer_of(key), Cache_Control="", now=now())
    run = await robots_later("identity", "check", web.url, "--format", "json")
    found |= fields_of(json.loads(run.stdout))
    page = json.loads(robots("identity", "page", "--format", "json").stdout)
    found |= fields_of(page)
    practices = robots("identity", "check", "--format", "json").stdout
    found |= fields_of(json.loads(practices))
    assert found == told_of("identity") | EVERY
