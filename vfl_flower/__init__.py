"""Vertical federated learning as a Flower application.

For users: `Table`, `train`, `load` and what they return; see `docs/python.md`. For authors of
methods: `vfl_flower.api`. Names are imported when they are first used, so that the import of the
package alone is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vfl_flower.common.errors import VflError
    from vfl_flower.interface.align import Alignment, align
    from vfl_flower.interface.data.arrays import Arrays
    from vfl_flower.interface.data.table import Table
    from vfl_flower.interface.estimators.classifier import VFLClassifier
    from vfl_flower.interface.estimators.regressor import VFLRegressor
    from vfl_flower.interface.held_out.folds import CrossValidation, cross_validate
    from vfl_flower.interface.run import Run, load
    from vfl_flower.interface.sweep import Sweep, sweep
    from vfl_flower.interface.train import train
    from vfl_flower.runs.callback import Callback

__all__ = [
    "Alignment",
    "Arrays",
    "Callback",
    "CrossValidation",
    "Run",
    "Sweep",
    "Table",
    "VFLClassifier",
    "VFLRegressor",
    "VflError",
    "align",
    "cross_validate",
    "load",
    "sweep",
    "train",
]

_HOMES = {
    "Alignment": "vfl_flower.interface.align",
    "Arrays": "vfl_flower.interface.data.arrays",
    "Callback": "vfl_flower.runs.callback",
    "CrossValidation": "vfl_flower.interface.held_out.folds",
    "Run": "vfl_flower.interface.run",
    "Sweep": "vfl_flower.interface.sweep",
    "Table": "vfl_flower.interface.data.table",
    "VflError": "vfl_flower.common.errors",
    "VFLClassifier": "vfl_flower.interface.estimators.classifier",
    "VFLRegressor": "vfl_flower.interface.estimators.regressor",
    "align": "vfl_flower.interface.align",
    "cross_validate": "vfl_flower.interface.held_out.folds",
    "load": "vfl_flower.interface.run",
    "sweep": "vfl_flower.interface.sweep",
    "train": "vfl_flower.interface.train",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
