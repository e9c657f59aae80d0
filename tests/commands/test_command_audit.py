"""``scrapy robots audit``: what an access log says of a robot."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pytest
from browser import CONTRASTS, NEEDED
from pytest_twisted import ensureDeferred
from test_command_page import EVERY, PAGE, fields_of, told_of
from webs import Answer

AGENT = "Examplebot/1.0 (+https://example.com/bot)"
ROBOTS = "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"


def line(second: int, path: str, status: int = 200, agent: str = AGENT) -> str:
    moment = f"22/Nov/2026:08:{second // 60:02}:{second % 60:02} +0000"
    return f'10.0.0.1 - - [{moment}] "GET {path} HTTP/1.1" {status} 51 "-" "{agent}"\n'


POLITE = [line(0, "/robots.txt"), line(5, "/a"), line(9, "/b", 503), line(30, "/b")]
RUDE = [*POLITE, line(31, "/private/x\\x1b[2J")]


@pytest.fixture
def log(tmp_path):
    """A log of a robot that does all that is wrong, among others; and its site's robots.txt."""
    (tmp_path / "robots.txt").write_text(ROBOTS)
    path = tmp_path / "access.log"
    path.write_text("".join([*RUDE, line(32, "/private", agent="Otherbot/1"), "garbage\n"]))
    return path


KNOWN = ("--agent", "Examplebot", "--robots-txt", "robots.txt")


def test_what_is_wrong_is_told_with_its_line(robots, log):
    """The rule, the line of the log and the URL, nothing raw; errors are exit code 3."""
    run = robots("audit", "access.log", *KNOWN, "--retry-after", "60")
    text = run.stdout.decode()
    assert run.returncode == 3, run.stderr
    assert text.startswith("Examplebot: 5 requests\n")
    assert "1 request against robots.txt, line 2: Disallow: /private" in text
    assert "access.log:5 2026-11-22 08:00:31 /private/x%1B[2J" in text
    assert "1 request asked for what robots.txt forbids." in text
    assert "2 requests came before the time was over that a refusal asked for." in text
    assert "1 request came sooner than the delay asked for." in text
    assert text.endswith("3 errors, 1 warning\n")
    assert "\x1b" not in text


def test_a_polite_robot_is_exit_code_0(robots, log):
    """Warnings are 1, unless errors alone fail."""
    log.write_text("".join(POLITE))
    assert robots("audit", "access.log", *KNOWN).returncode == 0
    assert robots("audit", "access.log", *KNOWN, "--delay", "8").returncode == 1
    lenient = robots("audit", "access.log", *KNOWN, "--delay", "8", "--fail-on", "error")
    assert lenient.returncode == 0
    none = robots("audit", "access.log", "--agent", "Thirdbot")
    assert none.returncode == 1
    assert none.stderr == b"scrapy robots: there is no request of Thirdbot in 4 lines\n"


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("pack", PACKED)
def test_logs_are_unpacked(robots, log, pack):
    """Whatever their names are, from standard input, and of one that breaks off the whole lines."""
    octets = PACKED[pack](log.read_bytes())
    log.write_bytes(octets)
    (log.parent / "access.log.1").write_text("".join(POLITE))
    json_of = ("--format", "json")
    both = robots("audit", "access.log", "access.log.1", *KNOWN, *json_of)
    assert json.loads(both.stdout)["requests"] == 9
    piped = robots("audit", "-", *KNOWN, *json_of, stdin=octets)
    assert json.loads(piped.stdout)["logs"] == ["standard input"]
    assert json.loads(piped.stdout)["requests"] == 5
    log.write_bytes(octets[:-12])
    broken = robots("audit", "access.log", "access.log.1", *KNOWN, *json_of)
    assert broken.returncode == 3 or pack != "gz"
    assert b"access.log: it breaks off" in broken.stderr


def test_the_robots_txt_of_the_time_counts(robots, log):
    """By date and by host; the site's own is asked for."""
    (log.parent / "old.txt").write_text("")
    dated = ("old.txt", "2026-11-22T08:00:20Z=robots.txt")
    run = robots("audit", "access.log", "--agent", "Examplebot", *named(dated), "--format", "json")
    assert codes_of(run) == [], "the robot had read the old one"
    elsewhere = ("old.txt", "b.example=robots.txt")
    run = robots("audit", "access.log", "--agent", "*", *named(elsewhere), "--format", "json")
    assert codes_of(run) == []


def named(sources):
    return [word for one in sources for word in ("--robots-txt", one)]


def codes_of(run):
    (audited,) = json.loads(run.stdout)["sites"]
    return [one["code"] for one in audited["findings"]]


@ensureDeferred
async def test_a_robots_txt_is_asked_for(robots_later, log, webs):
    """As the site has it now; where there is none, all is allowed; an error is none."""
    web = webs()
    web.pages["/robots.txt"] = Answer(ROBOTS.encode(), headers={"Content-Type": "text/plain"})
    asking = ("audit", "access.log", "--agent", "Examplebot", "--format", "json", "--robots-txt")
    run = await robots_later(*asking, web.url)
    assert codes_of(run) == ["forbidden", "too-soon"]
    del web.pages["/robots.txt"]
    assert codes_of(await robots_later(*asking, web.url)) == []
    web.pages["/robots.txt"] = Answer(status=500)
    run = await robots_later(*asking, web.url)
    assert (run.returncode, b"500" in run.stderr) == (2, True)


