"""Vertical GLM, active party: logistic, multinomial and linear regression.

The generalized linear model that scikit-learn fits to everybody's columns, to the same minimum:

    eta = x_0 W_0 + ... + x_K W_K + c                  (N, M)   M = 1 for two classes, else C
    F(W, c) = sum of losses(eta, y) + ridge/2 |W|^2 + lasso |W|_1

by sequential subspace optimization (Narkiss and Zibulevsky 2005), with each party's own Newton step
as the direction, and with lasso inside of ADMM (Boyd et al. 2011, section 6.4), whose shrunk copy
U_k of W_k and dual V_k stay with their party. One exchange, over all N training rows:

    r     = dF/d eta                                   (N, M)   sent, the same for all
    D_k   = party k's own Newton step                  (F_k, M) `algorithms.linear_models.block`
    Xi_k  = x_k D_k                                    (N, M)   blinded, unless k = 0
    f_k   slopes along D_k and 39 before, products     (4, 86)  blinded, unless k = 0
    a, c  = argmin F(W + sum of a_j D_j, c)            (40,)    of the last 40; a is sent
    W_k  += sum of a_j D_kj

The search for a and the intercepts c needs no exchange, as eta, the sums of Xi_k and of f_k say all
of F in the space of these directions (with lasso, of F with the distance to U in lasso's place).
Without lasso F never grows. Where the end is near, or W and U are, parties settle: W_k becomes U_k,
and x_k W_k is sent in the place of Xi_k, in two exchanges for more digits, so that no rounding adds
up. Norms of gradients are in f: F is strongly convex with ridge + h, where h is the curvature of
the loss, so that no coefficient is farther from its optimum than norm / (ridge + h). Training ends
where that is at most ``tolerance`` right after settling; h is the least curvature that the 40
directions show. With ``penalty-path`` the same goes for multiples of the penalty, each from the
coefficients of the one before, and ``keep = best`` takes the best on validation rows. With
``evidence-bins`` a value's weight of evidence stands for it: each party counts labels in its bins
by itself, which it reads off the first r.

With ``standard-errors`` columns that others of their own party determine are zeros. At the optimum
each party sends combinations of the others, with w = p (1 - p), or 1 of numbers:

    U     = sum of x_k V_k over k > 0                  (N, D)   blinded; V_k is random, its own
    Z Z^T = pseudo-inverse of [1 x_0 U]^T diag(w) [1 x_0 U]     rows of Z from 1 + F_0 on are sent
    s_k   = norms of the rows of V_k Z                 (F_k,)   by party k alone

which are the standard errors, the square roots of the diagonal of (X^T diag(w) X)^-1 with X = [1
x_0 ... x_K], whatever V is, if it has full row rank (`algorithms.linear_models.errors`).

Learns
    Active: the sums over passive parties of Xi_k, f_k and, where they settle or predict, x_k W_k.
    *As many exchanges as passive parties have columns show it these columns up to a rotation, all
    parties' together*, as products of directions are in f: so the distance of any two training rows
    in them. As many evaluations show it the same of validation rows. It has no coefficients of
    another party. With ``standard-errors`` how many columns passive parties have that none of their
    own determine, and U: D random combinations of those columns of all training rows, D at least
    their number, and so *the space that all of them span*, however few steps there were. A column
    that it knows in as many rows as there are columns it can solve for in all rows; without any
    such row, independent component analysis can find columns that are not normal and depend little
    on each other, and columns of few values can be searched for.
    Passive k: r of all rows, from which it *reads the label of every training row* and the
    prediction p = y + r, with bins or without, and weights of rows, where they have some; a, and
    the power of two that directions are scaled by, which depend on all parties' columns; with lasso
    sigma, which depends on all parties' coefficients. With ``standard-errors`` the number of all
    parties' columns, its own block of (X^T diag(w) X)^-1, and so how well the others' columns
    predict each of its own, and the rest of that matrix times random ones that it does not know,
    which leaves a rough idea of its eigenvalues. *With K = 1, or without blinding, Xi_k, f_k,
    x_k W_k and x_k V_k are seen by themselves, and so the space of each party's columns.*
Assumes
    Semi-honest (honest-but-curious) parties; the active party does not collude with all passive
    parties but one; K >= 2 where uploads are blinded; labels that passive parties may have.
Deviates
    There is no one paper. Blinded numbers are rounded to multiples of 2**-16. Directions are scaled
    by powers of two, so that this is small beside them: 2**15 / (K + 1) is the largest number,
    and a direction is about half of it. Directions are nearly parallel in the end, and only what is
    left where they cancel matters: so each party tells its own slope along them, 2**-46 fine, and
    no rounding of Xi decides. r has 24 bits (float32): where the loss is so flat that these do,
    training ends after four steps below a tenth of ``tolerance`` by which no gradient shrank, and
    the run says so. h is no strict bound where the directions do not span all columns; the
    figure ``coefficient_error`` says what they show. With lasso and hardly any ridge, on collinear
    columns, ADMM takes hundreds of exchanges. Classes that a linear model separates have no optimum
    without a penalty, and are refused. ``embedding-bound`` shortens directions, and clips what is
    predicted; under masks it is at least 256. Optimizers, rates and batches have no meaning, and
    are refused.
    Standard errors are of the maximum of the likelihood: a penalty, weights or more than two
    classes are refused with them. Where columns of two parties determine each other, or training
    did not converge, there are none, and the run says why.
Costs
    One exchange an epoch, of all rows. Per exchange and passive party 4NM + 1,376 bytes up, 4N +
    4NM + 176 down, and framing. A party forms and factors M matrices of F_k x F_k in each. The
    active party keeps 160 NM bytes of directions. Standard errors take one exchange more, of 4
    bytes, and at the end (F + F/4 + 8) / 8 more, of F columns: 32N bytes up and 4N down in each,
    then 4D (F + F_0 + 1) + 4 down. The active party holds 8N (D + F_0 + 1) bytes for them.
"""

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.block import Block, Intercept, linear_model
from vfl_flower.algorithms.linear_models.errors import COUNTED, OwnErrors, check_errors
from vfl_flower.algorithms.linear_models.evidence import check_bins
from vfl_flower.algorithms.linear_models.information import (
    COLLINEAR,
    NOT_CONVERGED,
    exchanges_for,
    inverse,
)
from vfl_flower.algorithms.linear_models.likelihood import (
    Likelihood,
    is_regression,
    likelihood_of,
    logits_of,
    outputs_of,
)
from vfl_flower.algorithms.linear_models.parts import joined, limit_of
from vfl_flower.algorithms.linear_models.scorecard import own_files
from vfl_flower.algorithms.linear_models.solver import Solver
from vfl_flower.api import ActiveParty, Party, Protocol, agree_keys, ask, tell, train
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, TrainingError
from vfl_flower.common.names import party_log
from vfl_flower.learning.losses import Labels

