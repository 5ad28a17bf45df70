"""Membership inference: training rows are predicted with more confidence."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.attacked import area_under
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.data.tables.prediction_file import rounded


class MembershipInference(Attack):
    """Threshold on the confidence of the run's prediction of a row."""

    target, adversary = Target.MEMBERSHIP, Adversary.RECIPIENT
    anchor = "Yeom et al. 2018, arXiv:1709.01604"
    idea = "the largest predicted probability, of training rows against test rows"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without predictions of both."""
        if not classes_only(stage) and not {"train", "test"} <= set(stage.run.answers):
            return "no predictions of training and of test rows: uploads or rows are too few"
        return classes_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the AUC of the confidence."""
        answers = [stage.run.answers[part] for part in ("train", "test")]
        digits = stage.cfg.score_digits
        confident = np.concatenate([_confidence(each, digits) for each in answers])
        inside = np.arange(len(confident)) < len(answers[0])
        return Score("AUC", area_under(inside, confident), 0.5, "chance")


def _confidence(outputs: Tensor, digits: int) -> NDArray[np.float64]:
    """Return the largest written probability: (B, C) -> (B,)."""
    found: NDArray[np.float64] = outputs.double().softmax(1).max(1).values.numpy()
    return rounded(found, digits)
