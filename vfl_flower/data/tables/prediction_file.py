"""Predictions for named rows, written as CSV or Parquet."""

import io
import os
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import write_atomically

F = TypeVar("F", bound=np.floating)
_SUFFIXES = (".csv", ".parquet")

_BLANK = r"[\s\pZ\p{Cc}\p{Cf}]"
_SMALL_AND_WIDE = r"\x{fe62}\x{fe63}\x{fe66}\x{fe6b}\x{ff0b}\x{ff0d}\x{ff1d}\x{ff20}"
_FORMULA = rf"^('*{_BLANK}*[=+\-@{_SMALL_AND_WIDE}]|'*{_BLANK}*[\t\r\n])"
"""Text that a spreadsheet takes for a formula, behind blanks and invisible characters too."""

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def class_names(classes: Sequence[str]) -> list[str]:
    """Make names of columns of classes.

    Every character that is no letter and no digit becomes ``_``. Of classes that come to one name,
    in whatever case, the first has it, and the next ones end in ``_2``, ``_3`` and so on.

    Parameters
    ----------
    classes : sequence of str
        All classes of a model, in its order; no other decides on a name.
    """
    plain = ["".join(each if _in_names(each) else "_" for each in name) for name in classes]
    taken = {name.casefold() for name in plain}
    names: list[str] = []
    for place, name in enumerate(plain):
        first = all(name.casefold() != other.casefold() for other in plain[:place])
        free = (f"{name}_{n}" for n in count(2) if f"{name}_{n}".casefold() not in taken)
        names.append(name if first else next(free))
        taken.add(names[-1].casefold())
    return names


def _in_names(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")  # vowel signs


def id_columns(ids: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the columns of ids by name.

    Parameters
    ----------
    ids : array of pyarrow
        (N,), the column ``id``; of ids of several columns, a column ``id_NAME`` for each.
    """
    if not ids.type.num_fields:
        return {"id": ids}
    names = [f"id_{each.name}" for each in ids.type]
    return dict(zip(names, ids.flatten(), strict=True))


def rounded(scores: NDArray[F], digits: int) -> NDArray[F]:
    """Round probabilities to so many decimal places; 0: not at all."""
    return scores.round(digits) if digits else scores


def prediction_columns(
    prediction: Sequence[str] | NDArray[Any],
    probabilities: NDArray[np.float32] | None = None,
    classes: Sequence[str] = (),
) -> dict[str, pa.Array]:
    """Return the columns of predictions by name.

    Parameters
    ----------
    prediction : sequence of str, or ndarray
        (N,), the column ``prediction``: a class, or a number in the file's unit.
    probabilities : ndarray of float32, optional
        (N, C), the columns ``probability_CLASS``; see `class_names`.
    classes : sequence of str
        C of them.
    """
    columns = {"prediction": pa.array(prediction)}
    if probabilities is not None:
        pairs = zip(class_names(classes), probabilities.T, strict=True)
        columns |= {f"probability_{name}": pa.array(share) for name, share in pairs}
    return columns


def label_columns(
    labels: Sequence[str], prediction: Sequence[Any], probabilities: NDArray[np.float32]
) -> dict[str, pa.Array]:
    """Return the columns of predictions of several labels by name.

    Parameters
    ----------
    labels : sequence of str
        C names, which `class_names` makes safe.
    prediction : sequence of array-like
        C of them, (N,) each, the columns ``prediction_LABEL``.
    probabilities : ndarray of float32
        (N, C), the columns ``probability_LABEL``.
    """
    names = class_names(labels)
    columns = {
        f"prediction_{name}": pa.array(each) for name, each in zip(names, prediction, strict=True)
    }
    shares = zip(names, probabilities.T, strict=True)
    return columns | {f"probability_{name}": pa.array(share) for name, share in shares}


def check_path(
    path: Path,
    inputs: Sequence[Path],
    suffixes: Sequence[str] = _SUFFIXES,
    work: str = "this prediction",
) -> None:
    """Refuse an output file that cannot be written, or is an input.

    Parameters
    ----------
    path : Path
        Where the output would be.
    inputs : sequence of Path
        Files that are read.
    suffixes : sequence of str
        How its name may end, in lower case.
    work : str
        Whose inputs they are, in words.

    Raises
    ------
    DataError
        Says why.
    """
    if path.suffix.lower() not in suffixes:
        raise DataError(f"{path} must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file")
    above = next(each for each in path.absolute().parents if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise DataError(f"{path} cannot be written: {above} is no folder that one may write to")
    if any(_same(path, each) for each in inputs):
        raise DataError(f"{path} is an input of {work}; write to another file")


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns by name, (N,) each, as CSV or Parquet.

    In CSV, text that spreadsheets run as formulas is `quoted`. The file is written atomically, and
    its owner alone may read it; a file that is there is replaced.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    table, buffer = pa.table(dict(columns)), io.BytesIO()
    if path.suffix.lower() == ".parquet":
        pa.parquet.write_table(table, buffer)
    else:
        for place, name in enumerate(table.column_names):
            table = table.set_column(place, name, quoted(table.column(place)))
        pa.csv.write_csv(table, buffer)
    write_atomically(path, buffer.getvalue())


def quoted(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put a quote before text that spreadsheets run as formulas.

    Numbers stay as they are, written as text too. A cell that has quotes before such text gets one
    more, so that whoever removes one from each cell that `_FORMULA` matches has the text back.
    """
    if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
        return cells
    risky = pc.and_(
        pc.match_substring_regex(cells, _FORMULA),
        pc.invert(pc.match_substring_regex(cells, _NUMBER)),
    )
    quote, nothing = (pa.scalar(text, cells.type) for text in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(quote, cells, nothing), cells)


def _same(path: Path, other: Path) -> bool:
    """Tell whether two paths are one file, through links as well."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
