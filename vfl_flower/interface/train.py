"""Training and alignment, with all parties in this process."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vfl_flower.interface.align import Alignment
from vfl_flower.interface.data.shared import take_alignment
from vfl_flower.interface.data.source import Tables, begun, columns_in, source_of
from vfl_flower.interface.folders import Place, in_full, resumable
from vfl_flower.interface.models import named
from vfl_flower.interface.progress import watch_of
from vfl_flower.interface.run import Run
from vfl_flower.runs.callback import Callback
from vfl_flower.workflows.local.train import train_in


def train(
    data: "str | Tables",
    *,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,  # noqa: ANN401
) -> Run:
    """Train a model with all parties in this process.

    Parameters
    ----------
    data : str, or sequence of Table or Arrays
        The name of a data set, such as ``"digits"``, or the data of all parties, the active
        party's first. Tables are aligned by their ids; row n of arrays is of one entity. Of tables
        that are paths of CSV or Parquet files, ``id`` and ``label`` among the options name columns.
    out : str or Path, optional
        Folder of the run. Without it, the run lives in a private temporary folder that is removed
        with the `Run`, unless `Run.save` keeps it.
    progress : bool, optional
        Whether progress is shown; by default on a terminal and in a notebook only.
    callbacks : sequence of Callback, optional
        Objects that follow the run; an exception of one stops it.
    **options
        Every option of ``vfl-flower train``, with underscores: ``method="splitnn"``, ``epochs=10``,
        ``seed=0``. One value for each party is a list. ``models`` takes names, classes and
        instances of ``torch.nn.Module``: a plain one is a bottom model, whose ``forward`` makes
        the embeddings.

    Returns
    -------
    Run
        Complete, with the models of all parties.

    Raises
    ------
    VflError
        If something cannot be as it is said, with the text of the command line.
    KeyboardInterrupt
        After Ctrl-C; a note names the folder of the run, which can be resumed.
    """
    with in_full():
        source, watch = source_of(data, columns_in(options)), watch_of(progress, callbacks)
        place = Place(out)
        with removed_after_failure(place), resumable(place):
            options, alignment = without_private(options)
            folder = begun(source, place, task="train", options=named(options, place))
            if alignment:
                take_alignment(alignment.path, folder.path)
            train_in(folder, watch)
        return Run(place, trust_code=True)  # the caller has named its networks


def without_private(options: dict[str, Any]) -> tuple[dict[str, Any], Alignment | None]:
    """Take an alignment out of options if its folder goes away."""
    given = options.get("alignment")
    if not isinstance(given, Alignment) or given.lasts:
        return options, None
    return {**options, "alignment": None}, given


@contextmanager
def removed_after_failure(place: Place) -> Iterator[None]:
    """Remove a private folder of a run that failed."""
    try:
        yield
    except BaseException:
        if place.private:  # and not one that can be resumed
            place.remove()
        raise
