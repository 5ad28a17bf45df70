"""Parsed `gradient-defence` option: kind and argument."""

import re
from dataclasses import dataclass

from vfl_flower.config.options.kinds import OfferedKind, number_from, read_kind

LEAST_SCALE, MOST_SCALE = 0.001, 1000.0
MOST_LEVELS = 2**16


@dataclass(frozen=True)
class DefenceSpec(OfferedKind):
    """A defence of gradients as it is written; `build` names a `GradientDefence`.

    Attributes
    ----------
    noisy : bool
        Whether it draws noise.
    """

    noisy: bool = False


def read_defence(text: str) -> tuple[DefenceSpec, float]:
    """Read a defence, as in ``isotropic:1.0``: its declaration and its argument.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    return read_kind(text, GRADIENT_DEFENCES, "gradient-defence must be none, {}")


def _levels(text: str) -> float:
    if not re.fullmatch(r"[1-9]\d{0,4}", text) or not 2 <= int(text) <= MOST_LEVELS:
        raise ValueError(text)
    return int(text)


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


_HERE = "vfl_flower.privacy.gradient_defences"
_scale = number_from(LEAST_SCALE, MOST_SCALE)
_SCALE = f"SCALE from {LEAST_SCALE:g} to {MOST_SCALE:g}"
GRADIENT_DEFENCES = {
    "isotropic": DefenceSpec(
        f"{_HERE}.isotropic:Isotropic", _scale, f"isotropic:{_SCALE}", "isotropic:1", noisy=True
    ),
    "marvell": DefenceSpec(
        f"{_HERE}.marvell:Marvell", _scale, f"marvell:{_SCALE}", "marvell:1", noisy=True
    ),
    "discretized": DefenceSpec(
        f"{_HERE}.discretized:Discretized",
        _levels,
        f"discretized:LEVELS from 2 to {MOST_LEVELS}",
        "discretized:18",
    ),
    "top-k": DefenceSpec(
        f"{_HERE}.top_k:TopK", _share, "top-k:SHARE between 0 and 1", "top-k:0.25"
    ),
}
"""Defences of gradients by name. One line here makes a defence known everywhere."""
