"""Means and deviations over the seeds or folds of a run."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from vfl_flower.common.json_schema import written
from vfl_flower.config.evaluation.metrics import primary

_LISTS = ("confusion", "class_precision", "class_recall")
"""Metrics that are no numbers."""


def summary_of(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over seeds or folds, by party.

    Parameters
    ----------
    results : sequence of dict
        Two or more results of one configuration.
    """
    first = results[0]
    summary: dict[str, Any] = {
        **{key: first[key] for key in ("method", "dataset", "task", "transport", "positive")},
        "seeds": [each["seed"] for each in results],
        **({"folds": [each["fold"] for each in results]} if first.get("fold") else {}),
        f"test_{primary(first['task'])}": _spreads(results, f"test_{primary(first['task'])}"),
        "metrics": {
            name: {key: _judged(results, name, key) for key in metrics if key not in _LISTS}
            for name, metrics in first["metrics"].items()
        },
        "majority_share": _spread_or_none([each["majority_share"] for each in results]),
        "seconds": _spread([each["seconds"] for each in results]),
    }
    if first["baselines"]:
        summary["baselines"] = _spreads(results, "baselines")
    return summary | _privacy(results)


def _privacy(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compose the budgets of all runs, which noise the same rows.

    Folds learn labels that were noised once for all of them.
    """
    first, composed = results[0], {}
    if first["label_privacy"]:
        noised = results[:1] if first.get("fold") else results
        total = sum(each["label_privacy"]["epsilon"] for each in noised)
        composed["label_privacy"] = first["label_privacy"] | {"epsilon": total}
    if first["client_privacy"]:
        composed["client_privacy"] = first["client_privacy"] | {
            key: written(sum(float(each["client_privacy"][key]) for each in results))
            for key in ("epsilon", "epsilon_training", "delta")
        }
    return composed


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"mean": statistics.fmean(values), "std": statistics.stdev(values)}


def _spread_or_none(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [each for each in values if each is not None]
    return _spread(known) if len(known) == len(values) else None


def _spreads(results: Sequence[Mapping[str, Any]], key: str) -> dict[str, dict[str, float]]:
    """Return the spread of each entry of one table of the results."""
    return {name: _spread([each[key][name] for each in results]) for name in results[0][key]}


def _judged(results: Sequence[Mapping[str, Any]], name: str, key: str) -> dict[str, float] | None:
    """Return the spread of a party's metric, None if missing."""
    return _spread_or_none([each["metrics"][name].get(key) for each in results])
