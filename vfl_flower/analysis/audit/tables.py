"""Audit results as console tables."""

from collections.abc import Sequence

from rich.table import Table

from vfl_flower.analysis.audit.feature_reconstruction import Findings as Reconstruction
from vfl_flower.analysis.audit.label_inference import Findings
from vfl_flower.analysis.audit.similarity import Likeness
from vfl_flower.common.errors import sizes
from vfl_flower.reporting.console.lines import out, say


def print_audit(findings: Findings) -> None:
    """Print each attack's success beside a constant guess."""
    table = Table(
        title=f"labels of {findings.method} on {findings.dataset}, told by a passive party",
        title_justify="left",
    )
    for column in ("label privacy", "from", "attack", "best at"):
        table.add_column(column)
    for column in ("accuracy", "AUC"):
        table.add_column(column, justify="right")
    before = ""
    for each in findings.found:
        if before and each.protection != before:
            table.add_section()
        before = each.protection
        table.add_row(
            *(each.protection, each.source, each.attack, each.party),
            *(f"{each.accuracy:.2%}", f"{each.auc:.3f}"),
        )
    table.add_section()
    table.add_row("", "nothing", "majority guess", "", f"{findings.majority:.2%}", "0.500")
    out.print(table)
    say(
        f"{findings.rows} training rows, {findings.epochs} epochs repeated; an attacker who learns "
        f"knows {findings.known} labels a class"
    )


def print_reconstruction(runs: Sequence[Reconstruction]) -> None:
    """Print reconstruction quality beside the baseline, the attacker's mean tile."""
    table = Table(title="others' tiles, told by the active party", title_justify="left")
    for column in ("run", "cut", "sent as", "tiles of"):
        table.add_column(column)
    for column in ("PSNR, dB", "SSIM", "mean tile, dB", "SSIM"):
        table.add_column(column, justify="right")
    for number, run in enumerate(runs, 1):
        own, *others = run.found
        head = str(number), run.cut, _sent_as(run)
        for each in (*others, own):
            party = f"{each.party}, own" if each is own else each.party
            table.add_row(*head, party, *_numbers(each.made), *_numbers(each.mean))
            head = "", "", ""
        table.add_section()
    out.print(table)
    for number, run in enumerate(runs, 1):
        tile, sent = sizes(run.tile), sizes(run.map)
        say(
            f"{number}: {run.run}, maps of {sent} of tiles of {tile}; a decoder that learnt for "
            f"{run.epochs} epochs from {run.learnt} training rows, measured on {run.measured} test "
            "rows"
        )


def _sent_as(run: Reconstruction) -> str:
    plain = "float32" if run.compression == "none" else run.compression
    return f"{plain}, sigma {run.sigma:g}" if run.sigma else plain


def _numbers(each: Likeness) -> tuple[str, str]:
    return f"{each.psnr:.2f}", "-" if each.ssim is None else f"{each.ssim:.3f}"
