"""Accuracy under client-level privacy and embedding bounds; attacks on labels and maps."""

import statistics
from collections import defaultdict
from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell, Report
from benchmarks.shown.runs import accuracies, column, some, spread, trained

ATTACKED: dict[str, dict[str, Any]] = {
    **{name: {"method": name} for name in ("easter", "pravfed", "splitnn", "fedbcd", "vafl")},
    "c_vfl": {"method": "c_vfl"},
    "c_vfl, labels shared": {"method": "c_vfl", "share_labels": True},
    "agg_vfl": {"method": "agg_vfl"},
    "fdml": {"method": "fdml"},
}
"""Runs whose labels are attacked."""

NOISED: dict[str, dict[str, Any]] = {
    "splitnn": {"method": "splitnn", "embedding_dim": 16},
    "agg_vfl": {"method": "agg_vfl"},
}
"""Runs under client-level privacy."""

EPSILONS = (100, 8, 1)
FULL_BATCH = {"epochs": 60, "batch_size": 1294}
CUTS = ("1C", "2C+1M", "4C+2M")
BOUNDED = ("easter", "vfedmh", "pravfed", "agg_vfl", "fdml", "vimadmm_j", "linear_admm")
BOUNDS = (8, 16)
OWN = ("own columns", "learnt")
SMALL = {"width": 0.25, "pretrain_epochs": 2, "local_epochs": 2, "epochs": 1}


def label_privacy(given: Arguments, report: Report) -> None:
    """Attack the labels of every method, with and without label privacy."""
    columns = {"method": "", "from": "", "attack": ""} | column("without, %", ".1f")
    table = report.table("", columns | column("with, %", ".1f"))
    known: list[dict[str, Any]] = []
    for name, options in some(given, ATTACKED.items()):
        runs = [trained(given, seed, epochs=3, **options) for seed in range(given.seeds)]
        known = [run.audit("labels") for run in runs]
        for (source, attack), (without, noised) in _by_attack(known).items():
            if (source, attack) != OWN:
                table.add(name, source, attack, *spread(without), *spread(noised))
    without, noised = _by_attack(known)[OWN]
    table.add("any", *OWN, *spread(without), *spread(noised))
    guess = spread([100 * each["majority"] for each in known])
    table.add("any", "nothing", "best constant guess", *guess, *guess)
    told = known[0]
    table.title = (
        f"digits, 4 parties, MLPs, {told['epochs']} epochs, {told['rows']:,} training rows, of "
        f"which {told['known']} labels a class are known to an attacker who learns; accuracy of "
        f"the best attack without label privacy and with randomised response at epsilon 1, "
        f"{given.seeds} seeds"
    )


def _by_attack(
    audits: list[dict[str, Any]],
) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """Return percentages without and with label privacy, by source and attack."""
    found = defaultdict[tuple[str, str], tuple[list[float], list[float]]](lambda: ([], []))
    for audit in audits:
        for each in audit["found"]:
            lists = found[each["source"], each["attack"]]
            lists[each["protection"] != "none"].append(100 * each["accuracy"])
    return found


def client_privacy(given: Arguments, report: Report) -> None:
    """Train under client-level privacy of several epsilons."""
    columns = {"method": ""} | column("no noise, %", ".2f")
    for epsilon in EPSILONS:
        columns |= column(f"epsilon {epsilon}, %", ".2f")
    table = report.table("", columns)
    shown: list[Cell] = []
    for name, options in some(given, NOISED.items()):
        cells = spread(accuracies(given, **FULL_BATCH, **options))
        shown = ["least dp-sigma", None, None]
        for epsilon in EPSILONS:
            limited = {"target_epsilon": epsilon, "dp_clip": 1, **FULL_BATCH, **options}
            runs = [trained(given, seed, **limited) for seed in range(given.seeds)]
            cells += spread([100 * run.result["test_accuracy"]["active"] for run in runs])
            told = runs[0].result["client_privacy"]
            shown += [told["sigma"], None]
        table.add(name, *cells)
    alone = spread(accuracies(given, method="local", **FULL_BATCH))
    table.add("local", *alone, *[None] * (2 * len(EPSILONS)))
    table.add(*shown)
    uploads = sum(told["uploads"]["party-1"].values())
    table.title = (
        f"digits, 4 parties, MLPs, batches of all training rows, {told['planned']['training']} "
        f"epochs, dp-clip 1, {uploads} uploads of each party, SplitNN with embeddings of 16 "
        f"numbers; test accuracy of {given.seeds} seeds"
    )


def reconstruction(given: Arguments, report: Report) -> None:
    """Reconstruct tiles from feature maps, by the extractor's cut."""
    columns = {"cut": "", "map": "", "PSNR, dB": ".1f", "SSIM": ".2f"}
    columns |= {"mean tile: PSNR, dB": ".1f", "mean tile: SSIM": ".2f"}
    table = report.table("", columns)
    for cut in some(given, CUTS):
        options = {**SMALL, "method": "adptvfedconv", "models": "mixed", "partition": "grid:2x2"}
        run = trained(given, 0, given.images, **options, train_rows=given.train_rows, cut=cut)
        told = run.audit("reconstruct")
        passive = [each for each in told["found"] if each["party"] != "active"]
        means = [
            statistics.mean(each[made][number] or 0 for each in passive)
            for made in ("made", "mean")
            for number in ("psnr", "ssim")
        ]
        table.add(cut, " x ".join(map(str, told["map"])), *means)
    table.title = (
        f"{given.images}, four tiles of {' x '.join(map(str, told['tile'][1:]))} pixels, width "
        f"{SMALL['width']}, {given.train_rows:,} training rows, "
        f"{SMALL['pretrain_epochs']} epochs of pre-training, {SMALL['local_epochs']} of "
        f"fine-tuning, seed 0; means over the passive parties"
    )


def bound(given: Arguments, report: Report) -> None:
    """Train with embedding bounds."""
    columns = {"method": ""} | column("no bound, %", ".2f")
    for limit in BOUNDS:
        columns |= column(f"bound {limit}, %", ".2f")
    table = report.table(
        f"digits, 4 parties, MLPs, 20 epochs; test accuracy of {given.seeds} seeds", columns
    )
    for name in some(given, BOUNDED):
        cells = spread(accuracies(given, epochs=20, method=name))
        for limit in BOUNDS:
            cells += spread(accuracies(given, epochs=20, method=name, embedding_bound=limit))
        table.add(name, *cells)
