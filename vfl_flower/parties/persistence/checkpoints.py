"""Checkpoints: every party keeps its own, the active party's makes a set of them valid.

A checkpoint is named by its mark, `Progress.mark`. The passive parties write theirs first; the
active party's file comes last and holds what only it knows (where the run is, the ledger). Two are
kept, so that a crash between the parties' files still leaves a whole set. None holds a key.
"""

import contextlib
from hashlib import sha256
from pathlib import Path

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State, read_state, write_state
from vfl_flower.config.run_config import RunConfig, differences
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.parties.party import Party

KEPT = 2


def folder_of(member: Party) -> Path:
    """Return where a party writes.

    Raises
    ------
    RunError
        If it may not write anywhere.
    """
    if member.folder is None:
        raise RunError(
            f"{party_name(member.rank)} has no folder to write to: only the parties of a "
            "simulation have one"
        )
    return member.folder


def _digest(encoder: Encoder) -> str:
    return sha256(encoder.to_json()).hexdigest()


def write_checkpoint(member: Party, step: int, state: State) -> None:
    """Write one checkpoint whole, then drop the earlier ones that are too old."""
    folder = folder_of(member)
    header = {
        "party": party_name(member.rank),
        "step": step,
        "run": member.cfg.identity(),
        **({"alignment": member.data.alignment} if member.data.alignment else {}),
        **({"encoder": _digest(member.data.encoder)} if member.data.encoder else {}),
    }
    write_state(checkpoint_path(folder, step), {"header": header, "state": state})
    for old in [kept for kept in steps_kept(folder) if kept <= step][:-KEPT]:
        with contextlib.suppress(FileNotFoundError):
            checkpoint_path(folder, old).unlink()


def read_checkpoint(member: Party, step: int) -> State:
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
    if origin != (party_name(member.rank), step):
        raise RunError(f"{path} was written by {origin[0]} at step {origin[1]}; {way_out}")
    if alignment != member.data.alignment:
        raise RunError(
            f"{path} was written with another alignment of the tables, so that its rows were "
            "others; name that alignment"
        )
    if member.data.encoder and header.get("encoder") != _digest(member.data.encoder):
        raise RunError(
            f"{path} was written with other columns of the table of {party_name(member.rank)}, "
            "or with something else said of them; put its description back"
        )
    if told := differences(written, member.cfg):
        raise RunError(f"{path} was written with another configuration: {told}; put that back")
    return state  # type: ignore[no-any-return]
