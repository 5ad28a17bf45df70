"""Numbers of a run that trackers get."""

from collections.abc import Mapping
from typing import Any

from vfl_flower.config.evaluation.metrics import primary
from vfl_flower.protocol.observer import Evaluation

TRAFFIC = ("exchanges", "bytes_up", "bytes_down")


def numbers_of(evaluation: Evaluation) -> dict[str, float]:
    """Return the numbers of an evaluation, as ``train_loss/active``."""
    training = {"train_loss": evaluation.train_loss, "train_accuracy": evaluation.train_accuracy}
    numbers = {
        f"{name}/{party}": value
        for name, values in (training | evaluation.validation).items()
        for party, value in values.items()
    }
    return numbers | {f"traffic/{name}": getattr(evaluation, name) for name in TRAFFIC}


def final_numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a result, as ``test_accuracy/active``."""
    name = f"test_{primary(result['task'])}"
    numbers = {f"{name}/{party}": each for party, each in result[name].items()}
    for party, metrics in result["metrics"].items():
        numbers |= {f"test_{name}/{party}": each for name, each in metrics.items()}
    numbers |= {f"total/{name}": result[name] for name in TRAFFIC}
    numbers["epsilon"] = result["epsilon"]
    return {name: float(each) for name, each in numbers.items() if isinstance(each, int | float)}
