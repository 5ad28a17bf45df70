"""Split learning by FATE's Hetero-NN.

After ``doc/2.0/fate/ml/hetero_nn_tutorial.md`` of FATE's repository: the host has the images, the
guest the labels and the top network. The aggregation layer is the plain one, without encryption or
passports; both parties are processes that exchange through files of FATE's standalone federation.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fate.arch.launchers.multiprocess_launcher import launch
from fate.ml.nn.hetero.hetero_nn import (
    HeteroNNTrainerGuest,
    HeteroNNTrainerHost,
    TrainingArguments,
)
from fate.ml.nn.model_zoo.hetero_nn_model import HeteroNNModelGuest, HeteroNNModelHost
from torch import nn
from torch.utils.data import Dataset, SequentialSampler, TensorDataset
from transformers import TrainerCallback

from benchmarks.peers.inside.work import FOLDER, Clock, Columns, Rows, Work

PARTIES = ("guest:9999", "host:10000")


class Ticks(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Tells the clock of every step."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_step_end(self, *arguments: object, **more: object) -> None:
        """Count a step."""
        self.clock.step()


class Images(Dataset[Any]):
    """Rows of one party in the order of the batches."""

    def __init__(self, x: Columns, rows: Rows) -> None:
        self.x, self.rows = x, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, places: list[int]) -> list[tuple[torch.Tensor]]:
        """Return the rows of a batch."""
        return [(row,) for row in self.x(self.rows[places])]


def arguments(work: Work) -> TrainingArguments:
    """Return the trainers' settings."""
    return TrainingArguments(
        output_dir=str(work.folder / "fate"),
        num_train_epochs=1,
        per_device_train_batch_size=work.batch,
        per_device_eval_batch_size=len(work.tests()[0]),
        no_cuda=True,
        save_strategy="no",
        logging_strategy="no",
        max_grad_norm=0.0,  # no clipping
        lr_scheduler_type="constant",
        disable_tqdm=True,
    )


def be_host(ctx: Any, work: Work) -> None:  # noqa: ANN401
    """Train and predict as the party with the images."""
    model = HeteroNNModelHost(bottom_model=work.network("bottom-1"))
    x = work.columns(1)
    trainer = HeteroNNTrainerHost(
        ctx=ctx,
        model=model,
        optimizer=work.optimizer(model),
        train_set=Images(x, work.order[0]),
        training_args=arguments(work),
    )
    in_order(trainer)
    trainer.train()
    trainer.predict(Images(x, work.test))


def be_guest(ctx: Any, work: Work) -> None:  # noqa: ANN401
    """Train and judge as the party with the labels; write the outcome."""
    model = HeteroNNModelGuest(top_model=work.network("top"))
    y, clock = work.labels(), Clock(work.warm_up)
    trainer = HeteroNNTrainerGuest(
        ctx=ctx,
        model=model,
        optimizer=work.optimizer(model),
        loss_fn=nn.CrossEntropyLoss(),
        train_set=TensorDataset(y[work.order[0]]),
        training_args=arguments(work),
    )
    trainer.add_callback(Ticks(clock))
    in_order(trainer)
    trainer.train()
    said = trainer.predict(TensorDataset(y[work.test])).predictions.argmax(1)
    accuracy = float(np.mean(said == y[work.test].numpy()))
    work.write(clock.outcome() | {"score": accuracy})


def in_order(trainer: Any) -> None:  # noqa: ANN401
    """Let a trainer take its rows in their order."""
    sampler = SequentialSampler(trainer.train_dataset)
    trainer._get_train_sampler = lambda: sampler  # noqa: SLF001


def run(ctx: Any) -> None:  # noqa: ANN401
    """Be one of the parties."""
    work = Work(Path(os.environ[FOLDER]))
    if ctx.is_on_guest:
        be_guest(ctx, work)
    else:
        be_host(ctx, work)


def main(folder: Path, way: str) -> None:
    """Run both parties, each a process that reads the same command line."""
    sys.argv[1:] = ["--parties", *PARTIES, "--log_level", "ERROR"]
    sys.argv += ["--data_dir", str(folder / "federation")]
    launch(run)
