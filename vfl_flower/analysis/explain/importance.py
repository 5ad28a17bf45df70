"""Importance of parties: norm of the head, and sensitivity to noise.

Xie et al. 2022, arXiv:2207.10226, section VI-C. The head W_k of party k maps its embedding to its
share of the prediction: the larger its norm, the more the party counts. To validate that, the
test columns of one party at a time get Gaussian noise,

    a^(k) = sum_j W_j(h_j(x_j + 1[j = k] n)),   n ~ N(0, sigma^2),

and the accuracy of a^(k) should fall the more, the larger the norm of W_k. Columns are scaled to a
deviation of 1, but with ``pixel-scaling = whole``, and sigma compares with that.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.algorithms.admm_heads import norms
from vfl_flower.analysis.explain.trained import Trained, has_heads, trained
from vfl_flower.data.held_columns import holds
from vfl_flower.data.preprocessing.scaling import noised
from vfl_flower.runs.run_folder import RunFolder


@dataclass(frozen=True)
class Finding:
    """How much one party counts.

    Attributes
    ----------
    party, holds : str
        Its name, and which columns it has.
    trained_noise : float
        Standard deviation of the noise that ``column-noise`` put on its columns; 0 for none.
    norm, relative : float
        Of its head, over all weights; the same as a share of the largest.
    accuracy, drop : float
        On the test rows with noise on its columns; and by how much that is less than without.
    """

    party: str
    holds: str
    trained_noise: float
    norm: float
    relative: float
    accuracy: float
    drop: float


@dataclass(frozen=True)
class Findings:
    """Outcome of an explanation.

    Attributes
    ----------
    method, dataset : str
        Of the run.
    rows : int
        Test rows.
    sigma : float
        Standard deviation of the noise on test columns.
    accuracy : float
        On the test rows, without noise.
    correlation : float or None
        Spearman's, between norms and drops; None where one of them is the same for all parties.
    parties : list of Finding
        By place.
    """

    method: str
    dataset: str
    rows: int
    sigma: float
    accuracy: float
    correlation: float | None
    parties: list[Finding]


@dataclass(frozen=True, eq=False)
class Heads:
    """Heads of a run, and findings about them."""

    run: Trained
    findings: Findings


def heads_of(folder: RunFolder, sigma: float) -> Heads | None:
    """Explain a complete run's heads, if it has some; see `explain`."""
    if not has_heads(folder.cfg):
        return None
    run = trained(folder)
    return Heads(run, explain(run, sigma))


def explain(run: Trained, sigma: float) -> Findings:
    """Measure how much each party of a run counts.

    Parameters
    ----------
    run : Trained
        Its parties.
    sigma : float
        Standard deviation of the noise, of which the seed and the party say what it is.
    """
    cfg = run.cfg
    shares = [holder.share(holder.x) for holder in run.holders]
    clean = accuracy(shares, run)
    sizes = norms(holder.head for holder in run.holders)
    parties = []
    for k, holder in enumerate(run.holders):
        rank = holder.party.rank
        noisy = holder.share(noised(holder.x.cpu(), sigma, cfg.seed, rank).to(holder.x.device))
        reached = accuracy([*shares[:k], noisy, *shares[k + 1 :]], run)
        parties.append(
            Finding(
                party=holder.name,
                holds=holds(cfg, holder.party.data),
                trained_noise=cfg.noises().get(rank, 0.0),
                norm=sizes[k],
                relative=sizes[k] / (max(sizes) or 1.0),
                accuracy=reached,
                drop=clean - reached,
            )
        )
    drops = [each.drop for each in parties]
    return Findings(
        cfg.method, cfg.dataset, len(run.y), sigma, clean, correlation(sizes, drops), parties
    )


def accuracy(shares: list[Tensor], run: Trained) -> float:
    """Compute the accuracy of summed shares, (N, C) each, by threshold."""
    decided = run.active.target.decided(torch.stack(shares).sum(0))
    return (decided == run.y).double().mean().item()


def correlation(a: list[float], b: list[float]) -> float | None:
    """Return Spearman's rank correlation, or None where there are no ranks."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    # scipy.stats is slow to import
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)
