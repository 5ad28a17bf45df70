"""``audit``: attacks of parties on each other."""

from dataclasses import asdict
from pathlib import Path

import click

from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import AS_JSON, FILE, FOLDER, TRUST_CODE, at_least_one, told
from vfl_flower.common.files import write_atomically
from vfl_flower.common.optional.extras import require


@click.group(no_args_is_help=False)
def audit() -> None:
    """Attack a run, to measure the parties' leakage."""


@audit.command()
@click.argument("run", type=FOLDER)
@click.option(
    "--at-most",
    type=int,
    default=3,
    metavar="EPOCHS",
    callback=at_least_one,
    help="that each repetition trains (default: 3)",
)
@click.option(
    "--known",
    type=int,
    default=10,
    metavar="N",
    callback=at_least_one,
    help="labels a class that the attacker has (default: 10)",
)
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
