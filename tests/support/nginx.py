"""Debian's nginx with ``limit_req``, which answers 503 by itself, on loopback for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot import RobotsTxt
from scrapy_mandelbot.robots.audit import (
    CopiesInForce,
    CopyInForce,
    Law,
    LogReading,
    Robot,
    judge,
    read_format,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.audit.judging import Judged

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
    limit_req_zone $server_addr zone=pages:1m rate={rate}r/{per};
    server {{
        listen 127.0.0.1:{port};
        root {folder}/www;
        index index.html;
        location / {{ limit_req zone=pages {burst}; {refuses} }}
        location @refused {{ {retry_after} return 503; }}
    }}
}}
"""


class Nginx:
    """An nginx of our own, with a limit, and its own log of what it was asked."""

    def __init__(
        self,
        folder,
        rate: int,
        burst: int,
        delay: str = "nodelay",
        retry_after: int | None = None,
        *,
        per: str = "s",
    ) -> None:
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
            burst=f"burst={burst} {delay}" if burst else "",
            refuses="" if retry_after is None else "error_page 503 @refused;",
            retry_after=f"add_header Retry-After {retry_after} always;" if retry_after else "",
            log_format=LOG_FORMAT,
        )
        (folder / "nginx.conf").write_text(config)
        (folder / "www").mkdir()
        self._process: subprocess.Popen | None = None

    def pages(self, count: int) -> None:
        www = self.folder / "www"
        links = "".join(f'<a href="/{number}.html">{number}</a>' for number in range(count))
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

    def audit(self, agent: str = "Scrapy", retry_after: float | None = None) -> Judged:
        """Return what this server's log says of a robot."""
        robots = RobotsTxt.parse((self.folder / "www" / "robots.txt").read_bytes())
        copies = CopiesInForce([CopyInForce(-inf, "robots.txt", robots)], agent)
        how, refusals = read_format(LOG_FORMAT), frozenset({503, 429})
        reading = LogReading(Robot((agent.lower(),)), how, lambda _: copies, refusals)
        reading.read((self.folder / "access.log").read_text("latin-1").split("\n"))
        assert reading.unreadable == 0
        (visits,) = reading.sites.values()
        return judge(visits, Law(how.clock.resolution, refusals, retry_after))

    def statuses(self) -> list[int]:
        lines = (self.folder / "access.log").read_text().splitlines()
        return [int(line.split('" ')[1].split()[0]) for line in lines]
