"""Tables of a million rows, aligned and trained over a deployment."""

from benchmarks.storming.data import make_tables, options, own
from benchmarks.storming.loopback import Clock, Loopback
from benchmarks.storming.scenario import ERROR, Storm, error_in

ROWS = 1_000_000
TRAIN = 'method="splitnn" models="mlp" epochs=1 batch-size=4096 answer-timeout=1200.0'


def million_rows(storm: Storm) -> None:
    """Align two tables of a million customers, and train one epoch."""
    place, rows = storm.place(), 2000 if storm.tiny else ROWS
    files = make_tables(place.parent / "tables", 2, rows)
    with Loopback(place, 1, own=own(files[1:])) as scene, storm.watch(scene, 5.0):

        def tried(clock: Clock) -> tuple[str, str]:
            run = scene.start("rows", f"{options(files[0])} {TRAIN}")
            log = run.finish(clock)
            common = next((line for line in log.splitlines() if "common to all" in line), "")
            if all(scene.weights("rows")):
                return "trained", common.partition(":")[2].strip()
            return ERROR, error_in(log)

        storm.tried(f"{rows:,} customers", tried, storm.limit * 5)
