"""PraVFed by its authors' program, PraVFed_main.

Parties and training are the authors', as ``PraVFed_main_all.py`` puts them together. Data, rows and
initial weights are those of the work, in the place of what they draw. A step is one of the active
party, with its share of what the others train before; the time of tests is left out.
"""

import json
import logging
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from benchmarks.peers.inside.authors.source import copy_weights, find_source, weights
from benchmarks.peers.inside.work import OPTIONS, Clock, Rows, Work

DATA = {"mnist": "mnist", "breast-cancer": "breast"}
"""Their names of data sets by this project's."""

UNUSED = (
    *("matplotlib", "matplotlib.pyplot"),
    *("torchvision", "torchvision.datasets", "torchvision.models", "torchvision.transforms"),
)
"""Modules that theirs import and do not use for this work; torchvision is built for one PyTorch."""

NO_NOISE = 1e9
"""Epsilon at which their noise on labels rounds to none."""


def words(work: Work, options: dict[str, Any]) -> list[str]:
    """Return the command line of their program."""
    given = {
        "datasets": DATA[options["dataset"]],
        "num_user": work.passive + 1,
        "rounds": len(work.order),
        "local_ep": options["local-epochs"],
        "batch_size": work.batch,
        "lr": work.rate,
        "epsilon": NO_NOISE,
    }
    return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def parts(work: Work, rows: Rows) -> list[TensorDataset]:
    """Return some rows of all parties, with labels as theirs have them."""
    y = work.labels()[rows]
    return [TensorDataset(work.columns(rank)(rows), y) for rank in range(work.passive + 1)]


def give_data(program: Any, work: Work) -> None:  # noqa: ANN401
    """Let their program read the work in the place of files."""
    train, test = parts(work, work.order[0]), parts(work, work.test)
    read = (train[0], test[0], train, test)
    program.Data = lambda args: Namespace(split_vertical_data_all=lambda args: read)
    program.breast_cancer = lambda *given: read  # imported from a file that is not published


def give_weights(party: Any, names: tuple[str, ...], states: Iterator[dict[str, Tensor]]) -> None:  # noqa: ANN401
    """Let parties of a class begin with the given weights, in turn."""
    for name in names:
        setattr(party, name, _beginning(getattr(party, name), states))


def _beginning(load: Callable[..., Any], states: Iterator[dict[str, Tensor]]) -> Callable[..., Any]:
    def loaded(*given: object) -> Any:  # noqa: ANN401
        model = load(*given)
        copy_weights(model, next(states), "")
        return model

    return loaded


def give_clock(program: Any, clock: Clock) -> list[Any]:  # noqa: ANN401
    """Tell the clock of steps and tests; return the tests' results."""
    step, told = program.active.backward_A, list[Any]()

    def stepped(*given: object) -> None:
        step(*given)
        clock.step()

    def untimed(test: Callable[..., Any]) -> Callable[..., Any]:
        def tested(*given: object) -> Any:  # noqa: ANN401
            begun = time.perf_counter()
            told.append(test(*given))
            clock.away += time.perf_counter() - begun
            return told[-1]

        return tested

    program.active.backward_A = stepped
    program.passive.test = untimed(program.passive.test)
    program.test_model = untimed(program.test_model)
    return told


def main(folder: Path, way: str) -> None:
    """Train, and write the outcome."""
    sys.modules.update({name: ModuleType(name) for name in UNUSED})
    find_source()
    work = Work(folder)
    options: dict[str, Any] = json.loads((folder / OPTIONS).read_text())
    sys.argv[1:] = words(work, options)
    program: Any = import_module("PraVFed_main_all")
    program.device = torch.device("cpu")  # it has this name only where it is the main program
    active, *passive = weights(folder)
    give_data(program, work)
    give_weights(program.active, ("model_load_A", "model_load_A_adult"), iter([active]))
    give_weights(program.passive, ("model_load_B", "model_load_B_adult"), iter(passive))
    os.chdir(folder)  # it writes tables of its own
    args = program.args_parser()
    clock = Clock(work.warm_up)
    told = give_clock(program, clock)
    program.PraVFed_train(args, logging.getLogger("theirs"))
    accuracy, _ = told[-1]
    work.write(clock.outcome() | {"score": accuracy / 100})
