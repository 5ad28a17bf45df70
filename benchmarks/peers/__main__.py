"""Other systems beside this one: split learning, boosted trees, papers' methods.

    python -m benchmarks.peers --data-dir DIR --environments DIR [NAME ...]

All contenders get the same networks with the same initial weights, data, batches and optimizer; or
the same encoded columns, rounds, depth, learning rate, bins and regularization; and one thread
each. Runs of a peer and of this project alternate; ratios are of neighbouring runs, and
medians are shown. A peer that is not installed gets an environment of its own in the folder of
environments; one that cannot be installed is named with the reason.

Of NVFlare and FATE, one party has images and the other labels, in batches. Flower's example sends
the embeddings of all rows in each round, and so does this project beside it. Bytes are those of
the messages' content, with this project's framing; those of NVFlare and FATE are not counted in
split learning. Trees are of three parties. NVFlare grows them by XGBoost's federated histograms;
its bytes are those that XGBoost sends and gets. FATE's Hetero-SecureBoost encrypts gradients, as
does this project beside it, or has its mock in the place of a cipher; its bytes are those of
values that it passes on. The time and bytes of a tree are means of all but the first.

The programs of two papers' authors are cloned from GitHub at a pinned commit; where that is not to
be had, Git's own ``url.BASE.insteadOf`` names a copy. Each is one program that sends nothing.
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
from benchmarks.peers.kind import Kind
from benchmarks.peers.peer import DEPLOYED, OURS
from benchmarks.peers.registry import PEERS
from vfl_flower.common.signals import raise_at_signals

US = "vfl-flower"


def measure(given: Arguments, report: Report) -> None:
    """Run the contests one after the other."""
    tables = dict[str, Table]()
    for name in given.names:
        peer = PEERS[name]
        try:
            folder = Path(given.environments) if given.environments else None
            python: str | None = interpreter(peer, folder)
        except PeerError as error:
            report.fact(name, f"{peer.title}: {error}")
            python = None
        if python or (given.tiny and peer.way != DEPLOYED):
            table = tables.get(peer.kind.title) or table_of(peer.kind, report)
            tables[peer.kind.title] = table
            fixed = peer.work.get(peer.kind.option)
            for value in [fixed] if fixed else getattr(given, peer.kind.option).split(","):
                contest(given, name, value, python, table, report)


def table_of(kind: Kind, report: Report) -> Table:
    """Begin the table of a kind of work."""
    names = dict.fromkeys(("contest", "system", "runs as", kind.each), "")
    return report.table(kind.title, names | dict(kind.columns))


def contest(
    given: Arguments, name: str, value: str, python: str | None, table: Table, report: Report
) -> None:
    """Let a peer and this project run in turn; add their rows."""
    peer = PEERS[name]
    options: dict[str, Any] = dict(peer.tiny if given.tiny else peer.work)
    options |= {peer.kind.option: value, "data-dir": str(Path(given.data_dir).absolute())}
    mine, other = list[Outcome](), list[Outcome]()
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
            folder = Path(temporary) / "work"
            begin(peer, folder, options, given.warm_up)
            try:
                other += [theirs(peer, python, folder)] if python else []
            except PeerError as error:
                report.fact(f"{name}, {value}", f"did not run here: {error}")
                python = None
            mine.append(ours(peer, folder))
    if other:
        ratios = [b.ms / a.ms for a, b in zip(mine, other, strict=False)]
        cells = [name, peer.title, peer.runs, value]
        table.add(*cells, *figures(peer.kind, other, statistics.median(ratios)))
    table.add(name, US, OURS[peer.way], value, *figures(peer.kind, mine, 1.0))


def figures(kind: Kind, outcomes: list[Outcome], ratio: float) -> list[float | None]:
    """Return the medians of a row."""

    def median(key: str, unit: float) -> float | None:
        values = [getattr(each, key) for each in outcomes]
        return None if None in values else statistics.median(values) / unit

    ms, size, score = kind.units
    sizes = median("bytes", size), median("peak", 1 << 20)
    return [median("ms", ms), ratio, *sizes, median("score", score)]


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "environments": Option(
            "peer-environments", tiny=None, help="folder of the peers' environments"
        ),
        "models": Option("mlp,cnn", tiny="mlp", help="networks of the parties with columns"),
        "dataset": Option("adult", tiny="breast-cancer", help="tables that trees are grown on"),
        "repeats": Option(3, tiny=1, help="runs of each contender"),
        "warm_up": Option(20, tiny=2, help="steps that are not timed, at most"),
    },
    known=list(PEERS),
    few=["nvflare", "nvflare-trees", "fate"],
)

if __name__ == "__main__":
    raise_at_signals()  # so that no contender stays behind
    BENCHMARK.run()
