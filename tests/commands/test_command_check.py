"""``scrapy robots check``: faults of a file and of how a site delivers it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import ensureDeferred
from twisted.internet.threads import deferToThread
from webs import Answer

RULES = b"User-agent: *\nDisallow: /private/\n"
TEXT = {"Content-Type": "text/plain"}


def codes(run) -> list[str]:
    return [one["code"] for one in json.loads(run.stdout)["findings"]]


@ensureDeferred
async def test_a_site_is_fetched_with_the_projects_user_agent(
    webs, robots_later, project
):
    """Its agent requests a bare site's /robots.txt, though its rules forbid all."""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n", headers=TEXT)
    run = await robots_later("check", web.url)
    assert (run.returncode, run.stderr) == (1, b"")
    assert (
        run.stdout.decode()
        == "    2  warning   No robot may fetch anything. [closed-to-all]\n"
        f"{web.url}/robots.txt: 1 warning\n"
    )
    assert [hit.path for hit in web.hits] == ["/robots.txt"]
    assert web.hits[0].headers["user-agent"].startswith("Examplebot/1.0")


@ensureDeferred
async def test_a_site_is_fetched_outside_of_a_project(webs, robots_later):
    """With Scrapy's default agent; settings can be given."""
    web = webs()
    web.pages["/robots.txt"] = Answer(RULES, headers=TEXT)
    run = await robots_later("check", f"{web.url}/robots.txt", "-s", "USER_AGENT=mine")
    assert (run.returncode, run.stderr) == (0, b"")
    assert web.hits[0].headers["user-agent"] == "mine"


@ensureDeferred
async def test_the_projects_proxy_is_used(webs, robots_later):
    """That of the environment: the host is looked up by nobody here."""
    proxy = webs()
    url = "http://somewhere.invalid/robots.txt"
    proxy.pages[url] = Answer(RULES, headers=TEXT)
    run = await robots_later("check", url, http_proxy=proxy.url)
    assert (run.returncode, run.stderr) == (0, b"")
    assert proxy.asked(url) == 1


@ensureDeferred
async def test_a_wrong_content_encoding_is_an_error(webs, robots_later):
    """No lost connection: what robots make of it is said."""
    web = webs()
    web.pages["/robots.txt"] = Answer(
        RULES, headers={**TEXT, "Content-Encoding": "gzip"}
    )
    run = await robots_later("check", web.url, "--format", "json")
    assert (run.returncode, run.stderr) == (3, b"")
    assert codes(run) == ["not-encoded"]
    assert 'The Content-Encoding is \\"gzip\\"' in run.stdout.decode()


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux's /proc"
)
@ensureDeferred
async def test_a_bomb_of_findings_costs_little_memory(webs, tmp_path):
    """Half a megabyte of misspelt fields, packed into a few hundred bytes: 42,000
    findings.
    """
    body = b"User-agent: *\n" + b"Disalow: /x\n" * 42_000
    web = webs()
    packed = gzip.compress(body)
    web.pages["/robots.txt"] = Answer(
        packed, headers={**TEXT, "Content-Encoding": "gzip"}
    )
    command = [sys.executable, "-c", WITH_PEAK, "scrapy", "robots", "check", web.url]
    run = await deferToThread(
        subprocess.run, command, cwd=tmp_path, capture_output=True
    )
    assert run.stdout.decode().endswith(": 42,000 errors, 1 note (--full lists them)\n")
    assert int(run.stderr.split()[-1]) < 150 * 1024


WITH_PEAK = """
import re, sys
from scrapy.cmdline import execute
try:
    execute(sys.argv[1:])
finally:  # of this process alone: what it was forked from counts in ru_maxrss
    with open("/proc/self/status") as status:
        print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1], file=sys.stderr)
"""


def started(folder, *arguments):
    """Start the command, and do not wait for it."""
    command = [sys.executable, "-m", "scrapy", "robots", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe)


@ensureDeferred
async def test_ctrl_c_ends_the_command(webs, tmp_path):
    """Long before an answer comes, in one line, with exit code 2."""
    import os
    import signal

    from twisted.internet.threads import deferToThread

    web = webs()
    child = started(
        tmp_path, "check", web.url, "-s", 'MANDELBOT_LIMITS={"robots_timeout": 100}'
    )

    def interrupt(_):
        os.kill(child.pid, signal.SIGINT)
        return Answer(RULES, delay=60)

    web.pages["/robots.txt"] = interrupt
    with child:
        try:
            out, err = await deferToThread(child.communicate, timeout=30)
        finally:
            child.kill()
    assert (out, err, child.returncode) == (b"", b"scrapy robots: interrupted\n", 2)