def test_who_asks_may_be_known_by_address_alone(robots, log):
    """In the common format no line says who asks: an address does, or all are one."""
    log.write_text("".join(one.rpartition(' "-"')[0] + "\n" for one in RUDE))
    refused = robots("audit", "access.log", *KNOWN)
    assert refused.returncode == 2
    assert b"its lines do not say who asks: --address says" in refused.stderr
    for who in (("--address", "10.0.0.0/8"), ("--agent", "*")):
        assert robots("audit", "access.log", *KNOWN, *who).returncode == 3
    assert robots("audit", "access.log", *KNOWN, "--address", "10.0.0.2").returncode == 1


def test_a_log_may_have_a_format_of_its_own(robots, log):
    """As the server's configuration has it; Retry-After counts where it is there."""
    how = '$msec "$request" $status "$http_user_agent" "$sent_http_retry_after"'
    log.write_text(
        f'0.5 "GET /robots.txt HTTP/1.1" 200 "{AGENT}" "-"\n'
        f'5.500 "GET /a HTTP/1.1" 503 "{AGENT}" "10"\n'
        f'9.000 "GET /a HTTP/1.1" 200 "{AGENT}" "-"\n'
    )
    run = robots("audit", "access.log", *KNOWN, "--log-format", how, "--format", "json")
    assert codes_of(run) == ["during-pause"]
    report = json.loads(run.stdout)
    assert (report["format"], report["resolution"]) == ("its own", 0.001)


WRONG = {
    "no such log": (["nowhere.log"], b"nowhere.log: no such file"),
    "a folder": (["."], b"is a directory"),
    "no log": (["robots.txt"], b"its lines have no format that is known"),
    "a format without a time": (
        ["access.log", "--log-format", "%r %>s"],
        b"the format has no time",
    ),
    "no address": (["access.log", "--address", "here"], b"--address: 'here' does not appear"),
    "no robots.txt": (["access.log", "--robots-txt", "x.txt"], b"x.txt: no such file"),
    "no file named": (["access.log", "--robots-txt", "2026-01-01="], b"names no file"),
    "no seconds": (["access.log", "--delay", "-1"], b"--delay takes a number of seconds"),
    "standard input twice": (["-", "--robots-txt", "-"], b"can be read only once"),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_use_is_said_in_a_line(robots, log, case):
    """Exit code 2, and what was wrong."""
    words, message = WRONG[case]
    run = robots("audit", "--agent", "Examplebot", *words)
    assert (run.returncode, message in run.stderr) == (2, True), run.stderr


def test_long_lines_and_lines_without_end_are_none(robots, log):
    """A line of a megabyte is skipped, the one after it is read; the last needs no end."""
    log.write_text(f"{RUDE[0]}{'x' * 3_000_000}\n{''.join(RUDE[1:])}".rstrip("\n"))
    run = robots("audit", "access.log", *KNOWN, "--format", "json")
    assert json.loads(run.stdout)["requests"] == 5


def test_a_page_tells_it(robots, log, browser):
    """What the text says, in a browser too; nothing of the log is more than text."""
    hostile = RUDE[4].replace("/private/x", "/private/</style><script>window.harmed=1</script>")
    log.write_text("".join([*RUDE, hostile]))
    run = robots("audit", "access.log", *KNOWN, "--retry-after", "60", "--format", "html")
    assert run.returncode == 3
    path = log.with_suffix(".html")
    path.write_bytes(run.stdout)
    browser.show(path)
    text = browser.find_element("css selector", "main").text
    assert "2 requests asked for what robots.txt forbids." in text
    assert "access.log:6 2026-11-22 08:00:31 /private/</style><script>" in text
    assert browser.execute_script("return window.harmed") is None
    assert browser.complaints() == []
    for width in (390, 1440):
        browser.be(width, is_phone=width < 500)
        needed, there = browser.execute_script(NEEDED)
        assert needed <= there
    contrasts = browser.execute_script(CONTRASTS)
    assert [pair for pair in contrasts if pair[0] < 4.5] == []


def test_the_documents_show_what_is_printed(robots, log):
    """The example of docs/command.rst is what comes of such a log."""
    log.write_text(log.read_text().replace("\\x1b[2J", ""))
    run = robots("audit", "access.log", *KNOWN, "--retry-after", "60", COLUMNS="80")
    shown = PAGE.partition("--retry-after 60\n")[2].partition("\n\n*Which requests.*")[0]
    assert run.stdout.decode().splitlines() == [line[4:] for line in shown.splitlines()]


def test_the_page_names_all_of_the_json(robots, log):
    """Every field, and no other."""
    run = robots("audit", "access.log", *KNOWN, "--retry-after", "60", "--format", "json")
    assert fields_of(json.loads(run.stdout)) - EVERY == told_of("audit")
