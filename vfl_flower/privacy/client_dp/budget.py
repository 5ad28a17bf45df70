"""Privacy budget of client-level differential privacy: noise, uploads, epsilon."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.json_schema import written
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import Rows
from vfl_flower.learning.schedule import due, planned_uploads
from vfl_flower.privacy.client_dp.accounting import epsilon_of, most_uploads
from vfl_flower.privacy.client_dp.distributed import GaussianShare
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.upload_log import LETTERS, Counts, Uploads
from vfl_flower.privacy.secure_aggregation import honest_parties

OF_NO_EPSILON = (
    "labels; which rows there are and which are asked; when messages come and how long they are; "
    "how long a party takes for an answer; that its process ends or its network raises an error; "
    "settings chosen by looking at other runs, and what those reveal, whose epsilons add up"
)
"""Limits of every epsilon of what a party sends."""

_CLEAR_EVALUATION = "evaluations, which are sent as they are and make epsilon infinite; "


@dataclass(frozen=True)
class Budget:
    """Noise of a run's uploads, and their number per party.

    The adjacency is that of a party's whole data.

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

    covers: ClassVar[str] = (
        "each passive party's whole data, against everything that it sends in this run, under "
        "zero-out adjacency: if its contribution were zero, so that its uploads were noise alone, "
        "others' view would be at most exp(epsilon) times as likely, but for delta"
    )
    excludes: ClassVar[str] = OF_NO_EPSILON
    unit: ClassVar[str] = "uploads"
    """Mechanisms that compose, in messages."""

    by_row: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = tuple(LETTERS)
    """Counts that each party keeps and tells."""

    @classmethod
    def plan(cls, cfg: RunConfig, rows: Rows) -> Counts:
        """Count the busiest party's uploads in a whole run, without repeats."""
        return planned_uploads(cfg, rows)

    @classmethod
    def least(cls, cfg: RunConfig, rows: Rows) -> Counts:
        """Count the uploads without which a run has no result."""
        return due(cfg, rows) if cfg.epochs else cls.plan(cfg, rows)

    @cached_property
    def mechanism(self) -> Gaussian:
        """Mechanism that noises an upload which others see."""
        return Gaussian(self.sigma, self.cfg.dp_clip, by_row=self.by_row)

    @cached_property
    def summed(self) -> Gaussian:
        """Mechanism that noises an upload of which others see the masked sum."""
        if not self.cfg.noise_distributed:
            return self.mechanism
        honest = honest_parties(self.cfg)
        return GaussianShare(self.sigma, self.cfg.dp_clip, honest, by_row=self.by_row)

    def mechanism_of(self, masked: bool) -> Gaussian:
        """Return the mechanism of uploads, summed under masks or not."""
        return self.summed if masked else self.mechanism

    @cached_property
    def of_gradients(self) -> Gaussian:
        """Mechanism that noises gradients, where rows are protected."""
        raise PrivacyError("gradients are not noised where a party's whole data are protected")

    def uploads_in(self, folder: Path) -> Uploads:
        """Return the durable count of a party, in its folder."""
        return Uploads(folder)

    def after_step(self, sent: Counts, rows: Rows, step: int, *, asked: bool) -> Counts:
        """Return a party's counts after another step, its evaluation and test rows.

        Parameters
        ----------
        sent : Counts
            The party's so far.
        rows : dict of str to ndarray
            The parts of the rows by name.
        step : int
            Number of the step, from 0.
        asked : bool
            Whether it asks this party.
        """
        more = due(self.cfg, rows)
        return sent + (more if asked else Counts(evaluation=more["evaluation"]))

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

    def training_cost(self, counts: Counts) -> float:
        """Return the epsilon of one party's uploads in training alone."""
        return self.cost(counts["training"])

    def report(self, uploaded: Mapping[str, Counts]) -> dict[str, Any]:
        """Return the ``client_privacy`` entry of ``result.json``."""
        clear = "" if self.noises("evaluation") else _CLEAR_EVALUATION
        return {
            "mechanism": self._named,
            "adjacency": self.cfg.dp_adjacency,
            "sigma": self.sigma,
            "clip": self.cfg.dp_clip,
            "delta": self.cfg.dp_delta,
            "accountant": self.cfg.dp_accountant,
            "epsilon": written(self.worst(uploaded)),
            "epsilon_training": max(map(self.training_cost, uploaded.values())),
            "uploads": {name: dict(counts) for name, counts in uploaded.items()},
            "planned": dict(self.planned),
            "covers": self.covers + self._continued + self._assumed,
            "does_not_cover": clear + self.excludes,
        }

    @property
    def _named(self) -> str:
        if not self.cfg.noise_distributed:
            return "discrete Gaussian"
        return f"distributed discrete Gaussian, of {honest_parties(self.cfg)} honest parties"

    @property
    def _continued(self) -> str:
        """Say that uploads of the model that others join count."""
        if not self.cfg.joins:
            return ""
        return "; noised uploads of a party of the model count from that model's run on"

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
