"""Methods and references on one split of a table, and their scores."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    log_loss,
    roc_auc_score,
)

from benchmarks.harness.report import Cell
from vfl_flower.common.errors import PartyError, TrainingError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import run_data
from vfl_flower.data.party_data import PartyData
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.evaluation import infer
from vfl_flower.training.session import attempt
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

Scores = dict[str, Cell]
Floats = NDArray[np.float64]
PARTS = ("validation", "test")
REFERENCES = (
    "logistic regression, pooled",
    "boosting, pooled",
    "logistic regression, alone",
    "boosting, alone",
)
"""Models of scikit-learn on the columns of all parties, or of the active party alone."""


@dataclass(frozen=True)
class Labels:
    """Labels of a split.

    Attributes
    ----------
    y : ndarray of int
        (N,), of all rows.
    rows : dict of str to ndarray
        Numbers of the rows in each part.
    positive : int
        The rarer class of all rows.
    """

    y: NDArray[np.int64]
    rows: dict[str, NDArray[np.int32]]
    positive: int

    def part(self, name: str) -> NDArray[np.bool_]:
        """Tell which rows of a part are positive, (n,)."""
        positive: NDArray[np.bool_] = self.y[self.rows[name]] == self.positive
        return positive


class Split:
    """One split of a data set, prepared once for all runs.

    Parameters
    ----------
    cfg : RunConfig
        Names data set, parties and seed.
    """

    def __init__(self, cfg: RunConfig) -> None:
        source = run_data(cfg)
        self._pooled, self._party = cache(source.pooled), cache(source.party)
        first = self.party(0)
        assert first.y is not None  # noqa: S101  an active party's data have labels
        y = first.y.numpy()
        self.labels = Labels(y, first.rows, int(np.bincount(y).argmin()))

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Return the data of one party; see `RunData`."""
        return self._party(rank, labelled=labelled)

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Return the columns of all parties as one; see `RunData`."""
        return self._pooled(labelled=labelled)

    def columns(self, name: str) -> NDArray[np.float32]:
        """Return the encoded columns of a reference, (N, n)."""
        data: PartyData = self.pooled() if name.endswith("pooled") else self.party(0)
        columns: NDArray[np.float32] = data.numbers.numpy()
        return columns


def trained(cfg: RunConfig, split: Split) -> Scores:
    """Train a method and judge the active party's predictions.

    Returns
    -------
    dict
        See `judged`; bytes and exchanges of training, seconds. No more than ``failed`` where
        numbers are not finite.
    """
    try:
        return ran(cfg, split)[0]
    except (TrainingError, PartyError) as error:  # a number is not finite
        return {"failed": str(error)}


def ran(cfg: RunConfig, split: Split) -> tuple[Scores, list[Party]]:
    """Train a method; return its scores, and the parties."""
    started = time.perf_counter()
    active = build_active(cfg, source=split)
    passive = [build_passive(cfg, k, data=split.party(k)) for k in range(1, cfg.parties)]
    outputs = dict[str, Floats]()
    active.task = lambda: _protocol(active, outputs)
    run_local(active, passive)
    last = active.progress.records[-1] if active.progress.records else None
    scores = judged(outputs, split.labels) | {
        "bytes": last.bytes_up + last.bytes_down if last else 0,
        "exchanges": last.exchanges if last else 0,
        "seconds": time.perf_counter() - started,
    }
    return scores, [active, *passive]


def _protocol(active: ActiveParty, outputs: dict[str, Floats]) -> Protocol:
    """Train, then keep the probabilities of validation and test rows, (n, C)."""
    yield from attempt(active)
    for part in PARTS:
        logits = yield from infer(active, active.rows[part])
        outputs[part] = logits[0].double().softmax(1).cpu().numpy()


def reference(name: str, split: Split, seed: int) -> Scores:
    """Fit a model of scikit-learn with its defaults, and judge it."""
    boosts = name.startswith("boosting")
    model: ClassifierMixin = (
        HistGradientBoostingClassifier(random_state=seed)
        if boosts
        else LogisticRegression(max_iter=1000)
    )
    started = time.perf_counter()
    x, labels = split.columns(name), split.labels
    train = labels.rows["train"]
    model.fit(x[train], labels.y[train])
    outputs = {part: model.predict_proba(x[labels.rows[part]]) for part in PARTS}
    return judged(outputs, labels) | {
        "bytes": 0,
        "exchanges": 0,
        "seconds": time.perf_counter() - started,
    }


def judged(outputs: Mapping[str, Floats], labels: Labels) -> Scores:
    """Score the probabilities of test rows, and the AUC of validation rows.

    Parameters
    ----------
    outputs : mapping of str to ndarray
        Probabilities (n, C) by part.
    labels : Labels
        Of the split.
    """
    positive = labels.part("test")
    if not np.isfinite(outputs["test"]).all():
        return {"failed": "probabilities are not finite"}
    share = outputs["test"][:, labels.positive]
    said = outputs["test"].argmax(1) == labels.positive
    scores = {
        "validation_auc": roc_auc_score(
            labels.part("validation"), outputs["validation"][:, labels.positive]
        ),
        "auc": roc_auc_score(positive, share),
        "average_precision": average_precision_score(positive, share),
        "accuracy": accuracy_score(positive, said),
        "f1": f1_score(positive, said, zero_division=0),
        "log_loss": log_loss(positive, share, labels=[False, True]),
        "brier": brier_score_loss(positive, share),
    }
    return {name: float(value) for name, value in scores.items()}
