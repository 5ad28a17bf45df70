"""Console table of a privacy account."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from vfl_flower.reporting.console.format import by_row
from vfl_flower.reporting.console.lines import out, say


def print_account(summary: Mapping[str, Any]) -> None:
    """Print a data set's runs, epsilon, and uploads left.

    Parameters
    ----------
    summary : mapping
        See `vfl_flower.privacy.accounts.summary.summary_of`.
    """
    table = Table(title=f"account of {summary['data']}", title_justify="left")
    for column in ("run", "first upload", "last upload", "table"):
        table.add_column(column)
    for column in ("dp-sigma", "dp-clip", "uploads"):
        table.add_column(column, justify="right")
    for run in summary["runs"]:
        noise = f"{run['sigma']:g}" if run["sigma"] else "none"
        clip = f"{run['clip']:g}" if run["sigma"] else "-"
        times = (run["begun"] or "-", run["last"] or "-")
        table.add_row(
            run["run"], *times, " ".join(run["tables"]) or "-", noise, clip, f"{run['uploads']}"
        )
    out.print(table)
    epsilon = summary["epsilon"]
    told = f"{epsilon:.4g}" if isinstance(epsilon, float) else epsilon
    unit = ", adjacency row" if by_row(summary) else ""
    say(f"epsilon {told} at delta {summary['delta']:g}, by {summary['accountant']}{unit}")
    if summary["left"] is None:
        say("no largest-epsilon limits it")
        return
    say(f"largest-epsilon {summary['largest_epsilon']:g}")
    for sigma, left in summary["left"].items():
        say(f"  leaves {left} uploads with dp-sigma {sigma}")


def print_counts(counts: Mapping[str, Any]) -> None:
    """Print the counts for a policy's limits, if there are some.

    Parameters
    ----------
    counts : mapping
        See `vfl_flower.privacy.accounts.summary.counts_in`.
    """
    for run in sorted({*counts["requests"], *counts["rows"]}):
        requests, rows = counts["requests"].get(run, 0), counts["rows"].get(run, 0)
        say(f"{run}: {requests} requests and {rows} uploaded rows counted")
    if counts["predicted"]:
        say(f"{counts['predicted']} rows predicted in 24 hours")
