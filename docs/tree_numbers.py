"""Measured numbers of boosted trees, for their page."""

import json
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from benchmarks.harness.tables import RESULTS


def trees() -> str:
    """Return scores and costs beside pooled trees."""
    measured: dict[str, Any] = json.loads((RESULTS / "trees.json").read_text())
    given, versions = measured["options"], measured["versions"]
    told = (
        f"Measured {days(measured)} with scikit-learn {versions['scikit-learn']}: three parties, "
        f"{given['rounds']} rounds. Means of splits; behind ROC-AUC its standard deviation, then "
        "the mean difference to pooled trees by the same rules, and the largest. Seconds, "
        "megabytes and exchanges are of a training with all parties on one core, evaluations "
        "included, on a machine that did other work, too."
    )
    return f"{told}\n\n" + Table(**measured["tables"][0] | {"title": ""}).markdown().lstrip()


def paillier() -> str:
    """Return processor seconds of encrypted trees, and of their parts."""
    measured: dict[str, Any] = json.loads((RESULTS / "paillier.json").read_text())
    given, facts = measured["options"], measured["facts"]
    told = (
        f"Measured {days(measured)} on {given['dataset']}: three parties, {facts['rows']:,} "
        f"training rows, {given['bins']} bins, depth {given['depth']}. Processor seconds of all "
        "parties together; between machines, passive parties compute at once."
    )
    tables = [Table(**each | {"title": ""}).markdown().lstrip() for each in measured["tables"]]
    return "\n".join([f"{told}\n", *tables])


def scale() -> str:
    """Return seconds and memory of trees by rows."""
    measured: dict[str, Any] = json.loads((RESULTS / "trees-scale.json").read_text())
    given = measured["options"]
    told = (
        f"Measured {days(measured)}: three parties in one process, {given['rounds']} rounds of six "
        f"layers, {given['bins']} bins. Memory is that of all parties together, with their tables. "
        "Processor seconds of a round, of the passive party that takes most, and of the active one."
    )
    return f"{told}\n\n" + Table(**measured["tables"][0] | {"title": ""}).markdown().lstrip()
