"""Budget of a run, from its configuration and plan."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.options.privacy import LEAST_SIGMA, MOST_SIGMA
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import LIMIT, ring_of
from vfl_flower.data.party_data import Rows
from vfl_flower.privacy.client_dp.accounting import least_sigma
from vfl_flower.privacy.client_dp.budget import Budget
from vfl_flower.privacy.client_dp.row_level.budget import RowBudget

_DEVIATIONS = 8  # that blinding has room for; beyond that noise comes once in 10**15 numbers


def budget_of(cfg: RunConfig, rows: Rows) -> Budget | None:
    """Work out the budget of a run; None without noise.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rows : dict of str to ndarray
        The split of all rows.

    Raises
    ------
    ConfigError
        If the target cannot be met, or the noise would not fit what blinds it.
    """
    if not cfg.noised:
        return None
    kind: type[Budget] = RowBudget if cfg.row_level else Budget
    planned, least = kind.plan(cfg, rows), kind.least(cfg, rows)
    budget = kind(cfg, cfg.dp_sigma, planned)
    if not cfg.dp_sigma:
        budget = kind(cfg, _sigma_for(cfg, budget.noised(planned), kind.unit), planned)
    if not budget.allows(least):
        raise ConfigError(
            f"target-epsilon {cfg.target_epsilon:g} allows {budget.most} noised {kind.unit} with "
            f"dp-sigma {cfg.dp_sigma:g}, and one step, what is evaluated after it and the test "
            f"rows take {budget.noised(least)}; use a larger dp-sigma, or 0 to find it"
        )
    if cfg.blinded:
        _check_masked(cfg, budget.summed.width)
    return budget


def _check_masked(cfg: RunConfig, width: float) -> None:
    """Refuse noise that masked words do not hold, or round away."""
    passive = cfg.parties - 1
    if _DEVIATIONS * width > LIMIT / passive:
        raise ConfigError(
            f"noise of deviation {width:g} leaves no room for a sum of "
            f"{passive} below {LIMIT:g} where it is blinded; use a smaller dp-clip"
        )
    step = 1 / ring_of(cfg.narrow, cfg.row_bound, passive, width).scale
    if cfg.narrow and step > width:
        raise ConfigError(
            f"wire-precision is {cfg.wire_precision}, and 16 bits for a sum of {passive} within "
            f"embedding-bound {cfg.row_bound:g} have steps of {step:g}, more than the noise's "
            f"deviation {width:g}; use an embedding-bound nearer to dp-clip, {cfg.dp_clip:g}, or "
            "wire-precision = float32"
        )


def _sigma_for(cfg: RunConfig, uploads: int, unit: str) -> float:
    """Return the least noise multiplier for the uploads within the target."""
    sigma = least_sigma(cfg.target_epsilon, uploads, cfg.dp_delta, cfg.dp_accountant)
    if sigma > MOST_SIGMA:
        once = cfg.options.uploads_before_training
        fewer = "larger eval-batch-size" if once else "larger batches, fewer evaluations"
        raise ConfigError(
            f"target-epsilon {cfg.target_epsilon:g} needs dp-sigma {sigma:g} for {uploads} {unit} "
            f"of each party, more than {MOST_SIGMA:g}; use fewer {'views' if once else 'epochs'}, "
            f"{fewer} or a larger target-epsilon"
        )
    return max(sigma, LEAST_SIGMA)
