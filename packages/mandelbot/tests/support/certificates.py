"""Certificates for servers on loopback, and the authorities that sign them."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

if TYPE_CHECKING:
    from pathlib import Path

_NOW = dt.datetime.now(dt.timezone.utc)
_DAY = dt.timedelta(days=1)
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """Signs certificates, and is trusted by who names its file.

    Args:
        folder: where the files are written.
        name: its own; files are named after it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        own = (
            self._certificate(self._name, self._key)
            .add_extension(
                x509.BasicConstraints(ca=True, path_length=None), critical=True
            )
            .add_extension(_SIGNS, critical=True)
        )
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(_signed(own, self._key))

    def sign(self, name: str, *, host: str = "127.0.0.1") -> tuple[Path, Path]:
        """Return the files of a certificate for a host, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName([_host(host)])
        one = self._certificate(_named(name), key).add_extension(hosts, critical=False)
        paths = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        paths[0].write_bytes(_signed(one, self._key))
        form = serialization.PrivateFormat.PKCS8
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, form, serialization.NoEncryption()
            )
        )
        return paths

    def _certificate(self, subject, key) -> x509.CertificateBuilder:
        """Return one with all that Python asks for since 3.13 (RFC 5280, strictly)."""
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self._key.public_key()
        )
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_NOW - _DAY)
            .not_valid_after(_NOW + _DAY)
            .add_extension(own, critical=False)
            .add_extension(signer, critical=False)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _signed(one: x509.CertificateBuilder, key) -> bytes:
    return one.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
