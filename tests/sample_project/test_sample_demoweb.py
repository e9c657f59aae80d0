"""The sample project's demo web, where a crawl does not reach."""

from types import SimpleNamespace

from sample_project.demoweb.server import Site
from twisted.internet.error import CannotListenError


class OneAddress:
    """A reactor on a system that has no loopback address but 127.0.0.1."""

    def listenTCP(self, port, factory, interface):  # noqa: N802
        if interface != "127.0.0.1":
            raise CannotListenError(interface, port, OSError("no such address"))
        return SimpleNamespace(getHost=lambda: SimpleNamespace(port=4321))


def test_a_system_with_one_loopback_address():
    """Without 127.0.0.2 the site is served on another port of 127.0.0.1."""
    site = Site(links={"/": []}, files={})
    site.listen(OneAddress(), "127.0.0.2")
    assert site.url == "http://127.0.0.1:4321"
