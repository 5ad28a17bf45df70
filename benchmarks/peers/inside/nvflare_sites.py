"""Split learning by NVFlare's Collab API: images at one site.

After ``examples/advanced/vertical_federated_learning/cifar10-splitnn`` of NVFlare's repository: the
image site calls the label site directly, once a step. Tensors travel as float32 here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from nvflare.collab import CollabRecipe, collab
from nvflare.recipe import PocEnv, SimEnv, poc_env
from torch import Tensor, nn

from benchmarks.peers.inside.work import Clock, Rows, Work

IMAGES, LABELS = "site-1", "site-2"
RUN, CALL = 3600.0, 600.0
"""Seconds until a whole run, or a call, counts as lost."""
START = poc_env._start_poc  # noqa: SLF001


class Server:
    """Starts the image site."""

    @collab.main  # type: ignore[untyped-decorator, unused-ignore]
    def run(self) -> object:
        """Run the training."""
        return collab.get_clients([IMAGES])[0](timeout=RUN).train()


class Party:
    """One site, with its half of the network."""

    work: Work
    net: nn.Module
    optimizer: torch.optim.Optimizer

    @collab.init  # type: ignore[untyped-decorator, unused-ignore]
    def begin(self) -> None:
        """Read data and network."""
        self.work = work = Work(Path(collab.get_app_prop("folder")))
        self.net = work.network("bottom-1" if collab.site_name == IMAGES else "top")
        self.optimizer = work.optimizer(self.net)
        self.y = work.labels()

    @collab.publish  # type: ignore[untyped-decorator, unused-ignore]
    def train(self) -> None:
        """Train, judge, and write the outcome; of the image site."""
        work, x = self.work, self.work.columns(1)
        labels = collab.get_clients([LABELS])[0]
        clock = Clock(work.warm_up)
        for rows in work.batches():
            embedding = self.net(x(rows))
            gradient = labels(timeout=CALL).learn(rows, embedding.detach())
            self.optimizer.zero_grad()
            embedding.backward(gradient)
            self.optimizer.step()
            clock.step()
        with torch.no_grad():
            parts = [(rows, self.net(x(rows))) for rows in work.tests()]
        hits = sum(labels(timeout=CALL).judge(*part) for part in parts)
        work.write(clock.outcome() | {"score": hits / len(work.test)})

    @collab.publish  # type: ignore[untyped-decorator, unused-ignore]
    def learn(self, rows: Rows, embedding: Tensor) -> Tensor:
        """Step the top network; return the gradient; of the label site."""
        torch.set_num_threads(1)
        leaf = embedding.detach().requires_grad_()
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(leaf), self.y[np.asarray(rows)])
        loss.backward()
        self.optimizer.step()
        assert leaf.grad is not None  # noqa: S101
        return leaf.grad

    @collab.publish  # type: ignore[untyped-decorator, unused-ignore]
    def judge(self, rows: Rows, embedding: Tensor) -> int:
        """Count right predictions; of the label site."""
        with torch.no_grad():
            said = self.net(embedding).argmax(1)
        return int((said == self.y[np.asarray(rows)]).sum())


def start_on_loopback(*arguments: Any, **more: Any) -> object:  # noqa: ANN401
    """Start NVFlare's processes; the server listens on loopback only.

    It would listen on all addresses, because its name is no address of loopback.
    """
    workspace = Path(os.environ["NVFLARE_POC_WORKSPACE"])
    for path in workspace.rglob("fed_server.json"):
        path.write_text(path.read_text().replace('"server:', '"localhost:'))
    return START(*arguments, **more)


@contextmanager
def environment(folder: Path, way: str, sites: list[str]) -> Iterator[SimEnv | PocEnv]:
    """Give the simulator, or processes on loopback, with files in a folder."""
    os.environ["NVFLARE_POC_WORKSPACE"] = str(folder / "poc")
    quiet = {"workspace_root": str(folder / "simulator"), "log_config": "ERROR"}
    with patch.object(poc_env, "_start_poc", start_on_loopback):
        yield (
            PocEnv(num_clients=len(sites), clients=sites)
            if way == "deployed"
            else SimEnv(clients=sites, **quiet)
        )


def main(folder: Path, way: str) -> None:
    """Run the job in the simulator, or between processes."""
    sites = [IMAGES, LABELS]
    recipe = CollabRecipe(
        job_name="split-learning",
        server=Server(),
        client=Party(),
        min_clients=len(sites),
        sync_task_timeout=CALL,
    )
    recipe.set_client_prop("folder", str(folder))
    with environment(folder, way, sites) as env:
        run = recipe.execute(env)
    run.get_result()
