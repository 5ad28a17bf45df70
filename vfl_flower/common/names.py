"""What the parties are called, in messages, tables, folders and logs."""

import logging
from importlib import import_module
from typing import Any


def party_name(index: int) -> str:
    """Return the name of the passive party with this roster index: ``party-1`` is index 0."""
    return f"party-{index + 1}"


def member_name(place: int) -> str:
    """Return a party's name by its place: 0 is ``active``, k is ``party-k``."""
    return "active" if place == 0 else party_name(place - 1)


def member_log(place: int) -> logging.Logger:
    """Return a party's own log, which nobody else reads, by its place; see `member_name`."""
    return logging.getLogger(f"vfl_flower.{member_name(place)}")


def party_log(index: int) -> logging.Logger:
    """Return the log of the passive party with this roster index."""
    return member_log(index + 1)


def load_object(reference: str) -> Any:  # noqa: ANN401
    """Import and return an object by ``module:name``."""
    module, name = reference.split(":")
    return getattr(import_module(module), name)
