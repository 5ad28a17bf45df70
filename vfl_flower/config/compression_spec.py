"""Parsed `compression` option: kind and argument."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vfl_flower.common.errors import ConfigError


@dataclass(frozen=True)
class CompressionSpec:
    """A compression of uploads as it is written.

    Attributes
    ----------
    build : str
        ``module:callable`` from (width, argument) to a `Compression`.
    read : callable
        From the text behind the colon to the argument; raises if it cannot be read.
    form : str
        How it is written, for messages.
    """

    build: str
    read: Callable[[str], Any]
    form: str


def read_compression(
    text: str, key: str = "compression", otherwise: str = "auto"
) -> tuple[CompressionSpec, Any]:
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
    kind, _, argument = text.partition(":")
    try:
        spec = COMPRESSIONS[kind]
        return spec, spec.read(argument)
    except (KeyError, ValueError) as error:
        forms = ", ".join(each.form for each in COMPRESSIONS.values())
        raise ConfigError(f"{key} must be {forms} or {otherwise}, not '{text}'") from error


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
    "none": CompressionSpec(f"{_HERE}:floats32", _nothing, "none"),
    "float16": CompressionSpec(f"{_HERE}:floats16", _nothing, "float16"),
    "topk": CompressionSpec(f"{_HERE}:TopK", _share, "topk:SHARE with a share up to 1"),
    "quantize": CompressionSpec(
        f"{_HERE}:Quantized", _bits, "quantize:BITS with 1 to 8 or 16 bits"
    ),
    "lattice": CompressionSpec(
        "vfl_flower.learning.lattice:Lattice", _few_bits, "lattice:BITS with 1 to 8 bits"
    ),
}
"""Compressions by name. One line here makes a compression known everywhere."""
