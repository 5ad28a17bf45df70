"""Parsed `embedding-defence` option: kind and argument."""

from collections.abc import Sequence
from dataclasses import dataclass

from vfl_flower.config.options.kinds import OfferedKind, number_from, read_kind

LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1000.0
LEAST_REACH, MOST_REACH = 0.1, 1000.0


@dataclass(frozen=True)
class EmbeddingDefenceSpec(OfferedKind):
    """A defence of embeddings as it is written; `build` names an `EmbeddingDefence`.

    Attributes
    ----------
    drawn : str
        What it draws from the party's randomness; empty for nothing.
    """

    drawn: str = ""


def read_embedding_defence(text: str) -> tuple[EmbeddingDefenceSpec, float]:
    """Read a defence, as in ``nopeek:1``: its declaration and its argument.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    return read_kind(text, EMBEDDING_DEFENCES, "embedding-defence must be none, {}")


_HERE = "vfl_flower.learning.networks.defences"
_weight = number_from(LEAST_WEIGHT, MOST_WEIGHT)
_WEIGHT = f"WEIGHT from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
EMBEDDING_DEFENCES = {
    "nopeek": EmbeddingDefenceSpec(
        f"{_HERE}.nopeek:NoPeek", _weight, f"nopeek:{_WEIGHT}", "nopeek:1"
    ),
    "mid": EmbeddingDefenceSpec(
        f"{_HERE}.mid:MID", _weight, f"mid:{_WEIGHT}", "mid:0.01", drawn="samples"
    ),
    "fedpass": EmbeddingDefenceSpec(
        f"{_HERE}.fedpass:FedPass",
        number_from(LEAST_REACH, MOST_REACH),
        f"fedpass:REACH from {LEAST_REACH:g} to {MOST_REACH:g}",
        "fedpass:5",
        drawn="passports",
    ),
}
"""Defences of embeddings by name. One line here makes a defence known everywhere."""


def as_strong(used: str, asked: Sequence[str]) -> bool:
    """Whether a value is among some, or stronger than its kind there."""
    if used == "none":
        return False
    kind, argument = read_embedding_defence(used)
    return any(kind is k and argument >= least for k, least in map(read_embedding_defence, asked))
