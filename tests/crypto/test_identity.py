"""Pinned identities: files, signatures, and an active party that swaps keys."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Context, RecordDict

from tests.helpers.blinding import (
    ROWS_I,
    SALT,
    TINY,
    agree,
    answer,
    masker_of,
    public_keys,
    refusal,
    send,
)
from tests.helpers.commands import identity as run
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, ConfigError, IdentityError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import (
    Identity,
    fingerprint,
    make_identity,
    read_private,
    read_roster,
)
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.workflows.flower_node import identity_of

RUN = "17"
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7"


def identities(count: int, run: str = RUN) -> list[Identity]:
    """Draw identities that pin each other."""
    private = [Ed25519PrivateKey.generate() for _ in range(count)]
    roster = [key.public_key().public_bytes_raw() for key in private]
    return [Identity(key, roster, index, run) for index, key in enumerate(private)]


def pinned(given: list[Identity]) -> list[PassiveParty]:
    """Build parties with these identities."""
    cfg = replace(TINY, parties=len(given) + 1)
    return [build_passive(cfg, index, identity=each) for index, each in enumerate(given)]


# Signatures -------------------------------------------------------------------------------------


def test_every_other_party_accepts_a_signed_key_and_no_other_statement() -> None:
    key = bytes(range(32))
    parties = identities(3)
    signature = parties[1].sign(key)
    for party in parties:
        party.check(1, key, signature)
    wrong: list[tuple[Identity, int, bytes, bytes]] = [
        (parties[0], 1, key[::-1], signature),
        (parties[0], 2, key, signature),
        (parties[0], 1, key, bytes(64)),
        (parties[0], 1, key, signature[:63]),
        (parties[0], 1, key, parties[0].sign(key)),
    ]
    for party, index, relayed, signed in wrong:
        with pytest.raises(BlindingError, match=f"party-{index + 1} is not signed"):
            party.check(index, relayed, signed)


@pytest.mark.parametrize("change", ["run", "roster"])
def test_a_key_of_another_run_or_roster_does_not_pass(change: str) -> None:
    key, parties = bytes(32), identities(3)
    one, other = parties[0], parties[1]
    if change == "run":
        stranger = Identity(other.private, other.roster, 1, "18")
    else:
        roster = [*other.roster[:2], identities(1)[0].roster[0]]
        stranger = Identity(other.private, roster, 1, RUN)
    with pytest.raises(BlindingError):
        one.check(1, key, stranger.sign(key))


def test_an_identity_must_be_the_pinned_one_of_its_place() -> None:
    parties = identities(3)
    for index in (1, 3, -1):
        with pytest.raises(IdentityError, match="this very party"):
            Identity(parties[0].private, parties[0].roster, index, RUN)


# Runs -------------------------------------------------------------------------------------------


def swapped(keys: Array, row: bytes) -> Array:
    """Put something else in the place of party-2's key."""
    return np.stack([keys[0], np.frombuffer(row, np.uint8), keys[2]])


@pytest.mark.parametrize("signature", ["none", "the owner's for its own key", "the swapper's own"])
def test_an_active_party_that_swaps_keys_is_caught(signature: str) -> None:
    given = identities(3)
    parties = pinned(given)
    keys = public_keys(parties)
    false = X25519PrivateKey.generate().public_key().public_bytes_raw()
    row = (
        false
        + {
            "none": bytes(64),
            "the owner's for its own key": bytes(keys[1][32:]),
            "the swapper's own": identities(3)[1].sign(false),
        }[signature]
    )
    error, message = refusal(parties[0], 2, "agree", swapped(keys, row), SALT)
    assert error == "BlindingError"
    assert "party-2 is not signed by the identity that is pinned" in message
    assert refusal(parties[0], 3, "embed", ROWS_I)[0] == "BlindingError"  # nothing was kept
    assert send(parties[2], 2, "agree", keys, SALT) == ([], {})  # the true keys pass


def test_without_pins_nobody_notices() -> None:
    """What SECURITY.md says of it."""
    parties = [build_passive(TINY, index) for index in range(3)]
    keys = public_keys(parties)
    false = X25519PrivateKey.generate().public_key().public_bytes_raw()
    assert send(parties[0], 2, "agree", swapped(keys, false + bytes(64)), SALT) == ([], {})


def test_keys_of_an_earlier_agreement_are_refused_only_by_the_run() -> None:
    """Another run's keys: same parties, same identities."""
    given = identities(3)
    old = pinned([Identity(each.private, each.roster, i, "16") for i, each in enumerate(given)])
    parties = pinned(given)
    keys, earlier = public_keys(parties), public_keys(old)
    error, message = refusal(parties[0], 2, "agree", swapped(keys, bytes(earlier[1])), SALT)
    assert error == "BlindingError"
    assert "party-2" in message


def test_an_honest_run_with_pins_comes_to_the_same_weights() -> None:
    cfg = replace(TINY, parties=4)
    ends = []
    for given in (identities(3), [None] * 3):
        active = build_active(cfg)
        parties = [build_passive(cfg, k, identity=each) for k, each in enumerate(given)]
        run_local(active, parties)
        ends.append([active.net.state_dict(), *(party.net.state_dict() for party in parties)])
    for ours, theirs in zip(*ends, strict=True):
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_pinned_parties_agree_as_others_do() -> None:
    parties = pinned(identities(3))
    agree(parties)
    assert answer(parties[0], 3, "embed", ROWS_I).dtype == np.uint32
    assert len(masker_of(parties[0]).state_dict()["keys"]) == 2


