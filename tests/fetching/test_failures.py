"""Which failure an exception of the downloader stands for, across handlers and versions."""

from __future__ import annotations

import socket
import ssl

import pytest
import scrapy.exceptions
from OpenSSL import SSL
from twisted.internet import error as twisted_errors
from twisted.python.failure import Failure as TwistedFailure
from twisted.web._newclient import ResponseNeverReceived

from scrapy_mandelbot.fetching.failures import failure_of
from scrapy_mandelbot.politeness import Failure


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def never_received(reason: Exception) -> Exception:
    return ResponseNeverReceived([TwistedFailure(reason)])


CASES = [
    (scrapy.exceptions.IgnoreRequest("off site"), Failure.DROPPED),
    (scrapy.exceptions.StopDownload(fail=True), Failure.DROPPED),
    (twisted_errors.DNSLookupError("no results"), Failure.NO_SUCH_HOST),
    (socket.gaierror(-2, "Name or service not known"), Failure.NO_SUCH_HOST),
    (twisted_errors.ConnectionRefusedError(), Failure.REFUSED),
    (ConnectionRefusedError(111, "Connection refused"), Failure.REFUSED),
    (twisted_errors.TimeoutError(), Failure.TIMED_OUT),
    (twisted_errors.TCPTimedOutError(), Failure.TIMED_OUT),
    (TimeoutError(), Failure.TIMED_OUT),
    (twisted_errors.ConnectionLost(), Failure.LOST),
    (ConnectionResetError(), Failure.LOST),
    (never_received(twisted_errors.ConnectionDone()), Failure.LOST),
    (never_received(SSL.Error([("SSL routines", "", "wrong version number")])), Failure.TLS),
    (caused(RuntimeError("failed"), ssl.SSLError("handshake failure")), Failure.TLS),
    (RuntimeError("of a middleware"), Failure.OTHER),
]


@pytest.mark.parametrize(("error", "failure"), CASES)
def test_each_exception_means_one_failure(error, failure):
    """Whatever wraps it."""
    assert failure_of(error) is failure


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("CannotResolveHostError", Failure.NO_SUCH_HOST),
        ("DownloadConnectionRefusedError", Failure.REFUSED),
        ("DownloadTimeoutError", Failure.TIMED_OUT),
        ("DownloadFailedError", Failure.LOST),
        ("ResponseDataLossError", Failure.LOST),
    ],
)
def test_scrapys_own_exceptions(name, failure):
    """Of Scrapy 2.15 and newer."""
    error = getattr(scrapy.exceptions, name, None)
    if error is None:
        pytest.skip("this Scrapy raises Twisted's")
    assert failure_of(error("as it happens")) is failure


def test_exceptions_that_cause_each_other_end():
    """A ring of causes is walked once."""
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert failure_of(one) is Failure.OTHER
