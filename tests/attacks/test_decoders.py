"""Foreign bytes become a value or an error of this package."""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from tests.helpers.connections.foreign import TOKENS, decoders, escapes, fuzzed, invitations
from vfl_flower.common.codec import decode, encode
from vfl_flower.common.errors import ConfigError, IdentityError, ProtocolError, RunError
from vfl_flower.common.state import read_state
from vfl_flower.config.run_config import read_toml
from vfl_flower.crypto.identity import make_identity, read_private, read_roster
from vfl_flower.crypto.tls_certificate import make_certificate
from vfl_flower.data.tables.description import read_description
from vfl_flower.transport.stream.frames import HEAD, Frame, Kind, decode_frame
from vfl_flower.transport.stream.invitation import (
    LONGEST_CERTIFICATE,
    Invitation,
    invitation_in,
    invitation_to,
)

_, CERTIFICATE = make_certificate()
GOOD = Invitation("bank.example:9443", CERTIFICATE, 2**64 - 1, 6, bytes(range(32)), 60.0)


def test_decoders_take_the_inputs_that_are_mutated(tmp_path: Path) -> None:
    for decoder in decoders(tmp_path):
        for content in decoder.good:
            decoder.read(content)


@pytest.mark.slow
def test_mutated_inputs_end_in_our_errors(tmp_path: Path) -> None:
    """Of 900,000, 9,526 ended in UnicodeDecodeError, OverflowError or RecursionError."""
    assert not [each for found in fuzzed(tmp_path, 150, seed=1).values() for each in found]


def test_an_exception_that_escapes_is_found(tmp_path: Path) -> None:
    def read(content: bytes) -> object:
        return content.decode("ascii")

    (first, *_) = decoders(tmp_path)
    found = [*escapes(replace(first, read=read), 200, seed=1)]
    assert found
    assert all("UnicodeDecodeError" in each for each in found)


def test_an_invitation_comes_out_as_it_went_in() -> None:
    assert invitation_in(invitation_to(GOOD, {"epochs": 3}).config) == (GOOD, {"epochs": 3})
    assert not [*invitations(300, seed=2)]


BAD_INVITATIONS: list[tuple[str, Any]] = [
    *(("grace", value) for value in (float("nan"), float("inf"), -1.0, 0.0, 10**400, "60", True)),
    *(("token", value) for value in (0, 10**9, b"", bytes(31), bytes(33), "x" * 32, [0] * 32)),
    *(("run", value) for value in (5, "", "-1", "x", str(2**64), "9" * 5000, "\u0661")),
    ("node", str(2**64)),
    *(("address", value) for value in (b"a:1", "", "a" * 301, "a\x1b[2J:1", 5)),
    *(("certificate", value) for value in (b"", b"x", CERTIFICATE * 2, "x", 2**40)),
    ("certificate", CERTIFICATE + b"\n" * LONGEST_CERTIFICATE),
    *(("options", value) for value in ("", "[]", "[" * 99_999, "3", b"{}", '"' * (1 << 21))),
]


@pytest.mark.parametrize(("key", "value"), BAD_INVITATIONS)
def test_an_invitation_that_cannot_be_is_refused(key: str, value: Any) -> None:
    """A token of 5 became five zero bytes; NaN seconds never ended."""
    config = dict(invitation_to(GOOD, {}).config) | {f"stream-{key}": value}
    with pytest.raises(ProtocolError, match="an invitation to a session cannot be read"):
        invitation_in(config)
    del config[f"stream-{key}"]
    if key != "token":
        with pytest.raises(ProtocolError):
            invitation_in(config)


def test_a_header_that_is_no_text_is_refused() -> None:
    content = bytearray(encode(np.zeros(3, np.float32)))
    content[content.index(b"<f4")] = 0xFF
    with pytest.raises(ProtocolError, match="header cannot be read"):
        decode(bytes(content))


