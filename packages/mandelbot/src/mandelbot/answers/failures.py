"""Maps exceptions of any download handler, in any version of Scrapy, to failures.

Exceptions are matched by name: before Scrapy 2.15 they were Twisted's, and third-party
handlers raise those of their libraries. An exception that matches no row comes from the
project's code.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Address
from typing import Any
from urllib.parse import urlsplit

from mandelbot.answers.content_codings import UnreadableBodyError
from mandelbot.answers.outcome import SILENT, Failure
from mandelbot.formatting import shown

_NAMES = (
    (Failure.DROPPED, {"IgnoreRequest"}),
    (Failure.OTHER, {"StopDownload"}),  # a signal handler of the project
    (Failure.NO_SUCH_HOST, {"DNSLookupError", "CannotResolveHostError", "gaierror"}),
    (
        Failure.TLS,
        {"SSLError", "OpenSSL.SSL.Error", "VerificationError", "CertificateError"},
    ),
    (Failure.REFUSED, {"ConnectionRefusedError", "DownloadConnectionRefusedError"}),
    (Failure.TIMED_OUT, {"TimeoutError", "TCPTimedOutError", "DownloadTimeoutError"}),
    # Twisted's other connection errors, and a proxy's refusal in Scrapy.
    (Failure.UNREACHABLE, {"ConnectError", "TunnelError"}),
    (
        Failure.LOST,
        {"ConnectionLost", "ConnectionDone", "ResponseFailed", "DownloadFailedError"}
        | {"ResponseDataLossError", "ConnectionError", "RequestTransmissionFailed"},
    ),
)
_LIBRARIES = frozenset(
    {
        "aiohttp",
        "anyio",
        "curl_cffi",
        "h11",
        "h2",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
    }
    | {"http", "hyperframe", "playwright", "pycurl", "requests", "urllib3"}
)
"""Packages whose exceptions, passed on by a handler, are network failures."""
_ANSWERED = frozenset({"ParseError", "ClientResponseError", "RemoteProtocolError"})
_NOT_BEGUN = frozenset({"ResponseNeverReceived", "InactiveStreamClosed"})
"""What a ResponseFailed says where nothing came; the latter over HTTP/2."""
_UNREACHABLE = frozenset(
    {
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EADDRNOTAVAIL,
    }
)
_LONGEST_LABEL = 63  # octets of a part of a name (RFC 1035, section 2.3.4)


class TruncatedError(ConnectionError):
    """The connection ended before the response did."""

    def __init__(self, body: bytes, error: Exception) -> None:
        super().__init__(f"the response is truncated after {len(body)} bytes: {error}")
        self.body = body
        """The part received, unpacked as far as possible; it may be empty."""


def failure_at(url: str, error: BaseException, *, by_proxy: bool) -> Failure:
    """Return the failure of a download of a URL, which may be that of its proxy."""
    failure = failure_of(error)
    if failure in SILENT and by_proxy and not isinstance(error, TruncatedError):
        return Failure.PROXY
    if failure is Failure.OTHER and names_no_host(url):
        return Failure.NO_SUCH_HOST
    return failure


def failure_of(error: BaseException) -> Failure:
    """Return the failure that an exception of a download stands for."""
    causes = list(causes_of(error))
    names = _class_names(causes)
    for failure, known in _NAMES:
        if names & known:
            return failure
    # Other system errors concern files, for example, and come from the project's code.
    if any(isinstance(one, OSError) and one.errno in _UNREACHABLE for one in causes):
        return Failure.UNREACHABLE
    if _is_any_of_library(causes):
        return Failure.LOST
    return Failure.OTHER


def is_of_library(error: BaseException) -> bool:
    """Return whether a library's own exception shows a failure of the network."""
    return _is_any_of_library(causes_of(error))


def _is_any_of_library(causes: Iterable[BaseException]) -> bool:
    return any(type(one).__module__.partition(".")[0] in _LIBRARIES for one in causes)


def has_begun(error: BaseException) -> bool:
    """Return whether the host sent a part of a response, or bytes that are none."""
    if isinstance(error, (TruncatedError, UnreadableBodyError)):
        return True
    causes = list(causes_of(error))
    names = _class_names(causes)
    if names & _ANSWERED:
        # httpx's
        return not any("without sending a response" in str(one) for one in causes)
    return "ResponseFailed" in names and names.isdisjoint(_NOT_BEGUN)


def was_new_connection(error: BaseException) -> bool:
    """Return whether a request failed with the first connection made for it.

    Twisted repeats a GET by itself where a connection that was kept open is closed
    meanwhile. Of other methods, and of other libraries, this is not known.
    """
    names = _class_names(list(causes_of(error)))
    if failure_of(error) is Failure.UNREACHABLE:
        return True
    return "twisted.web._newclient.ResponseNeverReceived" in names


def names_no_host(url: str) -> bool:
    """Return whether the host name of a URL is impossible.

    Links contain such names, and each download library raises another error for them.
    """
    try:
        host = urlsplit(url).hostname or ""
        labels = host.encode("idna").decode().removesuffix(".").split(".")
    except (UnicodeError, ValueError):  # a label that is empty or too long, too
        return True
    if ":" in host:
        return False  # an address of IPv6, or the URL had been none
    if labels[-1].isdecimal():
        try:
            IPv4Address(".".join(labels))
        except AddressValueError:
            return True
    return not all(map(_may_be_a_label, labels))


def _may_be_a_label(label: str) -> bool:
    if len(label) > _LONGEST_LABEL:
        return False
    return label.replace("-", "").replace("_", "").isalnum()


def error_text(error: BaseException) -> str:
    """Return an error as one line of text, safe to log."""
    return shown(" ".join(f"{type(error).__name__}: {str(error)[:1_000]}".split()))


def without_traceback(error: BaseException) -> BaseException:
    """Return the error without frames, which would keep their variables in memory."""
    for one in causes_of(error):
        one.__traceback__ = None
    return error


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Iterate over an exception, its causes, and what Twisted wraps in it."""
    pending = [error]
    seen = set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.__cause__ is not None:
            pending.append(one.__cause__)
        found: list[Any] = [getattr(one, "reason", None)]  # of urllib's URLError
        reasons: Any = getattr(one, "reasons", None)  # of Twisted's ResponseFailed
        if isinstance(reasons, (list, tuple)):
            found += (getattr(reason, "value", reason) for reason in reasons)
        pending += (value for value in found if isinstance(value, BaseException))


def _class_names(errors: list[BaseException]) -> set[str]:
    classes = {one for error in errors for one in type(error).__mro__}
    return {
        name
        for one in classes
        for name in (one.__name__, f"{one.__module__}.{one.__name__}")
    }
