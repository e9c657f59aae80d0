"""What holds for all tests of the library, and fixtures of several modules."""

from __future__ import annotations

import gc

import pytest
from running import (  # noqa: F401 - hooks and fixtures
    browser,
    chromium,
    javascript,
    nothing_is_sent_but_to_loopback,
    put_in_order,
    pytest_collection_finish,
    pytest_make_collect_report,
    pytest_make_parametrize_id,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)


def pytest_configure():
    """Look for no garbage while tests are collected."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(items):
    """Mark as slow each test that needs a browser; the others say so themselves."""
    put_in_order(items)
    for item in items:
        if "chromium" in item.fixturenames:
            item.add_marker("slow")
