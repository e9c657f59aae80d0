"""Signed requests of a crawl are verified by an implementation from npm, where it is
there.

``npm install http-message-signatures`` in a folder, and its ``node_modules`` in
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

from scrapy_mandelbot.downloadermiddlewares.signing import Signer

SCRIPT = Path(__file__).with_name("verify.cjs")
NODE = shutil.which("node")
CAN = (
    NODE is not None
    and subprocess.run(
        [NODE, "-e", "require('http-message-signatures')"],
        capture_output=True,
        check=False,
    ).returncode
    == 0
)


def verified(key, messages):
    jwk = {**Signer(key).jwk, "kid": Signer(key).keyid}
    given = json.dumps({"jwk": jwk, "messages": messages})
    run = subprocess.run(
        [NODE, SCRIPT], input=given, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


@pytest.mark.skipif(not CAN, reason="needs node, and a package of npm")
@ensureDeferred
async def test_requests_of_a_crawl_are_verified(sites, signing, key):
    """All of them, and none that is forged."""
    web = sites()
    web.pages = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow:\n"),
        "/": html("/a/b%20c?q=1", "/busy"),
        "/a/b%20c?q=1": html(),
        "/busy": html(),
    }
    await crawl(LinksSpider, signing, start_urls=[web.url + "/"])
    messages = [vars(one.message) for one in web.seen]
    results = verified(key, messages)
    assert results == [True] * 4
    forged = [{**one, "method": "DELETE"} for one in messages]
    assert True not in verified(key, forged)
