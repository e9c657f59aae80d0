"""Which hosts are inside, however they are spelt. RFC 6890, inet_aton(3)."""

from __future__ import annotations

import csv
from ipaddress import ip_network
from pathlib import Path

import pytest
from tables import each_row

from mandelbot.answers.inside import leads_inside

INSIDE = """
    127.0.0.1 127.255.255.254 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1
    017700000001
    0x7F.0x0.0x0.0x1 127.0.0.1. %31%32%37.0.0.1 127.0.0.0x1 00000177.1 0 0x 0.0.0.0
    10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
    100.127.255.255
    192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
    255.255.255.255 192.168.257 10.1 0xa9fea9fe 3232235777
    ::1 [::1] :: fe80::1 fe80::1%eth0 fc00::1 fd12:3456::1 fec0::1 ff02::1 2001:db8::1
    ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:192.168.0.1 ::127.0.0.1 ::10.0.0.1
    2002:7f00:1::
    2002:c0a8:101::1 64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2001::1
    0:0:0:0:0:ffff:127.0.0.1 0000:0000:0000:0000:0000:0000:0000:0001
    localhost LOCALHOST localhost. a.localhost a.b.localhost. printer.local
    metadata.google.internal
    router intranet nas.home.arpa host.localdomain shop.test
    192.0.0.8 192.0.0.192 192.0.0.255 192.88.99.1 192.88.99.2 168.63.129.16 0xa83f8110
    3fff::1
    5f00::1
    ::ffff:168.63.129.16 100:0:0:1::1 400::1 8000::1 fe00::1 fd00:ec2::254
    100.100.100.200
    kubernetes.default.svc kubernetes.default.svc.cluster.local nas.lan wiki.corp
    pi.home fritz.box
    www.fritz.box files.intranet vault.private LAN a.LAN. wpad.localdomain
    vault.service.consul host.openstacklocal gateway.docker
    1.2.3.4.5 08.8.8.8 256.1.1.1 1..2 127.0.0.1.. 999999999999 [::1 ::g 1.2.3.999
""".split()  # noqa: SIM905 -- words to be read
# as IDNA reads them
ODD = ["127\u30020\u30020\u30021", "127.0.0\uff0e1", "\u24dbocalhost"]
OUTSIDE = """
    example.com www.example.com. 8.8.8.8 134744072 0x08080808 010.8.8.8 8.8.2056
    100.128.0.1
    172.32.0.1 192.167.1.1 169.253.1.1 223.255.255.1 1.1.1.1. 2606:4700::1111
    [2606:4700::1111]
    192.0.0.9 192.0.0.10 192.31.196.1 192.52.193.1 192.175.48.1 168.63.129.15 2001:1::1
    2001:4:112::1
    lan.example.com corp.example svc.example.com box.com home.blog 2620:4f:8000::1
    2001:200::1
    consul.io www.docker.com openstacklocal.example
    ::ffff:8.8.8.8 2002:808:808:: 64:ff9b::8.8.8.8 localhost.example.com
    local.example.com
    127.0.0.1.example.com xn--bcher-kva.example 10.example.com a.0x7f.example 1.2.3.0x
""".split()  # noqa: SIM905 -- words to be read


def is_inside(host: str) -> bool:
    """Return whether no site outside sends us there; an address of IPv6 may lack its
    brackets.
    """
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return leads_inside("https://example.com", f"https://{bracketed}/")


@each_row("host", [*INSIDE, "", "\uff11\uff12\uff17.0.0.1", *ODD])
def test_these_are_inside(host):
    """No site on the public internet sends us there."""
    assert is_inside(host)


@each_row("host", [*OUTSIDE, "bücher.example", "日本.example"])
def test_these_are_not(host):
    """Hosts on the public internet are where sitemaps of others are."""
    assert not is_inside(host)


@pytest.mark.parametrize(
    "host", ["a." * 500 + "com", "1" * 900, "1" * 50_000, "a." * 50_000]
)
def test_what_is_longer_than_any_name_is_inside(host):
    """It is nowhere, and costs next to nothing to tell."""
    assert is_inside(host)


