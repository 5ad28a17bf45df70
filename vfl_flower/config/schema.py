"""Declaration of options and checks of their types."""

import difflib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

Scalar = bool | int | float | str


def option(default: Scalar, group: str, text: str) -> Any:  # noqa: ANN401
    """Declare one field: its default, its group in ``--help``, and what it means with its unit."""
    return field(default=default, metadata={"group": group, "help": text})


FLOAT32_MAX = 3.4028234e38


def kebab(name: str) -> str:
    """Return a field's public name."""
    return name.replace("_", "-")


def split_list(text: str) -> list[str]:
    """Split a comma list."""
    return [entry.strip() for entry in text.split(",")]


def near(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Say which known word was probably meant, or which there are."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"