# Files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_key_pair_is_written_for_its_owner(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        public = make_identity(tmp_path / "id")
    finally:
        os.umask(before)
    assert (tmp_path / "id").stat().st_mode & 0o777 == 0o600
    assert read_private(tmp_path / "id").public_key().public_bytes_raw() == public
    assert (tmp_path / "id.pub").read_text().startswith("ssh-ed25519 AAAA")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    make_identity(tmp_path / "id")
    before = (tmp_path / "id").read_bytes()
    with pytest.raises(IdentityError, match="cannot be made"):
        make_identity(tmp_path / "id")
    assert (tmp_path / "id").read_bytes() == before
    (tmp_path / "id").unlink()
    with pytest.raises(IdentityError, match="cannot be made"):
        make_identity(tmp_path / "id")  # its public half is still there
    assert not (tmp_path / "id").exists()


def mode(path: Path) -> None:
    path.chmod(0o640)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def other(path: Path) -> None:
    path.write_bytes(b"\xff\x00")


def public_half(path: Path) -> None:
    path.write_bytes(Path(f"{path}.pub").read_bytes())


@pytest.mark.parametrize("damage", [mode, cut, other, public_half, Path.unlink])
def test_a_private_key_that_cannot_be_used_is_an_error(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    make_identity(tmp_path / "id")
    damage(tmp_path / "id")
    with pytest.raises(IdentityError, match="chmod 600" if damage is mode else "cannot be read"):
        read_private(tmp_path / "id")


def made_roster(folder: Path, count: int = 3) -> Path:
    """Make identities id-1.. in a folder, and the file that pins them."""
    lines = ["# who takes part", ""]
    for number in range(count, 0, -1):  # the order of lines is nobody's business
        make_identity(folder / f"id-{number}")
        lines.append(f"party-{number} {(folder / f'id-{number}.pub').read_text().strip()} a note")
    (folder / "peers").write_text("\n".join(lines))
    return folder / "peers"


def test_a_roster_is_read_in_roster_order(tmp_path: Path) -> None:
    roster = read_roster(made_roster(tmp_path), 3)
    for number, public in enumerate(roster, 1):
        assert read_private(tmp_path / f"id-{number}").public_key().public_bytes_raw() == public


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda t: t.replace("party-3 ", "party-4 "), "must name party-1, party-2, party-3"),
        (lambda t: t.replace("party-3 ", "party-2 "), "party-2 is there twice"),
        (lambda t: t.replace("ssh-ed25519 ", "ssh-ed25519 AAAA"), "no public key"),
        (lambda t: t + "\nparty-4 nonsense", "no public key"),
        (lambda t: t + f"\nparty-4 {RSA}", "no public key"),
        (lambda t: "", "must name"),
        (lambda t: t.replace(t.split()[-3], t.split()[-8]), "one key for two"),
    ],
    ids=["stranger", "twice", "damaged", "nonsense", "other kind", "empty", "one key for two"],
)
def test_a_roster_that_does_not_fit_is_an_error(
    edit: Callable[[str], str], told: str, tmp_path: Path
) -> None:
    path = made_roster(tmp_path)
    path.write_text(edit(path.read_text()))
    with pytest.raises(IdentityError, match=told):
        read_roster(path, 3)
    with pytest.raises(IdentityError, match="cannot be read"):
        read_roster(tmp_path / "none", 3)


# The node's own configuration -------------------------------------------------------------------


def context(**node_config: str) -> Context:
    return Context(17, 1, dict(node_config), RecordDict(), {})


PROTECTED = RunConfig(party_randomness="private")


def test_a_node_reads_its_identity_from_its_own_configuration(tmp_path: Path) -> None:
    peers = made_roster(tmp_path)
    here = context(identity=str(tmp_path / "id-2"), peers=str(peers))
    identity = identity_of(PROTECTED, here, 1)
    assert identity is not None
    assert (identity.run, identity.index) == ("17", 1)
    assert identity_of(PROTECTED, context(), 1) is None
    with pytest.raises(IdentityError, match="party-3, this very party"):
        identity_of(PROTECTED, here, 2)


def test_a_protection_that_cannot_act_is_an_error(tmp_path: Path) -> None:
    peers = str(made_roster(tmp_path))
    both = context(identity=str(tmp_path / "id-1"), peers=peers)
    for cfg in (RunConfig(), replace(PROTECTED, blinding="none")):
        with pytest.raises(ConfigError, match="pins identities, and in this run"):
            identity_of(cfg, both, 0)
    for half in (context(identity=str(tmp_path / "id-1")), context(peers=peers)):
        with pytest.raises(ConfigError, match="both identity and peers, or neither"):
            identity_of(PROTECTED, half, 0)


# The command ------------------------------------------------------------------------------------


def test_the_command_makes_a_pair_and_shows_its_fingerprint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "id"
    assert run(["make", str(path)]) == 0
    made = capsys.readouterr().out.splitlines()[-1]
    assert run(["show", str(path)]) == 0
    assert capsys.readouterr().out.strip() == made
    assert made == fingerprint(read_private(path).public_key().public_bytes_raw())
    if shutil.which("ssh-keygen"):
        command = ["ssh-keygen", "-l", "-f", str(path) + ".pub"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        assert made in shown.stdout


@pytest.mark.parametrize("arguments", [[], ["make"], ["show", "none"], ["forge", "x"]])
def test_the_command_refuses_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
