"""The line on a terminal that shows how far a crawl is, and the log above it."""

from __future__ import annotations

import io
import logging
import os
import re
import struct
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Closed, site

from scrapy_mandelbot.report import progress_line as progress
from scrapy_mandelbot.report.progress_line import SCREEN, fitted

pytestmark = pytest.mark.usefixtures("loop_is_turned")
CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def lines(self):
        """Return what a person would see now."""
        return [line.rpartition(CLEAR)[2] for line in self.getvalue().split("\n")]

    def shown(self):
        """Return each text that was shown in the last line."""
        return re.findall(r"\r\x1b\[K([^\r\n]+)", self.getvalue())


@pytest.fixture
def opened(monkeypatch):
    """Put a terminal in place of standard error, with Scrapy's log on it.

    The test does so itself: pytest replaces standard error once more as a test begins.
    """
    handlers = []

    def put(term="xterm", *, is_terminal=True):
        monkeypatch.setenv("TERM", term)
        monkeypatch.delenv("COLUMNS", raising=False)
        screen = Terminal()
        monkeypatch.setattr(screen, "isatty", lambda: is_terminal)
        monkeypatch.setattr(sys, "stderr", screen)
        handlers.append(logging.StreamHandler(screen))
        handlers[-1].setLevel(logging.INFO)
        logging.getLogger().addHandler(handlers[-1])
        return screen

    yield put
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
        assert "emit" not in vars(handler), "the handler is as it was"


@ensureDeferred
async def test_a_terminal_shows_how_far_a_crawl_is(webs, opened, monkeypatch):
    """What is done, known to come and paused, until when, and how long it takes."""
    terminal = opened()
    monkeypatch.setenv("COLUMNS", "132")
    monkeypatch.setattr(progress, "_REDRAWN", 10**6)
    web = site(webs, 20)
    web.refuse = Closed(seconds=40, after=5, retry_after="40", robots_too=False)
    await crawl(LinksSpider, {"DOWNLOAD_DELAY": 1}, start_urls=[web.url + "/"])
    shown = terminal.shown()
    paused = [line for line in shown if "paused" in line]
    assert re.fullmatch(
        r"\d+%: \d+ done, \d+ known to come, at least \d+ s left, \d\.\d/s,"
        r" 1 site paused, next at \d\d:\d\d:\d\d UTC",
        paused[0],
    )
    left = int(re.search(r"at least (\d+) s", paused[0])[1])
    assert 30 < left <= 40, "what is left waits for the end of the pause"
    assert not re.search(r"\d done", "\n".join(terminal.lines())), "the line is gone"


@ensureDeferred
async def test_the_log_and_the_line_do_not_damage_each_other(webs, opened, monkeypatch):
    """Each log line is whole and by itself, whatever came before."""
    terminal = opened()
    monkeypatch.setattr(progress, "_REDRAWN", 0)
    web = site(webs, 5)
    settings = {"DOWNLOAD_DELAY": 1, "LOGSTATS_INTERVAL": 1}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert any("known to come" in one for one in terminal.shown())
    seen = terminal.lines()
    for message in result.messages:
        if message.startswith(("Requests: ", "OK: ")):
            assert message in seen
    assert not any("known to come" in line for line in seen)


@pytest.mark.parametrize(
    ("settings", "terminal"),
    [
        ({"MANDELBOT_PROGRESS": False}, {}),
        ({}, {"term": "dumb"}),
        ({}, {"is_terminal": False}),
    ],
)
@ensureDeferred
async def test_nothing_is_shown_without_a_terminal(webs, opened, settings, terminal):
    """Or where the project does not want it."""
    screen = opened(**terminal)
    settings = {"DOWNLOAD_DELAY": 1, **settings}
    await crawl(LinksSpider, settings, start_urls=[site(webs, 5).url + "/"])
    assert CLEAR not in screen.getvalue()


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (
            79,
            "56%: 47 done, 37 known to come, at least 11 s left, 3.4/s, 1 site paused",
        ),
        (54, "56%: 47 done, 37 known to come, at least 11 s left"),
        (39, "56%: 47 done, 37 known to come"),
        (5, "56%: 47 done"),
    ],
)
def test_a_narrow_terminal_shows_the_first_parts(width, line):
    """Each part whole."""
    parts = ["56%: 47 done", "37 known to come", "at least 11 s left", "3.4/s"]
    assert fitted([*parts, "1 site paused"], width) == line


class Crawl:
    """What the screen sees of a crawl."""

    def __init__(self, name, parts):
        self.name = name
        self.parts = parts


def test_two_crawls_share_the_line(opened):
    """Each by its name; one that has ended leaves it to the other."""
    terminal = opened()
    first = Crawl("shop", ["56%: 47 done", "37 known to come"])
    second = Crawl("news", ["0%: 0 done"])
    SCREEN.add(first)
    SCREEN.add(second)
    SCREEN.draw()
    assert terminal.lines() == ["shop 56%: 47 done, news 0%: 0 done"]
    SCREEN.remove(second)
    SCREEN.draw()
    assert terminal.lines() == ["56%: 47 done, 37 known to come"]
    SCREEN.remove(first)
    assert terminal.lines() == [""]
    SCREEN.draw()
    assert terminal.lines() == [""]


def test_lines_from_other_threads_are_whole(opened, monkeypatch):
    """The line is drawn between two log lines, not within one."""
    terminal = opened()
    monkeypatch.setattr(progress, "_REDRAWN", 0)
    one = Crawl("shop", ["1 done"])
    SCREEN.add(one)
    log = logging.getLogger("threads")

    def write():
        for number in range(50):
            log.warning("line %s of a thread", number)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        SCREEN.draw()
    SCREEN.remove(one)
    seen = terminal.lines()
    assert len(seen) == 201
    assert all(re.fullmatch(r"line \d+ of a thread", line) for line in seen[:-1])


SPIDER = """
import scrapy
from scrapy_mandelbot.report import progress_line as progress

progress.EVERY = 0.01

class ShopSpider(scrapy.Spider):
    name = "shop"
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "MANDELBOT_STORE": "memory",
        "DOWNLOAD_DELAY": 0.02,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
    }

    async def start(self):
        for number in range(20):
            yield scrapy.Request(f"data:,{number}")

    def parse(self, response):
        self.logger.info("Got %s", response.url)
"""


@pytest.mark.slow
def test_a_real_terminal_of_40_columns(tmp_path):
    """By a pseudo terminal: no progress is longer, and all log lines are whole."""
    fcntl = pytest.importorskip("fcntl")
    openpty = pytest.importorskip("pty").openpty
    termios = pytest.importorskip("termios")
    (tmp_path / "spider.py").write_text(SPIDER)
    controller, terminal = openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    environ = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environ.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py"],
        cwd=tmp_path,
        stderr=terminal,
        env=environ,
    ):
        os.close(terminal)
        written = b""
        with suppress(OSError):  # the terminal has no writer any longer
            while octets := os.read(controller, 65_536):
                written += octets
    os.close(controller)
    text = written.decode().replace("\r\n", "\n")
    shown = re.findall(r"\r\x1b\[K([^\r\n]+)", text)
    progresses = [line for line in shown if " done" in line]
    assert len(progresses) >= 3
    assert max(map(len, progresses)) < 40
    seen = [line.rpartition(CLEAR)[2] for line in text.split("\n")]
    logged = [line for line in seen if "] INFO: " in line]
    assert len(logged) > 10
    assert all(re.match(r"\d{4}-\d\d-\d\d ", line) for line in logged)
    assert not any(" done" in line for line in seen)
