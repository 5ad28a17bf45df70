"""A SuperNode with other code, or with a full disk."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.storming.data import SHARED, undisturbed
from benchmarks.storming.loopback import Clock, Loopback
from benchmarks.storming.scenario import ERROR, SAME, SKIPPED, UNCLEAR, Storm, judged

SIZE = 4 << 20  # bytes of the disk that gets full
EPOCHS = 30
_SPACE = ("unshare", "--mount", "--map-root-user")
_MOUNT = 'mkdir -p "$0" && mount -t tmpfs -o size={size},mode=700 storm "$0" && exec "$@"'


def other_code(storm: Storm) -> None:
    """Change one line of a node's code; later change it back."""
    expected = undisturbed(storm.place() / "local", 3, ("--epochs", "2"), storm.limit)
    place = storm.place()
    home = place / "other-flwr"
    with Loopback(place, 2, env={"node2": {"FLWR_HOME": str(home)}}) as scene:

        def work(name: str, change: Callable[[], None]) -> Callable[[Clock], tuple[str, str]]:
            def tried(clock: Clock) -> tuple[str, str]:
                change()
                run = scene.start(name, f"epochs=2 {SHARED}")
                run.finish(clock)
                return judged(scene, run, expected, "party-2")

            return tried

        storm.tried("a node with a home of its own", work("first", lambda: None))
        (file,) = home.glob("apps/*/strategies/easter.py")
        code = file.read_text()
        storm.tried(
            "another version of the code at a node",
            work("changed", lambda: _write(file, f"{code}\n# another version\n")),
        )
        storm.tried("the same version again", work("back", lambda: _write(file, code)))


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def full_disk(storm: Storm) -> None:
    """Fill a node's disk before and within a run; make room."""
    expected = undisturbed(storm.place() / "local", 3, ("--epochs", str(EPOCHS)), storm.limit)
    place = storm.place()
    if told := _impossible():
        storm.tried("a full disk at a node", lambda clock: (SKIPPED, told))
        return
    words = (*_SPACE, "sh", "-c", _MOUNT.format(size=SIZE), str(place / "party-2"))
    with SmallDisk(place, 2, before={"node2": words}) as scene:
        storm.tried("a full disk at a node: from the start", filled(scene, expected, 0))
        storm.tried("a full disk at a node: while training", filled(scene, expected, 3))


def _impossible() -> str:
    """Return the reason why no small disk can be made, or nothing."""
    if not shutil.which(_SPACE[0]):
        return "there is no unshare"
    done = subprocess.run(  # noqa: S603
        [*_SPACE, "sh", "-c", "mount -t tmpfs storm /mnt"], capture_output=True, check=False
    )
    return "this user may not mount anything" if done.returncode else ""


class SmallDisk(Loopback):
    """Deployment whose second party has a small disk."""

    def home_of(self, name: str) -> Path:
        """Return the folder as the component sees it."""
        folder = super().home_of(name)
        if name not in self.before or name not in self.processes:
            return folder
        return Path(f"/proc/{self.processes[name].pid}/root") / folder.relative_to("/")

    def fill(self) -> Path:
        """Fill the disk; return the file that does."""
        ballast = self.home_of("node2") / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue
        return ballast


def filled(
    scene: SmallDisk, expected: list[bytes], epoch: int
) -> Callable[[Clock], tuple[str, str]]:
    """Return a function that fills the disk, makes room, and goes on."""

    def tried(clock: Clock) -> tuple[str, str]:
        name = f"full-{epoch}"
        ballast = scene.fill() if not epoch else None
        run = scene.start(name, f"epochs={EPOCHS} stream-grace=10.0 {SHARED}")
        if ballast is None:
            run.reach(epoch, clock)
            ballast = scene.fill()
        run.finish(clock)
        outcome, told = judged(scene, run, expected, "party-2")
        ballast.unlink()
        if outcome != ERROR:
            return outcome, told
        after = (
            scene.going_on(f'resume="{name}" stream-listen="127.0.0.1:0" stream-grace=10.0', name)
            if epoch
            else scene.start(f"{name}-again", f"epochs={EPOCHS} {SHARED}")
        )
        after.finish(clock)
        ended, said = judged(scene, after, expected)
        word = "resumed" if epoch else "started again"
        if ended == SAME:
            return ERROR, f"{told}; {word} with room: same weights"
        return UNCLEAR, f"{told}; {word} with room: {said}"

    return tried
