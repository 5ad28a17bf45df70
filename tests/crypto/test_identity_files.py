"""Files of identities and rosters, a node's configuration, and the command."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flwr.app import Context, RecordDict

from tests.helpers.outcomes.commands import identity as run
from vfl_flower.common.errors import ConfigError, IdentityError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import (
    Identity,
    fingerprint,
    make_identity,
    read_private,
    read_roster,
)
from vfl_flower.privacy.guarantees import column_protections
from vfl_flower.workflows.flower_node import identity_of

RUN = "17"
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7"


def identities(count: int, run: str = RUN) -> list[Identity]:
    """Draw identities that pin each other."""
    private = [Ed25519PrivateKey.generate() for _ in range(count)]
    roster = [key.public_key().public_bytes_raw() for key in private]
    return [Identity(key, roster, rank, run) for rank, key in enumerate(private, 1)]


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
    (folder / "peers").chmod(0o644)
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
    identity = identity_of(PROTECTED, here, 2)
    assert identity is not None
    assert (identity.run, identity.rank) == ("17", 2)
    assert identity_of(PROTECTED, context(), 2) is None
    with pytest.raises(IdentityError, match="party-3, this very party"):
        identity_of(PROTECTED, here, 3)


def test_a_protection_that_cannot_act_is_an_error(tmp_path: Path) -> None:
    peers = str(made_roster(tmp_path))
    both = context(identity=str(tmp_path / "id-1"), peers=peers)
    for cfg in (RunConfig(), replace(PROTECTED, blinding="none")):
        with pytest.raises(ConfigError, match="pins identities, and in this run"):
            identity_of(cfg, both, 1)
    for half in (context(identity=str(tmp_path / "id-1")), context(peers=peers)):
        with pytest.raises(ConfigError, match="both identity and peers, or neither"):
            identity_of(PROTECTED, half, 1)


def test_a_gap_that_masks_do_not_close_is_for_the_policy(tmp_path: Path) -> None:
    """Shares are checked against an active party that deviates only under pins."""
    both = context(identity=str(tmp_path / "id-1"), peers=str(made_roster(tmp_path)))
    for changes in ({"share_check": "on"}, {"method": "logistic"}, {"embedding_defence": "mid:1"}):
        cfg = PROTECTED.changed(**changes)
        assert column_protections(cfg)[1]
        assert identity_of(cfg, both, 1) is not None


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
