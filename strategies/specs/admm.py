"""Options and checks that the ADMM methods share."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.options.shared import LocalStepsOptions
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

DESCENTS = ("sgd", "momentum")
"""Optimizers whose learning rate is that of an SGD step."""

_HEAD_RATE = 0.001  # of a head whose network has an adaptive optimizer
_LEAST_RHO, _MOST_RHO = 0.001, 1000.0  # of what the z update is tested for


@dataclass(frozen=True, kw_only=True)
class ADMMOptions(LocalStepsOptions):
    """Options of all ADMM methods."""

    rho: float = option(1.0, "penalty factor", least=_LEAST_RHO, most=_MOST_RHO)
    beta: float = option(0.005, "weight of the heads' squared norm", least=0, most=_MOST_RHO)
    head_rate: float = option(
        0.0,
        "sgd's rate for heads, or ridge's share of the way; 0: the party's learning rate if it has "
        "sgd or momentum, else 0.001, or 1 / parties",
        least=0,
        most=_MOST_RHO,
    )
    participation: float = option(
        1.0, "share of the passive parties that a round asks", above=0, most=1
    )

    @property
    def share_asked(self) -> float:
        """Share of the passive parties that each training step asks.

        The seed draws them.
        """
        return self.participation

    @property
    def as_program(self) -> bool:
        """Whether steps are those of the authors' program, and not as printed."""
        return False

    @property
    def at_one_rate(self) -> bool:
        """Whether heads have the rate of their networks' SGD."""
        return self.as_program

    def rate_of_heads(self, optimizer: str, rate: float) -> float:
        """Return the rate of heads, given a party's optimizer and rate."""
        own = self.at_one_rate and optimizer in DESCENTS
        return self.head_rate or (rate if own else _HEAD_RATE)


def check_admm(cfg: Settings, options: ADMMOptions) -> None:
    """Refuse masks that would not cancel, and unsupported losses."""
    if options.participation < 1 and cfg.blinded:
        raise ConfigError(
            "masks cancel in the sum over all parties, and participation asks some; use "
            "participation = 1, or blinding = none, which protects nothing"
        )
    if cfg.loss not in ("", "cross-entropy"):
        raise ConfigError(
            f"loss is {cfg.loss}, and {cfg.method} solves for the cross-entropy's minimum; leave "
            "loss empty"
        )
