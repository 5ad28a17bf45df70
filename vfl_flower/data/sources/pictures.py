"""Pictures of published data sets, read with Pillow."""

import struct
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError, last_line
from vfl_flower.common.optional.extras import require

_DAMAGED = (
    *(OSError, ValueError, SyntaxError, TypeError, IndexError, KeyError, OverflowError),
    *(AttributeError, RuntimeError, EOFError, MemoryError, struct.error, zlib.error),
)
"""Exceptions of Pillow and its readers for a file that is no picture."""


def read_picture(path: Path, mode: Literal["L", "RGB"], side: int) -> NDArray[np.uint8]:
    """Read a square picture, (side, side) grey or (side, side, 3) colour.

    Raises
    ------
    DataError
        If it is damaged, or of another size.
    """
    require("PIL", f"{path.suffix.lstrip('.').upper()} pictures")
    # Pillow is slow to import
    from PIL import Image

    try:
        with Image.open(path) as image:
            width, height = image.size
            if (width, height) == (side, side):  # before anything is unpacked
                return np.asarray(image.convert(mode))
    except (*_DAMAGED, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is damaged; get it again", last_line(error)) from error
    raise DataError(f"{path} has {width} x {height} pixels, not {side} x {side}")
