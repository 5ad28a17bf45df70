"""Certificates and keys of a deployment."""

import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509

from deploy.certificates import make_ca, make_node_key, make_server
from vfl_flower.common.errors import RunError


def test_a_strict_client_takes_them(tmp_path: Path) -> None:
    """As Python from 3.13 on checks certificates."""
    make_ca(tmp_path)
    make_server(tmp_path, ["localhost", "127.0.0.1"])
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    near, far = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(near, far, server_hostname="localhost")
    other = server.wrap_bio(far, near, server_side=True)
    for end in 3 * (client, other):
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    assert client.version() == "TLSv1.3"


def test_keys_are_their_owners_only(tmp_path: Path) -> None:
    make_ca(tmp_path)
    make_server(tmp_path, ["bank.example"])
    make_node_key(tmp_path / "node")
    for name in ("ca.key", "server.key", "node"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    for name in ("ca.crt", "server.crt", "node.pub"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o644


def test_renewal_keeps_the_ca_and_never_replaces_one_whose_key_is_elsewhere(
    tmp_path: Path,
) -> None:
    make_ca(tmp_path)
    make_server(tmp_path, ["bank.example"])
    ca, first = (tmp_path / "ca.crt").read_bytes(), (tmp_path / "server.crt").read_bytes()
    make_ca(tmp_path)
    make_server(tmp_path, ["bank.example"])
    assert (tmp_path / "ca.crt").read_bytes() == ca
    assert (tmp_path / "server.crt").read_bytes() != first
    signed = x509.load_pem_x509_certificate((tmp_path / "server.crt").read_bytes())
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    (tmp_path / "ca.key").unlink()
    with pytest.raises(RunError, match=r"ca\.key, is not"):
        make_ca(tmp_path)
    assert (tmp_path / "ca.crt").read_bytes() == ca
