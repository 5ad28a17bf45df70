"""Chosen labels: one party's embedding grows until it fills the masked sum.

The active party sends residuals of labels that it chooses. One party is taught its least likely
class in every step,

    g_k = dL(R_k, argmin R_k) / dR_k,    and the others    g_j = dL(R_j, argmax R_j) / dR_j,

which changes little. So its embedding moves far and the others' stay, and the sum that no mask
hides is that embedding, but for little. Each residual is one of a label, so that no party can tell
it from a true one. It takes a hundred steps or so. The figure is that of `dominance`: the upload
is laid bare, which does not say that it tells more of the columns than the honest run's sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.dominance import METRIC, likeness, share
from vfl_flower.analysis.audit.attacks.integrity.deviations import DEVIATOR, RANK
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import NO_SUM, EndedRun, Stage
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels, residuals
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.residuals import Residual
from vfl_flower.protocol.exchange import Protocol, Replies, tell_each

Outputs = dict[str, str]
"""The phase that sends outputs, by the phase that takes their residuals."""


class ChosenLabels(Attack):
    """Masked sum as one party's upload, after training on chosen labels."""

    target, adversary = Target.COLUMNS, Adversary.DEVIATING_ACTIVE
    anchor = "Pasquini et al. 2022, arXiv:2111.07380 (an active party that chooses what is learnt)"
    idea = "labels of choice make one party's embedding grow, until the masked sum shows it"

    def applies(self, stage: Stage) -> str:
        """Refuse sums that nobody masks, and residuals that all are sent alike."""
        if reason := classes_only(stage):
            return reason
        if not stage.masked:
            return NO_SUM
        if not outputs_of(stage.untrained(RANK)):
            return "no party is sent residuals of its own"
        noised = "parties refuse residuals of labels without noise; chosen noisy ones are not tried"
        return noised if stage.cfg.label_noise else ""

    def run(self, stage: Stage) -> Score:
        """Return R² of the one upload, beside the honest run's."""
        honest = likeness(stage, RANK)
        try:
            made = Stage(stage.attacked, stage.again(choose_labels))
        except EndedRun as ended:
            source = f"stopped: {ended.kind}"
            return Score(METRIC, honest, honest, "honest run", DEVIATOR, source)
        value, source = likeness(made, RANK), share(made, RANK)
        return Score(METRIC, value, honest, "honest run", DEVIATOR, source)


def outputs_of(party: PassiveParty) -> Outputs:
    """Return the phases that take residuals of the party's own outputs."""
    return {
        name: taken.of
        for name, declared in party.declarations.items()
        for taken in declared.takes
        if isinstance(taken, Residual) and taken.of
    }


def choose_labels(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
    """Let an active party choose each party's labels."""
    outputs = outputs_of(passive[RANK - 1])
    vars(active)["step"] = partial(_step, active, active.step, outputs)


def _step(
    active: ActiveParty,
    honest: Callable[[Array, Labels], Protocol],
    outputs: Outputs,
    rows: Array,
    y: Labels,
) -> Protocol:
    """Take an honest step, but for the residuals that are told."""
    protocol, replies, sent = honest(rows, y), None, dict[str, Replies]()
    while True:
        try:
            request = protocol.send(replies)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            return end.value
        if request.phase in outputs:
            g = _chosen(active, sent[outputs[request.phase]].tensors)
            request = replace(request, each=tell_each(request.phase, g).each)
        replies = yield request
        if replies is not None:
            sent[request.phase] = replies


def _chosen(active: ActiveParty, R: Sequence[Tensor]) -> list[Tensor]:
    """Return the residual of each passive party's chosen labels."""
    labels = [R_k.argmin(1) if k == RANK else R_k.argmax(1) for k, R_k in enumerate(R, 1)]
    pairs = zip(R, labels, strict=True)
    return [g for R_k, y in pairs for g in residuals(active.loss, [R_k], y)[0]]
