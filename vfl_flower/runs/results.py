"""Results of complete runs: fields, checks and file format."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import with_sum
from vfl_flower.common.files import write_atomically
from vfl_flower.common.json_schema import Named, fits
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.config.evaluation.metrics import primary, scores_of
from vfl_flower.config.evaluation.positive import ORDER
from vfl_flower.config.evaluation.threshold import USUAL
from vfl_flower.learning.metrics.names import BY_PARTY, MARGIN, OF_LABEL_SETS, OF_NUMBERS

RESULT = "result.json"
NUMBERS = re.compile(r"\[\n[-\d.e,\s]+\]")
"""Numbers over several lines of JSON, where no text can have a line's end."""

_BYTES = Named({"up": int, "down": int})
_SECONDS = Named(float)
_BOOKS = {
    "exchanges": int,
    "bytes_up": int,
    "bytes_down": int,
    "bytes_by_phase": _BYTES,
    "bytes_by_party": _BYTES,
}
RESULT_SHAPE = {
    "method": str,
    "dataset": str,
    "task": str,
    "transport": str,
    "seed": int,
    "stages": [{"name": str, "done": int, "total": int, "figures": Named(float), "ended": bool}],
    "steps": int,
    "counting_step": int,
    "ended_by": str,
    "seconds": float,
    "metrics": BY_PARTY,
    "curves": Named({"x": [float], "y": [float]}),
    "train_accuracy": Named(float),
    "leave_one_out": {"scores": Named(float), "unmeasured": str},
    "without": [str],
    "joined": (None, {"model": str, "digest": str, "parties": [str]}),
    "majority_share": (None, float),
    "classes": [str],
    "metric": str,
    "positive": str,
    "positive_by": str,
    "threshold": (None, {"rule": str, "step": int, "values": Named(float)}),
    "baselines": (None, {"local": float, "central": float}),
    "exchange_ms": {"median": float, "p99": float},
    **_BOOKS,
    "evaluation": _BOOKS,
    "control": _BOOKS,
    "uploads_per_party": Named(int),
    "protections": [str],
    "unprotected": [str],
    "policies": Named({"name": str, "digest": str}),
    "figures": Named(float),
    "epsilon": (None, float, str),  # "inf", for which JSON has no number
    "label_privacy": (
        None,
        {"mechanism": str, "epsilon": float, "private": bool, "covers": str, "does_not_cover": str},
    ),
    "client_privacy": (
        None,
        {
            "mechanism": str,
            "sigma": float,
            "clip": float,
            "delta": float,
            "accountant": str,
            "epsilon": (float, str),
            "epsilon_training": float,
            "uploads": Named({"training": int, "evaluation": int}),
            "planned": {"training": int, "evaluation": int},
            "covers": str,
            "does_not_cover": str,
        },
    ),
    "device": str,
    "precision": str,
    "wire_precision": str,
    "threads": int,
    "eval_threads": int,
    "peak_memory": (None, int),  # bytes, of the active party's process
    "profile": (
        None,
        {"exchanges": float, "parties": Named({"phase": _SECONDS, "work": _SECONDS})},
    ),
    "environment": Named((str, int)),
}
"""Fields of a result and their types."""


FORMER_NAMES = {
    "bounds": "baselines",
    "carriage": "connections",
    "carrier": "transport",
    "upkeep": "control",
}
"""Keys that results of earlier versions hold under other names."""

_SHAPES = {REGRESSION: OF_NUMBERS, MULTI_LABEL: OF_LABEL_SETS}
"""Shapes of metrics of tasks without classes, of all versions."""

_OF_NUMBERS = {"test_accuracy": "test_r2", "validation_accuracy": "validation_r2"}
"""Keys of a regression's result; earlier versions called R² accuracy."""

_LATER: dict[Any, Any] = {
    "policies": dict[str, Any](),
    "positive": "",
    "positive_by": ORDER,
    "threshold": None,
    "joined": None,
    "curves": dict[str, Any](),
    "train_accuracy": dict[str, float](),
    "leave_one_out": {"scores": dict[str, float](), "unmeasured": "an earlier version trained it"},
    "without": list[str](),
    "precision": "float32",
    "wire_precision": "float32",
    "peak_memory": None,
    "profile": None,
}
"""Values of keys that results of earlier versions lack."""


def under_present_names(result: Any) -> Any:  # noqa: ANN401
    """Return the content of a result file under its present keys."""
    if not isinstance(result, dict):
        return result
    named: dict[Any, Any] = {FORMER_NAMES.get(key, key): value for key, value in result.items()}
    if named.get("task") == REGRESSION:
        named = {_OF_NUMBERS.get(str(key), key): value for key, value in named.items()}
    computed = {"metric": primary(str(named.get("task"))), "eval_threads": named.get("threads")}
    later = _LATER | computed
    return named | {key: value for key, value in later.items() if key not in named}


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write ``result.json`` into a folder, with its SHA-256."""
    write_atomically(path / RESULT, json_of(with_sum(result)).encode())


def json_of(content: object) -> str:
    """Return indented JSON with each list of numbers in one line."""
    text = json.dumps(content, indent=2)
    return NUMBERS.sub(lambda row: re.sub(r"\s+", "", row[0]).replace(",", ", "), text) + "\n"


def fit_together(result: Mapping[str, Any]) -> bool:
    """Whether a result's metrics match its parties and classes."""
    classes = len(result["classes"])
    square = {"confusion": [[int]]}
    keys = [f"{part}_{primary(result['task'])}" for part in ("test", "validation")]
    if not fits(dict(result), dict.fromkeys(keys, Named(float))):
        return False
    scores = scores_of(result, "test")
    if set(result["metrics"]) != set(scores):
        return False
    if scores and result["majority_share"] is None:
        return False
    if result["task"] in _SHAPES:
        return all(fits(each, _SHAPES[result["task"]]) for each in result["metrics"].values())
    return all(
        fits(each, square) and [len(row) for row in each["confusion"]] == [classes] * classes
        for each in result["metrics"].values()
    )


_NEAR_SHARE = "is near the share of the most frequent class ({share:.2%})"
_HARDLY_BETTER = {
    REGRESSION: "hardly predicts better than the mean of the labels does (R² {score:.2%})",
    MULTI_LABEL: "hardly predicts better than all labels in each row do (F1 {share:.2%})",
}
"""Warnings of models that are no better than a constant prediction, by task."""


def warnings_of(result: Mapping[str, Any]) -> list[str]:
    """Warn of parties that are hardly better than a constant prediction."""
    share = result["majority_share"]
    if not result["steps"]:
        return []  # without epochs, which `ending` says
    if result.get("threshold") and result["threshold"]["rule"] != f"{USUAL}":
        return []  # an accuracy that was traded for something else says nothing
    told = _HARDLY_BETTER.get(result["task"], _NEAR_SHARE)
    return [
        f"{name} {told.format(score=score, share=share)}: it may have learnt nothing else"
        for name, score in scores_of(result, "test").items()
        if score <= share + MARGIN
    ]
