"""Labels learnt from rows' nodes in boosted trees, with few known.

Every passive party sees which rows part at the splits of all parties, encrypted gradients or not.
Rows of one node have like gradients. A naive Bayes classifier counts the known labels in the
deepest node that a row was seen in, tree by tree.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import OWN_COLUMNS, classes_only
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty


class Splits(Attack):
    """Naive Bayes on the nodes of all trees."""

    target, adversary = Target.LABELS, Adversary.PASSIVE
    anchor = "none; Cheng et al. 2021, arXiv:1901.08755, section 6, on leaves of pure labels"
    idea = "a row's node in each tree, as parties are told it, and the known labels in that node"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without trees."""
        if not isinstance(_growth(stage.run.passive[0]), Growth):
            return "no rows are told to part at splits"
        return classes_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the accuracy of one party, as all are told the same."""
        told: list[Array] = []

        def watch(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
            growth = _growth(passive[0])
            assert isinstance(growth, Growth)  # noqa: S101  see `applies`
            _note(growth, told)

        made, attacked = stage.again(watch), stage.attacked
        order = np.argsort(made.active.rows["train"], kind="stable")
        at = order[np.searchsorted(made.active.rows["train"], attacked.rows, sorter=order)]
        accuracy, _ = attacked.judge(scored(np.concatenate(told)[:, at], attacked))
        own = [
            attacked.judge(attacked.regressed(stage.columns(each), attacked.known, attacked.y))[0]
            for each in stage.run.passive
        ]
        return Score("accuracy", accuracy, max(own), OWN_COLUMNS, party_name(1), "layer")


def scored(nodes: Array, attacked: AttackedRows) -> Table:
    """Score classes by known labels in nodes.

    (trees, n) -> (n, C).
    """
    known, classes = attacked.known, np.arange(attacked.classes)
    of_class: NDArray[np.bool_] = attacked.y[known] == classes[:, None]
    prior = of_class.mean(1)
    scores = np.tile(np.log(prior + 1e-9), (nodes.shape[1], 1))
    for tree in nodes:
        counts = np.zeros((len(classes), int(tree.max()) + 1))
        for each, row in zip(of_class, counts, strict=True):
            row += np.bincount(tree[known][each], minlength=len(row))
        shares = (counts + prior[:, None]) / (counts.sum(1, keepdims=True) + 1)
        scores += np.log(shares[:, tree].T + 1e-9)
    return scores


def _growth(party: PassiveParty) -> object:
    return getattr(party, "growth", None)


def _note(growth: Growth, told: list[Array]) -> None:
    """Keep each row's deepest node, by round: (T, B)."""
    enter, advance = growth.enter, growth.advance

    def entered(number: int, trees: int, rows: int) -> None:
        told.append(np.zeros((trees, rows), np.int64))
        enter(number, trees, rows)

    def advanced(split: Array, left: NDArray[np.bool_]) -> None:
        growth.descend(told[-1], split, left)
        advance(split, left)

    vars(growth).update(enter=entered, advance=advanced)
