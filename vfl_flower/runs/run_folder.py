"""The run folder: what a run leaves behind, and how it is found again."""

import fcntl
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from vfl_flower.common.errors import RunError
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.json_schema import fits
from vfl_flower.common.layout import CONFIG, steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig, differences, read_toml
from vfl_flower.config.schema import split_list
from vfl_flower.data.alignment_record import is_aligned
from vfl_flower.runs.results import RESULT, RESULT_SHAPE, fit_together, write_result


class RunFolder:
    """One run's folder: ``config.toml``, ``metrics.jsonl``, ``result.json``, a folder per party.

    Parameters
    ----------
    path : Path
        Where it is, or will be once the run begins.
    cfg : RunConfig
        The run's configuration.
    fresh : bool
        Whether the run is a new one, so that nothing may be there yet.

    Raises
    ------
    RunError
        If a new run's folder exists and is not empty.
    """

    def __init__(self, path: Path, cfg: RunConfig, fresh: bool = True) -> None:
        self.path, self.cfg, self.fresh = path, aligned_in(path, cfg), fresh
        self._lock: int | None = None
        self._begun = self._provisional = False
        if fresh:
            self.check_free(path)

    @staticmethod
    def check_free(path: Path) -> None:
        """Refuse a folder that is there and not empty.

        Raises
        ------
        RunError
            Says so, or that one cannot even look.
        """
        with refused(path):
            if path.exists() and not path.is_dir():
                raise RunError(f"{path} is a file; choose another out")
            if path.exists() and any(path.iterdir()):
                raise RunError(f"{path} exists and is not empty; choose another out, or resume it")

    @classmethod
    def reopen(cls, path: Path, changes: dict[str, object]) -> "RunFolder":
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
            If there is no run, or a knob that makes it what it is differs from its own.
        """
        with refused(path):
            if not (path / CONFIG).is_file():
                raise RunError(f"{path} holds no run ({CONFIG} is missing)")
        kept = RunConfig.from_mapping(read_toml(path / CONFIG))
        return cls(path, changed_from(path, kept, changes), fresh=False)

    @property
    def aligns(self) -> bool:
        """Whether the alignment of the parties' own tables is, or has yet to come, in here."""
        return self.cfg.own_tables and Path(self.cfg.alignment) == self.path.absolute()

    @property
    def is_to_align(self) -> bool:
        """Whether that alignment has yet to come: the active party's part is written last."""
        return self.aligns and not is_aligned(self.path / party_name(0))

    def take(self) -> None:
        """Take the folder for this process, and make it, if it is new.

        Raises
        ------
        RunError
            If another process works in it, or it is no longer free.
        """
        if self._lock is not None:
            return
        with refused(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.end()
                raise RunError(f"another process works in {self.path}; let it end first") from None
        if self.fresh:
            self.check_free(self.path)
            self._provisional = True

    def begin(self) -> None:
        """Take the folder, and write the configuration.

        Raises
        ------
        RunError
            See `take`; or it cannot be written.
        """
        if self._begun:
            return
        self.take()
        content = public_config(self.cfg) | ({"alignment": ""} if self.aligns else {})
        write_atomically(self.path / CONFIG, tomli_w.dumps(content).encode())
        self.fresh = self._provisional = False
        self._begun = True

    def keep(self) -> None:
        """Keep what is in a folder that was taken, though no run has begun in it."""
        self._provisional = False

    def give_up(self) -> None:
        """Leave nothing in a folder that was taken, and in which no run has begun."""
        if self._provisional:
            shutil.rmtree(self.path, ignore_errors=True)
        self.end()

    def end(self) -> None:
        """Leave the folder to others."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock, self._begun = None, False

    def last_checkpoint(self) -> int | None:
        """Return the step of the last whole set of checkpoints, or None."""
        kept = steps_kept(self.path / party_name(0))
        return kept[-1] if kept else None

    def result(self) -> dict[str, Any] | None:
        """Return the result if the run is complete.

        Raises
        ------
        RunError
            If there is something else in its place.
        """
        path = self.path / RESULT
        try:
            result = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            result = None
        if not fits(result, RESULT_SHAPE) or not fit_together(result):
            raise RunError(
                f"{path} is damaged, or of another version; without it, resume writes it anew"
            )
        return result  # type: ignore[no-any-return]

    def write_result(self, result: dict[str, Any]) -> None:
        """Write ``result.json``; it marks the run complete."""
        write_result(self.path, result)


def changed_from(path: Path, kept: RunConfig, changes: dict[str, object]) -> RunConfig:
    """Return a run's configuration with the changes of a resume; refuse what makes it another."""
    asked = RunConfig.from_mapping(kept.to_mapping() | changes)
    if told := differences(kept, asked):
        raise RunError(f"{path} was started with another configuration: {told}")
    return asked


def aligned_in(path: Path, cfg: RunConfig) -> RunConfig:
    """Let a run of own tables that names no alignment find it in its own folder."""
    if not cfg.own_tables or cfg.alignment:
        return cfg
    return replace(cfg, alignment=str(path.absolute()))


def public_config(cfg: RunConfig) -> dict[str, Any]:
    """Return what a run folder keeps of a configuration."""
    public = {k: v for k, v in cfg.to_mapping().items() if k != "out"}
    return public | {
        "data-dir": str(Path(cfg.data_dir).absolute()),
        "tables": ",".join(_whole(each) for each in split_list(cfg.tables)),
        "alignment": _whole(cfg.alignment),
    }


def _whole(path: str) -> str:
    """Return a path that means the same in every folder; nothing stays nothing."""
    return str(Path(path).absolute()) if path else ""
