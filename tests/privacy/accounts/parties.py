"""Parties of nodes whose owner's policy keeps accounts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.helpers.client_privacy import asked, configured
from tests.helpers.data import rows_for
from vfl_flower.config.policy.record import OPEN, DataPolicy, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.accounts.account import Account, path_of
from vfl_flower.workflows.build_parties import build_passive

CFG = configured("splitnn")  # dp-sigma is 2


def policy(largest_epsilon: float | None = None, least_sigma: float = 0.0, **keys: Any) -> Policy:
    """Return a policy that keeps an account of the digits."""
    data = DataPolicy(
        name="numbers",
        dataset="digits",
        largest_epsilon=largest_epsilon,
        least_sigma=least_sigma,
    )
    return replace(OPEN, name="shop", data=(data,), **keys)


def party_of(
    root: Path, run: str, rules: Policy, cfg: RunConfig = CFG, rank: int = 1
) -> PassiveParty:
    """Build a node's party in the folder of a run."""
    return build_passive(cfg, rank, root / run, policy=rules)


def upload(party: PassiveParty, name: str = "embed_only", rows: int = 20) -> tuple[bool, str]:
    """Ask for an upload; return whether it came, and the error's text."""
    named = rows_for(party, name)
    if name == "embed_only":
        named = party.data.rows["test"][:rows]
    reply, _, metrics = asked(party, party.exchange + 1, name, named)
    return bool(reply), str(metrics.get("message", ""))


def roll_call(party: PassiveParty) -> str:
    """Return a party's error at the roll call; empty without one."""
    return str(party.get_properties({}).get("message", ""))


def account_in(root: Path) -> Account:
    """Read the account as another process would."""
    account = Account(path_of(root / "accounts", "numbers"))
    account.read()
    return account