@pytest.mark.parametrize("hops", [4, 5, 9, 10, 15])
@ensureDeferred
async def test_moderatobot_redirects_are_counted(webs, robots_later, hops):
    """Followed up to the tenth, a warning from the fifth. (File access)"""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 301, {"Location": "/hop/1"})
    for hop in range(1, hops):
        web.pages[f"/hop/{hop}"] = Answer(b"", 302, {"Location": f"/hop/{hop + 1}"})
    web.pages[f"/hop/{hops}"] = Answer(RULES, headers=TEXT)
    report = json.loads(
        (await robots_later("check", web.url, "--format", "json")).stdout
    )
    assert report["delivery"]["redirects"] == min(hops, 10)
    assert report["delivery"]["final_url"] == f"{web.url}/hop/{min(hops, 10)}"
    found = [one["code"] for one in report["findings"]]
    expected = {
        4: [],
        5: ["many-redirects"],
        9: ["many-redirects"],
        10: ["many-redirects"],
        15: ["too-many-redirects", "unfinished-redirect"],
    }
    assert found == expected[hops]


@ensureDeferred
async def test_redirects_may_lead_to_another_site_or_in_a_circle(webs, robots_later):
    """The one is a note, the other an answer that leads nowhere."""
    web, other = webs(), webs("127.0.0.2")
    web.pages["/robots.txt"] = Answer(b"", 302, {"Location": other.url + "/robots.txt"})
    other.pages["/robots.txt"] = Answer(b"", 302, {"Location": "/r.txt"})
    other.pages["/r.txt"] = Answer(RULES, headers=TEXT)
    assert codes(await robots_later("check", web.url, "--format", "json")) == [
        "other-site"
    ]
    web.pages["/robots.txt"] = Answer(b"", 302, {"Location": "/robots.txt"})
    run = await robots_later("check", web.url, "--format", "json")
    assert (codes(run), run.returncode) == (["unfinished-redirect"], 3)


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (204, "status-not-200", 1),
        (403, "status-forbids", 1),
        (404, "status-not-found", 0),
        (418, "status-client-error", 1),
        (429, "status-too-many-requests", 3),
        (503, "status-server-error", 3),
    ],
)
@ensureDeferred
async def test_moderatobot_statuses(  # noqa: PLR0917
    webs, robots_later, project, status, code, exit_code
):
    """Asked once, whatever it is: no retry, no pause.

    An error page is not read as rules.
    """
    web = webs()
    body = b"" if status == 204 else b"Disalow: /\n"
    web.pages["/robots.txt"] = Answer(body, status, {"Retry-After": "3600"})
    run = await robots_later("check", web.url, "--format", "json")
    assert run.returncode == exit_code
    assert [one for one in codes(run) if one.startswith("status")] == [code]
    assert "misspelt-field" not in codes(run)
    # the second time in capitals
    assert web.statuses() == [status] * (1 if status != 404 else 2)


@pytest.mark.parametrize("status", [404, 410])
@ensureDeferred
async def test_a_file_that_is_there_in_capitals_alone_is_no_file(
    webs, robots_later, status
):
    """Every robot asks for it in lower case. (Moderatobot, File name and location)"""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", status)
    web.pages["/ROBOTS.TXT"] = Answer(RULES, headers=TEXT)
    run = await robots_later("check", web.url, "--format", "json")
    assert (codes(run), run.returncode) == (["only-in-capitals", "status-not-found"], 3)


@pytest.mark.parametrize(
    ("other_status", "is_cited", "is_found"),
    [(200, True, False), (200, False, True), (404, False, True), (503, False, False)],
)
@ensureDeferred
async def test_a_sitemap_on_another_site_is_cited_there_too(
    webs, robots_later, other_status, is_cited, is_found
):
    """Else a note names line and site, unless the other site's file is unavailable."""
    web = webs()
    other = webs("127.0.0.2")
    line = f"Sitemap: {other.url}/map.xml\n".encode()
    web.pages["/robots.txt"] = Answer(RULES + line, headers=TEXT)
    theirs = line if is_cited else RULES
    other.pages["/robots.txt"] = Answer(theirs, other_status, headers=TEXT)
    only = ("check", web.url, "--select", "sitemap-elsewhere", "--format")
    run = await robots_later(*only, "json")
    found = [
        (one["severity"], one["text"]) for one in json.loads(run.stdout)["findings"]
    ]
    assert found == ([("note", line.decode().strip())] if is_found else [])
    run = await robots_later("check", web.url, "--full")
    said = f"The sitemap is on {other.url}, whose robots.txt does not cite it."
    assert (said in " ".join(run.stdout.decode().split())) is is_found
    run = await robots_later(*only, "sarif")
    assert len(json.loads(run.stdout)["runs"][0]["results"]) == is_found


