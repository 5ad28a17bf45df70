"""Values that are found: of each of several labels, one of two."""

_PLAIN = {"0", "1", "0.0", "1.0", "f", "t", "false", "true", "n", "y", "no", "yes", "off", "on"}
"""Values in lower case of which the second one in order is found."""


def found_last(values: tuple[str, ...], share: float) -> tuple[str, ...]:
    """Order a label's two values: the one that is found comes last.

    That is 1, true or yes, or else the rarer one in the training rows.

    Parameters
    ----------
    values : tuple of str
        In order.
    share : float
        Of the training rows, those with the second value.
    """
    plain = _PLAIN.issuperset(each.lower() for each in values)
    return values if plain or share <= 1 / 2 else values[::-1]