@given(st.lists(st.integers(0, 10**12 - 1), max_size=9), st.booleans())
def test_any_shape_without_numbers_is_an_array_or_refused(shape: list[int], empty: bool) -> None:
    numbers = ", ".join(map(str, [*shape, 0] if empty else shape))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({numbers},), }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with contextlib.suppress(ProtocolError):
        assert decode(content).size == 0


def test_truth_values_are_zero_or_one() -> None:
    content = bytearray(encode(np.ones(3, np.bool_)))
    content[-1] = 2
    with pytest.raises(ProtocolError, match="truth values"):
        decode(bytes(content))


@pytest.mark.parametrize(
    "record",
    [
        *(b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}', b'{"a": 18446744073709551616}'),
        *(b'{"a": -9223372036854775809}', b'{"a": "\\ud800"}', b'{"\\udfff": 1}'),
        *(b'{"a": ' + b"9" * 5000 + b"}", b'{"a": ' + b"[" * 5000, b"\xff", b"\x00\x00\xfe\xff"),
    ],
)
def test_a_record_that_nobody_could_write_is_refused(record: bytes) -> None:
    head = HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(record), 0)
    with pytest.raises(ProtocolError, match="cannot be read"):
        decode_frame(head + record)


def test_an_array_of_endless_length_is_refused() -> None:
    """Two of them lead to a position that no buffer has."""
    head = HEAD.pack(b"VFS", 1, Kind.REPLY, 1, 2, 3)
    for length in (2**64 - 1, 2**63 - 1, 2**63, 9):
        with pytest.raises(ProtocolError, match="cannot be read"):
            decode_frame(head + b"{}" + length.to_bytes(8, "big") * 3)


@given(st.binary(max_size=100), st.sampled_from(TOKENS), st.binary(max_size=100))
def test_any_record_is_read_or_refused(before: bytes, token: bytes, after: bytes) -> None:
    for record in (before + token + after, b'{"a": ' + token + b"}"):
        head = HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(record), 0)
        with contextlib.suppress(ProtocolError):
            assert isinstance(decode_frame(head + record), Frame)


@pytest.mark.parametrize("read", [read_description, read_toml])
def test_toml_that_nests_without_end_is_refused(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 20_000)
    with pytest.raises(ConfigError, match="cannot be read as toml"):
        read(path)


@pytest.fixture
def pinned(tmp_path: Path) -> Iterator[Path]:
    """Return a file of pinned peers in a folder of its own."""
    folder = tmp_path / "keys"
    folder.mkdir(mode=0o700)
    make_identity(folder / "own")
    public = (folder / "own.pub").read_text()
    (folder / "peers").write_text(f"party-1 {public}")
    (folder / "peers").chmod(0o644)
    assert len(read_roster(folder / "peers", 1)) == 1
    yield folder / "peers"
    folder.chmod(0o700)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o622])
def test_pinned_peers_that_others_may_write_are_refused(mode: int, pinned: Path) -> None:
    """Who may write them may pin a key of his own."""
    pinned.chmod(mode)
    with pytest.raises(IdentityError, match=r"peers may be written by others; chmod go-w it"):
        read_roster(pinned, 1)


def test_pinned_peers_that_others_may_replace_are_refused(pinned: Path) -> None:
    pinned.parent.chmod(0o777)
    with pytest.raises(IdentityError, match=r"keys may be written by others, who can replace"):
        read_roster(pinned, 1)
    pinned.parent.chmod(0o777 | stat.S_ISVTX)
    assert read_roster(pinned, 1)


def test_key_files_that_are_no_files_are_refused(tmp_path: Path) -> None:
    """A pipe would never end, and a device not either."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(IdentityError, match="cannot be read"):
            read_roster(path, 1)
        with pytest.raises(IdentityError):
            read_private(path)


def test_a_state_without_names_is_refused(tmp_path: Path) -> None:

    (tmp_path / "state").write_bytes(save({}, {"state": "[1]"}))
    with pytest.raises(RunError, match="missing or damaged"):
        read_state(tmp_path / "state")
