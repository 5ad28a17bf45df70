"""Tiny runs to predict with, and files with predictions."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.helpers.contract import short
from vfl_flower.config.run_config import RunConfig

PRIVATE = "easter with private randomness"


REBUILT = ["easter", "pravfed", "adptvfedconv"]


NAMES = ["active", "party-1", "party-2", "party-3"]


ASKED = {"public_key", "agree", "embed_only", "predict_only"}


Finished = Callable[[str], Path]


def tiny(case: str) -> RunConfig:
    private: dict[str, Any] = {"party_randomness": "private"} if case == PRIVATE else {}
    name = "easter" if case == PRIVATE else case
    return replace(short(name), epochs=1, baselines="off", **private)


def read(path: Path) -> tuple[np.ndarray[Any, Any], list[str], Tensor]:
    """Return row numbers, predictions and probabilities of a file."""
    with path.open(newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["id", "prediction", *(f"probability_{c}" for c in range(10))]
    numbers = np.array([line[0] for line in lines]).astype(np.int32)
    shares = torch.tensor([[float(each) for each in line[2:]] for line in lines])
    return numbers, [line[1] for line in lines], shares
