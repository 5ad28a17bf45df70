"""Check of residuals by the targets that they imply.

Every loss of `vfl_flower.config.catalog` has, for one row of a batch of B, the gradient

    g = w s (m(R) - t) / B

with m the `Link` and s the slope of the loss, t the target and w the weight of the row. Who has
the output R solves it for t, which must be a target of the run: a one-hot row, of several labels a
row of zeros and ones, or what the run's label mechanism can make of one, for some weight of those
that rows can have; with encoded labels, whose codes the active party alone knows, any shares. Who
has not can bound g only, since m(R) and t are shares; and so everybody in a run with a defence of
gradients, whose g is of no target.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import (
    LOSSES,
    MULTI_CLASS,
    MULTI_LABEL,
    REGRESSION,
    REGRESSION_LOSSES,
    USUAL_LOSSES,
)
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Link, onehot
from vfl_flower.learning.wire_precision import PRECISIONS, as_sent
from vfl_flower.privacy.gradient_defences.defence import defence_of
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise
from vfl_flower.privacy.label_dp.training_labels import noise_of
from vfl_flower.privacy.label_dp.unknown_weights import UnknownWeights
from vfl_flower.protocol.automaton.gradients import Gradient
from vfl_flower.protocol.automaton.rules import Layout, within
from vfl_flower.protocol.automaton.scope import Scope, Size

_ROUNDING, _MOST_ROUNDING = 1e-4, 1e-2
"""Error of a target, solved in float32: usually, and for outputs as large as 10^5."""
_RELATIVE = 1e-3  # of bounds


class Residuals:
    """Bounds and targets of a run's residuals.

    Parameters
    ----------
    cfg : RunConfig
        Its loss, weights of rows and label mechanism.
    classes : int
        C, or 1 of a regression.
    loss : str
        The method's loss, unless the run says otherwise.
    rows : int
        Training rows of the split, which limit the weight of a class.
    several : bool
        Whether each output is of a label of its own.
    """

    def __init__(
        self, cfg: RunConfig, classes: int, loss: str, rows: int, *, several: bool = False
    ) -> None:
        self.several = several
        task = MULTI_LABEL if several else REGRESSION if classes == 1 else MULTI_CLASS
        usual = USUAL_LOSSES.get(task, loss)
        spec = (LOSSES | REGRESSION_LOSSES)[cfg.loss or usual]
        self.link: Link = load_object(spec.link)
        self.slope, self.classes = spec.slope, classes
        self.noise, self.defence = noise_of(cfg, classes), defence_of(cfg)
        self.encoded = cfg.encoded
        balanced, by_row = cfg.class_weights != "none", cfg.largest_weight > 1
        self.weighted = balanced or by_row
        self.least = 0.0 if by_row else 1 / classes
        self.most = max(rows / classes, 1.0) if balanced else 1.0
        self.most *= cfg.largest_weight
        self.precision = cfg.wire_precision
        self.wire = PRECISIONS[self.precision]
        self.step = self.wire.step / self.slope  # of a small number, times B

    def fault(self, g: Array, R: Tensor | None) -> str:
        """Return the fault of a batch of residuals, or nothing.

        Parameters
        ----------
        g : ndarray
            (B, C).
        R : Tensor or None
            The outputs that it is of, if the party has them.
        """
        if not self.link.shares:
            return ""
        scaled = torch.from_numpy(self._scaled(g))
        limit = self.most * (1 + _RELATIVE)
        if self.defence:
            limit *= self.defence.growth(len(g), self.classes)
        off = self.wire.losses(scaled.abs()) + self.classes * self.step * len(g)
        if scaled.abs().amax() > limit:
            return "has residuals that are larger than the loss allows"
        if self.defence:  # what it makes of residuals is of no label
            return ""
        if self.link.sums and (scaled.sum(1).abs() > _RELATIVE * limit + off).any():
            return "has residuals that do not add up to 0 in each row"
        if R is None or (self._shared(scaled, R) if self.encoded else self._solved(scaled, R)):
            return ""
        return "has residuals of none of the run's labels at this party's output"

    def _shared(self, scaled: Tensor, R: Tensor) -> bool:
        """Tell whether every row is the residual of some shares.

        Those are m - g B / (w s), in [0, 1] for the largest weight w if for a smaller one.
        """
        means, rounding = self.link.means(R), _rounding(R)
        off = (rounding * self.most + self._lost(scaled.abs().amax(1)))[:, None]
        least, most = (means - 1) * self.most - off, means * self.most + off
        return bool(((scaled >= least) & (scaled <= most)).all())

    def _scaled(self, g: Array) -> Array:
        """Scale residuals to m(R) - t, up to the weights of classes."""
        return g * np.float32(len(g) / self.slope)

    def one_hot(self, g: Array, R: Tensor) -> bool:
        """Tell whether every target is one class, without weights.

        No residual that is not finite has one. A quick way to what `fault` finds as well.
        """
        if self.noise or self.weighted or self.several or self.defence or self.encoded:
            return False
        scaled = self._scaled(g)
        off = self.link.means(R).numpy() - scaled
        off.ravel()[off.argmax(1) + np.arange(0, off.size, self.classes)] -= 1
        if within(off, -_ROUNDING, _ROUNDING):  # as nearly always
            return True
        rounding = min(_ROUNDING + 4e-7 * float(np.abs(R.numpy()).max()), _MOST_ROUNDING)
        lost = self._lost(np.abs(scaled).max(1))
        return bool((np.abs(off).max(1) <= rounding + lost).all())

    def _solved(self, scaled: Tensor, R: Tensor) -> bool:
        """Tell whether every row is the residual of some target."""
        means = self.link.means(R)
        rounding = _rounding(R)
        if self.noise is not None:
            return self._posterior(self.noise, scaled, means, R, rounding)
        if self.several:
            targets = _several_labels(scaled, means)
        else:
            targets = onehot(_labels(scaled, means), self.classes, means.dtype)
        if not self.weighted:
            error = (scaled - (means - targets)).abs().amax(1)
            return bool((error <= rounding + self._lost(scaled.abs().amax(1))).all())
        rows = self._unknown(scaled, means, rounding)
        low, high = rows.limits(targets, targets)
        weight = rows.middle(low.amax(1), high.amin(1))[0][:, None]
        off = (rows.scaled - weight * (means - targets)).abs()
        return bool((off <= weight * rows.rounding + rows.lost).all())

    def _posterior(
        self, noise: LabelNoise, scaled: Tensor, means: Tensor, R: Tensor, rounding: Tensor
    ) -> bool:
        """Tell whether every row is the residual of a noised label."""
        if not self.weighted:
            lost = self._lost(scaled.abs().amax(1))
            return bool(noise.admits(means - scaled, R, rounding + lost).all())
        rows = self._unknown(scaled, means, rounding)
        weight = noise.weights(rows, R)[:, None]
        targets, off = means - rows.scaled / weight, rows.rounding + rows.lost / weight
        return bool(noise.admits(targets, R, off[:, 0]).all())

    def _unknown(self, scaled: Tensor, means: Tensor, rounding: Tensor) -> UnknownWeights:
        """Return the rows, to find their weights."""
        lost = self._lost(scaled.abs().amax(1))
        s, m, r, E = (each.double() for each in (scaled, means, rounding, lost))
        return UnknownWeights(s, m, r[:, None], E[:, None], self.least, self.most)

    def _lost(self, largest: Any) -> Any:  # noqa: ANN401  of numpy or torch
        """Return the wire's error of rows, (B,), by their largest magnitudes."""
        return self.wire.lost * largest + self.step * len(largest)


