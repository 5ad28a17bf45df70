"""Console table of a leakage card."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from vfl_flower.reporting.console.lines import out, say
from vfl_flower.reporting.usual_leakage import usual_leakage, usual_setting


def print_leakage(card: Mapping[str, Any]) -> None:
    """Print a card: attacks by target, and those without input.

    Parameters
    ----------
    card : mapping
        See `vfl_flower.runs.leakage_file.LEAKAGE_SHAPE`.
    """
    protected = bool(card["protections"])
    table = Table(title=f"leakage of {card['method']} on {card['dataset']}", title_justify="left")
    for column in ("target", "attack", "adversary", "figure"):
        table.add_column(column, overflow="fold")
    for column in ("without", "baseline", *(["with protection", "baseline"] * protected)):
        table.add_column(column, justify="right")
    table.add_column("which")
    before = ""
    for line in card["lines"]:
        if before and line["target"] != before:
            table.add_section()
        shown = [line["without"], *([line["with"]] if protected else [])]
        table.add_row(
            line["target"] if line["target"] != before else "",
            *(line["attack"], line["adversary"], line["metric"]),
            *(text for each in shown for text in (estimate(each), baseline(each))),
            line["against"],
        )
        before = line["target"]
    out.print(table)
    _print_terms(card)


def print_usual_leakage(method: str, path: Path) -> None:
    """Print the strongest attacks on the method of a run."""
    if found := usual_leakage(method):
        say(
            f"not audited; the strongest attacks on {method} with its default protections, not "
            f"this run's ({usual_setting()}):"
        )
        for each in found:
            say(f"  {each.written()}")
        say(f"vfl-flower audit {path} attacks this run")


def _print_terms(card: Mapping[str, Any]) -> None:
    """Print protections, remarks, reasons and the attackers' knowledge."""
    say(f"protection: {', '.join(card['protections']) or 'none'}")
    for line in card["lines"]:
        if line["remark"]:
            say(f"{line['attack']}: {line['remark']}")
    if card["inapplicable"]:
        told = (f"{name}: {reason}" for name, reason in card["inapplicable"].items())
        say(f"not applicable: {'; '.join(told)}")
    say(
        f"{card['rows']} training rows; epochs repeated: {card['epochs']}; seeds: "
        f"{len(card['seeds'])}; an attacker who learns knows {card['known']} labels a class, or "
        f"the columns of {card['auxiliary']} rows"
    )


def baseline(found: Mapping[str, Any] | None) -> str:
    """Write the baseline of an estimate; a dash for none."""
    return "-" if found is None else f"{found['baseline']:.3f}"


def estimate(found: Mapping[str, Any] | None) -> str:
    """Write a mean with half of its interval; a dash for none."""
    if found is None:
        return "-"
    if found["low"] is None:
        return f"{found['mean']:.3f}"
    return f"{found['mean']:.3f} ± {found['high'] - found['mean']:.3f}"
