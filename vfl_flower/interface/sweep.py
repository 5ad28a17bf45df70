"""Sweeps from Python: search for options that do best on validation rows."""

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.optional.extras import require
from vfl_flower.config.schema import kebab
from vfl_flower.interface.align import Alignment
from vfl_flower.interface.checks import check_number, path_of
from vfl_flower.interface.data.shared import take_alignment
from vfl_flower.interface.data.source import Source, Tables, columns_in, source_of
from vfl_flower.interface.folders import Place, in_full, resumable
from vfl_flower.interface.models import named
from vfl_flower.interface.options import values_of
from vfl_flower.interface.progress import watch_of
from vfl_flower.interface.run import Run
from vfl_flower.interface.train import without_private
from vfl_flower.workflows.sweep.record import RECORD, new_sweep, read_record
from vfl_flower.workflows.sweep.run import sweep_in

if TYPE_CHECKING:
    import pandas as pd


class Sweep:
    """Trials of a sweep, complete or not.

    Parameters
    ----------
    path : str or Path
        The sweep's folder.
    trust_code : bool
        Whether networks that its record names may be imported.
    """

    def __init__(self, path: "str | os.PathLike[str] | Place", trust_code: bool = False) -> None:
        self._place = path if isinstance(path, Place) else Place(path_of(path, "path"))
        self._trust_code = trust_code
        self.path = self._place.path
        self._record = read_record(self.path)

    @property
    def trials(self) -> "pd.DataFrame":
        """Ended trials, one a row; swept options are columns, named as keywords."""
        # pandas is slow to import
        import pandas as pd

        done = [dict(each) for each in self._record.as_dict()["done"]]
        return pd.DataFrame([_as_keywords(each.pop("options")) | each for each in done])

    @property
    def best_options(self) -> dict[str, Any]:
        """Swept options of the best trial; nothing if none is complete."""
        best = self._record.best
        return _as_keywords(best.options) if best else {}

    @property
    def best(self) -> Run:
        """Run with the best score on validation rows.

        Raises
        ------
        RunError
            If no trial is complete.
        """
        best = self._record.best
        folder = self.path / (best.folder if best else "")
        return Run(Place(folder, self._place), self._trust_code)

    def resume(self, trials: int | None = None, *, progress: bool | None = None) -> "Sweep":
        """Run the trials that have not ended.

        Parameters
        ----------
        trials : int, optional
            How many there are to be in all, no fewer than have ended.
        progress : bool, optional
            See `train`.

        Raises
        ------
        VflError
            See `sweep`.
        KeyboardInterrupt
            After Ctrl-C; a note names the folder.
        """
        with in_full():
            trials = self._record.trials if trials is None else trials
            check_number(trials, "trials", whole=True)
            record = self._record.extended(trials)
            watch = watch_of(progress)
            with resumable(self._place, RECORD, "Sweep"):
                self._record = sweep_in(self.path, record, watch, trust_code=self._trust_code)
        return self

    def __repr__(self) -> str:
        return f"Sweep({len(self._record.done)} of {self._record.trials} trials, {self.path})"


def sweep(
    data: "str | Tables",
    *,
    over: Mapping[str, "str | Iterable[object]"],
    trials: int = 20,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Any,  # noqa: ANN401
) -> Sweep:
    """Search for options that do best on the validation rows.

    Runs come one after the other. Test rows choose nothing.

    Parameters
    ----------
    data : str, or sequence of Table
        See `train`.
    over : mapping
        For each option to search over a list of values, or a range as a text: ``"0.1..0.5"`` or
        ``"log:1e-4..1e-1"``.
    trials : int
        Runs in all, each of another setting; fewer if there are no more settings.
    out : str or Path, optional
        Folder of the sweep, which `Sweep` opens again. Without it, a private temporary folder that
        is removed with the `Sweep` and its runs.
    progress : bool, optional
        See `train`.
    **options
        Options that all runs have; see `train`.

    Raises
    ------
    VflError
        If an option or a search space cannot work, or no trial is complete.
    """
    with in_full():
        require("optuna", "sweep")
        check_number(trials, "trials", whole=True)
        if not isinstance(over, Mapping):
            raise ConfigError(f"over must say which values each option takes, not {over!r}")
        source, place = source_of(data, columns_in(options)), Place(out)
        options, alignment = without_private(options)
        _write(place, source, over, trials, options, alignment)
        del alignment  # optuna, once imported, keeps this frame
        return Sweep(place, trust_code=True).resume(progress=progress)


def _write(
    place: Place,
    source: Source,
    over: Mapping[str, Any],
    trials: int,
    options: dict[str, Any],
    alignment: Alignment | None,
) -> None:
    """Write a sweep: its record, its data, and a temporary alignment."""
    if alignment:
        options["alignment"] = place.path / "alignment"
    spaces = {kebab(name): _written(name, space, place) for name, space in over.items()}
    values = {kebab(key): value for key, value in values_of(named(options, place)).items()}
    record = new_sweep(place.path, spaces, source.options(place.path) | values, trials)
    try:
        source.write(place.path)
        if alignment:
            take_alignment(alignment.path, place.path / "alignment")
    except BaseException:
        shutil.rmtree(place.path, ignore_errors=True)  # it was free
        raise
    record.write(place.path)


def _as_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """Name options as Python does."""
    return {key.replace("-", "_"): value for key, value in options.items()}


def _written(name: str, space: "str | Iterable[object]", place: Place) -> str:
    """Write a search space as the command line has it."""
    if isinstance(space, str):
        return space
    if not isinstance(space, Iterable):
        raise ConfigError(f"over needs a list of values or a range for {name}, not {space!r}")
    values = (_value(name, each, place) for each in space)
    return "".join(f"{str(each).lower() if isinstance(each, bool) else each}|" for each in values)


def _value(name: str, value: object, place: Place) -> object:
    """Return one value of a search space as an option's."""
    if value is None:
        raise ConfigError(f"over has None among the values of {name}; name the value")
    return values_of(named({name: value}, place))[name]
