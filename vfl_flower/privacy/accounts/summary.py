"""Summary of a node's accounts, for its owner."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.json_schema import written
from vfl_flower.privacy.accounts.account import Account, Block, path_of
from vfl_flower.privacy.accounts.counters import FILE, Counters

USUAL_DELTA = 1e-5
"""Delta of an epsilon that nothing limits."""


def accounts_named(folder: Path) -> list[str]:
    """Return the names of the data sets with an account, in order."""
    return sorted(path.stem for path in folder.glob("[!.]*.jsonl"))


def read_account(folder: Path, name: str) -> Account:
    """Read a data set's account, which is left as it is.

    Raises
    ------
    PrivacyError
        If there is none, or it is damaged.
    """
    path = path_of(folder, name)
    if not path.is_file():
        known = ", ".join(accounts_named(folder)) or "none"
        raise PrivacyError(f"{folder} has no account of '{name}'; accounts: {known}")
    account = Account(path)
    account.read()
    return account


def summary_of(account: Account, accountant: str, delta: float | None = None) -> dict[str, Any]:
    """Return runs, uploads, epsilon, and uploads left.

    Parameters
    ----------
    account : Account
        A data set's, as it was read.
    accountant : {"rdp", "pld"}
        Which composes the uploads.
    delta : float, optional
        That of the last limit, unless it is said; without a limit, `USUAL_DELTA`.
    """
    limit = account.limit
    delta = delta or (limit.delta if limit else USUAL_DELTA)
    epsilon = account.epsilon(delta, accountant)
    return {
        "data": account.path.stem,
        "adjacency": account.adjacency,
        "runs": [_run(block) for block in account.blocks],
        "uploads": sum(block.uploads for block in account.blocks),
        "accountant": accountant,
        "delta": delta,
        "epsilon": written(epsilon),
        "largest_epsilon": limit and limit.epsilon,
        "left": _left(account),
    }


def counts_in(folder: Path) -> dict[str, Any]:
    """Return requests and rows by run, and predictions of 24 hours."""
    counters = Counters(folder / FILE)
    if counters.path.is_file():
        counters.read()
    return {
        "requests": dict(counters.requests),
        "rows": dict(counters.rows),
        "predicted": counters.predicted(),
    }


def _run(block: Block) -> dict[str, Any]:
    """Return one block's entry."""
    return {
        "run": block.run,
        "sigma": block.sigma,
        "clip": block.clip,
        "adjacency": block.adjacency,
        "uploads": block.uploads,
        "begun": _moment(block.begun),
        "last": _moment(block.last),
        "tables": block.tables,
    }


def _left(account: Account) -> dict[str, int] | None:
    """Return how many uploads the limit leaves, by noise multiplier in use."""
    if not account.limit:
        return None
    multipliers = sorted({block.sigma for block in account.blocks if block.sigma})
    weight = account.weight
    return {f"{sigma:g}": account.limit.left(weight, sigma) for sigma in multipliers}


def _moment(seconds: int) -> str | None:
    """Format a time, or None where there was nothing yet."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
