"""Trained parties of a complete run, and their shares of predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import ConfigError, DataError, NetworkError
from vfl_flower.common.names import party_name
from vfl_flower.config.evaluation.metrics import scores_of
from vfl_flower.config.registry import methods_that
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run
from vfl_flower.workflows.completed_run import result_of
from vfl_flower.workflows.trained_parties import parties_of

Decide = Callable[[Tensor], Tensor]
"""From embeddings (N, D) to shares of the prediction, (N, C)."""


def complete_run(path: Path, trust_code: bool = False) -> tuple[RunFolder, float | None]:
    """Find a run, of several seeds the first, that can be explained.

    Parameters
    ----------
    path, trust_code
        See `RunFolder.reopen`.

    Returns
    -------
    RunFolder
        Its folder.
    float or None
        The test accuracy of its result, or R² of numbers, if there is one.

    Raises
    ------
    RunError
        If there is none, it is not complete, or weights of a party are not there.
    """
    folder = first_run(path, trust_code)
    return folder, scores_of(result_of(folder), "test").get("active")


def has_heads(cfg: RunConfig) -> bool:
    """Whether a run has heads, and test rows to explain them on."""
    return cfg.spec.additive and not cfg.encoded and cfg.test_share > 0


def check_heads(cfg: RunConfig, asked: str) -> None:
    """Refuse a question about heads that a run does not have.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    asked : str
        The option that asks; empty for none.

    Raises
    ------
    ConfigError
        If its prediction is no sum of what each party says.
    DataError
        If no row was held out for the test.
    """
    if not asked:
        return
    if not cfg.spec.additive:
        able = methods_that(lambda spec: spec.additive)
        raise ConfigError(
            f"{asked} is about the parties' heads, and the prediction of {cfg.method} is no sum of "
            f"what each party's head says; methods with heads are {able}"
        )
    if cfg.encoded:
        raise ConfigError(
            f"{asked} is about the parties' heads, and label-encoding is {cfg.label_encoding}: "
            "heads add up to codes, which are decoded together"
        )
    if not cfg.test_share:
        raise DataError(f"the run held out no test rows, on which {asked} explains heads")


@dataclass(frozen=True)
class Holder:
    """A party that has columns.

    Attributes
    ----------
    party : Party
        With the networks that the run came to, in evaluation mode.
    head : nn.Module
        From its embedding, (N, D), to its share of the prediction, (N, C).
    decide : callable
        Runs the head on the device where it is.
    x : Tensor
        Its columns of the test rows, (N, ...).
    """

    party: Party
    head: nn.Module
    decide: Decide
    x: Tensor

    @property
    def name(self) -> str:
        """Name of the party."""
        return party_name(self.party.rank)

    @torch.no_grad()
    def embed(self, x: Tensor) -> Tensor:  # (N, ...) -> (N, D)
        """Embed columns of its own."""
        parts = x.split(self.party.cfg.eval_batch_size)
        return torch.cat([self.party.embedding(part) for part in parts])

    @torch.no_grad()
    def share(self, x: Tensor) -> Tensor:  # (N, ...) -> (N, C)
        """Return its share of the prediction for columns of its own."""
        return self.decide(self.embed(x))


@dataclass(frozen=True)
class Trained:
    """A run's parties.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    holders : list of Holder
        The parties that have columns, by place.
    active : ActiveParty
        The active party.
    y : Tensor
        The labels of the test rows, (N,), which the active party alone has in a deployment.
    """

    cfg: RunConfig
    holders: list[Holder]
    active: ActiveParty
    y: Tensor


def trained(folder: RunFolder) -> Trained:
    """Build the parties of a complete run with their trained weights.

    Raises
    ------
    RunError
        If weights are damaged, or another run's.
    NetworkError
        If a head has no weights.
    """
    active, passive = parties_of(folder)
    cfg = active.cfg
    rows = torch.from_numpy(active.rows["test"])
    parties = [active, *passive][-cfg.holders :]
    heads = _heads(active, parties)
    holders = [
        Holder(party, head, decide, party.x[rows.to(party.x.device)])
        for party, (head, decide) in zip(parties, heads, strict=True)
    ]
    return Trained(cfg, holders, active, active.y[rows])


def _heads(active: ActiveParty, parties: list[Party]) -> list[tuple[nn.Module, Decide]]:
    """Return each party's head, and a function that runs it."""
    kept = getattr(active.net, "heads", None)  # the active party's, of a method that keeps them
    if isinstance(kept, nn.ModuleList):
        return [(head, head) for head in kept]
    heads: list[tuple[nn.Module, Decide]] = []
    for party in parties:
        head = cast("nn.Module", party.net.decide)
        if not any(each.numel() for each in head.parameters()):
            raise NetworkError(f"{party_name(party.rank)}: its head has no weights, and no norm")
        heads.append((head, party.decide))
    return heads
