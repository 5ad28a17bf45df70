"""Model completion by MixMatch: bottom model and head, on unlabelled rows too.

Fu et al. 2022, "Label Inference Attacks Against Vertical Federated Learning", USENIX Security, with
MixMatch of Berthelot et al. 2019, arXiv:1905.02249. Each step draws B rows with known labels y and
B others. Those are guessed by the model f, from two noisy copies, and the guess is sharpened:

    q = (f(x') + f(x'')) / 2,    p proportional to q^(1 / T)

Rows and labels of both kinds are then mixed by twos, w x + (1 - w) x_2 and w y + (1 - w) y_2 with
w = max(v, 1 - v), v of Beta(a, a), and f steps down

    cross entropy of the known + u mean |p - f(x)|^2 of the others        (u rises from 0)

The copies differ by Gaussian noise, not by crops and flips, which tables do not have. The same
completion of a bottom model that was never trained is the baseline.
"""

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from vfl_flower.analysis.audit.attacks.labels.completion.completion import Completion
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table, table_of
from vfl_flower.parties.passive import PassiveParty

STEPS, BATCH, RATE = 300, 64, 1e-3
NOISE = 0.1
"""Of the copies, in deviations of all columns."""
TEMPERATURE, ALPHA, OTHERS = 0.8, 0.75, 50.0
"""T, a, and the largest u, as in the attack's paper."""


class MixMatchCompletion(Completion):
    """Completion in which the bottom model learns on, from all rows."""

    idea = "bottom model and head taught by the known labels and by guesses of all others"

    def accuracy(self, stage: Stage, party: PassiveParty) -> float:
        """See `Completion`."""
        model = completed(stage, party)
        with torch.no_grad():
            scores: Table = table_of(model(party.columns(stage.attacked.rows)))
        return stage.attacked.judge(scores)[0]


def completed(stage: Stage, party: PassiveParty) -> nn.Module:
    """Complete a copy of a party's bottom model to a classifier."""
    attacked = stage.attacked
    random = np.random.default_rng(stage.cfg.seed)
    columns = party.columns(attacked.rows)
    bottom = nn.Sequential(deepcopy(party.net.embed), nn.Flatten()).eval()  # type: ignore[arg-type]
    head = nn.Linear(bottom(columns[:1]).shape[1], attacked.classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    model = nn.Sequential(bottom, head)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    for step, (x, others, y) in enumerate(_batches(attacked, columns, random)):
        loss = _loss(model, x, y, others, OTHERS * step / STEPS, random)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def _batches(
    attacked: AttackedRows, columns: Tensor, random: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield rows with labels, as many others, and the labels."""
    y = one_hot(torch.from_numpy(attacked.y), attacked.classes).float()
    known = torch.from_numpy(np.flatnonzero(attacked.known))
    unknown = torch.from_numpy(np.flatnonzero(~attacked.known))
    for _ in range(STEPS):
        mine = known[random.integers(len(known), size=BATCH)]
        yours = unknown[random.integers(len(unknown), size=BATCH)]
        yield columns[mine], columns[yours], y[mine]


def _loss(
    model: nn.Module, x: Tensor, y: Tensor, others: Tensor, u: float, random: np.random.Generator
) -> Tensor:
    copies = [_noisy(others, random) for _ in range(2)]
    p = sharpened(torch.stack([_guessed(model, each) for each in copies]).mean(0))
    rows, labels = torch.cat([_noisy(x, random), *copies]), torch.cat([y, p, p])
    rows, labels = _mixed(rows, labels, random)
    logits: Tensor = model(rows)
    known = cross_entropy(logits[: len(x)], labels[: len(x)])
    apart = labels[len(x) :] - logits[len(x) :].softmax(1)
    return known + u * apart.square().mean()


def _guessed(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        guess: Tensor = model(x).softmax(1)
    return guess


def _noisy(x: Tensor, random: np.random.Generator) -> Tensor:
    return x + NOISE * x.std() * torch.from_numpy(random.standard_normal(x.shape, np.float32))


def sharpened(guess: Tensor) -> Tensor:
    """Make probabilities, (B, C), more certain."""
    powers = guess.pow(1 / TEMPERATURE)
    return powers / powers.sum(1, keepdim=True)


def _mixed(rows: Tensor, labels: Tensor, random: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Mix each row and label with those of another."""
    v = torch.from_numpy(random.beta(ALPHA, ALPHA, len(rows)).astype(np.float32))
    w, other = torch.maximum(v, 1 - v), torch.from_numpy(random.permutation(len(rows)))
    shaped = w.view(-1, *[1] * (rows.dim() - 1))
    return rows[other].lerp(rows, shaped), labels[other].lerp(labels, w[:, None])
