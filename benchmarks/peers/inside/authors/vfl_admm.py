"""VIM's methods by its authors' program, VFL-ADMM.

Clients and coordinators are the authors', put together as their ``run.py`` does, with the options
of their ``scripts/clean/mnist``. Data, batches and initial weights are those of the work, in the
place of what they draw: loaders hand over whole batches, where theirs read image by image. The
coordinator's own ``run`` trains and judges.
"""

import json
import multiprocessing
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from benchmarks.peers.inside.authors.source import copy_weights, find_source, weights
from benchmarks.peers.inside.work import OPTIONS, Clock, Columns, Rows, Work

PROGRAMS = {
    "vimadmm": ("admm", "fedclient.admmsplit", "fedserver.vimadmm"),
    "splitnn": ("vimsgd_concat", "fedclient.client", "fedserver.vimsgd_concat"),
    "fedbcd": ("fedbcd", "fedclient.fedbcd", "fedserver.fedbcd"),
}
"""Their name of a method, and modules of client and coordinator, by this project's name."""

UNUSED = ("imp", *("torchvision", "torchvision.transforms", "torchvision.transforms.functional"))
"""Modules that theirs import and never use: gone from Python 3.12 on, or built for one PyTorch."""


@dataclass(frozen=True)
class Loader:
    """A client's batches, with labels."""

    x: Columns
    y: Tensor
    epochs: Iterator[list[Rows]]

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the next epoch."""
        return ((self.x(rows), self.y[rows]) for rows in next(self.epochs))


def configured(work: Work, options: Mapping[str, Any], method: str) -> Namespace:
    """Return their configuration, parsed from the words of their scripts."""
    given = {
        "method": method,
        "dataset": "mnist",  # whose networks take any number of columns
        "learning_rate": work.rate,
        "real_batch_size": work.batch,
        "num_round": len(work.order),
        "local_admm_epoch": options.get("local-steps", 1),
        "rho": options.get("rho", 1.0),
        "out_dir": work.folder / "theirs",
    }
    sys.argv[1:] = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    conf: Namespace = import_module("parameters").parse_args()
    conf.device = "cpu"
    return conf


def add_clients(conf: Namespace, work: Work, module: str) -> None:
    """Add their clients to the configuration, as their run.py does."""
    y, tests = work.labels(), repeat(work.tests())
    sizes = (len(work.order[0]), conf.num_classes, conf.batch_size)
    conf.fed_vertical, conf.fed_clients = {"party": []}, {}
    for uid in range(work.passive):
        x = work.columns(uid + 1)
        party = Namespace(uid=uid, num_features=x.x[0].size)
        epochs = iter(work.epochs())
        loaders = [Loader(x, y, each) for each in (epochs, tests, tests)]  # tests validate, too
        more = sizes if conf.method == "admm" else ()
        conf.fed_vertical["party"].append(party)
        conf.fed_clients[uid] = import_module(module).Client(uid, conf, party, *loaders, *more)


def coordinator(conf: Namespace, work: Work, module: str) -> Any:  # noqa: ANN401
    """Return their coordinator, with the initial weights of the work."""
    steps, tests = len(work.epochs()[0]), len(work.tests())
    made = import_module(module).Coordinator
    states = weights(work.folder)
    if conf.method == "admm":
        server = made(conf, len(work.order[0]), steps, tests, tests, conf.num_classes)
        for uid, client in conf.fed_clients.items():
            copy_weights(client.w, states[0], f"heads.{uid}.")
    else:
        train, test = Namespace(num_steps=steps, val_num_steps=tests), Namespace(num_steps=tests)
        server = made(conf, train, test)
        copy_weights(server.linearhead.fc, states[0], "decide.")
    for uid, client in conf.fed_clients.items():
        copy_weights(client.model, states[uid + 1], "embed.")
    return server


def tell(clock: Clock, conf: Namespace) -> None:
    """Let the last client tell the clock of each round's end."""
    client = conf.fed_clients[len(conf.fed_clients) - 1]
    name = "local_model_admm_update" if conf.method == "admm" else "one_step_backward"
    update = getattr(client, name)

    def updated(*given: Any, **named: Any) -> None:  # noqa: ANN401
        update(*given, **named)
        clock.step()

    setattr(client, name, updated)


def main(folder: Path, way: str) -> None:
    """Train, and write the outcome."""
    multiprocessing.set_start_method("fork")  # they make a pool as a module is imported
    sys.modules.update({name: ModuleType(name) for name in UNUSED})
    find_source()
    work = Work(folder)
    options: dict[str, Any] = json.loads((folder / OPTIONS).read_text())
    method, client, server = PROGRAMS[options["method"]]
    conf = configured(work, options, method)
    add_clients(conf, work, client)
    program, clock = coordinator(conf, work, server), Clock(work.warm_up)
    tell(clock, conf)
    program.run()
    judged: dict[str, list[float]] = json.loads(
        (Path(conf.output_path) / "test_summary.json").read_text()
    )
    work.write(clock.outcome() | {"score": judged["acc"][-1] / 100})
