"""Choice among points of a grid on validation rows."""

import random
from collections.abc import Sequence
from itertools import product

from benchmarks.reproducing.paper import Flags, Search
from benchmarks.reproducing.runs import Record


def drawn(search: Search, count: int) -> list[dict[str, str]]:
    """Draw so many points of a grid; always the same ones."""
    values = [[(flag, value) for value in of] for flag, of in search.grid.items()]
    every = [dict(point) for point in product(*values)]
    return random.Random(0).sample(every, count)  # noqa: S311  no secret


def first(search: Search) -> dict[str, str]:
    """Return a grid's first point."""
    return {flag: values[0] for flag, values in search.grid.items()}


def settled(record: Record, points: Sequence[Flags]) -> Record:
    """Return the results of some points, and seeds of their best."""
    tried = [each for each in record["searched"] if each["flags"] in points]
    chosen = best(tried, points)
    seeds = record["seeds"] if chosen and chosen == record["chosen"] else []
    return record | {"searched": tried, "chosen": chosen, "seeds": seeds}


def best(tried: Sequence[Record], points: Sequence[Flags]) -> dict[str, str]:
    """Return the point of the best validation accuracy once all are tried."""
    made = [each["flags"] for each in tried]
    if any(point not in made for point in points):
        return {}
    flags: dict[str, str] = max(tried, key=_validation)["flags"]
    return flags


def _validation(tried: Record) -> float:
    """Return the active party's best validation accuracy on the way."""
    course = tried.get("course", [])
    return max((float(each["validation"]["active"]) for each in course), default=-1.0)
