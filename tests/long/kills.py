"""Runs killed before every file change resume to the same result.

Processes are forked from one that has imported everything, so that a run takes a second. An audit
hook counts what a run changes below its folder, and ends the process without a word at one of them.
"""

import json
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

import flwr.server  # noqa: F401  imported once, before all forks
import sklearn.datasets  # noqa: F401

from tests.helpers.outcomes.commands import train
from tests.long.check import Failed, Job, command
from vfl_flower.common.layout import CONFIG
from vfl_flower.workflows import run as _run  # noqa: F401

COMMON = ("--device", "cpu", "--baselines", "off", "--epochs", "2")
MLP = ("--models", "mlp", "--eval-every", "5")
TABLES = "TABLES"
"""Stands for the folder with the example's tables."""

RUNS = {
    "easter": (*COMMON, *MLP, "--parties", "3"),
    "vimadmm": (*COMMON, *MLP, "--method", "vimadmm", "--local-steps", "2"),
    "pravfed": (  # the noise of labels is drawn anew in every run
        *(*COMMON, *MLP, "--method", "pravfed", "--local-epochs", "1", "--label-privacy", "none"),
    ),
    "adptvfedconv": (
        *(*COMMON, "--method", "adptvfedconv", "--width", "0.05", "--train-rows", "256"),
        *("--pretrain-epochs", "2", "--local-epochs", "1"),
    ),
    "own": (
        *(*COMMON, *MLP, "--method", "splitnn", "--parties", "2", "--batch-size", "512"),
        *("--dataset", "own", "--tables", f"{TABLES}/bank.toml,{TABLES}/shop.toml"),
    ),
}
CHANGES = {"os.rename": 0, "os.remove": 0, "os.mkdir": 0, "os.rmdir": 0, "os.truncate": 0}
"""Audit events that change files, and which of their arguments is a path."""

KILLED, BROKEN = 9, 70


def counted(folder: Path, last: int, counts: Path) -> None:
    """Count changes in a folder; end the process before the `last`."""
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            path, _, flags = arguments
            changes = bool(flags & (os.O_WRONLY | os.O_RDWR))
        else:
            path, changes = arguments[0] if event in CHANGES else "", event in CHANGES
        if not changes or not isinstance(path, str | Path) or path == str(counts):
            return
        if str(path).startswith(str(folder)):
            seen += 1
            if seen == last:
                os._exit(KILLED)
            if not last:
                counts.write_text(str(seen))

    sys.addaudithook(hook)


def forked(arguments: list[str], folder: Path, last: int, counts: Path) -> int:
    """Train in a process of its own and return its exit code."""
    sys.stdout.flush()
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = BROKEN
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        if last >= 0:
            counted(folder, last, counts)
        code = train(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def state_of(folder: Path) -> dict[str, Any]:
    """Return the results of a run: weights, metrics, test accuracy.

    None of them may depend on a kill.
    """
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["seconds"]
    weights = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("weights.safetensors")
    }
    result = json.loads((folder / "result.json").read_text())
    return {"weights": weights, "metrics": lines, "accuracy": result["test_accuracy"]}


def killed_and_resumed(flags: list[str], folder: Path, point: int, counts: Path) -> dict[str, Any]:
    """Kill a run before a change, resume it, return its state."""
    code = forked([*flags, "--out", str(folder)], folder, point, counts)
    if code != KILLED:
        raise Failed(f"change {point}: exit code {code}, not killed")
    if not (folder / CONFIG).exists():  # it had not begun
        shutil.rmtree(folder, ignore_errors=True)
    begun = ["--resume", str(folder)] if folder.exists() else [*flags, "--out", str(folder)]
    if code := forked(begun, folder, -1, counts):
        raise Failed(f"change {point}: exit code {code} of the resumed run")
    return state_of(folder)


def kills(job: Job) -> dict[str, Any]:
    """Check all points of every run, or a few of the first."""
    found: dict[str, Any] = {}
    made = job.work / "tables"
    if not job.tiny:  # in a process of its own: threads do not survive a fork
        command([sys.executable, "examples/bank-and-shop/make_tables.py", made])
    for name, given in list(RUNS.items())[: job.size(len(RUNS), 1)]:
        flags = [word.replace(TABLES, str(made)) for word in given]
        whole, counts = job.work / f"{name}-whole", job.work / f"{name}-count"
        if forked([*flags, "--out", str(whole)], whole, 0, counts):
            raise Failed(f"{name}: the unbroken run failed", found)
        points, expected = int(counts.read_text()), state_of(whole)
        chosen = range(1, points + 1, max(1, points // job.size(points, 4)))
        found[name] = {"points": points, "killed": len(chosen), "different": []}
        for point in chosen:
            out = job.work / f"{name}-{point}"
            if killed_and_resumed(flags, out, point, counts) != expected:
                found[name]["different"].append(point)
            shutil.rmtree(out)
    if any(each["different"] for each in found.values()):
        raise Failed("a resumed run differs from the unbroken one", found)
    return found
