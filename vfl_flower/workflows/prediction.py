"""Prediction protocol, and files with predictions.

Keys, where the method blinds, and then what an evaluation asks, in messages of `eval-batch-size`
rows. Nothing is trained, and no checkpoint is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.alignment.psi import Common
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import TrainingError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.tables.prediction_file import check_path, write_columns, write_predictions
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.transport import Transport
from vfl_flower.training.evaluation import infer


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


def ids_of(active: ActiveParty, rows: Array) -> Any:  # noqa: ANN401
    """Return rows' ids in the active party's table, or their numbers."""
    data = active.data
    if data.ids is None or data.index is None:
        return rows
    return data.ids.take(data.index[rows])


def write_new(path: Path, active: ActiveParty, said: Tensor) -> None:
    """Write the predictions of new tables; see `write`.

    They come in the order of the active party's table. Rows are asked in the order of the
    alignment, which tells no party that of another's table.
    """
    rows = active.rows["test"]
    order = np.argsort(rows if active.data.index is None else active.data.index[rows])
    write(path, active, ids_of(active, rows[order]), said[torch.from_numpy(order).to(said.device)])


def write(path: Path, active: ActiveParty, ids: Any, said: Tensor) -> None:  # noqa: ANN401
    """Write the predictions of rows; see `write_predictions` and `check_out`.

    Parameters
    ----------
    path : Path
        The file.
    active : ActiveParty
        Knows what the labels are called.
    ids : ndarray, or array of pyarrow
        (N,).
    said : Tensor
        (N, C), or (N, 1) of a regression.
    """
    target = active.target
    values = values_of(target, said)
    if target.task == REGRESSION:
        write_predictions(path, pa.array(ids), values)
        return
    classes = np.array(target.classes, object)[said.argmax(1).cpu().numpy()]
    write_predictions(path, pa.array(ids), classes, values, target.classes)


def values_of(target: Target, said: Tensor) -> NDArray[Any]:
    """Return numbers or probabilities of a model's predictions.

    Parameters
    ----------
    target : Target
        What the labels are.
    said : Tensor
        (N, C), or (N, 1) of a regression.

    Returns
    -------
    ndarray
        (N,) float64 in the labels' own unit, or (N, C) float32, probabilities.
    """
    if target.task == REGRESSION:
        return target.restored(said[:, 0].double().cpu().numpy())
    shares: NDArray[np.float32] = said.softmax(1).cpu().numpy()
    return shares


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
        "id": ids.take(pa.array(common.missing)),
        "missing at": pa.array(lacking, pa.string()),
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
