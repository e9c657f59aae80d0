"""The network in memory carries bytes as sockets do."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from crawling import ensureDeferred
from memory_net import PIECE, MemoryNetwork
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import (
    ConnectError,
    ConnectionAborted,
    ConnectionDone,
    ConnectionLost,
)
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater


class Kept(Protocol):
    """Keeps what comes, and tells how its connection ended."""

    def __init__(self):
        self.pieces = []
        self.beginning = Deferred()
        self.end = Deferred()

    def connectionMade(self):  # noqa: N802 -- Twisted's name
        self.beginning.callback(None)

    def dataReceived(self, data):  # noqa: N802
        self.pieces.append(data)

    def connectionLost(self, reason):  # noqa: N802
        self.end.callback(reason.type)


@pytest.fixture(params=["memory", "sockets"])
def listen(request):
    """Listen for one connection; the next one is dropped."""
    if not is_asyncio_reactor_installed():
        pytest.skip("only asyncio's loop carries it")
    from twisted.internet import reactor

    ports = []

    def start(server):
        factory = Factory()
        factory.buildProtocol = lambda _: server
        ports.append(reactor.listenTCP(0, factory, interface="127.0.0.1"))
        return ports[-1]

    with ExitStack() as stack:
        if request.param == "memory":
            stack.enter_context(MemoryNetwork(reactor).carried())
        yield start
        for port in ports:
            port.stopListening()


def connect(number, client):
    from twisted.internet import reactor

    where = TCP4ClientEndpoint(reactor, "127.0.0.1", number)
    return connectProtocol(where, client)


@ensureDeferred
async def test_all_that_was_written_comes_in_order_before_the_end(listen):
    server, client = Kept(), Kept()
    await connect(listen(server).getHost().port, client)
    client.transport.write(b"a" * 3 * PIECE)
    client.transport.writeSequence([b"b", b"c"])
    client.transport.loseConnection()
    assert await server.end is ConnectionDone
    assert await client.end is ConnectionDone
    assert b"".join(server.pieces) == b"a" * 3 * PIECE + b"bc"
    assert max(map(len, server.pieces)) <= PIECE


@ensureDeferred
async def test_where_nobody_listens_a_connection_is_refused(listen):
    port = listen(Kept())
    number = port.getHost().port
    await port.stopListening()
    with pytest.raises(ConnectError, match="refused"):
        await connect(number, Kept())


@ensureDeferred
async def test_a_connection_that_is_dropped_is_lost_to_the_other_end(listen):
    server, client = Kept(), Kept()
    await connect(listen(server).getHost().port, client)
    client.transport.write(b"a")
    while not server.pieces:
        await turn()
    server.transport.abortConnection()
    assert await server.end is ConnectionAborted
    assert await client.end is ConnectionLost


@ensureDeferred
async def test_nothing_comes_to_who_does_not_read(listen):
    """Nor the end of the connection."""
    server, client = Kept(), Kept()
    await connect(listen(server).getHost().port, client)
    await server.beginning
    server.transport.pauseProducing()
    client.transport.write(b"a")
    client.transport.loseConnection()
    for _ in range(5):
        await turn()
    assert server.pieces == []
    assert not server.end.called
    server.transport.resumeProducing()
    assert await server.end is ConnectionDone
    assert server.pieces == [b"a"]


def turn():
    """Wait for the next turn of the loop."""
    from twisted.internet import reactor

    return deferLater(reactor, 0, lambda: None)
