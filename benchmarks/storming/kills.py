"""SuperNodes and SuperLinks that die in each phase."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.storming.data import SHARED, make_tables, options, own, undisturbed
from benchmarks.storming.loopback import LISTEN, Clock, Loopback
from benchmarks.storming.scenario import ERROR, SAME, UNCLEAR, Storm, judged

PHASES = {
    "training": "embed",
    "alignment": "blind_ids",
    "evaluation": "embed_only",
    "results": "save",
}
"""Phase of the protocol that is going on when a process dies, by the name for people."""

CUSTOMERS, EPOCHS = 600, 3
FLAGS = ("--dataset", "own", "--id", "customer", "--label", "bought", "--epochs", str(EPOCHS))


@contextmanager
def tables(storm: Storm) -> Iterator[tuple[Loopback, str, list[bytes]]]:
    """Start a deployment with own tables; yield options and weights too."""
    place = storm.place()
    files = make_tables(place.parent / "tables", 3, CUSTOMERS)
    given = ("--tables", ",".join(map(str, files)), *FLAGS)
    expected = undisturbed(place.parent / "local", 3, given, storm.limit)
    scene = Loopback(place, 2, own=own(files[1:]))
    with scene:
        yield scene, f"{options(files[0])} epochs={EPOCHS} stream-grace=10.0 {SHARED}", expected


def killed_nodes(storm: Storm) -> None:
    """Kill a SuperNode in each phase; a supervisor restarts it."""
    with tables(storm) as (scene, given, expected), scene.supervised(1):

        def work(phase: str) -> Callable[[Clock], tuple[str, str]]:
            def tried(clock: Clock) -> tuple[str, str]:
                scene.wait_online()
                scene.to_die("node2", PHASES[phase])
                run = scene.start(f"node-{phase}", given)
                run.finish(clock)
                outcome, told = judged(scene, run, expected, "party-2")
                if outcome != ERROR:
                    return outcome, told
                scene.wait_online()
                return anew(scene, run.name, given, expected, clock, told)

            return tried

        for phase in storm.few([*PHASES]):
            storm.tried(f"a SuperNode is killed: {phase}", work(phase))


def killed_links(storm: Storm) -> None:
    """Kill a SuperLink in each phase; restart it and resume."""
    with tables(storm) as (scene, given, expected):

        def work(phase: str) -> Callable[[Clock], tuple[str, str]]:
            def tried(clock: Clock) -> tuple[str, str]:
                scene.to_die("link", PHASES[phase])
                run = scene.start(f"link-{phase}", given)
                clock.wait(lambda: scene.processes["link"].poll() is not None, "its death")
                run.forget()
                scene.end("link")
                scene.start_link()
                scene.wait_online()
                resumed = scene.going_on(
                    f'resume="{run.name}" {LISTEN} stream-grace=10.0', run.name
                )
                resumed.finish(clock)
                outcome, told = judged(scene, resumed, expected)
                if outcome != ERROR:
                    return outcome, "resumed"
                return anew(scene, run.name, given, expected, clock, f"the resume said: {told}")

            return tried

        for phase in storm.few([*PHASES]):
            storm.tried(f"the SuperLink is killed: {phase}", work(phase))


def anew(
    scene: Loopback, name: str, given: str, expected: list[bytes], clock: Clock, told: str
) -> tuple[str, str]:
    """Start a run again, under its own name or another."""
    for other in (name, f"{name}-again"):
        run = scene.start(other, given)
        run.finish(clock)
        outcome, said = judged(scene, run, expected)
        if outcome == SAME:
            return SAME, f"started again as {other}, after: {told}"
        told = f"{told}; started again as {other}: {said}"
        if outcome != ERROR:
            break
    return (UNCLEAR if outcome == ERROR else outcome), told
