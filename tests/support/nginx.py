"""Debian's nginx with ``limit_req``, which answers 503 by itself, on loopback for
tests.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from math import inf
from typing import NamedTuple

IS_THERE = shutil.which("nginx") is not None

LOG_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $msec $request_time "$sent_http_retry_after"'
)
CONFIG = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
    log_format timed '{log_format}';
    access_log {folder}/access.log timed;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; text/plain txt; }}
    limit_conn_zone $server_addr zone=connections:1m;
    limit_req_zone $server_addr zone=pages:1m rate={rate}r/{per};
    server {{
        listen 127.0.0.1:{port};
        root {folder}/www;
        index index.html;
        location / {{
            {limit}
            limit_req_status {status};
            {refuses}
        }}
        location @refused {{ {retry_after} return 503; }}
    }}
}}
"""

# Of a line of the log: path, status, when it was written, how long the request took,
# Retry-After.
_LINE = re.compile(r'"\w+ (\S+) [^"]*" (\d+) .* ([\d.]+) ([\d.]+) "(-|\d+)"$')
# seconds after a refusal in which requests may have been sent before it
_IN_FLIGHT = 1.0
_JITTER = 0.05  # seconds by which two clocks, or two threads of one server, may differ


class Visits(NamedTuple):
    """How a visitor treated a server that refused requests."""

    robots_reads: Counter[int]
    """Responses to /robots.txt, by status."""
    refusals: int
    with_retry_after: int
    """Refusals that named a time."""
    too_early: int
    """Requests that came before that time was over, and were not in flight at the
    refusal.
    """
    least_return: float
    """Seconds from a refusal to the next request that was not in flight then; inf: none
    came.
    """


def _visits_in(lines: list[tuple[str, ...]]) -> Visits:
    requests = sorted(
        (float(written) - float(took), path, int(status), retry_after)
        for path, status, written, took, retry_after in lines
    )
    reads = Counter(status for _, path, status, _ in requests if path == "/robots.txt")
    refusals = with_retry_after = too_early = 0
    refused_at, paused_until, least_return = -inf, -inf, inf
    has_returned = True
    for began, _, status, retry_after in requests:
        since = began - refused_at
        if since > _IN_FLIGHT:
            if not has_returned:
                has_returned, least_return = True, min(least_return, since)
            too_early += paused_until - began >= _JITTER
        if status != 503:
            continue
        refusals += 1
        if has_returned and began >= paused_until:
            refused_at, has_returned = began, False
        if retry_after != "-":
            with_retry_after += 1
            paused_until = max(paused_until, began + float(retry_after))
    return Visits(reads, refusals, with_retry_after, too_early, least_return)


class Nginx:
    """An nginx of our own, with a limit, and its own log of what it was asked."""

    def __init__(
        self,
        folder,
        rate: int = 1,
        burst: int = 0,
        delay: str = "nodelay",
        retry_after: int | None = None,
        *,
        per: str = "s",
        status: int = 503,
        connections: int = 0,
        behind: str = "",
    ) -> None:
        """Make one with ``limit_req``; with `connections`, with ``limit_conn``.

        `behind`: the URL of a server to which nginx hands its requests on.
        """
        bucket = f"burst={burst} {delay}" if burst else ""
        limit = f"limit_req zone=pages {bucket};"
        if connections:
            limit = f"limit_conn connections {connections}; proxy_pass {behind};"
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        user = "user root;" if os.getuid() == 0 else ""
        config = CONFIG.format(
            folder=folder,
            user=user,
            port=self.port,
            rate=rate,
            per=per,
            status=status,
            limit=limit,
            refuses="" if retry_after is None else "error_page 503 @refused;",
            retry_after=f"add_header Retry-After {retry_after} always;"
            if retry_after
            else "",
            log_format=LOG_FORMAT,
        )
        (folder / "nginx.conf").write_text(config)
        (folder / "www").mkdir()
        self._process: subprocess.Popen | None = None

    def pages(self, count: int) -> None:
        www = self.folder / "www"
        links = "".join(
            f'<a href="/{number}.html">{number}</a>' for number in range(count)
        )
        (www / "index.html").write_text(f"<html><body>{links}</body></html>")
        (www / "robots.txt").write_text("User-agent: *\nDisallow:\n")
        for number in range(count):
            (www / f"{number}.html").write_text(f"<html><body>{number}</body></html>")

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
        raise TimeoutError((self.folder / "error.log").read_text())

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def visits(self) -> Visits:
        """Return what this server's log says of its visitor."""
        lines = (self.folder / "access.log").read_text("latin-1").splitlines()
        return _visits_in([_LINE.search(line).groups() for line in lines])

    def statuses(self) -> list[int]:
        lines = (self.folder / "access.log").read_text().splitlines()
        return [int(line.split('" ')[1].split()[0]) for line in lines]
