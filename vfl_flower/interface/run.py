"""A run: metrics, history, predictions, reports."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vfl_flower.analysis.explain.choices import REPEATS, How
from vfl_flower.common.errors import ConfigError, PrivacyError, RunError
from vfl_flower.config.evaluation.metrics import AUTO
from vfl_flower.interface.analysis import (
    audited,
    explained,
    predicted_rows,
    predicted_tables,
    reported,
)
from vfl_flower.interface.checks import check_tables, check_text, path_of
from vfl_flower.interface.data.shared import take_in
from vfl_flower.interface.data.source import OwnTables, Tables
from vfl_flower.interface.folders import Place, copy_folder, in_full, resumable
from vfl_flower.interface.models import give_again
from vfl_flower.interface.options import changes_of
from vfl_flower.interface.progress import watch_of
from vfl_flower.interface.results import Results
from vfl_flower.runs.callback import Callback
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import is_repeated
from vfl_flower.workflows.local.train import finished

if TYPE_CHECKING:
    import pandas as pd

    from vfl_flower.interface.models import Model


class Run(Results):
    """A run with all parties on this machine.

    `train` and `load` make runs.
    """

    def predict(
        self,
        tables: "Tables | None" = None,
        *,
        rows: str = "test",
        truth: bool = False,
        keep_missing: bool = False,
        without: str = "",
        progress: bool | None = None,
    ) -> "pd.DataFrame":
        """Predict new rows, or rows of the run's own data.

        Parameters
        ----------
        tables : sequence of Table, optional
            Of all parties that are there, the active party's first, aligned by their ids. A label
            is not needed.
        rows : {"test", "validation", "all"}
            Part of the run's own rows, where no tables are given.
        truth : bool
            Whether the labels are in the frame, too; those of new rows must be in the first table.
        keep_missing : bool
            Whether rows that some party lacks are in the frame, too, without a prediction.
        without : str
            Passive parties that have left, such as ``"party-2"``, more of them with commas.
        progress : bool, optional
            See `train`.

        Returns
        -------
        DataFrame
            ``id``, ``prediction`` and, of classes, ``probability_CLASS`` for each, and ``truth`` if
            asked for, in the order of the first table. Rows that some party lacks have no
            prediction: a warning counts them, and ``attrs["missing"]`` has their ids and the
            parties that lack them.

        Raises
        ------
        VflError
            If a table cannot be used, or the run is not complete.
        """
        self.result  # noqa: B018  only a complete run predicts
        check_text(without, "without")
        with in_full():
            if tables is None:
                check_text(rows, "rows")
                if keep_missing:
                    raise ConfigError("keep_missing is of new rows; give their tables")
                kept = {"truth": truth, "without": without}
                return predicted_rows(self.path, rows, self._trust_code, **kept)
            check_tables(tables, len(replace(self.config, without=without).present) + 1)
            if rows != "test":
                raise ConfigError(
                    "rows is of the run's own data; of tables, all rows are predicted"
                )
            watch = watch_of(progress)
            kept = {"truth": truth, "keep_missing": keep_missing, "without": without}
            return predicted_tables(self.path, OwnTables(tables), watch, self._trust_code, **kept)

    def report(self, page: str | os.PathLike[str]) -> Path:
        """Write one HTML page about the run, whole in itself.

        Raises
        ------
        ConfigError
            If the page is to be no .html file.
        RunError
            If it cannot be written.
        """
        return reported(self.path, path_of(page, "page"))

    def explain(
        self,
        noise: float | None = None,
        *,
        party: str | None = None,
        rows: str = "validation",
        repeats: int = REPEATS,
        metric: str = AUTO,
    ) -> "pd.DataFrame":
        """Measure the importance of each party, or of one party's columns.

        Parameters
        ----------
        noise : float, optional
            On columns, in standard deviations, for methods with heads.
        party : str, optional
            Whose columns are asked for, such as ``"party-1"``; its folder gets a copy.
        rows, repeats
            Among which rows columns are permuted, ``validation`` or ``test``, and how often.
        metric : str
            Name of the score; ``auto``: the run's.

        Returns
        -------
        DataFrame
            For each party, or column, the score when it is ``permuted``, the ``drop`` to that, and
            its interval, ``low`` and ``high``; of methods with heads more. ``attrs`` has the rest.

        Raises
        ------
        VflError
            If the run held out no such rows, or no party with columns has that name.
        """
        with in_full():
            return explained(self.path, party, noise, How(rows, repeats, metric), self._trust_code)

    def audit(
        self,
        attack: Literal["labels", "reconstruct", "card"] = "labels",
        *,
        epochs: int | None = None,
        known: int = 10,
    ) -> dict[str, Any]:
        """Attack the run, to measure the parties' leakage.

        Parameters
        ----------
        attack : {"labels", "reconstruct", "card"}
            Passive parties infer labels; or others' tiles of images are made of feature maps; or
            all attacks that apply make a leakage card.
        epochs : int, optional
            Of the repeated training, 3, or of the attacker's decoder, 5.
        known : int
            Labels of each class that an attacker of labels has.

        Returns
        -------
        dict
            As ``vfl-flower audit`` prints it with ``--json``.

        Raises
        ------
        VflError
            If there is nothing of the kind to attack.
        """
        with in_full():
            return audited(self.path, attack, epochs, known, self._trust_code)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Keep the run in a folder, for `load` and the command line.

        The folder holds the models of all parties, and tables that were in memory. A run in a
        temporary folder lives in the new one from then on.

        Parameters
        ----------
        path : str or Path
            Of a folder that is not there yet.

        Raises
        ------
        RunError
            If it is there, or cannot be written.
        PrivacyError
            If a copy would count the uploads of a privacy budget apart.
        """
        target = path_of(path, "path")
        if self.config.noised and not self._place.private:
            raise PrivacyError(
                f"a copy of {self.path} would count uploads apart, and no budget would hold; use "
                "the folder where it is, or move it"
            )
        folder = RunFolder.reopen(self.path, {}, self._trust_code)
        folder.take()
        try:
            copy_folder(self.path, target, self._take_in)
        finally:
            folder.end()
        if self._place.private:
            self._place.remove()
            place = Place(target)
            place.hold(self.config.models)
            self._place = place
            self._folder = RunFolder.reopen(target, {}, self._trust_code)
        return target

    def _take_in(self, copy: Path) -> None:
        """Copy tables and alignment that a trial has from its sweep."""
        if self._place.within:
            take_in(copy, self._place.within.path)

    def resume(
        self,
        *,
        progress: bool | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,  # noqa: ANN401
    ) -> "Run":
        """Train the rest of an interrupted run; keep a complete one.

        Parameters
        ----------
        progress, callbacks
            See `train`.
        **options
            That say where the run happens, such as ``device="cpu"``.

        Returns
        -------
        Run
            This one.

        Raises
        ------
        RunError
            If an option makes another run of it.
        """
        with in_full(), resumable(self._place):
            changes, watch = changes_of(options), watch_of(progress, callbacks)
            self._folder = finished(self.path, changes, watch, self._trust_code)
        return self


def load(
    path: str | os.PathLike[str],
    *,
    trust_code: bool = False,
    models: "Sequence[Model] | None" = None,
) -> Run:
    """Open the folder of a run, complete or to be resumed.

    Parameters
    ----------
    path : str or Path
        As `train` or the command line made it, with the folders of all parties.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.
    models : sequence, optional
        The networks that `train` was given, where they were objects of another process.

    Raises
    ------
    RunError
        If there is no run, or one of several seeds.
    """
    folder = path_of(path, "path")
    if is_repeated(folder):
        raise RunError(
            f"{folder} holds a run of several seeds or folds; load one of its folders, or open "
            "folds with vfl_flower.CrossValidation"
        )
    with in_full():
        run = Run(Place(folder), trust_code)
        if models is not None:
            give_again(run.config.models, models)
            run._place.hold(run.config.models)  # noqa: SLF001
        return run
