"""Prediction protocol, and files with predictions.

Keys, where the method blinds, and then what an evaluation asks, in messages of `eval-batch-size`
rows. Nothing is trained, and no checkpoint is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.alignment.psi import Common
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import TrainingError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.tables.prediction_file import (
    check_path,
    id_columns,
    label_columns,
    prediction_columns,
    rounded,
    write_columns,
)
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.transport import Transport
from vfl_flower.training.evaluation import infer

Columns = dict[str, pa.Array]
"""Columns of a file by name."""


def asked(active: ActiveParty, rows: Array, transport: Transport) -> Tensor:
    """Predict rows with the active party's model over some transport.

    Parameters
    ----------
    active : ActiveParty
        With its model, not yet started.
    rows : ndarray of int32
        (N,).
    transport : Transport
        Reaches the passive parties.

    Returns
    -------
    Tensor
        (N, C), or (N, 1) of a regression.

    Raises
    ------
    TrainingError
        If a number is not finite.
    PartyError
        If a party fails.
    """
    outputs: list[Tensor] = []
    active.task = lambda: protocol(active, rows, outputs)
    try:
        transport.run(active)
    finally:
        active.close()
    (said,) = outputs
    if not said.isfinite().all():
        raise TrainingError("predictions are not finite, and nothing is written; train anew")
    return said


def protocol(active: ActiveParty, rows: Array, outputs: list[Tensor]) -> Protocol:
    """Infer rows, (N,), and append the active party's predictions, (N, C)."""
    yield from agree_keys(active.cfg)
    inferred = yield from infer(active, rows)
    outputs.append(inferred[0])


def write(
    path: Path,
    active: ActiveParty,
    rows: Array,
    said: Tensor,
    truth: Columns | None = None,
    missing: Array | None = None,
) -> None:
    """Write predictions in the order of the active party's table.

    Rows are asked in the order of the alignment, or of the split, which tells no party the order
    of another's table.

    Parameters
    ----------
    path : Path
        The file; see `check_out`.
    active : ActiveParty
        Knows the ids, which are row numbers where there are no others, and what the labels are
        called.
    rows : ndarray of int32
        (N,), none twice.
    said : Tensor
        (N, C), or (N, 1) of a regression.
    truth : dict of str to pyarrow.Array, optional
        Further columns, of all rows of the table; see `vfl_flower.data.truth.truth_of`.
    missing : ndarray of int, optional
        Further rows of the table, which have no prediction.
    """
    places = rows if active.data.index is None else active.data.index[rows]
    listed = np.sort(places if missing is None else np.append(places, missing))
    found = np.full(listed[-1] + 1, -1)
    found[places] = np.arange(len(places))
    predicted = pa.array(found[listed], mask=found[listed] < 0)
    ids, chosen = active.data.ids, pa.array(listed)
    columns = id_columns(chosen if ids is None else ids.take(chosen))
    for name, each in _columns(active.target, said, active.cfg.score_digits).items():
        columns[name] = each.take(predicted)
    write_columns(path, columns | {name: each.take(chosen) for name, each in (truth or {}).items()})


def _columns(target: Target, said: Tensor, digits: int) -> Columns:
    """Return the columns of predictions, (N,) each; classes are by exact probabilities."""
    values = values_of(target, said, digits)
    if target.task == REGRESSION:
        return prediction_columns(values)
    decided = target.decided(said).cpu().numpy()
    if target.task == MULTI_LABEL:
        pairs = zip(target.values, decided.T, strict=True)
        named = [np.array(values, object)[places] for values, places in pairs]
        return label_columns(target.classes, named, values)
    return prediction_columns(np.array(target.classes, object)[decided], values, target.classes)


def values_of(target: Target, said: Tensor, digits: int = 0) -> NDArray[Any]:
    """Return numbers or probabilities of a model's predictions.

    Parameters
    ----------
    target : Target
        What the labels are.
    said : Tensor
        (N, C), or (N, 1) of a regression.
    digits : int
        Decimal places of probabilities; 0: as computed.

    Returns
    -------
    ndarray
        (N,) float64 in the labels' own unit, or (N, C) float32, probabilities of classes or labels.
    """
    if target.task == REGRESSION:
        return target.restored(said[:, 0].double().cpu().numpy())
    shares = said.sigmoid() if target.task == MULTI_LABEL else said.softmax(1)
    probabilities: NDArray[np.float32] = shares.cpu().numpy()
    return rounded(probabilities, digits)


def write_missing(path: Path, ids: Any, common: Common) -> None:  # noqa: ANN401
    """Write which rows could not be predicted, and who lacks them.

    Parameters
    ----------
    path : Path
        Of the file with the predictions; see `missing_of`.
    ids : array of pyarrow
        Of the active party's whole table.
    common : Common
        What its alignment came to.
    """
    names = np.array([party_name(k) for k in range(1, common.lacks.shape[1] + 1)])
    kinds, kind = np.unique(common.lacks, axis=0, return_inverse=True)
    lacking = np.array([" ".join(names[each]) for each in kinds], object)[kind]
    columns = {
        **id_columns(ids.take(pa.array(common.missing))),
        "missing_at": pa.array(lacking, pa.string()),
    }
    write_columns(missing_of(path), columns)


def missing_of(path: Path) -> Path:
    """Return the file of rows without prediction, beside the predictions."""
    return path.with_name(f"{path.stem}.missing{path.suffix}")


def check_out(path: Path, inputs: Sequence[Path]) -> None:
    """Refuse an output file that cannot be written, before any work.

    Parameters
    ----------
    path : Path
        The file.
    inputs : sequence of Path
        The tables that the predictions come from, as far as they are in reach.

    Raises
    ------
    DataError
        If one of them cannot be written there, or must not be.
    """
    for each in (path, missing_of(path)):
        check_path(each, inputs)
