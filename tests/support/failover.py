"""A primary, its replica, and an address that leads to one of them, as workers see a
failover.
"""

from __future__ import annotations

from contextlib import ExitStack

from forwarder import Forwarder
from redis import Redis
from redis_server import RedisServer


class Failover:
    """Two servers, of which the second has all that the first one has, unless it is
    behind.

    Args:
        folder: for both, of this test alone.
    """

    def __init__(self, folder) -> None:
        self._ends = ExitStack()
        servers = []
        for name in ("primary", "replica"):
            (folder / name).mkdir()
            servers.append(self._ends.enter_context(RedisServer(folder / name)))
        self.primary, self.replica = servers
        self._replication = self._ends.enter_context(Forwarder(self.primary.port))
        self.address = self._ends.enter_context(Forwarder(self.primary.port))
        self.url = f"redis://127.0.0.1:{self.address.port}/0"
        self.replica.replicate(self._replication.port)

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def catch_up(self) -> None:
        """Wait until the replica has all that there is now."""
        with Redis(port=self.primary.port) as client:
            client.publish("nobody", "something")
            client.set("something", 1)
            client.wait(1, 10_000)

    def fall_behind(self) -> None:
        """Tell the replica nothing that comes from now on."""
        self.catch_up()
        self._replication.hold()

    def lose_primary(self) -> None:
        """Stop it, and lead the address to the replica, which is no primary yet."""
        self.primary.kill()
        self._replication.cut()
        self.address.lead_to(self.replica.port)
        self.address.cut()

    def promote(self) -> None:
        """Make the replica the primary."""
        self.replica.promote()
