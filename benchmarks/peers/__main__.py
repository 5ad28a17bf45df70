"""Other systems beside this one, at the same split learning.

    python -m benchmarks.peers --data-dir DIR --environments DIR [NAME ...]

All contenders get the same networks with the same initial weights, data, batches and optimizer, and
one thread each. Runs of a peer and of this project alternate; ratios are of neighbouring runs, and
medians are shown. A peer that is not installed gets an environment of its own in the folder of
environments; one that cannot be installed is named with the reason.

Of NVFlare and FATE, one party has images and the other labels, in batches. Flower's example sends
the embeddings of all rows in each round, and so does this project beside it. Bytes are those of
the messages' content, with this project's framing; those of NVFlare and FATE are not counted.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.report import Report, Table
from benchmarks.peers.contest import Outcome, begin, ours, theirs
from benchmarks.peers.environment import interpreter
from benchmarks.peers.errors import PeerError
from benchmarks.peers.peer import DEPLOYED, OURS
from benchmarks.peers.registry import PEERS
from vfl_flower.common.signals import raise_at_signals

COLUMNS = {
    "contest": "",
    "system": "",
    "runs as": "",
    "networks": "",
    "ms a step": ".2f",
    "times ours": ".1f",
    "kB a step": ".1f",
    "peak MiB": ".0f",
    "test accuracy, %": ".2f",
}
US = "vfl-flower"


def measure(given: Arguments, report: Report) -> None:
    """Run the contests one after the other."""
    table = report.table("split learning of the same networks, in turn", COLUMNS)
    for name in given.names:
        peer = PEERS[name]
        try:
            folder = Path(given.environments) if given.environments else None
            python: str | None = interpreter(peer, folder)
        except PeerError as error:
            report.fact(name, f"{peer.title}: {error}")
            python = None
        if python or (given.tiny and peer.way != DEPLOYED):
            for models in given.models.split(","):
                contest(given, name, models, python, table, report)
    if not table.rows:
        table.add("none", *[None] * (len(COLUMNS) - 1))


def contest(
    given: Arguments, name: str, models: str, python: str | None, table: Table, report: Report
) -> None:
    """Let a peer and this project run in turn; add their rows."""
    peer = PEERS[name]
    options: dict[str, Any] = {**(peer.tiny if given.tiny else peer.work), "models": models}
    options["data-dir"] = str(Path(given.data_dir).absolute())
    mine, other = list[Outcome](), list[Outcome]()
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
            folder = Path(temporary) / "work"
            begin(peer, folder, options, given.warm_up)
            try:
                other += [theirs(peer, python, folder)] if python else []
            except PeerError as error:
                report.fact(f"{name}, {models}", f"did not run here: {error}")
                python = None
            mine.append(ours(peer, folder))
    if other:
        ratios = [b.ms / a.ms for a, b in zip(mine, other, strict=False)]
        table.add(*row(name, peer.title, peer.runs, models, other, statistics.median(ratios)))
    table.add(*row(name, US, OURS[peer.way], models, mine, 1.0))


def row(
    name: str, system: str, runs: str, models: str, outcomes: list[Outcome], ratio: float
) -> list[Any]:
    """Return a row of medians."""

    def median(key: str, unit: float) -> float | None:
        values = [getattr(each, key) for each in outcomes]
        return None if None in values else statistics.median(values) / unit

    figures = median("bytes", 1e3), median("peak", 1 << 20)
    return [name, system, runs, models, median("ms", 1), ratio, *figures, median("accuracy", 0.01)]


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "environments": Option(
            "peer-environments", tiny=None, help="folder of the peers' environments"
        ),
        "models": Option("mlp,cnn", tiny="mlp", help="networks of the parties with columns"),
        "repeats": Option(3, tiny=1, help="runs of each contender"),
        "warm_up": Option(20, tiny=2, help="steps that are not timed, at most"),
    },
    known=list(PEERS),
    few=["nvflare", "fate"],
)

if __name__ == "__main__":
    raise_at_signals()  # so that no contender stays behind
    BENCHMARK.run()
