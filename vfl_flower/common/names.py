"""Names of parties in messages, tables, folders and logs; objects by reference."""

import logging
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from vfl_flower.common.text.logs import safe_log


def party_name(rank: int) -> str:
    """Return a party's name: rank 0 is ``active``, rank k is ``party-k``."""
    return f"party-{rank}" if rank else "active"


def names_of(ranks: Iterable[int]) -> str:
    """Return the names of parties in order, with commas."""
    return ",".join(map(party_name, sorted(ranks)))


def party_log(rank: int) -> logging.Logger:
    """Return a party's own log, which nobody else reads; see `party_name`."""
    return safe_log(f"vfl_flower.{party_name(rank)}")


def load_object(reference: str) -> Any:  # noqa: ANN401
    """Import and return an object by ``module:name``."""
    module, name = reference.split(":")
    return getattr(import_module(module), name)
