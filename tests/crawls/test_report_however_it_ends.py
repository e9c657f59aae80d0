"""The report is there however a crawl ends. Each crawl is a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CRAWL = Path(__file__).with_name("reported.py")


@contextmanager
def crawling(report, how):
    """Run a crawl, and go on when it is in the middle."""
    command = [sys.executable, CRAWL, report, how]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "crawling\n"
            yield process
        finally:
            process.kill()


def log_until(process, text):
    """Read what the crawl logs up to the line that says so; return it."""
    log = []
    for line in process.stderr:
        log.append(line)
        if text in line:
            return log
    raise AssertionError("".join(log))


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_told_to_stop_leaves_its_report(tmp_path, told):
    """Ctrl-C, or a supervisor: the requests under way end, then the report is written
    and named.
    """
    path = tmp_path / "report.html"
    with crawling(path, "stop") as process:
        process.send_signal(told)
        log = process.stderr.read()
        process.wait()
    report = json.loads(path.with_suffix(".json").read_text())
    assert (report["reason"], report["is_finished"]) == ("shutdown", True)
    assert report["total"]["pages"] >= 1  # others may be under way
    assert f"Wrote the report on the crawl: {path}" in log
    assert report["verdict"].startswith("Stopped after ")
    assert " (Ctrl-C or SIGTERM). " in report["verdict"]
    assert report["result"] == "INCOMPLETE"
    assert f"</b> {report['came']}</p>" in path.read_text()
    assert report["verdict"].startswith(report["came"])
    assert report["verdict"].partition(" s ")[2] in log


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_told_so_twice_leaves_its_report(tmp_path, told):
    """What is under way is not waited for; the report says that the crawl is not
    finished.
    """
    path = tmp_path / "report.json"
    with crawling(path, "twice") as process:
        process.send_signal(told)
        log_until(process, "Send again to force")
        process.send_signal(told)
        process.stderr.read()
        process.wait()
    report = json.loads(path.read_text())
    assert (report["reason"], report["is_finished"]) == ("process exited", False)
    assert report["total"]["pages"] >= 1  # others may be under way


@pytest.mark.parametrize(
    ("how", "reason"),
    [("closespider", "closespider_pagecount"), ("own error", "finished")],
)
def test_a_crawl_that_ends_by_itself_leaves_its_report(tmp_path, how, reason):
    """At a limit of the project, or where a part of this package is broken."""
    path = tmp_path / "report.json"
    command = [sys.executable, CRAWL, path, how]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(path.read_text())
    assert (report["reason"], report["is_finished"]) == (reason, True), run.stderr


def test_a_crawl_that_is_killed_leaves_the_report_of_a_little_before(tmp_path):
    """It was written while the crawl went on, by a thread, and says that it is not
    finished.
    """
    path = tmp_path / "report.html"
    with crawling(path, "running") as process:
        data = path.with_suffix(".json")
        while json.loads(data.read_text())["total"]["pages"] < 8:
            assert process.poll() is None
        process.kill()
        process.wait()
    report = json.loads(data.read_text())
    assert (report["reason"], report["is_finished"]) == ("not finished", False)
    assert report["waiting"][0]["waiting"] > 10
    assert "<b>not finished</b>" in path.read_text()
