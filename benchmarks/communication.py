"""Communication until a target accuracy, and each party's peak memory.

    python -m benchmarks.communication --data-dir DIR [--dataset mnist] [--target 0.85] [METHOD ...]

Every party is a process of its own on this machine. A method is evaluated on the validation rows
every few steps and stopped when the active party has reached the target; what was sent for training
by then counts, in 2**20 bytes and in 2**20 bits, evaluations do not.
"""

import contextlib
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.ledger import DOWN, UP
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.runs.memory import peak_memory
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

MIB = 1 << 20
spawn = multiprocessing.get_context("spawn")

CONTENDERS: dict[str, dict[str, object]] = {
    "pravfed": {"method": "pravfed"},
    "pravfed D=16": {"method": "pravfed", "embedding-dim": 16},
    "splitnn": {"method": "splitnn"},
    "c_vfl": {"method": "c_vfl"},
    "agg_vfl": {"method": "agg_vfl"},
    "easter": {"method": "easter"},
}


class Piped(Client):
    """Stands for a party in another process."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return self._ask("get_properties", ins)  # type: ignore[no-any-return]

    def fit(self, ins: FitIns) -> FitRes:
        """Answer one exchange."""
        return self._ask("fit", ins)  # type: ignore[no-any-return]

    def peak(self) -> int:
        """End the process; return its peak memory in bytes."""
        return self._ask("", None)  # type: ignore[no-any-return]

    def _ask(self, name: str, ins: object) -> Any:  # noqa: ANN401
        self.pipe.send((name, ins))
        return self.pipe.recv()


def be_passive(cfg: RunConfig, rank: int, pipe: Connection) -> None:
    """Run one passive party until told to end."""
    client = Endpoint(build_passive(cfg, rank))
    while True:
        name, ins = pipe.recv()
        if not name:
            pipe.send(peak_memory() or 0)
            return
        pipe.send(getattr(client, name)(ins))


class UntilTarget(Observer):
    """Stops a run at an accuracy."""

    def __init__(self, active: ActiveParty, target: float) -> None:
        self.active, self.target = active, target
        self.reached: Evaluation | None = None

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Look at the active party's accuracy."""
        if self.reached is None and evaluation.validation_accuracy["active"] >= self.target:
            self.reached = evaluation
            self.active.stop = True


def be_active(cfg: RunConfig, target: float, pipes: Sequence[Connection], out: Connection) -> None:
    """Run the active party's protocol and report its outcome."""
    active = build_active(cfg)
    watch = active.observer = UntilTarget(active, target)
    clients = [Piped(pipe) for pipe in pipes]
    with contextlib.suppress(Interrupted):  # it is told to stop
        serve(active, clients)
    ledger, reached = active.ledger, watch.reached
    out.send(
        {
            "reached": reached and (reached.step, reached.validation_accuracy["active"]),
            "exchanges": ledger.exchanges["training"],
            "bytes": ledger.total(UP) + ledger.total(DOWN),
            "peaks": [peak_memory() or 0, *(client.peak() for client in clients)],
        }
    )


def train(cfg: RunConfig, target: float) -> dict[str, Any]:
    """Run one method, a process for each party."""
    pipes = [spawn.Pipe() for _ in range(cfg.parties - 1)]
    result, out = spawn.Pipe()
    processes = [
        spawn.Process(target=be_passive, args=(cfg, rank, theirs))
        for rank, (_, theirs) in enumerate(pipes, 1)
    ]
    processes.append(
        spawn.Process(target=be_active, args=(cfg, target, [ours for ours, _ in pipes], out))
    )
    for process in processes:
        process.start()
    for theirs in (out, *(end for pair in pipes for end in pair)):
        theirs.close()  # here, so that a process that dies is noticed
    try:
        measured: dict[str, Any] = result.recv()
    except EOFError:
        raise SystemExit(f"{cfg.method} failed; see above") from None
    finally:
        for process in processes:
            process.join(10)
            process.terminate()
    return measured


def measure(given: Arguments, report: Report) -> None:
    """Measure contenders one after the other."""
    columns = {"method": "", "steps": "", "reached %": ".2f", "exchanges": "", "MiB": ".2f"}
    columns |= {"Mibit": ".2f", "peak MiB by party": ""}
    table = report.table(f"to {given.target:.0%} of {given.dataset}'s validation rows", columns)
    common = ("data_dir", "dataset", "models", "parties", "eval_every")
    shared = {key.replace("_", "-"): getattr(given, key) for key in common}
    for name in given.names:
        options = {"baselines": "off", "device": "cpu"} | shared | CONTENDERS[name]
        measured = train(RunConfig.from_mapping(options), given.target)
        steps, accuracy = measured["reached"] or ("never", None)
        sent = measured["bytes"] / MIB
        peaks = "  ".join(
            f"{party_name(rank)} {peak / MIB:.0f}" for rank, peak in enumerate(measured["peaks"])
        )
        percent = None if accuracy is None else 100 * accuracy
        table.add(name, steps, percent, measured["exchanges"], sent, 8 * sent, peaks)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "dataset": Option("mnist", tiny="digits"),
        "models": Option("mixed", tiny="mlp", help="the parties' networks"),
        "parties": Option(4, tiny=2, help="number of parties"),
        "target": Option(0.85, tiny=0.1, help="accuracy to reach"),
        "eval_every": Option(10, tiny=2, help="steps between evaluations"),
    },
    known=list(CONTENDERS),
    few=["splitnn"],
)

if __name__ == "__main__":
    BENCHMARK.run()
