"""Signed requests of a crawl are verified by two implementations from npm, where they are there.

``npm install web-bot-auth http-message-signatures`` in a folder, and its ``node_modules`` in
``NODE_PATH``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer, html

from scrapy_mandelbot.signing import Signer

SCRIPT = Path(__file__).with_name("verify.cjs")
NODE = shutil.which("node")
CAN = (
    NODE is not None
    and subprocess.run(
        [NODE, "-e", "require('web-bot-auth'); require('http-message-signatures')"],
        capture_output=True,
        check=False,
    ).returncode
    == 0
)


def verified(key, messages):
    jwk = {**Signer(key).jwk, "kid": Signer(key).keyid}
    told = json.dumps({"jwk": jwk, "messages": messages})
    run = subprocess.run([NODE, SCRIPT], input=told, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.skipif(not CAN, reason="needs node, and two packages of npm")
@pytest.mark.parametrize("form", ["dictionary", "origin", "string"])
@ensureDeferred
async def test_requests_of_a_crawl_are_verified(sites, signing, key, form):
    """All of them; web-bot-auth 0.1.3 knows the oldest form alone."""
    web = sites()
    web.pages = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow:\n"),
        "/": html("/a/b%20c?q=1", "/busy"),
        "/a/b%20c?q=1": html(),
        "/busy": html(),
    }
    settings = {
        **signing,
        "MANDELBOT_SIGN_OPTIONS": {**signing["MANDELBOT_SIGN_OPTIONS"], "form": form},
    }
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    messages = [vars(one.message) for one in web.seen]
    results = verified(key, messages)
    assert len(results) == 4
    assert [one["http-message-signatures"] for one in results] == [True] * 4
    if form == "string":
        assert [one["web-bot-auth"] for one in results] == [True] * 4
    forged = [{**one, "method": "DELETE"} for one in messages]
    assert not any(result is True for one in verified(key, forged) for result in one.values())
