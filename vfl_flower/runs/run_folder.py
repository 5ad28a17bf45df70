"""Run folder: configuration, metrics and result of a run, and its lock."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.records import check_toml, without_sum
from vfl_flower.common.errors import DamageError, RunError
from vfl_flower.common.files import is_temporary, refused, remove_temporaries
from vfl_flower.common.json_schema import fits
from vfl_flower.common.layout import CONFIG, is_aligned, steps_kept, tables_in
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.config_file import (
    ALIGNING,
    COMPLETE,
    TRAINING,
    aligned_in,
    changed_from,
    options_in,
    public_config,
    state_in,
    task_in,
    write_config,
)
from vfl_flower.runs.results import (
    RESULT,
    RESULT_SHAPE,
    fit_together,
    under_present_names,
    write_result,
)


class RunFolder:
    """Folder of one run, with a folder for each party.

    Parameters
    ----------
    path : Path
        Its path; it is made when the run begins.
    cfg : RunConfig
        The run's configuration.
    fresh : bool
        Whether the run is a new one, so that nothing may be there yet.

    Attributes
    ----------
    begun : bool
        Whether its training has begun; before that, the parties agree on its rows.

    Raises
    ------
    RunError
        If a new run's folder exists and is not empty.
    """

    def __init__(self, path: Path, cfg: RunConfig, fresh: bool = True) -> None:
        self.path, self.cfg, self.fresh = path, aligned_in(path, cfg), fresh
        self._lock: int | None = None
        self._above: list[Path] = []
        self._written = self._provisional = False
        if fresh:
            self.check_free(path)
        self.begun = not fresh and state_in(path) != ALIGNING

    @staticmethod
    def check_free(path: Path) -> None:
        """Refuse a folder that exists and is not empty.

        Files that a killed process had begun to write do not count.

        Raises
        ------
        RunError
            If it is not empty, or cannot be read.
        """
        with refused(path):
            if path.exists() and not path.is_dir():
                raise RunError(f"{path} is a file; choose another out")
            if path.exists() and not all(map(is_temporary, path.iterdir())):
                raise RunError(f"{path} exists and is not empty; choose another out, or resume it")

    @classmethod
    def aligning(cls, path: Path, cfg: RunConfig) -> "RunFolder":
        """Open the folder of an alignment, new or interrupted.

        Raises
        ------
        RunError
            If it is of something else, or was begun with other options.
        """
        if state_in(path) != ALIGNING or task_in(path) != cfg.task:
            return cls(path, cfg)
        kept = cls.reopen(path, {}, task=cfg.task)
        if public_config(kept.cfg) != public_config(aligned_in(path, cfg)):
            raise RunError(f"{path} was begun with other options; choose another out")
        return kept

    @classmethod
    def reopen(
        cls, path: Path, changes: dict[str, object], trust_code: bool = False, task: str = "train"
    ) -> "RunFolder":
        """Open the folder of an earlier run.

        Parameters
        ----------
        path : Path
            Its folder.
        changes : dict of str to object
            Options given beside ``--resume``, by their kebab-case names.
        trust_code : bool
            Whether the code of networks that the folder names may be imported.
        task : str
            What the folder must be of.

        Raises
        ------
        RunError
            If there is no run, or one of another task, or an option that identifies it differs
            from its own.
        """
        with refused(path):
            if not (path / CONFIG).is_file():
                with suppress(FileNotFoundError, NotADirectoryError, ValueError):
                    (path / CONFIG).stat()  # from Python 3.14 on, `is_file` hides why not
                raise RunError(f"{path} holds no run ({CONFIG} is missing)")
        check_toml(path / CONFIG)
        kept = RunConfig.from_record(_with_tables(path, options_in(path)))
        if kept.task != task:
            raise RunError(f"{path} is of task = {kept.task}, and holds no run of task = {task}")
        asked = changed_from(path, kept, changes).unless_trusted(path / CONFIG, trust_code)
        if asked.joins and state_in(path) == COMPLETE:  # it has all that it began with
            asked = replace(asked, model=str(path.absolute()))
        return cls(path, asked, fresh=False)

    @property
    def aligns(self) -> bool:
        """Whether this folder has, or will have, the alignment of own tables."""
        return self.cfg.own_tables and Path(self.cfg.alignment) == self.path.absolute()

    @property
    def holds_tables(self) -> bool:
        """Whether the parties' own tables lie in this folder."""
        return self.cfg.own_tables and self.cfg.tables == _tables_of(self.path, self.cfg.parties)

    @property
    def is_to_align(self) -> bool:
        """Whether that alignment is missing; the active party writes its part last."""
        return self.aligns and not is_aligned(self.path / party_name(0))

    def take(self, write_first: Callable[[], None] | None = None) -> None:
        """Lock the folder for this process; make a new one.

        Parameters
        ----------
        write_first : callable, optional
            Writes the file that says of a new folder what it is of, before there is any other; by
            default the run's configuration.

        Raises
        ------
        RunError
            If another process works in it, or it is no longer free.
        """
        if self._lock is not None:
            return
        with refused(self.path):
            self._above = [each for each in self.path.parents if not each.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.end()
                raise RunError(f"another process works in {self.path}; let it end first") from None
        if self.fresh:
            self.check_free(self.path)
            self._provisional, self.fresh = True, False
            (write_first or partial(self._write, ALIGNING))()
        remove_temporaries(self.path)

    def begin(self) -> None:
        """Lock the folder, and record that training begins.

        Raises
        ------
        RunError
            See `take`; or it cannot be written.
        """
        if self._written:
            return
        self.take()
        self._write(TRAINING)
        self._provisional = False
        self.begun = self._written = True

    def complete(self) -> None:
        """Record that there is nothing left to do."""
        self._write(COMPLETE)
        self._provisional = False

    def settle(self) -> None:
        """Tidy up a complete run that was killed at its end."""
        if state_in(self.path) == TRAINING:
            self.take()
            try:
                self.complete()
            finally:
                self.end()

    def _write(self, state: str) -> None:
        content = public_config(self.cfg) | ({"alignment": ""} if self.aligns else {})
        content |= {"tables": ""} if self.holds_tables else {}
        write_config(self.path, state, content)

    def give_up(self) -> None:
        """Remove a locked folder in which no run has begun."""
        if self._provisional:
            shutil.rmtree(self.path, ignore_errors=True)
            for folder in self._above:
                with suppress(OSError):  # something else is in it by now
                    folder.rmdir()
        self.end()

    def end(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock, self._written = None, False

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
            content = without_sum(path, json.loads(path.read_text()), warn=False)
            result = under_present_names(content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, DamageError):
            result = None
        if not fits(result, RESULT_SHAPE) or not fit_together(result):
            raise RunError(
                f"{path} is damaged, or of another version; without it, resume writes it anew"
            )
        return result  # type: ignore[no-any-return]

    def write_result(self, result: dict[str, Any]) -> None:
        """Write ``result.json``; it marks the run complete."""
        write_result(self.path, result)
        self.complete()


def _with_tables(path: Path, values: dict[str, object]) -> dict[str, object]:
    """Name the tables in the run's own folder if none is named."""
    parties = values.get("parties")
    if values.get("dataset") != "own" or values.get("tables") or not isinstance(parties, int):
        return values
    return values | {"tables": _tables_of(path, parties)}


def _tables_of(path: Path, parties: int) -> str:
    return tables_in(path, map(party_name, range(parties)))
