"""An explanation as a person reads it."""

from rich.table import Table

from vfl_flower.analysis.explain.importance import Findings
from vfl_flower.analysis.explain.overview import Counted
from vfl_flower.analysis.explain.permutation import LEVEL
from vfl_flower.analysis.explain.retraining import Summary
from vfl_flower.config.evaluation.metrics import METRICS
from vfl_flower.reporting.console.lines import out, say

_MOST_COLUMNS = 40
"""Of a table on a screen."""


def print_counted(counted: Counted, title: str, what: str) -> None:
    """Print the importance of each party or column.

    Parameters
    ----------
    counted : Counted
        What was found.
    title : str
        Of the table.
    what : {"party", "column"}
        What was permuted; columns come by falling drop.
    """
    found = counted.found
    score = METRICS[found.metric].title
    table = Table(title=title, title_justify="left")
    for column in (what, *(["holds"] if counted.holds else [])):
        table.add_column(column)
    for column in (f"{score} permuted", "drop", f"{LEVEL:.0%} interval"):
        table.add_column(column, justify="right")
    order = [*range(len(found.drops))]
    if what == "column":
        order = sorted(order, key=lambda place: -found.drops[place].drop)[:_MOST_COLUMNS]
    for place in order:
        each = found.drops[place]
        low, high = (shown(found.metric, end) for end in (each.low, each.high))
        numbers = (shown(found.metric, number) for number in (each.permuted, each.drop))
        cells = [counted.holds[place]] if counted.holds else []
        table.add_row(each.name, *cells, *numbers, f"{low} to {high}")
    out.print(table)
    if len(order) < len(found.drops):
        say(f"the first {len(order)} of {len(found.drops)}")
    permuted = "each column was" if what == "column" else "the columns of each party were"
    say(
        f"{score} {shown(found.metric, found.score)} on {counted.rows} {counted.how.rows} rows; "
        f"{permuted} permuted among them, {counted.how.repeats} times"
    )


def shown(metric: str, number: float) -> str:
    """Return a score as text: an accuracy in percent."""
    return f"{number:.2%}" if metric == "accuracy" else f"{number:.4f}"


def print_findings(findings: Findings, recorded: float | None) -> None:
    """Print each party's importance, beside the run's recorded result."""
    noise = any(each.trained_noise for each in findings.parties)
    table = Table(title="heads", title_justify="left")
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
    if recorded is not None and findings.accuracy != recorded:
        say(f"the run's own result has {recorded:.2%}: columns, code, noise or rounding differ")
    if findings.correlation is None:
        say("rank correlation of norm and drop: none, for one of them is the same for all parties")
    else:
        say(f"rank correlation of norm and drop (Spearman): {findings.correlation:.3f}")


def print_summary(summary: Summary, recorded: float | None, parties: int) -> None:
    """Print the accuracy of the chosen parties, beside that of all."""
    full = "" if recorded is None else f"; with all {parties}: {recorded:.2%}"
    say(
        f"with the {summary.kind} important passive parties, {', '.join(summary.parties)}: test "
        f"accuracy {summary.accuracy:.2%}{full}"
    )
