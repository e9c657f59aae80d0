"""A network in memory, for sites of this process: Twisted's HTTP, and no socket.

While `MemoryNetwork.carried` is on, what the reactor is told to listen to and to
connect to goes over it, TLS as well. What one end writes comes to the other in the next
turn of the loop, in order and in pieces as a socket has them. So a crawl that waits for
a site of its own process waits for a timer, or the loop has something to do: no byte is
on its way meanwhile, however busy the machine is.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from twisted.internet._resolver import HostResolution
from twisted.internet.abstract import isIPAddress
from twisted.internet.address import IPv4Address
from twisted.internet.base import BaseConnector
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import (
    ConnectionAborted,
    ConnectionDone,
    ConnectionLost,
    getConnectError,
)
from twisted.internet.interfaces import (
    IHostnameResolver,
    IPushProducer,
    ITCPTransport,
)
from twisted.python.failure import Failure
from zope.interface import implementer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twisted.internet.interfaces import (
        IHostResolution,
        IProtocol,
        IProtocolFactory,
        IResolutionReceiver,
    )

PIECE = 65_536  # bytes that come at once, and those that wait before a producer has to
ANY = ""
"""The interface of a port that takes connections to whichever host."""


class MemoryNetwork:
    """The ports of one process, by host and number."""

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor
        self.soon: Callable[..., object] = reactor._asyncioEventloop.call_soon
        self._ports: dict[tuple[str, int], Port] = {}
        self._numbers = count(40_000)

    @contextmanager
    def carried(self) -> Iterator[None]:
        """Carry what the reactor listens to and connects to."""
        instead = {"listenTCP": self._listen, "connectTCP": self._connect}
        vars(self.reactor).update(instead)
        before = self.reactor.nameResolver
        self.reactor.installNameResolver(AddressesAtOnce(before))
        try:
            yield
        finally:
            self.reactor.installNameResolver(before)
            for name in instead:
                del vars(self.reactor)[name]

    def next_number(self) -> int:
        """Return the number of a port that nobody has."""
        return next(self._numbers)

    def port(self, host: str, number: int) -> Port | None:
        """Return who listens there."""
        return self._ports.get((host, number)) or self._ports.get((ANY, number))

    def close(self, port: Port) -> None:
        """Listen there no longer."""
        self._ports.pop((port.host, port.number), None)

    def _listen(
        self,
        port: int,
        factory: IProtocolFactory,
        backlog: int = 50,
        interface: str = ANY,
    ) -> Port:
        opened = Port(self, interface, port or self.next_number(), factory)
        self._ports[interface, opened.number] = opened
        factory.doStart()
        return opened

    def _connect(
        self,
        host: str,
        port: int,
        factory: Any,
        timeout: float = 30,
        bindAddress: tuple[str, int] | None = None,  # noqa: N803
    ) -> Connector:
        ours = (bindAddress or ("127.0.0.1", 0))[0]
        connector = Connector(self, (host, port), ours, factory, timeout)
        connector.connect()
        return connector


@implementer(IHostnameResolver)
class AddressesAtOnce:
    """Asks no thread for the address of an address; for that of a name it does."""

    def __init__(self, of_names: IHostnameResolver) -> None:
        self._of_names = of_names

    def resolveHostName(  # noqa: N802 -- Twisted's name
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        **options: Any,
    ) -> IHostResolution:
        if not isIPAddress(hostName):
            return self._of_names.resolveHostName(
                resolutionReceiver, hostName, portNumber, **options
            )
        resolution = HostResolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        resolutionReceiver.addressResolved(IPv4Address("TCP", hostName, portNumber))
        resolutionReceiver.resolutionComplete()
        return resolution


class Port:
    """Where a factory listens."""

    def __init__(
        self, network: MemoryNetwork, host: str, number: int, factory: IProtocolFactory
    ) -> None:
        self.host = host
        self.number = number
        self.factory = factory
        self._network = network

    def getHost(self) -> IPv4Address:  # noqa: N802 -- Twisted's name
        return IPv4Address("TCP", self.host, self.number)

    def stopListening(self) -> Deferred[None]:  # noqa: N802
        """Open connections stay open."""
        self._network.close(self)
        self.factory.doStop()
        return succeed(None)


class Connector(BaseConnector):
    """Connects a client to a port."""

    def __init__(
        self,
        network: MemoryNetwork,
        where: tuple[str, int],
        ours: str,
        factory: Any,
        timeout: float,
    ) -> None:
        super().__init__(factory, timeout, network.reactor)
        self._network = network
        self._where = where
        self._ours = IPv4Address("TCP", ours, network.next_number())

    def getDestination(self) -> IPv4Address:  # noqa: N802
        return IPv4Address("TCP", *self._where)

    def _makeTransport(self) -> End:  # type: ignore[override]  # noqa: N802
        end = End(self._network, self._ours, self.getDestination())
        end.connector = self
        self._network.soon(self._reach, end)
        return end

    def _reach(self, end: End) -> None:
        if self.state != "connecting":
            return
        port = self._network.port(*self._where)
        if port is None:
            refused = (errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            self.connectionFailed(Failure(getConnectError(refused)))
            return
        other = End(self._network, self.getDestination(), self._ours)
        end.other = other
        other.other = end
        other.connect(port.factory.buildProtocol(self._ours))
        end.connect(self.buildProtocol(self.getDestination()))


@implementer(ITCPTransport, IPushProducer)
class End:
    """One end of a connection: the transport of a protocol."""

    connector: Connector | None = None
    other: End
    protocol: IProtocol | None = None

    def __init__(
        self, network: MemoryNetwork, ours: IPv4Address, theirs: IPv4Address
    ) -> None:
        self.connected = False
        self.disconnecting = False
        self._soon = network.soon
        self._ours = ours
        self._theirs = theirs
        self._written = bytearray()  # what has not come to the other end
        self._will_send = False  # in the next turn of the loop
        self.is_reading = True
        self._their_end: Exception | None = None  # that has come, but was not read
        self._producer: Any = None
        self._is_streaming = False
        self._producer_waits = False

    # A connection begins, and ends.

    def connect(self, protocol: IProtocol | None) -> None:
        """Begin; without a protocol the connection is dropped at once."""
        self.connected = True
        self.protocol = protocol
        if protocol is None:
            self.abortConnection()
        else:
            protocol.makeConnection(self)

    def failIfNotConnected(self, error: Exception) -> None:  # noqa: N802
        """Give up connecting."""
        if not self.connected and self.connector is not None:
            connector, self.connector = self.connector, None
            connector.connectionFailed(Failure(error))

    def loseConnection(self, *_: object) -> None:  # noqa: N802
        """End when all that was written has gone."""
        self.disconnecting = True
        self.send_soon()

    def loseWriteConnection(self) -> None:  # noqa: N802
        self.loseConnection()

    def abortConnection(self) -> None:  # noqa: N802
        """End at once, and tell the other end that the connection is lost."""
        if self.connected:
            self._written.clear()
            self._end(ConnectionAborted(), ConnectionLost())

    def _end(self, ours: Exception, theirs: Exception) -> None:
        self.connected = False
        self._soon(self._has_ended, ours)
        self._soon(self.other.hear_of_end, theirs)

    def hear_of_end(self, reason: Exception) -> None:
        """End as the other end has, once all that came before is read."""
        if not self.connected:
            return
        self._their_end = reason
        if self.is_reading:
            self.connected = False
            self._has_ended(reason)

    def _has_ended(self, reason: Exception) -> None:
        failure = Failure(reason)
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.stopProducing()
        if self.protocol is not None:
            self.protocol.connectionLost(failure)
        if self.connector is not None:
            self.connector.connectionLost(failure)

    # Bytes.

    def write(self, data: bytes) -> None:
        if not self.connected:
            return
        self._written += data
        self.send_soon()
        is_streaming = self._producer is not None and self._is_streaming
        if is_streaming and not self._producer_waits and len(self._written) > PIECE:
            self._producer_waits = True
            self._producer.pauseProducing()

    def writeSequence(self, pieces: Any) -> None:  # noqa: N802
        self.write(b"".join(pieces))

    def send_soon(self) -> None:
        """Send in the next turn of the loop."""
        if not self._will_send:
            self._will_send = True
            self._soon(self._send)

    def _send(self) -> None:
        self._will_send = False
        if not self.connected:
            return
        if self._written:
            if not self.other.is_reading:
                return  # it sends on when it reads again
            piece = bytes(self._written[:PIECE])
            del self._written[:PIECE]
            self.other.receive(piece)
        if self._written:
            self.send_soon()
        elif self._producer is not None and (
            self._producer_waits or not self._is_streaming
        ):
            self._producer_waits = False
            self._producer.resumeProducing()
        elif self.disconnecting and self.connected:
            self._end(ConnectionDone(), ConnectionDone())

    def receive(self, piece: bytes) -> None:
        """Give to the protocol what the other end has written."""
        if self.connected and self.protocol is not None:
            self.protocol.dataReceived(piece)

    # Flow control: of what is read, and by what produces what is written.

    def pauseProducing(self) -> None:  # noqa: N802
        self.is_reading = False

    def resumeProducing(self) -> None:  # noqa: N802
        if self.connected and not self.disconnecting:
            self.is_reading = True
            self.other.send_soon()
            if self._their_end is not None:
                self._soon(self.hear_of_end, self._their_end)

    def stopProducing(self) -> None:  # noqa: N802
        self.loseConnection()

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: N802, FBT001
        if not self.connected:
            producer.stopProducing()
            return
        self._producer = producer
        self._is_streaming = streaming
        if not streaming:
            producer.resumeProducing()

    def unregisterProducer(self) -> None:  # noqa: N802
        self._producer = None
        self._producer_waits = False
        if self.disconnecting:
            self.send_soon()

    # What a TCP transport tells and can be told.

    def getHost(self) -> IPv4Address:  # noqa: N802
        return self._ours

    def getPeer(self) -> IPv4Address:  # noqa: N802
        return self._theirs

    def getTcpNoDelay(self) -> bool:  # noqa: N802
        return True

    def setTcpNoDelay(self, enabled: bool) -> None:  # noqa: N802, FBT001
        """Nothing waits for more here."""

    def getTcpKeepAlive(self) -> bool:  # noqa: N802
        return False

    def setTcpKeepAlive(self, enabled: bool) -> None:  # noqa: N802, FBT001
        """Nothing gets lost here."""
