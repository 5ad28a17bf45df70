"""Predictions of a run whose parties are all on this machine, from their model folders.

The parties are built anew, without labels, and run a protocol of their own over the local carrier:
keys, where the method blinds, and then what an evaluation asks, in messages of `eval-batch-size`
rows. Nothing is trained, and no checkpoint is written.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from vfl_flower.active import ActiveParty
from vfl_flower.blinding import agree_keys
from vfl_flower.build import build_active, build_passive
from vfl_flower.codec import Array
from vfl_flower.complete import check_models, load_models
from vfl_flower.config import near
from vfl_flower.data import DATASETS
from vfl_flower.errors import ConfigError, PrivacyError, TrainingError
from vfl_flower.exchange import Protocol
from vfl_flower.local import run_local
from vfl_flower.names import member_name
from vfl_flower.passive import PassiveParty
from vfl_flower.predict.table import check_path, write_table
from vfl_flower.privacy.uploads import Counts
from vfl_flower.runs import RunFolder, first_run, party_logs
from vfl_flower.training import chunks, infer

ROWS = ("test", "validation", "all")


class Prediction(NamedTuple):
    """What came of a prediction.

    Attributes
    ----------
    rows : int
        How many were predicted.
    epsilon : float or None
        What the party that has uploaded most has spent by now; None without client-level privacy.
    """

    rows: int
    epsilon: float | None


def predict(run: Path, rows: str, out: Path) -> Prediction:
    """Predict rows of a run's data set and write what the active party's model says.

    Parameters
    ----------
    run : Path
        The folder of a complete run, of several seeds the first, with the folders of all parties.
    rows : {"test", "validation", "all"}
        Which.
    out : Path
        The file, CSV; see `table.write_table`.

    Raises
    ------
    ConfigError
        If there are no such rows, or the file is not to be CSV.
    RunError
        If model folders are missing, damaged or do not belong together, or the file cannot be
        written.
    PrivacyError
        If a party's privacy budget does not last for it; then nothing has been sent.
    PartyError
        If a party fails.
    """
    check_path(out)
    if rows not in ROWS:
        raise ConfigError(f"rows: unknown '{rows}'{near(rows, ROWS)}")
    folder = first_run(run)
    check_models(folder)
    active, passive = rebuild(folder)
    numbers = numbers_of(active, rows)
    _check_budgets(passive, chunks(active.cfg, numbers))
    logits: list[Tensor] = []
    active.task = lambda: protocol(active, numbers, logits)
    try:
        with party_logs(folder, len(passive)):
            run_local(active, passive)
    finally:
        active.close()
    (said,) = logits
    if not said.isfinite().all():
        raise TrainingError("predictions are not finite, and nothing is written; train anew")
    write_table(out, numbers, said, DATASETS[active.cfg.dataset].names())
    epsilon = active.budget.worst(active.uploaded) if active.budget else None
    return Prediction(len(numbers), epsilon)


def rebuild(folder: RunFolder) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build the parties of a run as prediction needs them, and give them their model folders.

    The active party has no labels, and writes nothing; the passive ones have their folders, where
    they count their uploads under client-level privacy.

    Raises
    ------
    RunError
        If a model folder is missing or damaged, or not of this run and this party.
    """
    cfg = replace(folder.cfg, tensorboard=False)
    active = build_active(cfg, labelled=False)
    passive = [build_passive(cfg, index, folder.path) for index in range(cfg.parties - 1)]
    load_models(folder, (active, *passive))
    return active, passive


def numbers_of(active: ActiveParty, rows: str) -> Array:
    """Return the numbers of a part of the rows, (N,) int32, in the order of an evaluation."""
    if rows == "all":
        return np.arange(len(active.x), dtype=np.int32)
    return active.rows[rows]


def protocol(active: ActiveParty, rows: Array, logits: list[Tensor]) -> Protocol:
    """Infer some rows, (N,), and append what the active party's model says of them, (N, C)."""
    yield from agree_keys(active.cfg)
    outputs = yield from infer(active, rows)
    logits.append(outputs[0])


def _check_budgets(passive: Sequence[PassiveParty], uploads: int) -> None:
    """Refuse a prediction that a passive party could not finish."""
    for party in passive:
        budget, counts = party.privacy.budget, party.privacy.counts()
        if budget and not budget.allows(counts + Counts(evaluation=uploads)):
            raise PrivacyError(
                f"{member_name(party.place)} has sent {budget.noised(counts)} noised uploads; "
                f"target-epsilon {budget.cfg.target_epsilon:g} allows {budget.most}, and these "
                f"rows take {uploads} more: predict fewer, or train with a larger dp-sigma"
            )
