"""``vfl-flower deploy certificates DIR HOST [HOST ...]``: CA, server's certificate, node keys.

The CA's certificate, ``ca.crt``, is what every SuperNode and every user of ``flwr`` gets. Keys are
readable by their owner only. To renew, run it again: a CA that is there signs another certificate.
"""

import ipaddress
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from vfl_flower.cli.main import guarded
from vfl_flower.cli.options import FOLDER
from vfl_flower.common.errors import RunError
from vfl_flower.common.files import write_atomically

_CA_DAYS, _SERVER_DAYS = 3650, 365
_DAY = timedelta(days=1)
_SERVER_AUTH = ExtendedKeyUsageOID.SERVER_AUTH
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def make_ca(folder: Path) -> None:
    """Make ``ca.key`` and ``ca.crt`` unless they are there."""
    if (folder / "ca.key").exists():
        return
    if (folder / "ca.crt").exists():
        raise RunError(
            f"{folder / 'ca.crt'} is there and its key, ca.key, is not: bring it back, or move "
            "ca.crt away, and give all parties the new one"
        )
    key = ec.generate_private_key(ec.SECP384R1())
    name = _named("vfl-flower CA")
    builder = (
        _builder(name, name, key.public_key(), key.public_key(), _CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
    )
    _write_private(folder / "ca.key", key)
    _write_public(folder / "ca.crt", builder.sign(key, SHA256()).public_bytes(Encoding.PEM))


def make_server(folder: Path, hosts: Sequence[str]) -> None:
    """Make ``server.key`` and ``server.crt`` for a SuperLink that is reached as `hosts`."""
    ca = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    ca_key = load_pem_private_key((folder / "ca.key").read_bytes(), None)
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise RunError(f"{folder / 'ca.key'} is not a key that this program made")
    key = ec.generate_private_key(ec.SECP384R1())
    names = x509.SubjectAlternativeName([_general(host) for host in hosts])
    builder = (
        _builder(_named(hosts[0]), ca.subject, key.public_key(), ca_key.public_key(), _SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([_SERVER_AUTH]), critical=False)
        .add_extension(names, critical=False)
    )
    signed = builder.sign(ca_key, SHA256())
    _write_private(folder / "server.key", key)
    _write_public(folder / "server.crt", signed.public_bytes(Encoding.PEM))


def make_node_key(path: Path) -> None:
    """Make a SuperNode's key pair, as ``ssh-keygen -t ecdsa -b 384`` does."""
    key = ec.generate_private_key(ec.SECP384R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    write_atomically(path, pem)
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    _write_public(path.with_name(path.name + ".pub"), line + b"\n")


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text[:64])])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
    days: int,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
        )
    )


def _write_private(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_atomically(path, pem)  # readable by its owner only


def _write_public(path: Path, content: bytes) -> None:
    write_atomically(path, content)
    path.chmod(0o644)


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@click.option("--nodes", default=0, metavar="N", help="also make N node keys")
def certificates(folder: Path, hosts: tuple[str, ...], nodes: int) -> None:
    """Make in DIR the certificates of a SuperLink reached as HOST."""
    make_ca(folder)
    make_server(folder, hosts)
    for k in range(nodes):
        make_node_key(folder / f"node{k + 1}")
    click.echo(f"made in {folder}")


if __name__ == "__main__":
    sys.exit(guarded(certificates, "python -m deploy.certificates", sys.argv[1:]))
