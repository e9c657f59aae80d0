"""``mandelbot check``: faults of a file and of how a site delivers it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_webs import Answer

RULES = b"User-agent: *\nDisallow: /private/\n"
TEXT = {"Content-Type": "text/plain"}


def codes(run) -> list[str]:
    return [one["code"] for one in json.loads(run.stdout)["findings"]]


def test_the_proxy_of_the_environment_is_used(webs, robots):
    """The host is looked up by nobody here."""
    proxy = webs()
    url = "http://somewhere.invalid/robots.txt"
    proxy.pages[url] = Answer(RULES, headers=TEXT)
    run = robots("check", url, http_proxy=proxy.url)
    assert (run.returncode, run.stderr) == (0, b"")
    assert proxy.asked(url) == 1


def test_a_wrong_content_encoding_is_an_error(webs, robots):
    """No lost connection: what robots make of it is said."""
    web = webs()
    web.pages["/robots.txt"] = Answer(
        RULES, headers={**TEXT, "Content-Encoding": "gzip"}
    )
    run = robots("check", web.url, "--format", "json")
    assert (run.returncode, run.stderr) == (3, b"")
    assert codes(run) == ["not-encoded"]
    assert 'The Content-Encoding is \\"gzip\\"' in run.stdout.decode()


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux's /proc"
)
def test_a_bomb_of_findings_costs_little_memory(webs, tmp_path):
    """Half a megabyte of misspelt fields, packed into a few hundred bytes: 42,000
    findings.
    """
    body = b"User-agent: *\n" + b"Disalow: /x\n" * 42_000
    web = webs()
    packed = gzip.compress(body)
    web.pages["/robots.txt"] = Answer(
        packed, headers={**TEXT, "Content-Encoding": "gzip"}
    )
    command = [sys.executable, "-c", WITH_PEAK, "check", web.url]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert run.stdout.decode().endswith(": 42,000 errors, 1 note (--full lists them)\n")
    assert int(run.stderr.split()[-1]) < 150 * 1024


WITH_PEAK = """
import re, sys
from mandelbot.cli import verbs
try:
    verbs.main(sys.argv[1:])
finally:  # of this process alone: what it was forked from counts in ru_maxrss
    with open("/proc/self/status") as status:
        print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1], file=sys.stderr)
"""


def started(folder, *arguments):
    """Start the command, and do not wait for it."""
    command = [sys.executable, "-m", "mandelbot", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe)


def test_ctrl_c_ends_the_command(webs, tmp_path):
    """Long before an answer comes, in one line, with exit code 2."""
    web = webs()
    child = started(tmp_path, "check", web.url)

    def interrupt():
        os.kill(child.pid, signal.SIGINT)
        web.ended.wait(60)
        return Answer(RULES)

    web.pages["/robots.txt"] = interrupt
    with child:
        try:
            out, err = child.communicate(timeout=30)
        finally:
            child.kill()
    assert (out, err, child.returncode) == (b"", b"mandelbot: interrupted\n", 2)


@pytest.mark.parametrize("hops", [4, 5, 9, 10, 15])
def test_moderatobot_redirects_are_counted(webs, robots, hops):
    """Followed up to the tenth, a warning from the fifth. (File access)"""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", 301, {"Location": "/hop/1"})
    for hop in range(1, hops):
        web.pages[f"/hop/{hop}"] = Answer(b"", 302, {"Location": f"/hop/{hop + 1}"})
    web.pages[f"/hop/{hops}"] = Answer(RULES, headers=TEXT)
    report = json.loads((robots("check", web.url, "--format", "json")).stdout)
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


def test_redirects_may_lead_to_another_site_or_in_a_circle(webs, robots):
    """The one is a note, the other an answer that leads nowhere."""
    web, other = webs(), webs("127.0.0.2")
    web.pages["/robots.txt"] = Answer(b"", 302, {"Location": other.url + "/robots.txt"})
    other.pages["/robots.txt"] = Answer(b"", 302, {"Location": "/r.txt"})
    other.pages["/r.txt"] = Answer(RULES, headers=TEXT)
    assert codes(robots("check", web.url, "--format", "json")) == ["other-site"]
    web.pages["/robots.txt"] = Answer(b"", 302, {"Location": "/robots.txt"})
    run = robots("check", web.url, "--format", "json")
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
def test_moderatobot_statuses(webs, robots, status, code, exit_code):
    """Asked once, whatever it is: no retry, no pause.

    An error page is not read as rules.
    """
    web = webs()
    body = b"" if status == 204 else b"Disalow: /\n"
    web.pages["/robots.txt"] = Answer(body, status, {"Retry-After": "3600"})
    run = robots("check", web.url, "--format", "json")
    assert run.returncode == exit_code
    assert [one for one in codes(run) if one.startswith("status")] == [code]
    assert "misspelt-field" not in codes(run)
    # the second time in capitals
    assert web.statuses() == [status] * (1 if status != 404 else 2)


@pytest.mark.parametrize("status", [404, 410])
def test_a_file_that_is_there_in_capitals_alone_is_no_file(webs, robots, status):
    """Every robot asks for it in lower case. (Moderatobot, File name and location)"""
    web = webs()
    web.pages["/robots.txt"] = Answer(b"", status)
    web.pages["/ROBOTS.TXT"] = Answer(RULES, headers=TEXT)
    run = robots("check", web.url, "--format", "json")
    assert (codes(run), run.returncode) == (["only-in-capitals", "status-not-found"], 3)


def test_moderatobot_type_and_encoding(webs, robots):
    """Headers are told of as they came; what is packed is unpacked. (File format)"""
    web = webs()
    headers = {"Content-Type": "text/html; charset=latin-1", "Content-Encoding": "gzip"}
    web.pages["/robots.txt"] = Answer(
        gzip.compress(b"\xef\xbb\xbf" + RULES), headers=headers
    )
    run = robots("check", web.url, "--format", "json")
    expected = ["byte-order-mark", "charset-not-utf-8", "not-text-plain"]
    assert sorted(codes(run)) == expected
    web.pages["/robots.txt"].headers["Content-Encoding"] = "rot13"
    assert "unknown-content-encoding" in codes(
        robots("check", web.url, "--format", "json")
    )


def test_a_file_beyond_the_size_limit_is_reported(webs, robots):
    """Of a megabyte the finding says how much it is."""
    web = webs()
    body = RULES + (b"#" * 999 + b"\n") * 1_080
    web.pages["/robots.txt"] = Answer(body, headers=TEXT)
    run = robots("check", web.url, "--format", "json")
    assert "too-large" in codes(run)
    (message,) = [
        one["message"]
        for one in json.loads(run.stdout)["findings"]
        if one["code"] == "too-large"
    ]
    assert "1080034 bytes" in message


def test_a_truncated_file_is_incomplete(webs, robots):
    """Fewer bytes than announced: what came is checked, and it is told that it is not
    all.
    """
    web = webs()

    body = b"User-agent: *\nDisalow: /\n"
    web.pages["/robots.txt"] = Answer(body, headers=TEXT, length=1_000)
    run = robots("check", web.url, "--format", "json")
    assert run.returncode == 3
    assert {"incomplete", "misspelt-field"} <= set(codes(run))
