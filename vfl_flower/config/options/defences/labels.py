"""Parsed `label-encoding` option: kind and argument."""

from vfl_flower.config.options.kinds import OfferedKind, number_from, read_kind

LEAST_LAMBDA, MOST_LAMBDA = 0.01, 100.0


def read_encoding(text: str) -> tuple[OfferedKind, float]:
    """Read an encoding, as in ``confusional:3``: its declaration and its argument.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    return read_kind(text, LABEL_ENCODINGS, "label-encoding must be none, {}")


LABEL_ENCODINGS = {
    "confusional": OfferedKind(
        "vfl_flower.privacy.label_encodings.confusional:Confusional",
        number_from(LEAST_LAMBDA, MOST_LAMBDA),
        f"confusional:LAMBDA from {LEAST_LAMBDA:g} to {MOST_LAMBDA:g}",
        "confusional:3",
    ),
}
"""Encodings of labels by name. One line here makes an encoding known everywhere."""
