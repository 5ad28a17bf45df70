"""Privacy budget of client-level differential privacy: noise, uploads, epsilon."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.json_schema import written
from vfl_flower.config.options.privacy import LEAST_SIGMA, MOST_SIGMA
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import LIMIT
from vfl_flower.data.party_data import Rows
from vfl_flower.learning.schedule import due, planned_uploads
from vfl_flower.privacy.client_dp.accounting import epsilon_of, least_sigma, most_uploads
from vfl_flower.privacy.client_dp.distributed import GaussianShare
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.privacy.secure_aggregation import honest_parties

_DEVIATIONS = 8  # that blinding has room for; beyond that noise comes once in 10**15 numbers

COVERS = (
    "each passive party's whole data, against everything that it sends in this run, under zero-out "
    "adjacency: if its contribution were zero, so that its uploads were noise alone, others' view "
    "would be at most exp(epsilon) times as likely, but for delta"
)
EXCLUDES = (
    "labels; which rows there are and which are asked; when messages come and how long they are; "
    "how long a party takes for an answer; that its process ends or its network raises an error; "
    "settings chosen by looking at other runs, and what those reveal, whose epsilons add up"
)
_CLEAR_EVALUATION = "evaluations, which are sent as they are and make epsilon infinite; "


@dataclass(frozen=True)
class Budget:
    """Noise of a run's uploads, and their number per party.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    sigma : float
        The noise multiplier.
    planned : Counts
        The uploads of the busiest party if nothing is repeated.
    """

    cfg: RunConfig
    sigma: float
    planned: Counts

    @cached_property
    def mechanism(self) -> Gaussian:
        """Mechanism that noises an upload which others see."""
        return Gaussian(self.sigma, self.cfg.dp_clip)

    @cached_property
    def summed(self) -> Gaussian:
        """Mechanism that noises an upload of which others see the masked sum."""
        if not self.cfg.noise_distributed:
            return self.mechanism
        return GaussianShare(self.sigma, self.cfg.dp_clip, honest_parties(self.cfg))

    @cached_property
    def most(self) -> float:
        """Largest number of noised uploads per party; infinite without a target."""
        cfg = self.cfg
        if not cfg.target_epsilon:
            return math.inf
        return most_uploads(cfg.target_epsilon, self.sigma, cfg.dp_delta, cfg.dp_accountant)

    def noises(self, kind: str) -> bool:
        """Tell whether uploads in training, or in evaluation, are noised."""
        return kind == "training" or self.cfg.dp_eval == "noised"

    def noised(self, counts: Counts) -> int:
        """Return how many uploads of these were noised."""
        return sum(count for kind, count in counts.items() if self.noises(kind))

    def allows(self, counts: Counts) -> bool:
        """Tell whether one party may send so much."""
        return self.noised(counts) <= self.most

    def epsilon(self, counts: Counts) -> float:
        """Return one party's epsilon; infinite if an upload was not noised."""
        if self.noised(counts) < counts.total():
            return math.inf
        return self.cost(counts.total())

    def worst(self, uploaded: Mapping[str, Counts]) -> float:
        """Return the largest epsilon of all parties."""
        return max(map(self.epsilon, uploaded.values()))

    def cost(self, uploads: int) -> float:
        """Return the epsilon of a number of noised uploads."""
        return epsilon_of(self.sigma, uploads, self.cfg.dp_delta, self.cfg.dp_accountant)

    def report(self, uploaded: Mapping[str, Counts]) -> dict[str, Any]:
        """Return the ``client_privacy`` entry of ``result.json``."""
        clear = "" if self.noises("evaluation") else _CLEAR_EVALUATION
        return {
            "mechanism": self._named,
            "sigma": self.sigma,
            "clip": self.cfg.dp_clip,
            "delta": self.cfg.dp_delta,
            "accountant": self.cfg.dp_accountant,
            "epsilon": written(self.worst(uploaded)),
            "epsilon_training": max(self.cost(counts["training"]) for counts in uploaded.values()),
            "uploads": {name: dict(counts) for name, counts in uploaded.items()},
            "planned": dict(self.planned),
            "covers": COVERS + self._assumed,
            "does_not_cover": clear + EXCLUDES,
        }

    @property
    def _named(self) -> str:
        if not self.cfg.noise_distributed:
            return "discrete Gaussian"
        return f"distributed discrete Gaussian, of {honest_parties(self.cfg)} honest parties"

    @property
    def _assumed(self) -> str:
        """State the assumption of distributed noise."""
        if not self.cfg.noise_distributed:
            return ""
        passive = self.cfg.parties - 1
        colluding = passive - honest_parties(self.cfg)
        return (
            f"; as long as at most {colluding} of the {passive} passive parties collude with the "
            "active one or leave out their share of the noise, and nobody sees through the masks"
        )


def budget_of(cfg: RunConfig, rows: Rows) -> Budget | None:
    """Work out the budget of a run; None without noise.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rows : dict of str to ndarray
        The split of all rows.

    Raises
    ------
    ConfigError
        If the target cannot be met, or the noise would not fit what blinds it.
    """
    if not cfg.noised:
        return None
    planned = planned_uploads(cfg, rows)
    budget = Budget(cfg, cfg.dp_sigma, planned)
    if not cfg.dp_sigma:
        budget = Budget(cfg, _sigma_for(cfg, budget.noised(planned)), planned)
    least = due(cfg, rows) if cfg.epochs else planned
    if not budget.allows(least):
        raise ConfigError(
            f"target-epsilon {cfg.target_epsilon:g} allows {budget.most} noised uploads with "
            f"dp-sigma {cfg.dp_sigma:g}, and one step, what is evaluated after it and the test "
            f"rows take {budget.noised(least)}; use a larger dp-sigma, or 0 to find it"
        )
    width, limit = budget.summed.width, LIMIT / (cfg.parties - 1)
    if cfg.blinded and _DEVIATIONS * width > limit:
        raise ConfigError(
            f"noise of deviation {width:g} leaves no room for a sum of "
            f"{cfg.parties - 1} below {LIMIT:g} where it is blinded; use a smaller dp-clip"
        )
    return budget


def _sigma_for(cfg: RunConfig, uploads: int) -> float:
    """Return the least noise multiplier for the uploads within the target."""
    sigma = least_sigma(cfg.target_epsilon, uploads, cfg.dp_delta, cfg.dp_accountant)
    if sigma > MOST_SIGMA:
        once = cfg.options.uploads_before_training
        fewer = "larger eval-batch-size" if once else "larger batches, fewer evaluations"
        raise ConfigError(
            f"target-epsilon {cfg.target_epsilon:g} needs dp-sigma {sigma:g} for {uploads} uploads "
            f"of each party, more than {MOST_SIGMA:g}; use fewer {'views' if once else 'epochs'}, "
            f"{fewer} or a larger target-epsilon"
        )
    return max(sigma, LEAST_SIGMA)


class Noise(NamedTuple):
    """Noise of uploads, and the epsilon spent so far.

    Attributes
    ----------
    sigma : float
        The noise multiplier.
    epsilon : float
        Infinity if one was sent as it is.
    """

    sigma: float
    epsilon: float
