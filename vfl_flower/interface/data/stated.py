"""Type checks of a table's keywords."""

from collections.abc import Mapping, Sequence

from vfl_flower.common.errors import ConfigError


def check_types(
    *,
    id: object,  # noqa: A002
    label: object,
    weight: object,
    columns: object,
    missing: object,
) -> None:
    """Refuse keywords of other types.

    Raises
    ------
    ConfigError
        Says how to write it.
    """
    names = [id] if isinstance(id, str) else id
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"id must be the name of one column, or a list of names, not {id!r}")
    if label is not None and not (isinstance(label, str) or _are_names(label)):
        raise ConfigError(f"label must be the name of a column, or a list of names, not {label!r}")
    if weight is not None and not isinstance(weight, str):
        raise ConfigError(f"weight must be the name of one column, as text, not {weight!r}")
    if columns is not None and (
        not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns)
    ):
        raise ConfigError(
            f"columns must be uses by name, such as {{'age': 'numeric'}}, not {columns!r}"
        )
    if missing is not None and (isinstance(missing, str) or not isinstance(missing, Sequence)):
        raise ConfigError(f"missing must be a list of texts, such as ['NA'], not {missing!r}")


def _are_names(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(name, str) for name in value)
