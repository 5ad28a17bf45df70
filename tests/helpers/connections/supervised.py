"""A deployment whose programs run and restart as under systemd."""

import subprocess
import sys
import threading
from pathlib import Path

from deploy.local import Deployment

AGAIN = 2.0  # seconds until a program that ended is started again; 5 in the unit


class Supervised(Deployment):
    """SuperLink and SuperNodes side by side with their SuperExecs, each started again.

    Attributes
    ----------
    ended : list of (str, int)
        Name and exit code of each that was started again.
    """

    ended: list[tuple[str, int]]

    def __enter__(self) -> "Supervised":
        self.ended, self._done = [], threading.Event()
        super().__enter__()
        self._watch = threading.Thread(target=self._supervise, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        super().__exit__(*error)

    def _start(self, name: str, program: str, *arguments: str) -> None:
        trust = ["--root-certificates", str(self.folder / "ca.crt")] if name == "link" else []
        port = arguments[arguments.index("--port") + 1]
        address = [*(trust or ["--insecure"]), "--runtime-api-address", f"127.0.0.1:{port}"]
        first = [program, *arguments, "--isolation", "process"]
        self._open(
            name,
            [sys.executable, "-m", "deploy.together", *first, "--", "flower-superexec", *address],
        )

    def _open(self, name: str, command: list[str]) -> None:
        root = Path(__file__).resolve().parents[3]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(  # noqa: S603
                command,
                cwd=self.folder,
                env=self.env | {"PYTHONPATH": str(root)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _supervise(self) -> None:
        while not self._done.wait(AGAIN):
            for name, process in list(self.processes.items()):
                if (code := process.poll()) is not None and not self._done.is_set():
                    self.ended.append((name, code))
                    self._open(name, [str(each) for each in process.args])  # type: ignore[union-attr]
