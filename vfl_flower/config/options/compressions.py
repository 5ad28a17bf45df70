"""Parsed `compression` option: kind and argument."""

import re
from fractions import Fraction
from typing import Any

from vfl_flower.config.options.kinds import Kind, read_kind


def read_compression(
    text: str, key: str = "compression", otherwise: str = "auto"
) -> tuple[Kind, Any]:
    """Read a compression, as in ``topk:0.25``: its declaration and its argument.

    Parameters
    ----------
    text : str
        As it is written.
    key, otherwise : str
        Its option and the value besides, for messages.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    return read_kind(text, COMPRESSIONS, f"{key} must be {{}} or {otherwise}")


def _nothing(text: str) -> None:
    if text:
        raise ValueError(text)


def _share(text: str) -> Fraction:
    if not re.fullmatch(r"0?\.(?!0+$)\d{1,6}|1(\.0*)?", text):
        raise ValueError(text)
    return Fraction(text)


def _bits(text: str) -> int:
    if not re.fullmatch(r"[1-8]|16", text):
        raise ValueError(text)
    return int(text)


def _few_bits(text: str) -> int:
    if not re.fullmatch(r"[1-8]", text):
        raise ValueError(text)
    return int(text)


_HERE = "vfl_flower.learning.compression"
COMPRESSIONS = {
    "none": Kind(f"{_HERE}:floats32", _nothing, "none"),
    "float16": Kind(f"{_HERE}:floats16", _nothing, "float16"),
    "topk": Kind(f"{_HERE}:TopK", _share, "topk:SHARE with a share up to 1"),
    "quantize": Kind(f"{_HERE}:Quantized", _bits, "quantize:BITS with 1 to 8 or 16 bits"),
    "lattice": Kind(
        "vfl_flower.learning.lattice:Lattice", _few_bits, "lattice:BITS with 1 to 8 bits"
    ),
}
"""Compressions by name, each built from (width, argument).

One line here makes a compression known everywhere."""
