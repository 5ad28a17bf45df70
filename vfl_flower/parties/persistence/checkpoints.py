"""Checkpoints of each party; the active party's makes a set valid.

A checkpoint is named by its mark, `Progress.mark`. The passive parties write theirs first; the
active party's file comes last and holds what only it knows (where the run is, the ledger). Two are
kept, so that a crash between the parties' files, or one damaged file, still leaves a whole set. Of
passive parties that do not change for some time the active party keeps one more, which belongs to
their checkpoint before. None holds a key.
"""

from hashlib import sha256
from pathlib import Path

from vfl_flower.common.errors import ConfigError, DamageError, RunError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.state import State, read_state, write_state
from vfl_flower.config.run_config import RunConfig, differences
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.parties.party import Party

KEPT = 2


def folder_of(party: Party) -> Path:
    """Return where a party writes.

    Raises
    ------
    RunError
        If it may not write anywhere.
    """
    if party.folder is None:
        raise RunError(
            f"{party_name(party.rank)} has no folder to write to: only the parties of a "
            "simulation have one"
        )
    return party.folder


def _digest(encoder: Encoder) -> str:
    return sha256(encoder.to_json()).hexdigest()


def write_checkpoint(party: Party, step: int, state: State, spare: int = -1) -> None:
    """Write one checkpoint; remove outdated ones but for a spare."""
    folder = folder_of(party)
    header = {
        "party": party_name(party.rank),
        "step": step,
        "run": party.cfg.identity(),
        **({"alignment": party.data.alignment} if party.data.alignment else {}),
        **({"encoder": _digest(party.data.encoder)} if party.data.encoder else {}),
    }
    write_state(checkpoint_path(folder, step), {"header": header, "state": state})
    for old in [kept for kept in steps_kept(folder) if kept <= step][:-KEPT]:
        if old != spare:
            checkpoint_path(folder, old).unlink(missing_ok=True)


def drop_later(folder: Path, step: int) -> None:
    """Remove checkpoints of steps that come again."""
    for later in [kept for kept in steps_kept(folder) if kept > step]:
        checkpoint_path(folder, later).unlink(missing_ok=True)


def can_read(party: Party, step: int) -> bool:
    """Tell whether a party's checkpoint can be read; log why not."""
    try:
        read_state(checkpoint_path(folder_of(party), step))
    except DamageError as error:
        party_log(party.rank).warning("%s", error)
        return False
    return True


def read_checkpoint(party: Party, step: int) -> State:
    """Read a party's checkpoint of a step of this run.

    Raises
    ------
    DamageError
        If it is missing or damaged.
    RunError
        If it is another party's, step's or run's.
    """
    path = checkpoint_path(folder_of(party), step)
    way_out = f"to go on from an earlier set, delete every party's checkpoint of step {step}"
    try:
        content = read_state(path)
        header, state = content["header"], content["state"]
        written = RunConfig.from_record(header["run"], party.cfg.to_mapping())
        origin, alignment = (header["party"], header["step"]), header.get("alignment", "")
    except ConfigError as error:
        raise RunError(f"{path} is of another version: {error}; {way_out}") from error
    except (KeyError, TypeError) as error:
        raise DamageError(f"{path} is damaged: its header cannot be read") from error
    if origin != (party_name(party.rank), step):
        raise RunError(f"{path} was written by {origin[0]} at step {origin[1]}; {way_out}")
    if alignment != party.data.alignment:
        raise RunError(
            f"{path} was written with another alignment of the tables, so that its rows were "
            "others; name that alignment"
        )
    if party.data.encoder and header.get("encoder") != _digest(party.data.encoder):
        raise RunError(
            f"{path} was written with other columns of the table of {party_name(party.rank)}, "
            "or with something else said of them; put its description back, and say ignored of "
            "columns that an earlier version ignored"
        )
    if told := differences(written, party.cfg):
        raise RunError(f"{path} was written with another configuration: {told}; put that back")
    return state  # type: ignore[no-any-return]
