"""Component that writes and restores a passive party's checkpoints."""

from torch import Tensor

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.nonce import nonce_of
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoints import folder_of, read_checkpoint, write_checkpoint
from vfl_flower.parties.persistence.model_folder import write_model
from vfl_flower.protocol.components import Component, phase


class CheckpointComponent(Component):
    """Passive party's part in checkpoints, best weights and model folder."""

    name = "checkpoints"
    party: Party

    @phase(training=False)
    def checkpoint(self, step: Tensor) -> None:
        """Write a checkpoint: () int64 ->.

        A run's first is at step 0. Later ones that are there already are another run's.
        """
        if int(step) == 0 and any(steps_kept(folder_of(self.party))):
            raise RunError(
                f"{folder_of(self.party)} holds another run's checkpoints; choose another run-name"
            )
        write_checkpoint(self.party, int(step), self.party.checkpointed())

    @phase(training=False)
    def restore(self, step: Tensor) -> None:
        """Return to a checkpoint, and drop keys and the current step.

        () int64 ->.
        """
        folder = folder_of(self.party)
        self.party.go_back(read_checkpoint(self.party, int(step)))
        for later in [kept for kept in steps_kept(folder) if kept > int(step)]:
            checkpoint_path(folder, later).unlink()

    @phase(training=False)
    def keep(self) -> None:
        """Keep the present weights as the best so far."""
        self.party.keep_weights()

    @phase(training=False)
    def take_best(self) -> None:
        """Take back the weights that were kept last."""
        self.party.take_best()

    @phase(training=False)
    def save(self, nonce: Tensor) -> None:
        """Write the model folder, with the run's nonce: (8,) uint8 ->."""
        told = nonce_of(nonce)
        write_model(folder_of(self.party), self.party, told, self.party.upload_noise())
