"""Parsed `label-encoding` option: kind and argument."""

from dataclasses import dataclass

from vfl_flower.config.options.kinds import Kind, read_kind

LEAST_LAMBDA, MOST_LAMBDA = 0.01, 100.0


@dataclass(frozen=True)
class EncodingSpec(Kind):
    """An encoding of labels as it is written; `build` names a `LabelEncoding`.

    Attributes
    ----------
    example : str
        A value that shells offer.
    """

    example: str


def read_encoding(text: str) -> tuple[EncodingSpec, float]:
    """Read an encoding, as in ``confusional:3``: its declaration and its argument.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    return read_kind(text, LABEL_ENCODINGS, "label-encoding must be none, {}")


def _lambda(text: str) -> float:
    value = float(text)
    if not LEAST_LAMBDA <= value <= MOST_LAMBDA:
        raise ValueError(text)
    return value


LABEL_ENCODINGS = {
    "confusional": EncodingSpec(
        "vfl_flower.privacy.label_encodings.confusional:Confusional",
        _lambda,
        f"confusional:LAMBDA from {LEAST_LAMBDA:g} to {MOST_LAMBDA:g}",
        "confusional:3",
    ),
}
"""Encodings of labels by name. One line here makes an encoding known everywhere."""
