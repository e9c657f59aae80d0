"""What each status of /robots.txt means. (Mandelbot, "HTTP Status Codes"; DESIGN of the table)"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness import OutcomeKind, status_outcome

PAUSING = frozenset({503, 429})

CASES = [
    *[(status, OutcomeKind.RULES) for status in (200, 201, 204, 206, 299)],
    *[(status, OutcomeKind.ALLOW_ALL) for status in (300, 304, 305)],
    *[(status, OutcomeKind.ALLOW_ALL) for status in (400, 401, 403, 404, 410, 418, 451, 499)],
    *[(status, OutcomeKind.UNAVAILABLE) for status in (500, 501, 502, 504, 599)],
    *[(status, OutcomeKind.UNAVAILABLE) for status in (503, 429)],
    *[(status, OutcomeKind.UNAVAILABLE) for status in (100, 199, 600, 999)],
]


@pytest.mark.parametrize(("status", "kind"), CASES)
def test_mandelbot_status(status, kind):
    """Each status has one meaning."""
    outcome = status_outcome(status, PAUSING)
    assert outcome.kind is kind
    assert outcome.status == status
    assert str(status) in outcome.reason


def test_mandelbot_a_4xx_is_as_no_file_even_401_and_403():
    """This is true even for 401 Unauthorized and 403 Forbidden responses."""
    for status in (401, 403):
        assert status_outcome(status, PAUSING).kind is OutcomeKind.ALLOW_ALL


def test_a_429_that_does_not_pause_is_a_4xx():
    """Which statuses pause is the project's to say."""
    assert status_outcome(429, frozenset({503})).kind is OutcomeKind.ALLOW_ALL


def test_retry_after_belongs_to_an_unavailable_site_only():
    """A 200 with Retry-After asks for nothing."""
    assert status_outcome(503, PAUSING, 30.0).retry_after == 30.0
    assert status_outcome(200, PAUSING, 30.0).retry_after is None