@pytest.mark.parametrize(
    ("sender", "url", "leads"),
    [
        ("https://example.com", "http://127.0.0.1/", True),
        ("https://example.com", "http://me:secret@0x7f.1:8080/x", True),
        ("https://example.com", "http://example.com@localhost/", True),
        ("https://example.com", "http://[::ffff:10.0.0.1]:80/x", True),
        ("https://example.com/a", "HTTP://LOCALHOST/", True),
        ("https://example.com", "http://[broken", True),
        ("https://example.com", "https://cdn.example.com/a.xml", False),
        ("https://example.com", "https://127.0.0.1@example.com/", False),
        ("http://127.0.0.1:8000", "http://127.0.0.2/", False),
        ("http://localhost:8000", "http://192.168.0.1/", False),
        ("http://192.168.0.1", "https://example.com/", False),
        ("http://wiki.corp", "http://files.corp/", False),
        ("http://localhost", "http://169.254.169.254/latest/meta-data/", True),
        ("http://127.0.0.1:8000", "http://[fe80::1]/", True),
        ("http://10.0.0.1", "http://[64:ff9b::a9fe:a9fe]/", True),
        ("http://localhost", "http://168.63.129.16/", True),
        ("http://localhost", "http://metadata.google.internal/", True),
        ("http://192.168.0.1", "http://192.0.0.192/opc/v2/", True),
        ("http://192.168.0.1", "http://[fd00:ec2::254]/", True),
        ("http://10.0.0.1", "http://100.100.100.200/", True),
        ("http://169.254.1.1", "http://169.254.1.2/", False),
        ("http://localhost", "http://nowhere..at.all/", False),
        # Names under .box are sold to anybody, and stand for routers at home.
        ("https://example.com", "http://fritz.box/", True),
        ("http://shop.box", "http://127.0.0.1/", True),
        ("http://shop.box", "http://fritz.box/", True),
        ("http://shop.box", "https://www.shop.box/robots.txt", False),
        # Countries' domains may have addresses, too; other names of one label are ours.
        ("https://ai/", "http://127.0.0.1/", True),
        ("https://AI./", "http://localhost/", True),
        ("https://a%69/", "http://router/", True),
        ("https://xn--p1ai/", "http://10.0.0.1/", True),
        ("https://рф/", "http://10.0.0.1/", True),
        ("https://ai/", "https://ai/rules.txt", False),
        ("https://ai/", "https://www.ai/rules.txt", False),
        ("http://wiki/", "http://files/", False),
        ("http://wiki/", "http://10.0.0.1/", False),
        # What cannot be read is nobody inside.
        ("http://[broken", "http://127.0.0.1/", True),
        ("http://1.2.3.4.5/", "http://127.0.0.1/", True),
        ("http:///", "http://127.0.0.1/", True),
        ("https://" + "a." * 500 + "com", "http://127.0.0.1/", True),
    ],
)
def test_who_is_inside_may_send_us_there(sender, url, leads):
    """A crawl that was started inside goes on there; one of the public internet does
    not.
    """
    assert leads_inside(sender, url) is leads


REGISTRIES = {
    version: (
        Path(__file__).parents[1] / "cases" / f"iana-ipv{version}-special-registry.csv"
    )
    for version in (4, 6)
}
# A block that says what it holds: the IPv4 address within decides.
HOLD_IPV4 = {"::ffff:0:0/96", "64:ff9b::/96", "2002::/16"}


def blocks(version):
    """Return each block of an IANA registry, and whether it is globally reachable."""
    with REGISTRIES[version].open(newline="") as file:
        for row in csv.DictReader(file):
            for block in row["Address Block"].partition(" [")[0].split(", "):
                if block not in HOLD_IPV4:
                    yield ip_network(block), row["Globally Reachable"] == "True"


@pytest.mark.parametrize("version", REGISTRIES)
def test_the_registries_of_iana_say_who_is_inside(version):
    """Special-purpose addresses, as the files of 2026-07-18 have them: replace these,
    and see.

    Both ends of each block, and its neighbours, are judged by the narrowest block that
    holds them.
    """
    known = sorted(blocks(version), key=lambda one: one[0].prefixlen)
    assert len(known) > 20
    for block, _ in known:
        for address in (
            block[0],
            block[-1],
            block[0] + 1 if block.num_addresses > 1 else block[0],
        ):
            reachable = [is_global for holder, is_global in known if address in holder][
                -1
            ]
            assert is_inside(str(address)) is not reachable, address
