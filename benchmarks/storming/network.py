"""Cuts, silence and slow links."""

import time
from collections.abc import Callable
from threading import Thread

from benchmarks.storming.data import SHARED, undisturbed
from benchmarks.storming.loopback import Clock, Loopback, Run
from benchmarks.storming.proxy import Proxy
from benchmarks.storming.scenario import Storm, judged
from deploy.ports import free_port

EPOCHS = 150
DELAY = 0.01  # seconds that the stream takes, so that a run lasts as long as its faults
LONG = 45.0  # seconds, longer than a heartbeat and shorter than the grace time
RATE = float(1 << 20)  # bytes a second of the slow link
WIDE = {"batch-size": "1294", "eval-batch-size": "1294", "embedding-dim": "13312", "epochs": "1"}
"""Options of messages of 66 MiB: the embeddings of all training rows of the digits."""

Fault = Callable[[Run, Clock], None]


def repeated(work: Callable[[], None], pause: float) -> Fault:
    """Return a fault that comes again and again until the run ends."""

    def fault(run: Run, clock: Clock) -> None:
        while not run.ended and clock.left > 0:
            work()
            time.sleep(pause)

    return fault


def once(work: Callable[[], None], epoch: int = 2) -> Fault:
    """Return a fault that comes once, after an epoch."""

    def fault(run: Run, clock: Clock) -> None:
        run.reach(epoch, clock)
        work()

    return fault


def cuts(storm: Storm) -> None:
    """Cut and silence the SuperLink's connections, then the stream's."""
    epochs = 20 if storm.tiny else EPOCHS
    expected = undisturbed(storm.place() / "local", 3, ("--epochs", str(epochs)), storm.limit)
    scene = Loopback(storm.place(), 2)
    link, stream = Proxy(scene.port), Proxy(free_port())
    scene.entry, stream.delay = link.port, DELAY
    faults: dict[str, Fault] = {
        "SuperNode to SuperLink: cut every 3 s": repeated(link.cut, 3.0),
        "SuperNode to SuperLink: cut for 45 s": once(lambda: link.cut_for(LONG)),
        "SuperNode to SuperLink: silent for 45 s": once(lambda: link.silence_for(LONG)),
        "stream: cut every 3 s": repeated(stream.cut, 3.0),
        "stream: silent for 45 s": once(lambda: stream.silence_for(LONG)),
    }
    with scene, storm.watch(scene, 2.0):
        for number, name in enumerate(storm.few([*faults])):
            given = f'stream-listen="127.0.0.1:{stream.target}" epochs={epochs} {SHARED} '
            given += f'stream-advertise="127.0.0.1:{stream.port}"'
            storm.tried(name, disturbed(scene, f"cut-{number}", given, faults[name], expected))
    for each in (link, stream):
        each.close()


def disturbed(
    scene: Loopback, name: str, given: str, fault: Fault, expected: list[bytes]
) -> Callable[[Clock], tuple[str, str]]:
    """Return a fault's work: a run, and meanwhile the fault."""

    def tried(clock: Clock) -> tuple[str, str]:
        run = scene.start(name, given)
        beside = Thread(target=fault, args=(run, clock), daemon=True)
        beside.start()
        run.finish(clock)
        beside.join(LONG)
        return judged(scene, run, expected, "party-")

    return tried


def slow_link(storm: Storm) -> None:
    """Send messages of 66 MiB over a slow link."""
    flags = [word for key, value in WIDE.items() for word in (f"--{key}", value)]
    expected = undisturbed(storm.place() / "local", 3, flags, storm.limit)
    scene, stream = Loopback(storm.place(), 2), Proxy(free_port())
    stream.rate = RATE
    given = " ".join(f"{key}={value}" for key, value in WIDE.items())
    given += ' models="mlp" party-randomness="public" embedding-bound="none" '
    given += f'stream-listen="127.0.0.1:{stream.target}" stream-advertise="127.0.0.1:{stream.port}"'

    def tried(clock: Clock) -> tuple[str, str]:
        run = scene.start("wide", given)
        run.finish(clock)
        outcome, told = judged(scene, run, expected, "party-")
        return outcome, told or f"{stream.carried >> 20} MiB, {stream.connections} connections"

    with scene, storm.watch(scene, 2.0):
        storm.tried("66 MiB a message at 1 MiB/s", tried, storm.limit * 2)
    stream.close()
