"""``policy``: the rules that a node's owner sets for runs."""

from collections.abc import Sequence
from pathlib import Path

import click

from vfl_flower.cli.options import FILE, TrainCommand, given, options
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.node_config import run_config
from vfl_flower.config.policy.file import read_policy
from vfl_flower.config.policy.record import SAFE
from vfl_flower.config.policy.rules import COUNTED, check
from vfl_flower.config.policy.text import text_of
from vfl_flower.config.run_config import read_toml
from vfl_flower.config.schema import Scalar


@click.group(no_args_is_help=False)
def policy() -> None:
    """Show a node owner's policy, or check a run against it."""


@policy.command()
@click.argument("file", type=FILE, required=False)
def show(file: Path | None) -> None:
    """Print the policy in FILE with all its keys.

    Without FILE, print the policy of a node that has none. Either is a policy file again.
    """
    shown = read_policy(file) if file else SAFE
    click.echo(f"# digest {shown.digest}\n{text_of(shown)}", nl=False)


@policy.command(name="check", cls=TrainCommand, params=options())
@click.argument("file", type=FILE)
@click.option("--config", type=FILE, metavar="TOML", help="read options from a file; flags win")
@click.option("--rank", default=1, metavar="K", help="of the node: 1 for partition-id 0 (default)")
@click.option("--peers", type=FILE, metavar="PEERS", help="the node's file of pinned identities")
def check_run(
    file: Path, config: Path | None, rank: int, peers: Path | None, **flags: Scalar | None
) -> None:
    """Tell whether the policy in FILE allows a run between machines.

    The run's options are flags, or in a file; tables is the node's own. A run that the policy
    refuses ends the command with exit code 2 and the rule.
    """
    rules = read_policy(file)
    cfg = run_config((read_toml(config) if config else {}) | given(flags), simulation=False)
    if not 1 <= rank < cfg.parties:
        raise ConfigError(f"--rank must be 1 to {cfg.parties - 1}, not {rank}")
    pinned = _fingerprints(peers, cfg.parties - 1) if peers else ()
    check(rules, cfg, rank, pinned)
    click.echo(f"policy '{rules.name}' ({rules.digest}) allows this run")
    click.echo(f"(counted while a run lasts: {', '.join(COUNTED)})")


def _fingerprints(peers: Path, parties: int) -> Sequence[str]:
    # cryptography is slow to import
    from vfl_flower.crypto.identity import fingerprint, read_roster

    return [fingerprint(each) for each in read_roster(peers, parties)]
