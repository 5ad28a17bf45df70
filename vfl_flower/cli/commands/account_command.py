"""``account``: the privacy accounts of a node's data sets."""

from pathlib import Path
from typing import Any

import click

from vfl_flower.cli.options import AS_JSON, FOLDER, NameType, told
from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.layout import ACCOUNTS
from vfl_flower.config.catalog import ACCOUNTANTS
from vfl_flower.config.node_config import home


@click.group(no_args_is_help=False)
def account() -> None:
    """Look at the privacy accounts of a node."""


@account.command()
@click.argument("name", required=False)
@click.option(
    "--state-dir",
    type=FOLDER,
    metavar="DIR",
    help="state-dir of the node's configuration (default: VFL_FLOWER_HOME, or ~/.vfl-flower)",
)
@click.option(
    "--accountant",
    type=NameType(ACCOUNTANTS),
    metavar=f"[{'|'.join(ACCOUNTANTS)}]",
    default="rdp",
    help="bound of epsilon: rdp (default), by which nodes refuse, or pld (tighter, slower)",
)
@click.option(
    "--delta", type=click.FloatRange(1e-12, 0.1), help="of epsilon (default: the policy's)"
)
@AS_JSON
def show(
    name: str | None,
    state_dir: Path | None,
    accountant: str,
    delta: float | None,
    as_json: bool,
) -> None:
    """Show a data set's runs, epsilon over all runs, and uploads left.

    NAME is the data set's in the owner's policy; without it all accounts are shown, and what is
    counted for the policy's limits of requests, rows and predictions. Chains are checked.
    """
    # torch is slow to import
    from vfl_flower.privacy.accounts.summary import (
        accounts_named,
        counts_in,
        read_account,
        summary_of,
    )
    from vfl_flower.reporting.console.account_table import print_account, print_counts

    folder = (state_dir or home()) / ACCOUNTS
    if not folder.is_dir():
        raise PrivacyError(f"there are no accounts in {folder}; name the node's state-dir")
    names = [name] if name else accounts_named(folder)

    def summaries() -> dict[str, Any]:
        accounts = [summary_of(read_account(folder, each), accountant, delta) for each in names]
        for each in accounts:
            print_account(each)
        counts = {} if name else counts_in(folder)
        if not name:
            print_counts(counts)
        return {"accounts": accounts, **counts}

    told(as_json, summaries)
