"""Adversarial dominating inputs: columns that decide every prediction alone.

Pang et al. 2022, arXiv:2201.02775. After training, a passive party looks among its own rows, and
these times some factors, for columns x* with which most rows are predicted as one class, whatever
the other parties' columns are. It chooses by predictions of training rows; test rows are judged.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    DEVIATOR,
    RANK,
    by,
    give_own_columns,
    predicted,
    shown,
)
from vfl_flower.analysis.audit.transcripts.repetition import Repetition
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.codec import Array
from vfl_flower.protocol.exchange import Protocol

CANDIDATES, FACTORS, ASKED = 8, (1.0, 3.0, 10.0), 100
"""Rows that are tried, factors of each, and training rows that choose."""


class DominatingInputs(Attack):
    """Share of rows predicted alike once one party shows chosen columns."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Pang et al. 2022, arXiv:2201.02775"
    idea = "one party's chosen columns decide the prediction; the share of rows alike"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without predictions."""
        return predicted(stage)

    def run(self, stage: Stage) -> Score:
        """Return the share of test rows that the best input dominates."""
        made = stage.again(by(give_own_columns), partial(_probe, stage.attacked.rows))
        honest = _alike(stage.run.answers["test"])
        return Score("rows alike", _alike(made.answers["test"]), honest, "honest run", DEVIATOR)


def _probe(rows: Array, made: Repetition) -> Protocol:
    """Try candidates on training rows, and the best on test rows."""
    party, asked = made.passive[RANK - 1], rows[:ASKED]
    own = party.columns(rows[-CANDIDATES:]).clone()
    candidates = [own[i] * factor for factor in FACTORS for i in range(len(own))]
    shares = []
    for candidate in candidates:
        with shown(party, asked, candidate):
            yield from made.ask("tried", asked)
        shares.append(_alike(made.answers["tried"]))
    test = made.active.rows["test"]
    with shown(party, test, candidates[int(np.argmax(shares))]):
        yield from made.ask("test", test)


def _alike(outputs: Tensor) -> float:
    """Return the share of the most frequent predicted class: (B, C)."""
    counts = torch.bincount(outputs.argmax(1))
    return float(counts.max() / len(outputs))
