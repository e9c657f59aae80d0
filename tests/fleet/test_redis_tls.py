"""Redis over TLS: who the server is, is made sure of, and nothing goes out in the
clear.
"""

from __future__ import annotations

import socket
import threading

import pytest
from certificates import Authority
from redis import Redis
from redis_server import NEEDS_REDIS, USER, RedisServer, add_user, free_port

from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.redis_job import RedisJobServer
from scrapy_mandelbot.job.job_store import StorageError

pytestmark = NEEDS_REDIS


class Tls:
    """A server with TLS and a user, and those whom one may trust."""

    def __init__(self, folder) -> None:
        self.authority = Authority(folder, "authority")
        self.stranger = Authority(folder, "stranger")
        crt, key = self.authority.sign("server")
        self.other_host = self.authority.sign("other", host="redis.example")
        self.client_crt, self.client_key = self.authority.sign("client")
        self.port = free_port()
        self.server = RedisServer(
            folder,
            *("--tls-port", str(self.port), "--tls-auth-clients", "no"),
            *("--tls-cert-file", str(crt), "--tls-key-file", str(key)),
            *("--tls-ca-cert-file", str(self.authority.path)),
        )
        self.url = f"rediss://{USER}@127.0.0.1:{self.port}/3"
        self.good = f"{self.url}?ssl_ca_certs={self.authority.path}"


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    started = Tls(tmp_path_factory.mktemp("tls"))
    with started.server, Redis.from_url(started.server.url) as client:
        add_user(client)
        yield started


@pytest.fixture
def client(tls):
    with Redis.from_url(tls.server.url) as one:
        yield one


def test_a_job_is_kept_over_tls(tls):
    """By the same URL; a client's own certificate is shown where the server asks for
    one.
    """
    with Redis.from_url(tls.server.url) as client:
        client.config_set("tls-auth-clients", "yes")
        try:
            assert _refused(tls.good)
            own = f"&ssl_certfile={tls.client_crt}&ssl_keyfile={tls.client_key}"
            server = RedisJobServer(tls.good + own, JobTerms("job", 60))
            assert server.join().others == 0
            server.close()
        finally:
            client.config_set("tls-auth-clients", "no")


def test_a_certificate_of_another_host_is_refused(tls, client):
    """Though one who is trusted has signed it; unless the URL says that this is no
    matter.
    """
    before = client.config_get("tls-*-file")
    crt, key = map(str, tls.other_host)
    client.config_set("tls-cert-file", crt, "tls-key-file", key)
    try:
        assert "127.0.0.1" in _refused(tls.good)
        for option in ("ssl_check_hostname=false", "ssl_cert_reqs=none"):
            server = RedisJobServer(f"{tls.good}&{option}", JobTerms("job", 60))
            assert server.join().worker
            server.close()
    finally:
        client.config_set(
            *(
                "tls-cert-file",
                before["tls-cert-file"],
                "tls-key-file",
                before["tls-key-file"],
            )
        )


def test_tls_is_never_left_for_the_clear(tls):
    """A server that speaks no TLS is sent no password, and one that does answers nobody
    without.
    """
    with socket.create_server(("127.0.0.1", 0)) as plain:
        said = []

        def hear() -> None:
            connection, _ = plain.accept()
            with connection:
                said.append(connection.recv(10_000))

        hearing = threading.Thread(target=hear)
        hearing.start()
        assert _refused(tls.good.replace(str(tls.port), str(plain.getsockname()[1])))
        hearing.join()
    assert said[0][:1] == b"\x16", "the first record of TLS"
    assert b"cret" not in said[0]
    assert _refused(f"redis://127.0.0.1:{tls.port}/0")


def _refused(url: str) -> str:
    server = RedisJobServer(url, JobTerms("job", 60))
    with pytest.raises(StorageError) as raised:
        server.join()
    server.close()
    return str(raised.value)