@ensureDeferred
async def test_moderatobot_type_and_encoding(webs, robots_later):
    """Headers are told of as they came; what is packed is unpacked. (File format)"""
    import gzip

    web = webs()
    headers = {"Content-Type": "text/html; charset=latin-1", "Content-Encoding": "gzip"}
    web.pages["/robots.txt"] = Answer(
        gzip.compress(b"\xef\xbb\xbf" + RULES), headers=headers
    )
    run = await robots_later("check", web.url, "--format", "json")
    expected = ["byte-order-mark", "charset-not-utf-8", "not-text-plain"]
    assert sorted(codes(run)) == expected
    web.pages["/robots.txt"].headers["Content-Encoding"] = "rot13"
    assert "unknown-content-encoding" in codes(
        await robots_later("check", web.url, "--format", "json")
    )


@ensureDeferred
async def test_moderatobot_a_slow_file(webs, robots_later):
    """From five seconds on it is slow; a shorter timeout reports that nothing came."""
    web = webs()
    web.pages["/robots.txt"] = Answer(RULES, headers=TEXT, delay=5.2)
    slow = robots_later("check", web.url, "--format", "json")
    impatient = await robots_later(
        "check", web.url, "-s", 'MANDELBOT_LIMITS={"robots_timeout": 1}'
    )
    assert (impatient.returncode, impatient.stdout) == (2, b"")
    assert (
        impatient.stderr.decode()
        == f"scrapy robots: {web.url}/robots.txt: no answer in time\n"
    )
    assert codes(await slow) == ["slow"]


@ensureDeferred
async def test_a_file_beyond_the_size_limit_is_reported(webs, robots_later):
    """Of a megabyte the finding says how much it is."""
    web = webs()
    web.pages["/robots.txt"] = Answer(
        b"User-agent: *\nDisallow: /x\n" * 40_000, headers=TEXT
    )
    run = await robots_later("check", web.url, "--format", "json")
    assert "too-large" in codes(run)
    (message,) = [
        one["message"]
        for one in json.loads(run.stdout)["findings"]
        if one["code"] == "too-large"
    ]
    assert "1080000 bytes" in message


@ensureDeferred
async def test_an_endless_body_is_read_until_the_timeout(webs, robots_later):
    """A drip that outlasts the time: what came is checked, and it is told that it is
    not all.
    """
    web = webs()

    def drip(request):
        from twisted.internet.task import LoopingCall

        drops = LoopingCall(request.write, b"Disalow: /\n")
        request.notifyFinish().addBoth(lambda _: drops.stop())
        request.write(b"User-agent: *\n")
        drops.start(0.2)
        return Answer(b"", headers=TEXT, delay=60)

    web.pages["/robots.txt"] = drip
    run = await robots_later(
        "check",
        web.url,
        "--format",
        "json",
        "-s",
        'MANDELBOT_LIMITS={"robots_timeout": 5.5}',
    )
    assert {"incomplete", "slow", "misspelt-field"} <= set(codes(run))
    assert json.loads(run.stdout)["delivery"]["seconds"] >= 5.5


@ensureDeferred
async def test_a_truncated_file_is_incomplete(webs, robots_later):
    """Fewer bytes than announced: what came is checked, and it is told that it is not
    all.
    """
    web = webs()

    def half(request):
        request.setHeader("Content-Type", "text/plain")
        request.setHeader("Content-Length", "1000")
        request.write(b"User-agent: *\nDisalow: /\n")
        request.channel.transport.loseConnection()
        return Answer(b"", headers=TEXT, delay=60)

    web.pages["/robots.txt"] = half
    run = await robots_later("check", web.url, "--format", "json")
    assert run.returncode == 3
    assert {"incomplete", "misspelt-field"} <= set(codes(run))
