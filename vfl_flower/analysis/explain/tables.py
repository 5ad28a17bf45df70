"""An explanation as a person reads it."""

from rich.table import Table

from vfl_flower.analysis.explain.importance import Findings
from vfl_flower.analysis.explain.retraining import Summary
from vfl_flower.reporting.console.lines import out, say


def print_findings(findings: Findings, recorded: float) -> None:
    """Print each party's importance, beside the run's recorded result."""
    noise = any(each.trained_noise for each in findings.parties)
    table = Table(title=f"parties of {findings.method} on {findings.dataset}", title_justify="left")
    for column in ("party", "holds"):
        table.add_column(column)
    numbers = ("head norm", "of the largest", f"with noise {findings.sigma:g}", "drop")
    for column in (("noise in the run",) if noise else ()) + numbers:
        table.add_column(column, justify="right")
    for each in findings.parties:
        table.add_row(
            *(each.party, each.holds),
            *([f"{each.trained_noise:g}" if each.trained_noise else "-"] if noise else ()),
            *(f"{each.norm:.4f}", f"{each.relative:.0%}"),
            *(f"{each.accuracy:.2%}", f"{each.drop:.2%}"),
        )
    out.print(table)
    say(f"test accuracy without noise {findings.accuracy:.2%}, on {findings.rows} rows")
    if findings.accuracy != recorded:
        say(f"the run's own result has {recorded:.2%}: columns, code, noise or rounding differ")
    if findings.correlation is None:
        say("rank correlation of norm and drop: none, for one of them is the same for all parties")
    else:
        say(f"rank correlation of norm and drop (Spearman): {findings.correlation:.3f}")


def print_summary(summary: Summary, recorded: float, parties: int) -> None:
    """Print the accuracy of the chosen parties, beside that of all."""
    say(
        f"with the {summary.kind} important passive parties, {', '.join(summary.parties)}: test "
        f"accuracy {summary.accuracy:.2%}; with all {parties}: {recorded:.2%}"
    )
