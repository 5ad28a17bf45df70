"""The run folder: what a run leaves behind, and how it is found again."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import tomli_w

from vfl_flower.checkpoint import steps_kept
from vfl_flower.config import RunConfig, read_toml
from vfl_flower.errors import RunError
from vfl_flower.names import member_name, party_log, party_name
from vfl_flower.observer import Evaluation, Observer
from vfl_flower.state import write_atomically

CONFIG, METRICS, RESULT, LOG = "config.toml", "metrics.jsonl", "result.json", "log.txt"
PLACES = ("out",)  # knobs that say where a run lies, not what it is


class RunFolder:
    """One run's folder: ``config.toml``, ``metrics.jsonl``, ``result.json``, a folder per party."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, cfg: RunConfig) -> "RunFolder":
        """Make a new folder and write the configuration into it.

        Raises
        ------
        RunError
            If the folder exists and is not empty, or cannot be made.
        """
        cls.check_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            public = {k: v for k, v in cfg.to_mapping().items() if k not in PLACES}
            public["data-dir"] = str(Path(cfg.data_dir).absolute())
            write_atomically(path / CONFIG, tomli_w.dumps(public).encode())
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error}") from error
        return cls(path)

    @staticmethod
    def check_free(path: Path) -> None:
        """Refuse a folder that is there and not empty.

        Raises
        ------
        RunError
            Says so.
        """
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file; choose another out")
        if path.exists() and any(path.iterdir()):
            raise RunError(f"{path} exists and is not empty; choose another out, or resume it")

    @classmethod
    def reopen(cls, path: Path, changes: dict[str, object]) -> tuple["RunFolder", RunConfig]:
        """Find an earlier run again.

        Parameters
        ----------
        path : Path
            Its folder.
        changes : dict of str to object
            Knobs given beside ``--resume``, by their kebab-case names.

        Raises
        ------
        RunError
            If there is no run, or a knob differs from the run's own.
        """
        if not (path / CONFIG).is_file():
            raise RunError(f"{path} holds no run ({CONFIG} is missing); nothing to resume")
        cfg = RunConfig.from_mapping(read_toml(path / CONFIG))
        if "data-dir" in changes:
            changes["data-dir"] = str(Path(str(changes["data-dir"])).absolute())
        asked = RunConfig.from_mapping(cfg.to_mapping() | changes)
        kept, wanted = cfg.to_mapping(), asked.to_mapping()
        differing = [key for key in kept if key not in PLACES and kept[key] != wanted[key]]
        if differing:
            told = "; ".join(f"{key} is {kept[key]!r}, not {wanted[key]!r}" for key in differing)
            raise RunError(f"{path} was started with another configuration: {told}")
        return cls(path), cfg

    def last_checkpoint(self) -> int | None:
        """Return the step of the last whole set of checkpoints, or None."""
        kept = steps_kept(self.path / member_name(0))
        return kept[-1] if kept else None

    def result(self) -> dict[str, Any] | None:
        """Return the result if the run is complete."""
        try:
            result: dict[str, Any] = json.loads((self.path / RESULT).read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RunError(f"{self.path / RESULT} is damaged: {error}") from error
        return result

    def write_result(self, result: dict[str, Any]) -> None:
        """Write ``result.json``; it marks the run complete."""
        write_atomically(self.path / RESULT, (json.dumps(result, indent=2) + "\n").encode())


class PartyLog(logging.FileHandler):
    """A file that its owner alone may read, made when there is something to write."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        return super()._open()


@contextmanager
def party_logs(folder: RunFolder, parties: int) -> Iterator[None]:
    """Let each of so many passive parties of this process log to its own folder."""
    added = []
    for index in range(parties):
        handler = PartyLog(folder.path / party_name(index) / LOG, delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        party_log(index).addHandler(handler)
        added.append((party_log(index), handler))
    try:
        yield
    finally:
        for log, handler in added:
            log.removeHandler(handler)
            handler.close()


class MetricsFile(Observer):
    """Appends each evaluation to ``metrics.jsonl``.

    Parameters
    ----------
    folder : RunFolder
        Whose file.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.path = folder.path / METRICS

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Begin with the evaluations that the checkpoint holds; later ones come again."""
        write_atomically(self.path, "".join(map(_line, records)).encode())

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Append one line."""
        try:
            with self.path.open("a") as file:
                file.write(_line(evaluation))
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error}") from error


def _line(evaluation: Evaluation) -> str:
    return json.dumps(evaluation.as_dict(), allow_nan=False) + "\n"
