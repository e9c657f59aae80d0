"""One site of the demo web: what it answers, and its own count of what it was asked."""

import gzip
from collections import Counter
from html import escape
from http import HTTPStatus
from math import ceil

from twisted.internet.error import CannotListenError
from twisted.web import server
from twisted.web.resource import Resource

LATENCY = 0.1  # seconds that an answer takes


class Site(Resource):
    """A small site: pages of links, some files, some redirects, and perhaps an outage.

    Args:
        links: per page, by path, the paths that it links to. A page that is only linked
            to exists.
        closed: the pages that the owner wants no robot to ask for.
        unlinked: pages that no link leads to.
        files: texts by path. {site} becomes the site's URL; a path in .gz is served
            compressed.
        redirects: paths by path.
        sitemaps: paths of the sitemaps that robots.txt names.
        outage: seconds for which everything is answered with 503.
        outage_after: how many pages are served before that; None for a site without an
            outage.
    """

    isLeaf = True  # noqa: N815  # Twisted's name

    def __init__(  # noqa: PLR0913
        self,
        *,
        links,
        files,
        closed=(),
        unlinked=(),
        redirects=None,
        sitemaps=(),
        outage=0.0,
        outage_after=None,
    ):
        super().__init__()
        self.links = links
        self.files = files
        self.closed = set(closed)
        self.linked = set(links).union(*links.values())
        self.pages = self.linked.union(unlinked)
        self.redirects = redirects or {}
        self.sitemaps = sitemaps
        self.outage = outage
        self.outage_after = outage_after
        self.url = None  # known when the site listens
        self.answers = Counter()  # (path, status) -> how often
        self._back_at = None

    def listen(self, reactor, host):
        """Serve the site on a free port of this host."""
        try:
            self._port = reactor.listenTCP(0, server.Site(self), interface=host)
        # Linux has all of 127.0.0.0/8, other systems only 127.0.0.1
        except CannotListenError:
            host = "127.0.0.1"
            self._port = reactor.listenTCP(0, server.Site(self), interface=host)
        self._reactor = reactor
        self.url = f"http://{host}:{self._port.getHost().port}"

    @property
    def has_outage(self):
        """Whether the site is one that answers 503 for a while."""
        return self.outage_after is not None

    def urls(self, paths):
        """Return the URLs of these paths, each counted once."""
        return Counter(self.url + path for path in paths)

    def asked(self, paths=None, status=None):
        """Return the URLs that were asked for, and how often.

        Args:
            paths: count only these; None counts all.
            status: count only what was answered so; None counts all.
        """
        count = Counter()
        for (path, answer), times in self.answers.items():
            if (paths is None or path in paths) and status in (None, answer):
                count[self.url + path] += times
        return count

    def close(self):
        """Stop listening.

        Returns:
            A Deferred that fires when the port is free.
        """
        return self._port.stopListening()

    def render_GET(self, request):  # noqa: N802  # Twisted's name
        """Answer a request, some time later."""
        path = request.uri.decode("ascii")
        status, headers, body = self._answer(path)
        self.answers[path, status] += 1
        request.setResponseCode(status)
        for name, value in headers.items():
            request.setHeader(name, value)

        def send():
            request.write(body)
            request.finish()

        sending = self._reactor.callLater(LATENCY, send)
        # the client has left
        request.notifyFinish().addErrback(lambda _: sending.cancel())
        return server.NOT_DONE_YET

    def _answer(self, path):
        """Return status, headers and body for a path."""
        if seconds := self._outage_left():
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                {"Retry-After": str(ceil(seconds))},
                b"",
            )
        if path in self.redirects:
            return HTTPStatus.MOVED_PERMANENTLY, {"Location": self.redirects[path]}, b""
        if path in self.pages:
            return (
                HTTPStatus.OK,
                {"Content-Type": "text/html; charset=utf-8"},
                self._page(path),
            )
        if path in self.files:
            body = self.files[path].replace("{site}", self.url).encode()
            if path.endswith(".gz"):
                return (
                    HTTPStatus.OK,
                    {"Content-Type": "application/gzip"},
                    gzip.compress(body),
                )
            return HTTPStatus.OK, {"Content-Type": "text/plain; charset=utf-8"}, body
        return HTTPStatus.NOT_FOUND, {}, b""

    def _outage_left(self):
        """Return how many seconds the outage still lasts; the first call starts it."""
        if not self.has_outage:
            return 0.0
        if self.asked(self.pages, HTTPStatus.OK).total() < self.outage_after:
            return 0.0
        now = self._reactor.seconds()
        if self._back_at is None:
            self._back_at = now + self.outage
        return max(0.0, self._back_at - now)

    def _page(self, path):
        """Return a page that has its path for a title, and its links."""
        links = (
            f'<li><a href="{escape(to)}">{escape(to)}</a>'
            for to in self.links.get(path, ())
        )
        return f"<title>{escape(path)}</title><ul>{''.join(links)}</ul>".encode()
