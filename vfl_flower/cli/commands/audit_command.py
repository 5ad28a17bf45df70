"""``audit``: attacks of parties on each other."""

import os
from dataclasses import asdict
from pathlib import Path

import click

from vfl_flower.analysis.audit.registry import ATTACKS
from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import AS_JSON, FILE, FOLDER, TRUST_CODE, at_least_one, told
from vfl_flower.common.files import write_atomically
from vfl_flower.common.optional.extras import require


class AuditGroup(click.Group):
    """Attacks, of which ``audit RUN`` makes a whole card."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a folder or an option as the first of ``card``."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names) and _of_card(args[0]):
            args = ["card", *args]
        return super().parse_args(ctx, args)


def _of_card(word: str) -> bool:
    """Tell whether a word is an option or a path."""
    return word.startswith("-") or os.sep in word or Path(word).exists()


@click.group(no_args_is_help=False, cls=AuditGroup)
def audit() -> None:
    """Attack a run, to measure the parties' leakage.

    ``audit RUN`` is ``audit card RUN``.
    """


EPOCHS = click.option(
    "--at-most",
    type=int,
    default=3,
    metavar="EPOCHS",
    callback=at_least_one,
    help="that each repetition trains (default: 3)",
)
KNOWN = click.option(
    "--known",
    type=int,
    default=10,
    metavar="N",
    callback=at_least_one,
    help="labels a class that the attacker has (default: 10)",
)


@audit.command()
@click.argument("run", type=FOLDER)
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    type=click.Choice(list(ATTACKS)),
    metavar="NAME",
    help="only this attack; may be given several times",
)
@click.option(
    "--seeds",
    type=int,
    default=1,
    metavar="N",
    callback=at_least_one,
    help="seeds, from the run's own on; several give intervals (default: 1)",
)
@EPOCHS
@KNOWN
@click.option(
    "--auxiliary",
    type=int,
    default=200,
    metavar="ROWS",
    callback=at_least_one,
    help="rows whose columns the attacker has (default: 200)",
)
@TRUST_CODE
@AS_JSON
def card(
    run: Path,
    attacks: tuple[str, ...],
    seeds: int,
    at_most: int,
    known: int,
    auxiliary: int,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Print a leakage card: all attacks that apply to a run.

    A run is repeated with its protections and without. The card is kept in its folder.
    """
    check_run(run, complete=False)
    # torch is slow to import
    from vfl_flower.analysis.audit.card import Terms, leakage_card
    from vfl_flower.reporting.console.leakage_table import print_leakage

    def audited() -> object:
        made = leakage_card(run, Terms(at_most, known, auxiliary, seeds, attacks), trust_code)
        print_leakage(made)
        return made

    told(as_json, audited)


@audit.command()
@click.argument("run", type=FOLDER)
@EPOCHS
@KNOWN
@TRUST_CODE
@AS_JSON
def labels(run: Path, at_most: int, known: int, trust_code: bool, as_json: bool) -> None:
    """Attack the labels from the passive parties' side.

    A run is repeated with and without label privacy.
    """
    check_run(run, complete=False)
    # torch is slow to import
    from vfl_flower.analysis.audit.label_inference import audit as attack
    from vfl_flower.analysis.audit.tables import print_audit

    def audited() -> object:
        findings = attack(run, at_most, known, trust_code)
        print_audit(findings)
        return asdict(findings)

    told(as_json, audited)


@audit.command()
@click.argument("runs", nargs=-1, required=True, type=FOLDER, metavar="RUN...")
@click.option(
    "--epochs",
    type=int,
    default=5,
    metavar="N",
    callback=at_least_one,
    help="of the attacker's decoder (default: 5)",
)
@click.option("--pictures", type=FILE, metavar="PNG", help="also draw some there")
@TRUST_CODE
@AS_JSON
def reconstruct(
    runs: tuple[Path, ...],
    epochs: int,
    pictures: Path | None,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Make pictures of others' tiles.

    They are made of the feature maps that passive parties sent in complete runs.
    """
    require("skimage", "audit reconstruct")
    if pictures:
        require("matplotlib", "audit reconstruct --pictures")
    for run in runs:
        check_run(run)
    # torch is slow to import
    from vfl_flower.analysis.audit.feature_reconstruction import attack, runs_with_maps
    from vfl_flower.analysis.audit.tables import print_reconstruction

    def audited() -> object:
        attacked = [attack(folder, epochs) for folder in runs_with_maps(runs, trust_code)]
        print_reconstruction([findings for findings, _ in attacked])
        if pictures:
            # matplotlib is slow to import
            from vfl_flower.analysis.audit.pictures import drawn

            write_atomically(pictures, drawn(attacked))
        return [findings.told() for findings, _ in attacked]

    told(as_json, audited)
