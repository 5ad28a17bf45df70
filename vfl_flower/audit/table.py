"""An audit as a person reads it."""

from rich.table import Table

from vfl_flower.audit.labels import Findings
from vfl_flower.console import out, say


def print_audit(findings: Findings) -> None:
    """Print how well each attacker does, beside a constant guess."""
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
