"""Options written as a kind and its argument: ``topk:0.25``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from vfl_flower.common.errors import ConfigError


@dataclass(frozen=True)
class Kind:
    """One kind as it is written.

    Attributes
    ----------
    build : str
        ``module:callable`` that makes it of the argument.
    read : callable
        From the text behind the colon to the argument; raises if it cannot be read.
    form : str
        How it is written, for messages.
    """

    build: str
    read: Callable[[str], Any]
    form: str


@dataclass(frozen=True)
class OfferedKind(Kind):
    """One kind of which shells offer a value.

    Attributes
    ----------
    example : str
        That value.
    """

    example: str


K = TypeVar("K", bound=Kind)


def offered(kinds: Mapping[str, OfferedKind]) -> tuple[str, ...]:
    """Return the values that shells offer, none among them."""
    return ("none", *(each.example for each in kinds.values()))


def number_from(least: float, most: float) -> Callable[[str], float]:
    """Return a reader of numbers from `least` to `most`."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return read


def read_kind(text: str, kinds: Mapping[str, K], expected: str) -> tuple[K, Any]:
    """Read a kind: its declaration and its argument.

    Parameters
    ----------
    text : str
        As it is written.
    kinds : mapping of str to Kind
        All of the option's, by name.
    expected : str
        Begins the message where it cannot be read; ``{}`` in it stands for all forms.

    Raises
    ------
    ConfigError
        If it is not written as it must be.
    """
    name, _, argument = text.partition(":")
    try:
        kind = kinds[name]
        return kind, kind.read(argument)
    except (KeyError, ValueError) as error:
        forms = ", ".join(each.form for each in kinds.values())
        raise ConfigError(f"{expected.format(forms)}, not '{text}'") from error
