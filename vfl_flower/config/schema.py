"""Declaration of options, and checks of single values: type, choices, limits."""

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import Field, dataclass, field, fields
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Scalar = bool | int | float | str
FLOAT32_MAX = 3.4028234e38
_OTHER_SEPARATOR = re.compile(r"[\s;|/+]")


@dataclass(frozen=True)
class Declaration:
    """Help text, permitted values and command-line behaviour of one option.

    Attributes
    ----------
    text : str
        Help text, with the unit.
    choices : collection of str
        Permitted values; none: no list of them.
    suggested : collection of str
        Values that a shell offers although others are permitted.
    least, most : float
        Inclusive limits of a number.
    above, below : float
        Exclusive limits of a number.
    listed : bool
        Whether it takes one value, or one for each party, with commas.
    path : {"", "file", "dir"}
        Kind of path that a shell offers.
    alias : str
        Former name of the field, still accepted.
    short : str
        Second name of the field, accepted and shown.
    circumstance : bool
        Whether it says where a run happens, not what it is: it may change at a resume.
    earlier : bool, int, float or str, optional
        Value in records of versions that had no such option; None: the default.
    """

    text: str
    choices: Collection[str] = ()
    suggested: Collection[str] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    listed: bool = False
    path: str = ""
    alias: str = ""
    short: str = ""
    circumstance: bool = False
    earlier: Scalar | None = None

    def further_names(self) -> list[str]:
        """Return the names that are accepted beside the field's own."""
        return [name for name in (self.alias, self.short) if name]

    def offered(self) -> Collection[str]:
        """Return the values that a shell offers."""
        return self.choices or self.suggested


def option(default: Scalar, text: str, **declared: Any) -> Any:  # noqa: ANN401
    """Declare an option as a dataclass field; see `Declaration` for the keywords."""
    return field(default=default, metadata={"option": Declaration(text, **declared)})


def declaration(each: "Field[Any]") -> Declaration:
    """Return the declaration of a field that `option` made."""
    declared: Declaration = each.metadata["option"]
    return declared


def declared_in(record: "type[DataclassInstance] | DataclassInstance") -> list["Field[Any]"]:
    """Return the fields of a record that are options."""
    return [each for each in fields(record) if "option" in each.metadata]


def earlier_values(declared: "Iterable[Field[Any]]") -> dict[str, Scalar]:
    """Return the values of options in records of versions that had none."""
    told = {each.name: declaration(each).earlier for each in declared}
    return {name: value for name, value in told.items() if value is not None}


def kebab(name: str) -> str:
    """Return a field's public name."""
    return name.replace("_", "-")


def split_list(text: str) -> list[str]:
    """Split a comma list."""
    return [entry.strip() for entry in text.split(",")]


def near(word: str, known: Iterable[str]) -> str:
    """Suggest the known word most like another, or list all."""
    words = list(known)
    return _suggested(word, words) or f"; known are {', '.join(words)}"


def choices(word: str, known: Iterable[str]) -> str:
    """List all known words, and suggest the one most like another."""
    words = list(known)
    return f"; known are {', '.join(words)}{_suggested(word, words)}"


def _suggested(word: str, words: list[str]) -> str:
    small = {each.lower(): each for each in words}
    close = difflib.get_close_matches(word.lower(), small, n=1, cutoff=0.65)
    return f"; did you mean '{small[close[0]]}'?" if close else ""


def typed(each: "Field[Any]", value: object) -> Any:  # noqa: ANN401
    """Return an option's value in its declared type.

    An int is accepted for a float.

    Raises
    ------
    ConfigError
        If it is of another type.
    """
    kind = type(each.default)
    if kind is float and type(value) is int and abs(value) <= FLOAT32_MAX:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{kebab(each.name)} must be of type {kind.__name__}, not {value!r}")
    return value


def check_values(record: "DataclassInstance") -> None:
    """Refuse values outside their choices or limits.

    Raises
    ------
    ConfigError
        Names the option.
    """
    for each in declared_in(record):
        declared, value = declaration(each), getattr(record, each.name)
        if declared.choices and (value or each.default):  # an empty default means "none chosen"
            for entry in split_list(value) if declared.listed else [value]:
                check_name(each.name, entry, declared.choices, listed=declared.listed)
        _check_limits(each.name, declared, value)


def check_name(key: str, entry: str, known: Collection[str], *, listed: bool = False) -> None:
    """Refuse an unknown name; list the known ones, and suggest one.

    Parameters
    ----------
    key : str
        Field name of the option.
    entry : str
        The name.
    known : collection of str
        All that there are.
    listed : bool
        Whether the name is one of a list, as the option's plural says.

    Raises
    ------
    ConfigError
        Names the option.
    """
    if entry in known:
        return
    noun = kebab(key).removesuffix("s") if listed else kebab(key)
    apart = "; put commas between several" if listed and _OTHER_SEPARATOR.search(entry) else ""
    raise ConfigError(f"unknown {noun} '{entry}'{choices(entry, known)}{apart}")


def _check_limits(key: str, declared: Declaration, value: float) -> None:
    limits = (
        ("at least", declared.least, ge),
        ("above", declared.above, gt),
        ("at most", declared.most, le),
        ("below", declared.below, lt),
    )
    stated = [(words, limit, holds) for words, limit, holds in limits if limit is not None]
    if not all(holds(value, limit) for _, limit, holds in stated):
        told = " and ".join(f"{words} {limit:.10g}" for words, limit, _ in stated)
        raise ConfigError(f"{kebab(key)} must be {told}, not {value}")