from .specs.logistic import LogisticOptions


class Logistic(ActiveParty):
    """One linear prediction, the sum of everybody's, solved for on all rows."""

    options: LogisticOptions
    remembers = (*ActiveParty.remembers, "block", "solver", "errors")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        data, options = self.data, self.options
        self.outputs_sent = outputs_of(data.classes, several=data.several)
        shape = tuple(self.x.shape[1:])
        check_bins(options.evidence_bins, data)
        check_errors(options.standard_errors, data)
        made = linear_model(shape, self.outputs_sent, intercept=True, bins=options.evidence_bins)
        self.net = made.to(self.x.device)
        constant = is_regression(data.task)
        self.block = Block(self.net, options, constant=constant)
        self.errors = OwnErrors(wanted=options.standard_errors)
        limit = limit_of(self.parties, self.cfg.row_bound)
        count = max(len(rows["train"]), 1)  # none where it predicts new rows
        self.solver = Solver(count, self.outputs_sent, options, limit)

    def sizes(self) -> Mapping[str, int]:
        """See `ActiveParty`; M is the number of linear predictors."""
        return {**super().sizes(), "M": self.outputs_sent}

    @property
    def own_end(self) -> str:
        """``converged`` or ``rounding``, once every strength is done with."""
        return self.solver.path.end

    @property
    def judged(self) -> bool:
        """Whether the coefficients are a strength's optimum, or else the last."""
        progress = self.progress
        only = progress.step == self.cfg.epochs and progress.best is None
        return self.solver.path.arrived or only

    def keep_weights(self) -> None:
        """Keep the coefficients, and which strength they are of."""
        super().keep_weights()
        self.solver.path.counting = self.solver.path.present(self.solver.error)

    def protocol(self) -> Protocol:
        """Agree on keys, then train."""
        self._check_labels()
        yield from agree_keys(self.cfg)
        yield from train(self)

    def _check_labels(self) -> None:
        """Refuse classes without a training row: their intercepts have no optimum."""
        labels, target = self.truth(self.rows["train"]), self.target
        if is_regression(target.task):
            return
        y = labels if isinstance(labels, Tensor) else labels.y[labels.weight > 0]
        several = self.data.several
        counts = y.sum(0) if several else torch.bincount(y, minlength=self.data.classes)
        lacking = (counts == 0) | ((counts == len(y)) if several else (counts < 0))
        if lacking.any():
            raise DataError(
                "active: a class has no training row, so that its intercept has no optimum; hold "
                "fewer rows out, take another seed, or leave the class out",
                target.classes[int(lacking.nonzero()[0])],
            )

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Take one step on all training rows; return the loss before it."""
        solver, data = self.solver, self.data
        targets = self.training_labels.taught(solver.eta.float(), y)
        loss = likelihood_of(targets, data.classes, several=data.several)
        r = solver.residual(loss)
        told = torch.tensor(solver.told)
        before = self.loss(logits_of(solver.eta.float(), data.classes), y).item()
        replies = yield ask("direct", rows, told, r, own=lambda: self.direct(rows, told, r))
        xi, figures = replies.own
        xi = xi + replies.part(0).sum()
        figures = figures + joined(replies.part(1, rows=False).sum(), solver.limit)
        share = solver.step(loss, xi, figures)
        cast("Intercept", self.net.decide).bias.data.copy_(solver.intercept)
        yield tell("move", share, own=lambda: self.block.move(share.double()))
        self._check(loss)
        if self.errors.wanted:
            yield from self._infer_errors(loss)
        return [before]

    def _infer_errors(self, loss: Likelihood) -> Protocol:
        """Count columns in the first step; find standard errors after the last."""
        errors, rows, step = self.errors, self.rows["train"], self.progress.step + 1
        if step == 1:
            counts = (yield ask("count")).part(0, rows=False).sum()
            errors.count(round(float(counts) * COUNTED), len(rows))
        if not self.own_end:
            if step == self.cfg.epochs:
                party_log(0).warning("there are no standard errors: %s", NOT_CONVERGED)
            return
        U = list[Tensor]()
        for _ in range(exchanges_for(errors.others)):
            U.append((yield ask("span", rows)).sum())
        X = self.block.model.columns(self.columns(rows)).cpu()[:, errors.kept]
        found = inverse(X, torch.cat(U, 1), loss, self.solver.eta, errors.others)
        freedom = torch.tensor([found.freedom])
        yield tell("find_errors", found.others.float(), freedom)
        errors.hold(found.own[1:], found.freedom, len(errors.mask))
        if len(found.own):
            errors.intercept = float(found.own[0])
        else:
            party_log(0).warning("there are no standard errors: %s", COLLINEAR)

    def direct(self, rows: Array, told: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Return the own direction, times the own columns, and its figures."""
        X = self.errors.independent(self.block.columns(self.columns(rows), r))
        return self.block.answer(X, r.double(), told.double(), self.solver.limit)

    def _check(self, loss: Likelihood) -> None:
        """Refuse separated classes without a penalty; tell of an end too early."""
        options, solver, step = self.options, self.solver, self.progress.step + 1
        if not (options.ridge or options.lasso) and loss.separated(solver.eta):
            raise TrainingError(
                f"the columns separate the classes of all training rows at step {step}: without a "
                "penalty the coefficients have no finite optimum; set ridge above 0"
            )
        if warning := solver.path.warning(solver.error, last=step == self.cfg.epochs):
            party_log(0).warning("%s", warning)

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        replies = yield ask(
            "predict_only", rows, own=lambda: self.predict(rows), purpose="evaluation"
        )
        return [logits_of(replies.own + replies.sum(), self.data.classes)]

    def predict(self, rows: Array) -> Tensor:  # (B,) -> (B, M)
        """Return x_0 W_0 + c."""
        return self.decide(self.embed_rows(rows))

    def further_files(self) -> Mapping[str, bytes]:
        """Return its own coefficients, the intercepts, and its scorecard."""
        intercept = cast("Intercept", self.net.decide).bias.detach().cpu().numpy()
        model, scale = self.block.model, self.options.scale
        errors = self.errors if self.errors.wanted else None
        return own_files(self.cfg, self.data, model, scale, intercept, errors)

    def figures(self) -> dict[str, float]:
        """Return whether training converged, the error's bound, and the strength.

        And whether coefficients have standard errors, where the run is to have some.
        """
        there = {"standard_errors": float(self.errors.there)} if self.errors.wanted else {}
        return self.solver.path.figures(self.solver.error) | there
