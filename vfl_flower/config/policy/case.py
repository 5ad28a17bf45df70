"""One passive party's view of a run, and its refusal."""

from collections.abc import Sequence
from dataclasses import dataclass

from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.record import DataPolicy, Policy
from vfl_flower.config.settings import Settings


@dataclass(frozen=True)
class Case:
    """A run as one passive party has it.

    Attributes
    ----------
    policy : Policy
        Of the party's owner.
    cfg : Settings
        The run's configuration.
    rank : int
        The party's, 1 to K.
    pinned : sequence of str
        Fingerprints of the identities that the party pins, in roster order.
    """

    policy: Policy
    cfg: Settings
    rank: int
    pinned: Sequence[str] = ()

    @property
    def uploads(self) -> bool:
        """Whether something of the party's columns is sent."""
        return self.cfg.task != "align" and not self.cfg.spec.alone

    @property
    def masked(self) -> bool:
        """Whether masks hide this party's uploads.

        They do not if it alone has joined others: without it their sum is known.
        """
        return self.uploads and self.cfg.blinded and not self.sole

    @property
    def sole(self) -> bool:
        """Whether the party alone has joined a trained model."""
        return self.cfg.sole_newcomer(self.rank)

    @property
    def teaches(self) -> bool:
        """Whether something that depends on labels reaches the party."""
        return self.cfg.task == "train" and self.cfg.teaches

    @property
    def noised(self) -> bool:
        """Whether all uploads are noised, those of evaluations too."""
        return self.cfg.noised and self.cfg.dp_eval == "noised"

    @property
    def data(self) -> DataPolicy | None:
        """The entry for the run's data; None if there is none."""
        return self.policy.data_of(self.cfg, self.rank)


def refusal(policy: Policy, subject: str, rule: str, why: str) -> PolicyError:
    """Build the refusal of a run, request or upload by a rule."""
    return PolicyError(f"policy '{policy.name}' refuses this {subject} by its rule {rule}: {why}")
