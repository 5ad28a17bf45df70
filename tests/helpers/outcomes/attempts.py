"""One attempt at a run in this process, complete or stopped."""

from collections.abc import Sequence
from pathlib import Path

from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.observer import Observer, Stage
from vfl_flower.runs.callback import Callback
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.workflows.run import conduct


class StopAt(Observer):
    """Asks the run to stop after a step, as a signal would.

    Or after a unit of an earlier stage.
    """

    def __init__(self, active: ActiveParty, step: int, stage: str = "", done: int = 0) -> None:
        self.active, self.step, self.unit = active, step, (stage, done)

    def on_step(self, step: int, losses: list[float]) -> None:
        self.active.stop = self.active.stop or step == self.step

    def on_stage(self, stage: Stage) -> None:
        self.active.stop = self.active.stop or (stage.name, stage.done) == self.unit


class Attempt:
    """The parties of a run, whose folder is new, used or None."""

    def __init__(self, cfg: RunConfig, out: Path | None) -> None:
        self.folder: RunFolder | None = None
        if out:
            self.folder = RunFolder(out, cfg, fresh=not out.exists())
        self.active = build_active(cfg, out)
        self.passive = [build_passive(cfg, k, out) for k in range(1, cfg.parties)]

    def run(
        self,
        stop_at: int = -1,
        stage: str = "",
        done: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        """Run; raises `Interrupted` if it is stopped."""
        stop = StopAt(self.active, stop_at, stage, done)
        transport = LocalTransport(self.passive)
        conduct(self.active, transport, self.folder, stop, callbacks=callbacks)
