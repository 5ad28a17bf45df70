"""Component that writes and restores a passive party's checkpoints."""

import torch
from torch import Tensor

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import remove_temporaries
from vfl_flower.common.layout import steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.common.nonce import NONCE, nonce_of
from vfl_flower.learning.schedule import last_mark
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoints import (
    can_read,
    drop_later,
    folder_of,
    read_checkpoint,
    write_checkpoint,
)
from vfl_flower.parties.persistence.model_folder import write_model
from vfl_flower.parties.persistence.run_identity import check_run, keep_run
from vfl_flower.protocol.automaton.arrays import integers, number, octets
from vfl_flower.protocol.automaton.machine import standing_at
from vfl_flower.protocol.components import Component, phase


class CheckpointComponent(Component):
    """Passive party's part in checkpoints, best weights and model folder."""

    name = "checkpoints"
    party: Party

    @phase(training=False, takes=(number(), octets(NONCE)))
    def checkpoint(self, step: Tensor, run: Tensor) -> None:
        """Write a checkpoint, with the run's number: () int64, (8,) uint8 ->."""
        folder, mark, told = folder_of(self.party), int(step), nonce_of(run)
        check_run(self.party, told)
        kept, last = steps_kept(folder), last_mark(self.party.cfg, self.party.data.rows)
        if not max(kept, default=0) <= mark <= last:
            raise RunError(
                f"{party_name(self.party.rank)} was asked for a checkpoint of step {mark}; this "
                f"run's next one is of step {max(kept, default=0)} to {last}"
            )
        keep_run(folder, told)
        write_checkpoint(self.party, mark, self.party.checkpointed())

    @phase(
        training=False,
        sends=("control",),
        takes=(number(), octets(NONCE)),
        gives=(integers(low=0, high=1),),
    )
    def can_restore(self, step: Tensor, run: Tensor) -> Tensor:
        """Tell whether a checkpoint can be read.

        () int64, (8,) uint8 -> () int64.
        """
        check_run(self.party, nonce_of(run), resumes=True)
        return torch.tensor(int(can_read(self.party, int(step))))

    @phase(training=False, takes=(number(), octets(NONCE)))
    def restore(self, step: Tensor, run: Tensor) -> None:
        """Return to a checkpoint, and drop keys and the current step.

        () int64, (8,) uint8 ->.
        """
        folder, told = folder_of(self.party), nonce_of(run)
        check_run(self.party, told, resumes=True)
        earlier = {"automaton": standing_at(int(step))}  # where an earlier version says nothing
        self.party.go_back(earlier | read_checkpoint(self.party, int(step)))
        keep_run(folder, told)
        drop_later(folder, int(step))
        remove_temporaries(folder)

    @phase(training=False)
    def keep(self) -> None:
        """Keep the present weights as the best so far."""
        self.party.keep_weights()

    @phase(training=False, between_steps=True)
    def take_best(self) -> None:
        """Take back the weights that were kept last."""
        self.party.take_best()

    @phase(training=False, takes=octets(NONCE))
    def save(self, nonce: Tensor) -> None:
        """Write the model folder, with the run's number: (8,) uint8 ->."""
        folder, told = folder_of(self.party), nonce_of(nonce)
        check_run(self.party, told)
        keep_run(folder, told)
        write_model(folder, self.party, told, self.party.upload_noise())
