"""Malicious optimizer: a party that learns faster, to complete its model better.

Fu et al. 2022, USENIX Security, "active label inference attack". The larger steps of its bottom
model make the top model rely on that party, and its embeddings tell more of the labels. With the
gradients g of this step and g' of the step before, each weight's change is multiplied by

    min(max(1 + g / g', 1), 5)

so that a weight hurries as long as its gradient keeps its sign. A learning rate of 5 times its own,
without regard to gradients, is tried too, and is often the better one.
"""

import torch
from torch import Tensor
from torch.optim import Optimizer

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import DEVIATOR, RANK, by
from vfl_flower.analysis.audit.attacks.labels.completion.head import completed
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.parties.passive import PassiveParty

LARGEST = 5.0
"""Factor of a weight's change, and of the learning rate."""


class MaliciousOptimizer(Attack):
    """Model completion by a party that scales its own steps."""

    target, adversary = Target.LABELS, Adversary.DEVIATING_PASSIVE
    anchor = "Fu et al. 2022, USENIX Security"
    idea = "model completion after a training in which the party's own steps are larger"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and parties without networks."""
        return classes_only(stage) or stage.lacks_networks

    def run(self, stage: Stage) -> Score:
        """Return the accuracy beside that of the same party's honest completion."""
        honest = completed(stage, stage.run.passive[RANK - 1])
        found = [
            (completed(stage, stage.again(by(change)).passive[RANK - 1]), name)
            for name, change in OPTIMIZERS.items()
        ]
        value, name = max(found)
        return Score("accuracy", value, honest, "honest steps", DEVIATOR, name)


def _hurry(party: PassiveParty) -> None:
    for group in party.optimizer.optimizer.param_groups:
        group["initial_lr"] *= LARGEST


def _adapt(party: PassiveParty) -> None:
    """Enlarge all changes of a party's weights from its second step on."""
    optimizer = party.optimizer.optimizer
    last, before = dict[Tensor, Tensor](), dict[Tensor, Tensor]()

    def note(*_: object) -> None:
        before.update((each, each.detach().clone()) for each in _learning(optimizer))

    def enlarge(*_: object) -> None:
        for each in _learning(optimizer):
            gradient = _gradient(each).clone()
            if each in last:
                with torch.no_grad():
                    each.copy_(before[each].lerp(each, factors(gradient, last[each])))
            last[each] = gradient

    optimizer.register_step_pre_hook(note)
    optimizer.register_step_post_hook(enlarge)


def factors(gradient: Tensor, last: Tensor) -> Tensor:
    """Return each weight's factor; 1 after a gradient of 0."""
    ratio = torch.where(last == 0, 0.0, gradient / last)
    return (1 + ratio).clamp(1.0, LARGEST)


OPTIMIZERS = {"factor by gradients": _adapt, "larger rate": _hurry}
"""Changes of the party's optimizer, by name."""


def _learning(optimizer: Optimizer) -> list[Tensor]:
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    return [each for each in parameters if each.grad is not None]


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # noqa: S101  see `_learning`
    return parameter.grad
