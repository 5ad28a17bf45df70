"""Checkpoints: every party keeps its own, the active party's makes a set of them valid.

A checkpoint is named by its step. The passive parties write theirs first; the active party's file
comes last and holds what only it knows (where the run is, the ledger). Two are kept, so that a
crash between the parties' files still leaves a whole set. None holds a key.
"""

import contextlib
from pathlib import Path

from torch import Tensor

from vfl_flower.errors import RunError
from vfl_flower.passive import Part, phase
from vfl_flower.state import State, read_state, write_state, write_weights

KEPT = 2
WEIGHTS = "model.safetensors"


def checkpoint_path(folder: Path, step: int) -> Path:
    """Return where the checkpoint of one step lies."""
    return folder / f"checkpoint-{step:09d}.safetensors"


def steps_kept(folder: Path) -> list[int]:
    """Return the steps of which a folder holds checkpoints, in order."""
    names = folder.glob("checkpoint-" + "[0-9]" * 9 + ".safetensors")
    return sorted(int(path.stem.removeprefix("checkpoint-")) for path in names)


def write_checkpoint(folder: Path, step: int, state: State) -> None:
    """Write one checkpoint whole, then drop the earlier ones that are too old."""
    write_state(checkpoint_path(folder, step), state)
    for old in [kept for kept in steps_kept(folder) if kept <= step][:-KEPT]:
        with contextlib.suppress(FileNotFoundError):
            checkpoint_path(folder, old).unlink()


class Keeper(Part):
    """A passive party's end of checkpoints and of the final weights, in its own folder."""

    name = "keeper"

    @phase(training=False)
    def checkpoint(self, step: Tensor) -> None:
        """Write a checkpoint: () int64 ->."""
        write_checkpoint(self._folder(), int(step), self.party.durable())

    @phase(training=False)
    def restore(self, step: Tensor) -> None:
        """Go back to a checkpoint, and forget keys and the step in hand: () int64 ->."""
        self.party.go_back(read_state(checkpoint_path(self._folder(), int(step))))
        for later in [kept for kept in steps_kept(self._folder()) if kept > int(step)]:
            checkpoint_path(self._folder(), later).unlink()

    @phase(training=False)
    def save(self) -> None:
        """Write the network's weights."""
        write_weights(self._folder() / WEIGHTS, self.party.net.state_dict())

    def _folder(self) -> Path:
        if self.party.folder is None:
            raise RunError(
                "this party has no folder to write to; only the parties of a simulation do"
            )
        return self.party.folder
