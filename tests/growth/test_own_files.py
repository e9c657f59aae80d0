"""A damaged file of one's own ends no crawl by a traceback, and is not waited for.

``own_files.py`` has the readers, and what becomes of their files.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress

import pytest

from growth.own_files import FILES, JSON, SHAPES, SQLITE, with_cells, with_values
from scrapy_mandelbot.job.job_lock import JobInUseError

BY_NAME = [pytest.param(one, id=one.name) for one in FILES]
PATIENCE = 60  # seconds; only what waits for ever takes them
LONGEST = 1_000  # characters of a line

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGALRM"), reason="what waits could not be ended"
)


class WaitsError(BaseException):
    """A reader waits: no handler of Exception takes this."""


@pytest.fixture(autouse=True)
def bound():
    """End what waits for ever."""

    def ends(*_):
        raise WaitsError

    before = signal.signal(signal.SIGALRM, ends)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def of_the_package(caplog):
    """Return what the package has logged: Scrapy logs, too, where nothing was set."""
    ours = ("scrapy_mandelbot", "mandelbot")
    return [record for record in caplog.records if record.name.startswith(ours)]


def attempt(one, path, caplog) -> str:
    """Read a file; return what is wrong with how that ended."""
    caplog.clear()
    signal.alarm(PATIENCE)
    said = ""
    try:
        one.read(path)
    except one.errors as error:
        said = str(error)
    except (Exception, WaitsError) as error:  # noqa: BLE001 -- it is what is looked for
        return f"raised {error!r:.200}"
    finally:
        signal.alarm(0)
    records = of_the_package(caplog)
    lines = [record.getMessage() for record in records]
    if any(record.exc_info for record in records):
        return "logged a traceback"
    if any(not line.isprintable() or len(line) > LONGEST for line in lines):
        return f"logged raw or long text: {lines}"
    if len(said.splitlines()) > 1 and one.errors != (Exception,):
        return f"says more than a line: {said}"
    return ""


@pytest.mark.parametrize("one", BY_NAME)
def test_a_good_file_is_read(one, tmp_path, caplog):
    """Without a word."""
    path = one.write(tmp_path)
    with suppress(JobInUseError):  # the lock is held meanwhile
        one.read(path)
    assert of_the_package(caplog) == []


@pytest.mark.parametrize("one", BY_NAME)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_damaged_file_is_told_in_a_line(one, shape, tmp_path, caplog):
    if shape == "a pipe" and not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes")
    path = one.write(tmp_path)
    SHAPES[shape](path)
    assert attempt(one, path, caplog) == ""


@pytest.mark.parametrize("one", [one for one in BY_NAME if one.values[0].kind == JSON])
def test_any_value_of_json_may_be_another_one(one, tmp_path, caplog):
    """No number, another type, one without end, one that is nested too deeply."""
    wrong = {}
    text = one.write(tmp_path).read_text()
    for name, changed in with_values(text):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        path = one.write(tmp_path)
        path.write_text(changed)
        wrong[name] = attempt(one, path, caplog)
    assert {name: why for name, why in wrong.items() if why} == {}


@pytest.mark.parametrize(
    "one", [one for one in BY_NAME if one.values[0].kind == SQLITE]
)
def test_any_column_of_a_database_may_hold_another_value(one, tmp_path, caplog):
    """SQLite takes any type in any column."""
    wrong = {}
    good = tmp_path / "good"
    good.mkdir()
    path = one.write(good)
    for number, (name, change) in enumerate(with_cells(path)):
        copy = tmp_path / str(number)
        shutil.copytree(good, copy)
        change(copy / path.name)
        wrong[name] = attempt(one, copy / path.name, caplog)
        shutil.rmtree(copy)
    assert {name: why for name, why in wrong.items() if why} == {}