def _rounding(R: Tensor) -> Tensor:
    """Return the error of each row's target, (B,)."""
    return (_ROUNDING + 4e-7 * R.abs().amax(1)).clamp(max=_MOST_ROUNDING)


def _labels(scaled: Tensor, means: Tensor) -> Tensor:
    """Return the label that each row's residual implies, (B,).

    Its entry alone is negative, or 0 as others are where the mean is 1 already.
    """
    least = scaled <= scaled.amin(1, keepdim=True) + _RELATIVE
    return means.masked_fill(~least, -1.0).argmax(1)


def _several_labels(scaled: Tensor, means: Tensor) -> Tensor:
    """Return the labels that each row's residual implies, (B, C).

    A negative entry is of a label that is there. One that is 0 is of a mean that is 0 or 1.
    """
    return torch.where(scaled == 0, means > 0.5, scaled < 0).to(means.dtype)


@dataclass(frozen=True)
class Residual(Gradient):
    """Gradient of the loss at the outputs.

    Attributes
    ----------
    of : str
        The pass of the party's `Tape` whose result it is of; empty where the party does not have
        the output.
    """

    of: str = ""

    def fault(self, array: Array, party: Scope, step: int) -> str:
        """See `Declared`."""
        learner = cast("Any", party)  # a `PassiveParty`, which has all of these
        residuals: Residuals = learner.residuals
        R = None
        if self.of:
            R = as_sent(learner.tape[self.of][1].detach(), residuals.precision)
        with np.errstate(over="ignore", invalid="ignore"):  # such numbers are refused
            if R is not None and residuals.one_hot(array, R):
                return ""
            return super().fault(array, party, step) or residuals.fault(array, R)


def residual(*shape: Size, of: str = "", name: str = "") -> Residual:
    """Declare the loss's gradient at outputs, float32.

    With `of`, those of a pass of the party's own tape; every row must be of a label, or of what
    the run's label mechanism makes of one. Without, it is bounded as the loss bounds it.
    """
    return Residual(Layout("float32", shape), name=name, of=of)
