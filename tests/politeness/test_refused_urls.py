"""Whether it is the site that refuses, or one of its URLs."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness import PauseLaw, Refusal, RefusedUrls
from scrapy_mandelbot.politeness.refused_urls import MOST_REFUSED_URLS

ONE, OTHER = b"one", b"other"


@pytest.fixture
def urls() -> RefusedUrls:
    return RefusedUrls(PauseLaw(first=1))


def refused(urls, which, *, sent_at, good_at, retry_after=None) -> bool:
    return urls.refused(which, Refusal(1000, "503", retry_after), sent_at, good_at)


def test_others_were_answered_well_since_it_was_sent(urls):
    """Then the URL is to blame, but for its first refusal, and it is tried again a while later."""
    assert not refused(urls, ONE, sent_at=10, good_at=11)
    assert urls.may_go_at(ONE) == 0
    for times, pause in enumerate([1, 2, 4, 5, 5], start=2):
        assert refused(urls, ONE, sent_at=10 + times, good_at=11)
        assert urls.times_alone(ONE) == times
        assert urls.may_go_at(ONE) == 1000 + pause


def test_the_server_says_when(urls):
    """Then the request is tried no sooner, and its site is asked on."""
    refused(urls, ONE, sent_at=10, good_at=11)
    assert refused(urls, ONE, sent_at=14, good_at=13, retry_after=30.0)
    assert urls.may_go_at(ONE) == 1030


@pytest.mark.parametrize("good_at", [9, None])
def test_nothing_was_answered_since_it_was_sent(urls, good_at):
    """Then it may as well be the site."""
    assert not refused(urls, ONE, sent_at=10, good_at=good_at)
    assert not refused(urls, ONE, sent_at=14, good_at=good_at)
    assert urls.times_alone(ONE) == 0


def test_another_was_refused_as_well(urls):
    """Then it is the site, until it answers any request well."""
    refused(urls, ONE, sent_at=10, good_at=9)
    refused(urls, OTHER, sent_at=11, good_at=9)
    assert not refused(urls, ONE, sent_at=13, good_at=12)
    urls.answered(OTHER)
    assert refused(urls, ONE, sent_at=14, good_at=13)
    assert urls.times_alone(ONE) == 3


def test_who_was_to_blame_need_not_be_for_ever(urls):
    """A refusal of another request means that the site is in trouble now."""
    refused(urls, ONE, sent_at=10, good_at=11)
    assert refused(urls, ONE, sent_at=12, good_at=13)
    refused(urls, OTHER, sent_at=14, good_at=13)
    assert not refused(urls, ONE, sent_at=15, good_at=13)
    assert urls.times_alone(ONE) == 0


def test_one_never_refused_has_no_count(urls):
    """Zero."""
    assert urls.times_alone(ONE) == 0
    assert urls.may_go_at(ONE) == 0


def test_what_was_answered_or_given_up_is_forgotten(urls):
    """Nothing is left of it."""
    for end in (urls.answered, urls.forget):
        refused(urls, ONE, sent_at=1, good_at=None)
        assert len(urls) == 1
        end(ONE)
        assert len(urls) == 0
        end(ONE)


def test_only_so_many_are_remembered(urls):
    """Those that were refused last; one that is forgotten is as if it had not been refused."""
    for number in range(3 * MOST_REFUSED_URLS):
        refused(urls, b"%d" % number, sent_at=number, good_at=None)
    assert len(urls) == MOST_REFUSED_URLS
    last = b"%d" % (3 * MOST_REFUSED_URLS - 1)
    urls.answered(OTHER)  # the site is well
    assert not refused(urls, b"0", sent_at=10**6, good_at=10**7)
    urls.answered(OTHER)
    assert refused(urls, last, sent_at=10**6, good_at=10**7)
