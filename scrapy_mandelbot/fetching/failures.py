"""Which failure an exception of the downloader stands for, whichever handler and version raised it.

By name: before Scrapy 2.15 the exceptions were Twisted's, and handlers for other libraries are
about. What none of the rows knows is a failure all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.politeness import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = (
    (Failure.DROPPED, {"IgnoreRequest", "StopDownload"}),  # the project's own word, not the site's
    (Failure.NO_SUCH_HOST, {"DNSLookupError", "CannotResolveHostError", "gaierror"}),
    (Failure.TLS, {"SSLError", "OpenSSL.SSL.Error", "VerificationError", "CertificateError"}),
    (Failure.REFUSED, {"ConnectionRefusedError", "DownloadConnectionRefusedError"}),
    (Failure.TIMED_OUT, {"TimeoutError", "TCPTimedOutError", "DownloadTimeoutError"}),
    (
        Failure.LOST,
        {"ConnectionLost", "ConnectionDone", "ResponseFailed", "DownloadFailedError"}
        | {"ResponseDataLossError", "ConnectionError"},
    ),
)


def failure_of(error: BaseException) -> Failure:
    """Return what an exception raised by a download means."""
    names = {name for one in _causes(error) for name in _class_names(one)}
    return next((failure for failure, known in _NAMES if names & known), Failure.OTHER)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Iterate over the exception, what it was raised from, and what Twisted wraps in it."""
    pending, seen = [error], set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.__cause__ is not None:
            pending.append(one.__cause__)
        reasons: Any = getattr(one, "reasons", None)  # of Twisted's ResponseFailed
        if isinstance(reasons, (list, tuple)):
            values = (getattr(reason, "value", None) for reason in reasons)
            pending.extend(value for value in values if isinstance(value, BaseException))


def _class_names(error: BaseException) -> Iterator[str]:
    for one in type(error).__mro__:
        yield one.__name__
        yield f"{one.__module__}.{one.__name__}"
