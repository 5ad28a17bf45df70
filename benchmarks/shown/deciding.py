"""Thresholds of one model on rare frauds."""

import numpy as np
import pandas as pd

import vfl_flower as vfl
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from benchmarks.shown.runs import some

ROWS = 3000
RULES = ("0.5", "f1", "recall:0.9", "cost:10:1")


def payments() -> list[vfl.Table]:
    """Make a bank's payments, few of them frauds, and a shop's visits."""
    draw = np.random.default_rng(0)
    amount, hour, visits, returned = draw.normal(size=(4, ROWS))
    risk = 1.2 * amount + 0.6 * hour - 0.9 * visits + 1.2 * returned - 5.2
    fraud = draw.random(ROWS) < 1 / (1 + np.exp(-risk))
    bank = pd.DataFrame({"id": np.arange(ROWS), "amount": amount, "hour": hour})
    bank["kind"] = np.where(fraud, "fraud", "ok")
    shop = pd.DataFrame({"id": np.arange(ROWS), "visits": visits, "returned": returned})
    return [vfl.Table(bank, id="id", label="kind"), vfl.Table(shop, id="id")]


def thresholds(given: Arguments, report: Report) -> None:
    """Decide by several thresholds of the same probabilities."""
    columns = {"threshold": "", "chosen": ".3f", "frauds found": "d", "false alarms": "d"}
    columns |= {"accuracy, %": ".1f", "precision": ".3f", "F1": ".3f", "F1 of `ok`": ".3f"}
    table = report.table("", columns)
    for rule in some(given, RULES):
        run = vfl.train(
            payments(),
            method="splitnn",
            epochs=min(10, given.epochs),
            seed=0,
            baselines="off",
            device="cpu",
            threshold=rule,
            progress=False,
        )
        judged = run.metrics["active"]
        (found, missed), (alarms, rest) = _by_fraud(run)
        chosen = run.result["threshold"]["values"]["active"] if rule != RULES[0] else None
        other = 2 * rest / (2 * rest + alarms + missed)
        percent = 100 * judged["accuracy"]
        table.add(rule, chosen, found, alarms, percent, judged["precision"], judged["f1"], other)
    table.title = (
        f"{ROWS:,} made payments, of which {found + missed + alarms + rest} with {found + missed} "
        f"frauds are the test, two parties, SplitNN, {run.config.epochs} epochs, seed 0"
    )


def _by_fraud(run: vfl.Run) -> list[list[int]]:
    """Return counts of test rows by true and predicted class, frauds first."""
    counts: list[list[int]] = run.metrics["active"]["confusion"]
    order = [run.result["classes"].index(name) for name in ("fraud", "ok")]
    return [[counts[true][said] for said in order] for true in order]
