"""Figures of predictions of test rows: curves and confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from vfl_flower.config.catalog import BINARY, MULTI_CLASS
from vfl_flower.config.evaluation.metrics import METRICS
from vfl_flower.reporting.console.tables import MOST_CLASSES
from vfl_flower.reporting.figure_style import COLOURS, bare

_CHANCE: Any = {"color": "#a9b1bd", "linestyle": "--", "linewidth": 0.8, "zorder": 1}
_DARK = 0.55
"""Share of a class's rows from which on its cell is dark."""


def prediction_panels(result: Mapping[str, Any]) -> list[str]:
    """Name the panels that a result has figures for."""
    names = list(result["curves"])
    few = 0 < len(result["classes"]) <= MOST_CLASSES
    if result["metrics"] and few and result["task"] in (BINARY, MULTI_CLASS):
        names.append("confusion")
    return names


def draw_predictions(panels: Sequence[Axes], result: Mapping[str, Any]) -> None:
    """Draw the active party's curves and confusion matrix, one a panel.

    Parameters
    ----------
    panels : sequence of Axes
        As many as `prediction_panels` names.
    result : mapping
        Of a complete run.
    """
    for panel, name in zip(panels, prediction_panels(result), strict=True):
        _DRAWN[name](panel, result)


def _roc(panel: Axes, result: Mapping[str, Any]) -> None:
    panel.plot([0, 1], [0, 1], **_CHANCE)
    _curve(panel, result["curves"]["roc"])
    _named(panel, f"ROC{_value(result, 'auc')}", "false alarms / negative rows", "recall")


def _precision_recall(panel: Axes, result: Mapping[str, Any]) -> None:
    rows = result["metrics"]["active"]["confusion"]
    positive = result["classes"].index(result["positive"])
    panel.axhline(sum(rows[positive]) / sum(map(sum, rows)), **_CHANCE)
    _curve(panel, result["curves"]["precision_recall"], drawstyle="steps-pre")
    judged = result["metrics"]["active"]
    panel.plot(judged["recall"], judged["precision"], "o", color=COLOURS[1], label="threshold")
    panel.legend(loc="lower left")
    title = f"precision-recall{_value(result, 'average_precision')}"
    _named(panel, title, "recall", "precision")


def _calibration(panel: Axes, result: Mapping[str, Any]) -> None:
    panel.plot([0, 1], [0, 1], **_CHANCE)
    _curve(panel, result["curves"]["calibration"], marker="o")
    title = f"calibration{_value(result, 'calibration_error')}"
    _named(panel, title, f"probability of {result['positive']}", "share of positive rows")


def _curve(panel: Axes, points: Mapping[str, Sequence[float]], **style: Any) -> None:  # noqa: ANN401
    panel.plot(points["x"], points["y"], color=COLOURS[0], **style)


def _named(panel: Axes, title: str, across: str, up: str) -> None:
    """Name a panel and its axes, both from 0 to 1."""
    panel.set_title(title)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.set_xlim(-0.02, 1.02)
    panel.set_ylim(-0.02, 1.02)


def _value(result: Mapping[str, Any], key: str) -> str:
    """Write the metric of a curve behind its name."""
    value = result["metrics"]["active"].get(key)
    title = METRICS[key.replace("_", "-")].title
    return "" if value is None else f", {title} {value:.4f}"


def _confusion(panel: Axes, result: Mapping[str, Any]) -> None:
    counts, names = result["metrics"]["active"]["confusion"], result["classes"]
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    bare(panel)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for down, row in enumerate(counts):
        for across, count in enumerate(row):
            ink = "white" if shares[down][across] > _DARK else "#14181f"
            panel.text(across, down, f"{count}", ha="center", va="center", color=ink)
    panel.set_xticks(range(len(names)), names, rotation=30 if len(names) > 2 else 0)
    panel.set_yticks(range(len(names)), names)
    panel.set_title("test rows, colour by class")
    panel.set_xlabel("predicted")
    panel.set_ylabel("true")


_DRAWN = {
    "roc": _roc,
    "precision_recall": _precision_recall,
    "calibration": _calibration,
    "confusion": _confusion,
}
