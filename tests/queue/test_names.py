"""What the queues within a site queue are called."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.queue.names import is_ours, key_of_name, queue_name, slot_of_name


@pytest.mark.parametrize(
    ("key", "slot", "name"),
    [
        ("https://a.example", "a.example", "https://a.example"),
        ("https://a.example:8443", "a.example", "https://a.example:8443"),
        ("http://[::1]:80", "::1", "http://[::1]:80"),
        ("https://a.example", "mine", "https://a.example mine"),
        ("https://a.example", "my own", "https://a.example my own"),
        ("https://a.example|http://p:1", "a.example", "https://a.example|http://p:1"),
        ("https://a.example|http://p:1", "mine", "https://a.example|http://p:1 mine"),
        ("data://", "", "data://"),
    ],
)
def test_queue_names(key, slot, name):
    """A queue is named after its site, and its slot where that is another than the host.

    Both can be read from it again.
    """
    assert queue_name(key, slot) == name
    assert (key_of_name(name), slot_of_name(name)) == (key, slot)
    assert is_ours(name)


@pytest.mark.parametrize("name", ["a.example", "127.0.0.1", "mine"])
def test_a_queue_that_scrapy_left_is_named_after_its_slot(name):
    """It does not tell sites apart."""
    assert not is_ours(name)
    assert key_of_name(name) == name
