"""Debian's nginx with ``limit_req``, which answers 503 by itself, on loopback for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time

IS_THERE = shutil.which("nginx") is not None

CONFIG = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; text/plain txt; }}
    limit_req_zone $server_addr zone=pages:1m rate={rate}r/s;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/www;
        index index.html;
        location / {{ limit_req zone=pages burst={burst} {delay}; }}
    }}
}}
"""


class Nginx:
    """An nginx of our own, with a limit, and its own log of what it was asked."""

    def __init__(self, folder, rate: int, burst: int, delay: str = "nodelay") -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        user = "user root;" if os.getuid() == 0 else ""
        config = CONFIG.format(
            folder=folder, user=user, port=self.port, rate=rate, burst=burst, delay=delay
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

    def statuses(self) -> list[int]:
        lines = (self.folder / "access.log").read_text().splitlines()
        return [int(line.split('" ')[1].split()[0]) for line in lines]
