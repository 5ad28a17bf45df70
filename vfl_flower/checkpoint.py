"""Checkpoints: every party keeps its own, the active party's makes a set of them valid.

A checkpoint is named by its mark, `Progress.mark`. The passive parties write theirs first; the
active party's file comes last and holds what only it knows (where the run is, the ledger). Two are
kept, so that a crash between the parties' files still leaves a whole set. None holds a key.
"""

import contextlib
from hashlib import sha256
from pathlib import Path

from torch import Tensor

from vfl_flower.config import RunConfig, differences
from vfl_flower.data.encoder import Encoder
from vfl_flower.errors import ConfigError, RunError
from vfl_flower.member import Member
from vfl_flower.model import nonce_of, write_model
from vfl_flower.names import member_name
from vfl_flower.passive import Part, phase
from vfl_flower.state import State, read_state, write_state

KEPT = 2


def checkpoint_path(folder: Path, step: int) -> Path:
    """Return where the checkpoint of one step lies."""
    return folder / f"checkpoint-{step:09d}.safetensors"


def steps_kept(folder: Path) -> list[int]:
    """Return the steps of which a folder holds checkpoints, in order."""
    names = folder.glob("checkpoint-" + "[0-9]" * 9 + ".safetensors")
    return sorted(int(path.stem.removeprefix("checkpoint-")) for path in names)


def folder_of(member: Member) -> Path:
    """Return where a party writes.

    Raises
    ------
    RunError
        If it may not write anywhere.
    """
    if member.folder is None:
        raise RunError(
            f"{member_name(member.place)} has no folder to write to: only the parties of a "
            "simulation have one"
        )
    return member.folder


def _digest(encoder: Encoder) -> str:
    return sha256(encoder.to_json()).hexdigest()


def write_checkpoint(member: Member, step: int, state: State) -> None:
    """Write one checkpoint whole, then drop the earlier ones that are too old."""
    folder = folder_of(member)
    header = {
        "party": member_name(member.place),
        "step": step,
        "run": member.cfg.identity(),
        **({"alignment": member.alignment} if member.alignment else {}),
        **({"encoder": _digest(member.encoder)} if member.encoder else {}),
    }
    write_state(checkpoint_path(folder, step), {"header": header, "state": state})
    for old in [kept for kept in steps_kept(folder) if kept <= step][:-KEPT]:
        with contextlib.suppress(FileNotFoundError):
            checkpoint_path(folder, old).unlink()


def read_checkpoint(member: Member, step: int) -> State:
    """Read the checkpoint that this party wrote at this step of this run.

    Raises
    ------
    RunError
        If it is missing or damaged, or another party's, step's or run's.
    """
    path = checkpoint_path(folder_of(member), step)
    way_out = f"to go on from an earlier set, delete every party's checkpoint of step {step}"
    try:
        content = read_state(path)
        header, state = content["header"], content["state"]
        written = RunConfig.from_mapping(member.cfg.to_mapping() | header["run"])
        origin, alignment = (header["party"], header["step"]), header.get("alignment", "")
    except RunError as error:
        raise RunError(f"{error}; {way_out}") from error
    except (ConfigError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged: its header cannot be read; {way_out}") from error
    if origin != (member_name(member.place), step):
        raise RunError(f"{path} was written by {origin[0]} at step {origin[1]}; {way_out}")
    if alignment != member.alignment:
        raise RunError(
            f"{path} was written with another alignment of the tables, so that its rows were "
            "others; name that alignment"
        )
    if member.encoder and header.get("encoder") != _digest(member.encoder):
        raise RunError(
            f"{path} was written with other columns of the table of {member_name(member.place)}, "
            "or with something else said of them; put its description back"
        )
    if told := differences(written, member.cfg):
        raise RunError(f"{path} was written with another configuration: {told}; put that back")
    return state  # type: ignore[no-any-return]


class Keeper(Part):
    """A passive party's end of checkpoints, of the best weights and of the model folder."""

    name = "keeper"

    @phase(training=False)
    def checkpoint(self, step: Tensor) -> None:
        """Write a checkpoint: () int64 ->.

        A run's first is at step 0. Later ones that are there already are another run's.
        """
        if int(step) == 0 and any(steps_kept(folder_of(self.party))):
            raise RunError(
                f"{folder_of(self.party)} holds another run's checkpoints; choose another run-name"
            )
        self.party.privacy.begin()
        write_checkpoint(self.party, int(step), self.party.durable())

    @phase(training=False)
    def restore(self, step: Tensor) -> None:
        """Go back to a checkpoint, and forget keys and the step in hand: () int64 ->."""
        folder = folder_of(self.party)
        self.party.go_back(read_checkpoint(self.party, int(step)))
        for later in [kept for kept in steps_kept(folder) if kept > int(step)]:
            checkpoint_path(folder, later).unlink()

    @phase(training=False)
    def keep(self) -> None:
        """Keep the weights as they are: the best so far."""
        self.party.keep_weights()

    @phase(training=False)
    def take_best(self) -> None:
        """Take back the weights that were kept last."""
        self.party.take_best()

    @phase(training=False)
    def save(self, nonce: Tensor) -> None:
        """Write the model folder, with the run's nonce: (8,) uint8 ->."""
        told = nonce_of(nonce)
        write_model(folder_of(self.party), self.party, told, self.party.privacy.noise())
