"""Means and deviations over the seeds of a run."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from vfl_flower.common.json_schema import written


def summary_of(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over seeds, by party.

    Parameters
    ----------
    results : sequence of dict
        Two or more results of one configuration.
    """

    def spread(values: list[float]) -> dict[str, float]:
        return {"mean": statistics.fmean(values), "std": statistics.stdev(values)}

    def judged(name: str, key: str) -> dict[str, float] | None:
        values = [r["metrics"][name][key] for r in results]
        return None if None in values else spread(values)

    first = results[0]
    summary: dict[str, Any] = {
        "method": first["method"],
        "dataset": first["dataset"],
        "task": first["task"],
        "carrier": first["carrier"],
        "seeds": [r["seed"] for r in results],
        "test_accuracy": {
            name: spread([r["test_accuracy"][name] for r in results])
            for name in first["test_accuracy"]
        },
        "metrics": {
            name: {key: judged(name, key) for key in metrics if key != "confusion"}
            for name, metrics in first["metrics"].items()
        },
        "majority_share": spread([r["majority_share"] for r in results]),
        "seconds": spread([r["seconds"] for r in results]),
    }
    if first["label_privacy"]:
        summary["label_privacy"] = first["label_privacy"] | {
            "epsilon": sum(r["label_privacy"]["epsilon"] for r in results)
        }
    if first["client_privacy"]:
        summary["client_privacy"] = first["client_privacy"] | {
            key: written(sum(float(r["client_privacy"][key]) for r in results))
            for key in ("epsilon", "epsilon_training", "delta")
        }
    if first["bounds"]:
        summary["bounds"] = {
            name: spread([r["bounds"][name] for r in results]) for name in first["bounds"]
        }
    return summary
