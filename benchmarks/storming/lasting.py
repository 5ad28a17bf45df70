"""Many runs, many nodes and long runs without growth."""

import time
from collections.abc import Callable

from benchmarks.storming.curves import Curves, files_in, sample
from benchmarks.storming.data import SHARED, make_tables, options, own, undisturbed
from benchmarks.storming.loopback import Clock, Loopback, Run
from benchmarks.storming.proxy import Proxy
from benchmarks.storming.scenario import FLAT, GROWN, SAME, Storm, judged
from deploy.ports import free_port

RUNS, SETTLED = 10, 3
"""Runs in a row, and those after which caches are full."""

IDLE = 5.0  # seconds after a run until its processes are gone
MANY, CUSTOMERS = 8, 1500
MINUTES, EVERY = 10.0, 5.0  # of exchanges; seconds between samples
DELAY = 0.02  # seconds that the link takes: mostly waiting, as between cities
LONG = SHARED.replace("batch-size=256", "batch-size=32") + " epochs=100000"
STEADY = ("MiB", "handles", "threads")


def ten_runs(storm: Storm) -> None:
    """Run ten times on one SuperLink, then twice at once."""
    runs = 2 if storm.tiny else RUNS
    expected = undisturbed(storm.place() / "local", 3, ("--epochs", "2"), storm.limit)
    with Loopback(storm.place(), 2) as scene:
        curves = list[Curves]()

        def row(clock: Clock) -> tuple[str, str]:
            for number in range(runs):
                run = scene.start(f"run-{number}", f"epochs=2 {SHARED}")
                run.finish(clock)
                outcome, told = judged(scene, run, expected)
                if outcome != SAME:
                    return outcome, f"run {number + 1}: {told}"
                time.sleep(IDLE)
                curves.append(snapshot(scene, clock.seconds))
            return grown(storm, scene, curves)

        storm.tried(f"{runs} runs in a row", row, storm.limit * 2)
        for each in curves:
            storm.draw(each)
        if not storm.tiny:
            storm.tried("two runs at once", lambda clock: two_at_once(scene, expected, clock))


def snapshot(scene: Loopback, second: float) -> Curves:
    """Return one sample of the processes that outlive a run."""
    curves = Curves()
    sample(curves, round(second, 1), scene.names(), scene.home_of)
    return curves


def grown(storm: Storm, scene: Loopback, curves: list[Curves]) -> tuple[str, str]:
    """Judge whether runs leave something behind."""
    early = curves[min(SETTLED, len(curves)) - 1]
    more = storm.compare(early, curves[-1], STEADY)
    for name in scene.names().values():
        folders = [each for each in scene.home_of(name).glob("run-*") if each.is_dir()]
        if len({files_in(each) for each in folders}) > 1:
            more.append(f"files of {name}'s runs: {[files_in(each) for each in sorted(folders)]}")
    if left := files_in(scene.temporary):
        more.append(f"{left} temporary files")
    return (GROWN, "; ".join(more)) if more else (SAME, "flat: memory, handles, threads, files")


def two_at_once(scene: Loopback, expected: list[bytes], clock: Clock) -> tuple[str, str]:
    """Start two runs together; both have to end well."""
    runs: list[Run] = [scene.start(f"twin-{k}", f"epochs=2 {SHARED}") for k in range(2)]
    for run in runs:
        run.finish(clock)
    ends = [judged(scene, run, expected) for run in runs]
    worst = next((end for end in ends if end[0] != SAME), ends[0])
    return worst[0], worst[1] or "both"


def eight_nodes(storm: Storm) -> None:
    """Align and train with eight passive parties."""
    place = storm.place()
    files = make_tables(place.parent / "tables", MANY + 1, CUSTOMERS)
    flags = ["--dataset", "own", "--tables", ",".join(map(str, files)), "--id", "customer"]
    flags += ["--label", "bought", "--epochs", "2"]
    expected = undisturbed(place.parent / "local", MANY + 1, flags, storm.limit)
    with Loopback(place, MANY, own=own(files[1:])) as scene, storm.watch(scene, 2.0):
        given = f"{options(files[0])} epochs=2 party-timeout=300.0 {SHARED}"
        storm.tried("eight SuperNodes", lambda clock: whole(scene, given, expected, clock))


def whole(scene: Loopback, given: str, expected: list[bytes], clock: Clock) -> tuple[str, str]:
    """Run once to the end."""
    run = scene.start("whole", given)
    run.finish(clock)
    return judged(scene, run, expected)


def ten_minutes(storm: Storm) -> None:
    """Exchange small batches over a link with some delay."""
    seconds = 5.0 if storm.tiny else MINUTES * 60
    with Loopback(storm.place(), 1 if storm.tiny else 2) as scene:
        link = Proxy(free_port())
        link.delay = DELAY
        with storm.watch(scene, min(EVERY, seconds / 10)) as curves:
            storm.tried(
                f"{seconds / 60:.0f} minutes of exchanges",
                exchanging(storm, scene, link, curves, seconds),
                storm.limit + seconds,
            )
        link.close()


def exchanging(
    storm: Storm, scene: Loopback, link: Proxy, curves: Curves, seconds: float
) -> Callable[[Clock], tuple[str, str]]:
    """Return a function that trains, stops, and compares early with late."""

    def tried(clock: Clock) -> tuple[str, str]:
        given = f'stream-listen="127.0.0.1:{link.target}" stream-advertise="127.0.0.1:{link.port}"'
        method = "splitnn" if storm.tiny else "easter"  # the one needs a single passive party
        run = scene.start("long", f'{given} {LONG} method="{method}"')
        run.reach(1, clock)
        begun, end = curves.second, clock.seconds + seconds
        clock.wait(lambda: run.ended or clock.seconds > end, "the minutes")
        if run.ended:
            return judged(scene, run, [])
        stretch = curves.since(begun)
        epochs, carried = run.epochs, link.carried >> 20
        run.stop()
        run.finish(clock)
        more = storm.compare(stretch.between(0.1, 0.3), stretch.between(0.8, 1.0), STEADY)
        told = f"{epochs} epochs, {carried} MiB in both directions"
        return (GROWN, "; ".join(more)) if more else (FLAT, told)

    return tried
