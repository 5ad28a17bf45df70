"""Pinned Ed25519 identities, which sign passive parties' public masking keys.

The active party relays the parties' fresh X25519 keys, and could put its own in their place. A
party that pins the others' identities refuses a relayed key without the owner's signature over

    protocol, run, SHA-256 of all identities in roster order, rank of the owner, X25519 key

so that a key of another run, roster or place does not pass either. Keys are files in OpenSSH's
formats; ``python -m vfl_flower identity make FILE`` writes a pair.
"""

import base64
import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from vfl_flower.common.errors import BlindingError, IdentityError
from vfl_flower.common.files import LARGEST, OTHERS_WRITE, read_small
from vfl_flower.common.names import party_name

PROTOCOL = b"vfl-flower identity 1"
SIGNATURE = 64  # bytes of an Ed25519 signature


class Identity:
    """A passive party's long-term key, and those that it pins.

    Parameters
    ----------
    private : Ed25519PrivateKey
        Its own.
    roster : sequence of bytes
        All passive parties' public identities, 32 bytes each, in roster order.
    rank : int
        Its own place there.
    run : str
        What tells this run from all others.

    Raises
    ------
    IdentityError
        If the roster has another identity in its own place.
    """

    def __init__(
        self, private: Ed25519PrivateKey, roster: Sequence[bytes], rank: int, run: str
    ) -> None:
        own = private.public_key().public_bytes_raw()
        if not 1 <= rank <= len(roster) or own != roster[rank - 1]:
            raise IdentityError(
                f"the pinned identities have another key for {party_name(rank)}, this very party"
            )
        self.private, self.roster, self.rank, self.run = private, roster, rank, run

    def fingerprints(self) -> list[str]:
        """Return the fingerprints of all pinned identities, in roster order."""
        return [fingerprint(each) for each in self.roster]

    def sign(self, key: bytes) -> bytes:
        """Sign this party's X25519 public key."""
        return self.private.sign(self._statement(self.rank, key))

    def check(self, rank: int, key: bytes, signature: bytes) -> None:
        """Check that a relayed key is the one that its owner signed.

        Raises
        ------
        BlindingError
            If it is not.
        """
        try:
            pinned = Ed25519PublicKey.from_public_bytes(self.roster[rank - 1])
            pinned.verify(signature, self._statement(rank, key))
        except (InvalidSignature, ValueError) as error:
            raise BlindingError(
                f"the relayed key of {party_name(rank)} is not signed by the identity that is "
                "pinned for it: somebody swapped it, or the pinned identities are old"
            ) from error

    def _statement(self, rank: int, key: bytes) -> bytes:
        run = self.run.encode()
        parties = sha256(b"".join(self.roster)).digest()
        lengths = len(run).to_bytes(4, "little") + len(self.roster).to_bytes(4, "little")
        return PROTOCOL + lengths + run + parties + rank.to_bytes(4, "little") + key


def make_identity(path: Path) -> bytes:
    """Write a new key pair: the private `path`, and `path`.pub.

    Returns
    -------
    bytes
        The public key, 32 bytes.

    Raises
    ------
    IdentityError
        If a file is there already, or cannot be written.
    """
    private = Ed25519PrivateKey.generate()
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    published = Path(f"{path}.pub")
    try:
        if path.exists():
            raise FileExistsError(17, "File exists", str(path))
        for file, content, mode in ((published, public + b"\n", 0o644), (path, secret, 0o600)):
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
                out.write(content)
    except (OSError, ValueError) as error:
        raise IdentityError(f"{path} cannot be made: {error}") from error
    return private.public_key().public_bytes_raw()


def read_private(path: Path) -> Ed25519PrivateKey:
    """Read a party's own identity.

    Raises
    ------
    IdentityError
        If it cannot be read, is no Ed25519 key, or others may read it.
    """
    try:
        content, mode = _content(path)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise IdentityError(f"{path} may be read by others; chmod 600 it")
        key = load_ssh_private_key(content, password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise IdentityError(f"identity {path} cannot be read: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise IdentityError(f"identity {path} is no Ed25519 key")
    return key


def read_roster(path: Path, parties: int) -> list[bytes]:
    """Read the pinned identities: per line a party's name and key.

    Parameters
    ----------
    path : Path
        Lines as ``party-1 ssh-ed25519 AAAA...``; empty lines and those with ``#`` are skipped.
    parties : int
        How many passive parties there are.

    Raises
    ------
    IdentityError
        If it cannot be read, others may change it, or it does not name each party once.
    """
    try:
        content, mode = _content(path)
        _check_unchanged_by_others(path, mode)
        lines = content.decode().splitlines()
    except (OSError, ValueError) as error:
        raise IdentityError(f"pinned identities {path} cannot be read: {error}") from error
    found: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, text = line.strip().partition(" ")
        if name in found:
            raise IdentityError(f"{path}, line {number}: {name} is there twice")
        found[name] = _public(text, f"{path}, line {number}")
    names = [party_name(rank) for rank in range(1, parties + 1)]
    if sorted(found) != sorted(names):
        raise IdentityError(f"{path} must name {', '.join(names)}, and names {', '.join(found)}")
    if len(set(found.values())) < parties:
        raise IdentityError(f"{path} has one key for two parties")
    return [found[name] for name in names]


def _content(path: Path) -> tuple[bytes, int]:
    """Read a small regular file; return its content and mode."""
    content, about = read_small(path)
    if not stat.S_ISREG(about.st_mode):
        raise OSError("it is no regular file")
    if len(content) > LARGEST:
        raise OSError("it is larger than 1 MiB")
    return content, about.st_mode


def _check_unchanged_by_others(path: Path, mode: int) -> None:
    """Refuse pinned identities that another user could replace."""
    if mode & OTHERS_WRITE:
        raise IdentityError(f"{path} may be written by others; chmod go-w it")
    above = path.resolve().parent
    if (found := above.stat().st_mode) & stat.S_IWOTH and not found & stat.S_ISVTX:
        raise IdentityError(f"{above} may be written by others, who can replace {path.name}")


def _public(text: str, where: str) -> bytes:
    try:
        key = load_ssh_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise IdentityError(f"{where}: no public key ({error})") from error
    if not isinstance(key, Ed25519PublicKey):
        raise IdentityError(f"{where}: no Ed25519 key")
    return key.public_bytes_raw()


def fingerprint(public: bytes) -> str:
    """Return a public key's fingerprint, as ``ssh-keygen -l`` shows it."""
    name = b"ssh-ed25519"
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (name, public))
    return "SHA256:" + base64.b64encode(sha256(blob).digest()).decode().rstrip("=")
