"""Which failure an exception of the downloader stands for, across handlers and
versions.
"""

from __future__ import annotations

import errno
import socket
import ssl

import pytest
import scrapy.exceptions
from mandelbot.answers.content_codings import UnreadableBodyError
from mandelbot.answers.failures import (
    TruncatedError,
    failure_at,
    failure_of,
    has_begun,
    names_no_host,
    without_traceback,
)
from mandelbot.answers.outcome import Failure
from OpenSSL import SSL
from twisted.internet import error as twisted_errors
from twisted.python.failure import Failure as TwistedFailure
from twisted.web._newclient import ResponseFailed, ResponseNeverReceived


class InactiveStreamClosed(twisted_errors.ConnectionClosed):
    """Stands for Scrapy's, whose module needs h2."""


LOST = TwistedFailure(twisted_errors.ConnectionLost())


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def never_received(reason: Exception) -> Exception:
    return ResponseNeverReceived([TwistedFailure(reason)])


CASES = [
    (scrapy.exceptions.IgnoreRequest("off site"), Failure.DROPPED),
    (scrapy.exceptions.StopDownload(fail=True), Failure.OTHER),
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
    (
        never_received(SSL.Error([("SSL routines", "", "wrong version number")])),
        Failure.TLS,
    ),
    (caused(RuntimeError("failed"), ssl.SSLError("handshake failure")), Failure.TLS),
    (twisted_errors.NoRouteError(), Failure.UNREACHABLE),
    (twisted_errors.ConnectError(), Failure.UNREACHABLE),
    (OSError(errno.EHOSTUNREACH, "No route to host"), Failure.UNREACHABLE),
    (
        type("PayloadError", (Exception,), {"__module__": "aiohttp.errors"})(),
        Failure.LOST,
    ),
    (RuntimeError("of a middleware"), Failure.OTHER),
    (KeyError("of a middleware"), Failure.OTHER),
    (FileNotFoundError(errno.ENOENT, "of a middleware"), Failure.OTHER),
    (scrapy.exceptions.NotSupported("no handler"), Failure.OTHER),
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


@pytest.mark.parametrize(
    ("error", "failure", "begun"),
    [
        (TruncatedError(b"User-a", ConnectionResetError()), Failure.LOST, True),
        (UnreadableBodyError("no gzip"), Failure.PROXY, True),
        (
            type("TruncatedError", (ConnectionError,), {})("of a library"),
            Failure.PROXY,
            False,
        ),
        (ConnectionResetError(), Failure.PROXY, False),
    ],
)
def test_half_a_response_through_a_proxy_is_of_the_site(error, failure, begun):
    """The package's own exceptions say so; another one of the same name does not."""
    assert failure_at("https://example.com/robots.txt", error, by_proxy=True) is failure
    assert has_begun(error) is begun


def test_exceptions_that_cause_each_other_end():
    """A ring of causes is walked once."""
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert failure_of(one) is Failure.OTHER


@pytest.mark.parametrize(
    ("host", "is_none"),
    [
        ("example.com", False),
        ("example.com.", False),
        ("a_b.example.com", False),
        ("münchen.example", False),
        ("127.0.0.1:8080", False),
        ("[::1]:8080", False),
        ("localhost", False),
        ("a..b", True),
        (".example.com", True),
        ("x" * 64 + ".example.com", True),
        ("%00", True),
        ("a%20b", True),
        ("300.300.300.300", True),
        ("", True),
    ],
)
def test_what_cannot_be_a_host(host, is_none):
    """A link may have any; what libraries raise of it is no error of the project."""
    assert names_no_host(f"http://{host}/robots.txt") is is_none


def test_an_error_that_is_kept_holds_no_frames():
    """Nor do those that it was raised from: a frame holds requests, and what hangs on
    them.
    """
    with pytest.raises(ConnectionResetError) as reset:
        raise ConnectionResetError
    with pytest.raises(RuntimeError) as failed:
        raise RuntimeError from reset.value
    assert reset.value.__traceback__ is not None
    kept = without_traceback(failed.value)
    assert kept.__traceback__ is None
    assert kept.__cause__.__traceback__ is None


@pytest.mark.parametrize(
    ("error", "begun"),
    [
        (ResponseFailed([LOST]), True),
        (ResponseNeverReceived([LOST]), False),
        (ResponseFailed([InactiveStreamClosed("not sent"), LOST]), False),
    ],
)
def test_a_request_that_http2_never_sent_is_no_answer(error, begun):
    """Its handler puts the reason itself where others put a Failure of it."""
    assert failure_of(error) is Failure.LOST
    assert has_begun(error) is begun
