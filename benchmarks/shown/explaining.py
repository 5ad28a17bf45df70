"""Explanations of runs."""

import contextlib
import io
import runpy
import statistics
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import vfl_flower as vfl
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from benchmarks.shown.runs import COMMON, some, trained
from vfl_flower.analysis.explain.importance import heads_of
from vfl_flower.analysis.explain.noise import SIGMA
from vfl_flower.analysis.explain.retraining import Choice, plan, retrain
from vfl_flower.cli.main import run as command
from vfl_flower.common.sources import ROOT
from vfl_flower.runs.run_folder import RunFolder

MAKE = ROOT / "examples" / "bank-and-shop" / "make_tables.py"
METHODS = ("easter", "splitnn", "pravfed", "fdml")
HEADS = {"method": "vimadmm", "heads": "ridge", "parties": 8, "epochs": 20}
RETRAINED = ("top:50", "bottom:50", "top:25", "bottom:25")


def tables(given: Arguments, report: Report) -> None:
    """Explain the bank's and the shop's run: parties, and the shop's columns."""
    columns = {"permuted": "", "holds": "", "drop, points": ".1f"}
    table = report.table("", columns | {"from": ".1f", "to": ".1f"})
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        run = _bank_and_shop(given, Path(temporary))
        parties, held = run.explain(), run.explain(party="party-1")
    names = {"active": "bank", "party-1": "shop"}
    for each in parties.itertuples():
        table.add(names[each.party], each.holds, *_points(each))
    for each in held.itertuples():
        table.add(f"of the shop: `{each.column}`", None, *_points(each))
    table.title = (
        f"the bank and the shop, SplitNN, accuracy {100 * parties.attrs['score']:.2f} % on "
        f"{parties.attrs['count']} validation rows; drop with its 95 % interval"
    )


def _bank_and_shop(given: Arguments, folder: Path) -> vfl.Run:
    """Train with the command of the example's page, without baselines."""
    made = folder / "tables"
    with (
        patch.object(sys, "argv", [str(MAKE), str(made)]),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        runpy.run_path(str(MAKE), run_name="__main__")
        words = ["train", "--dataset", "own", "--parties", "2", "--method", "splitnn"]
        words += ["--models", "mlp", "--epochs", str(min(10, given.epochs)), "--device", "cpu"]
        words += ["--tables", f"{made / 'bank.toml'},{made / 'shop.toml'}"]
        if command([*words, "--baselines", "off", "--out", str(folder / "run")]):
            raise SystemExit("the bank and the shop were not trained")
    return vfl.load(folder / "run")


def _points(each: object) -> list[float]:
    """Return a drop and its interval in points of percent."""
    return [100 * float(getattr(each, name)) for name in ("drop", "low", "high")]


def methods(given: Arguments, report: Report) -> None:
    """Explain the parties of several methods on the digits."""
    parties = ["active", *(f"party-{rank}" for rank in range(1, COMMON["parties"]))]
    columns = {"method": "", "accuracy, %": ".1f"} | dict.fromkeys(parties, ".1f")
    title = "digits, 4 parties with two columns of pixels each, MLPs, 20 epochs; drop in points of "
    table = report.table(f"{title}accuracy on test rows, means of {given.seeds} seeds", columns)
    for method in some(given, METHODS):
        runs = [trained(given, seed, method=method, epochs=20) for seed in range(given.seeds)]
        found = [run.explain(rows="test") for run in runs]
        drops = [[100 * drop for drop in each["drop"]] for each in found]
        score = 100 * statistics.mean(each.attrs["score"] for each in found)
        table.add(method, score, *map(statistics.mean, zip(*drops, strict=True)))


def heads(given: Arguments, report: Report) -> None:
    """Compare norms of heads, noise and permutation; train with some parties."""
    run = trained(given, **HEADS)  # type: ignore[arg-type]
    found = run.explain(rows="test")
    columns = {"party": "", "holds": "", "norm of the head": ".2f"}
    columns |= {"loss under noise, points": ".1f", "drop by permutation, points": ".1f"}
    title = "digits, VIMADMM with ridge heads, 8 parties with a column of pixels each, MLPs, "
    setting = f"{title}{run.config.epochs} epochs, seed 0"
    correlation = found.attrs["correlation"] or 0.0
    table = report.table(
        f"{setting}; rank correlation of norm and loss under noise: {correlation:.2f}", columns
    )
    for each in found.itertuples():
        table.add(each.party, each.holds, each.norm, 100 * each.noise_drop, 100 * each.drop)
    kept = report.table(
        "test accuracy with some passive parties, by the norms of their heads",
        {"passive parties": "", "which": "", "test accuracy, %": ".2f"},
    )
    kept.add("all", "all", 100 * run.result["test_accuracy"]["active"])
    folder = RunFolder.reopen(run.path, {}, True)
    known = heads_of(folder, SIGMA)
    assert known  # noqa: S101  the method has heads
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        for choice in some(given, RETRAINED):
            planned = plan(folder.cfg, known.findings, Choice.read(choice))
            with contextlib.redirect_stdout(io.StringIO()):
                told = retrain(planned, Path(temporary))
            names = ", ".join(name for name in told.parties if name != "active")
            kept.add(f"the {told.kind} important", names, 100 * told.accuracy)
