"""What the gate of a request is called, with MANDELBOT_PAUSE_PER_PROXY."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_mandelbot.gates.proxies import gate_by_proxy, shown, site_of_gate
from scrapy_mandelbot.pqueues.names import gate_of_name, queue_name, slot_of_name

SITE = "https://example.com"
CASES = [
    (None, "https://example.com"),
    ("", "https://example.com"),
    ("http://proxy.test:3128", "https://example.com|http://proxy.test:3128"),
    ("proxy.test:3128", "https://example.com|http://proxy.test:3128"),
    ("http://user:secret@proxy.test:3128", "https://example.com|http://proxy.test:3128"),
    ("socks5://[::1]:1080", "https://example.com|socks5://[::1]:1080"),
    ("http://[broken", "https://example.com|unreadable"),
]


@pytest.mark.parametrize(("proxy", "gate"), CASES)
def test_the_name_has_the_proxy_and_no_secrets(proxy, gate):
    """It is in logs and in the store."""
    request = Request(f"{SITE}/page", meta={} if proxy is None else {"proxy": proxy})
    assert gate_by_proxy(request) == gate
    assert site_of_gate(gate) == SITE
    assert shown(gate) == gate.replace("|", " via ")


@pytest.mark.parametrize("slot", ["example.com", "mine"])
@pytest.mark.parametrize("gate", [gate for _, gate in CASES])
def test_the_name_of_a_queue_tells_both(gate, slot):
    """The gate and the download slot can be read from it again."""
    name = queue_name(gate, slot)
    assert (gate_of_name(name), slot_of_name(name)) == (gate, slot)
