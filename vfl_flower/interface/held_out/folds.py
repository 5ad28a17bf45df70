"""Cross-validation: a run for each fold, and their means."""

import os
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import FOLDS
from vfl_flower.interface.checks import check_number, path_of
from vfl_flower.interface.data.shared import take_alignment
from vfl_flower.interface.data.source import Tables, begun, source_of
from vfl_flower.interface.folders import Place, in_full, resumable
from vfl_flower.interface.models import named
from vfl_flower.interface.progress import watch_of
from vfl_flower.interface.run import Run
from vfl_flower.interface.train import removed_after_failure, without_private
from vfl_flower.runs.results import write_result
from vfl_flower.runs.seed_summary import summary_of
from vfl_flower.runs.seeds import Repeated, begin_folds, repeated
from vfl_flower.workflows.local.folds import begin_all, trained_folds


class CrossValidation:
    """Runs of all folds, complete or not.

    Parameters
    ----------
    path : str or Path
        Their folder.
    trust_code : bool
        Whether networks that it names may be imported.

    Raises
    ------
    RunError
        If there are none.
    """

    def __init__(self, path: "str | os.PathLike[str] | Place", trust_code: bool = False) -> None:
        self._place = path if isinstance(path, Place) else Place(path_of(path, "path"))
        self._trust_code, self.path = trust_code, self._place.path
        if not (self.path / FOLDS).is_file():
            raise RunError(f"{self.path} holds no folds ({FOLDS} is missing)")
        with in_full():
            self._folders = self._again().runs

    def _again(self) -> Repeated:
        """Open the folders of all folds."""
        again = repeated(self.path, {}, self._trust_code)
        assert again is not None  # noqa: S101  there is a list of folds
        return again

    def __len__(self) -> int:
        """Return the number of folds."""
        return len(self._folders)

    @property
    def runs(self) -> list[Run]:
        """Runs of the folds that have begun, in order."""
        there = [each.path for each in self._again().runs if each.begun]
        return [Run(Place(path, self._place), self._trust_code) for path in there]

    @property
    def result(self) -> dict[str, Any]:
        """Means and standard deviations over the folds, as ``result.json`` has them.

        Raises
        ------
        RunError
            If not all folds are complete.
        """
        results = [folder.result() for folder in self._folders]
        complete = [each for each in results if each is not None]
        if len(complete) < len(results):
            done = f"{len(complete)} of {len(results)} folds in {self.path} are complete"
            raise RunError(f"{done}; resume them first")
        return summary_of(complete)

    def resume(self, *, progress: bool | None = None) -> "CrossValidation":
        """Train the folds that are not complete.

        Parameters
        ----------
        progress : bool, optional
            See `train`.

        Raises
        ------
        VflError
            See `train`.
        KeyboardInterrupt
            After Ctrl-C; a note names the folder.
        """
        with in_full():
            again = self._again()
            self._folders = again.runs
            with resumable(self._place, FOLDS, "CrossValidation"):
                trained_folds(again, watch_of(progress))
            write_result(self.path, self.result)
        return self

    def __repr__(self) -> str:
        return f"CrossValidation({len(self)} folds, {self.path})"


def cross_validate(
    data: "str | Tables",
    *,
    folds: int = 5,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Any,  # noqa: ANN401
) -> CrossValidation:
    """Train a model for each fold, on the other folds.

    Tables are aligned once. Every run fits its own encoders, on its training rows.

    Parameters
    ----------
    data : str, or sequence of Table or Arrays
        See `train`.
    folds : int
        How many there are, from 2.
    out : str or Path, optional
        Folder of all runs, which `CrossValidation` opens again. Without it, a private temporary
        folder that is removed with the `CrossValidation` and its runs.
    progress : bool, optional
        See `train`.
    **options
        Options that all runs have; see `train`. ``split`` says how the folds are cut.

    Raises
    ------
    VflError
        If something cannot be as it is said.
    """
    with in_full():
        check_number(folds, "folds", whole=True)
        source, place = source_of(data), Place(out)
        with removed_after_failure(place):
            options, alignment = without_private(options)
            folder = begun(
                source,
                place,
                task="train",
                options=named(options, place),
                write_first=lambda made: begin_folds(made.path, made.cfg, folds),
            )
            if alignment:
                take_alignment(alignment.path, folder.path)
            begin_all(folder, folds, watch_of(progress))
            return CrossValidation(place, trust_code=True).resume(progress=progress)
