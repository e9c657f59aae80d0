"""A damaged ``spider.state`` is set aside before Scrapy's extension reads it."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from scrapy_mandelbot.job.spider_state import set_damaged_aside

DEEP = b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b"."


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        b"\0" * 100,
        pickle.dumps({"a": 1})[:-2],
        b"cno\nmodule\n.",
        DEEP,
    ],
    ids=["empty", "text", "NUL", "half", "of an unknown class", "too deep"],
)
def test_a_file_that_cannot_be_restored_is_kept_beside(tmp_path, caplog, content):
    """One WARNING says so, without a traceback."""
    path = tmp_path / "spider.state"
    path.write_bytes(content)
    set_damaged_aside(path)
    assert not path.exists()
    assert (tmp_path / "spider.state.damaged").read_bytes() == content
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.exc_info is None
    assert "kept as spider.state.damaged" in record.getMessage()


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_set_aside_without_reading_it(tmp_path, caplog, kind):
    path: Path = tmp_path / "spider.state"
    if kind == "directory":
        path.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        pytest.skip("there are no named pipes")
    set_damaged_aside(path)
    assert not path.exists()
    assert len(caplog.records) == 1


def test_a_good_file_stays(tmp_path, caplog):
    """And none is missed."""
    path = tmp_path / "spider.state"
    set_damaged_aside(path)
    path.write_bytes(pickle.dumps({"a": 1}))
    set_damaged_aside(path)
    assert pickle.loads(path.read_bytes()) == {"a": 1}
    assert not caplog.records
