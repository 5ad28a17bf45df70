"""Answers for ids: predictions as JSON has them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.serving.catalogue import Id, Status
from vfl_flower.workflows.prediction import values_of


class Answer(NamedTuple):
    """Answer for one id.

    Attributes
    ----------
    id : int, str or tuple
        As it was asked.
    status : Status
        Whether it is predicted.
    prediction : str, float, dict or None
        Class or number; of several labels the value of each.
    probabilities : dict of str to float, or None
        By class or label; None of a regression.
    """

    id: Id
    status: Status
    prediction: Any = None
    probabilities: dict[str, float] | None = None


class Scored(NamedTuple):
    """Answers to one request.

    Attributes
    ----------
    model : str
        Number of the model that predicted; see `Party.model_digest`.
    answers : list of Answer
        One for each id, in their order.
    """

    model: str
    answers: list[Answer]


class Predicted:
    """Predictions of a batch, as a file of predictions has them.

    Parameters
    ----------
    target : Target
        What the labels are.
    rows : ndarray of int32
        (n,), row numbers.
    outputs : Tensor
        (n, C), logits, or (n, 1) of a regression.
    digits : int
        Decimal places of probabilities; 0: as computed.
    """

    def __init__(
        self, target: Target, rows: NDArray[np.int32], outputs: Tensor, digits: int
    ) -> None:
        self.target, self._outputs = target, outputs
        self._place = {row: number for number, row in enumerate(rows.tolist())}
        self.values = values_of(target, outputs, digits)

    def answer(self, id_: Id, found: int | Status) -> Answer:
        """Answer for one id, by its row in the batch."""
        if isinstance(found, Status):
            return Answer(id_, found)
        place = self._place[found]
        if self.target.task == REGRESSION:
            return Answer(id_, Status.PREDICTED, float(self.values[place]))
        shares = zip(self.target.classes, self._shares[place], strict=True)
        return Answer(id_, Status.PREDICTED, self.decided[place], dict(shares))

    @cached_property
    def _shares(self) -> list[list[float]]:
        """Probabilities as the shortest numbers that are the same float32."""
        return [list(map(float, row)) for row in self.values.astype(str).tolist()]

    @cached_property
    def decided(self) -> Sequence[Any]:
        """Class of each row; of several labels the value of each."""
        decided, target = self.target.decided(self._outputs).tolist(), self.target
        if target.task != MULTI_LABEL:
            return [target.classes[place] for place in decided]
        return [
            {
                name: pair[place]
                for name, pair, place in zip(target.classes, target.values, row, strict=True)
            }
            for row in decided
        ]
