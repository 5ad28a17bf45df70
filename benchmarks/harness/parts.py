"""Results of some names of a benchmark beside those of others."""

from collections.abc import Sequence
from typing import Any

Result = dict[str, Any]
OF_PART = ("date", "seconds", "machine", "versions")
"""What tells when and where names were measured."""


def joined(former: Result, fresh: Result, known: Sequence[str]) -> Result:
    """Return fresh results with former ones of other names.

    Tables with the title and the columns of a fresh one keep the rows whose first cells it lacks.
    Tables with other titles stay, and other facts, but for those that begin with a name that was
    measured anew.

    Parameters
    ----------
    former, fresh : dict
        Results as they are written.
    known : sequence of str
        All names of the benchmark.

    Returns
    -------
    dict
        Results with ``parts``, which tells of all names when and where they were measured.
    """
    now = set(fresh["options"]["names"])
    parts = [each | {"names": [*set(each["names"]) - now]} for each in _parts(former)]
    parts = [each for each in (*parts, *_parts(fresh)) if each["names"]]
    for each in parts:
        each["names"] = [name for name in known if name in each["names"]]
    names = [name for name in known if any(name in each["names"] for each in parts)]
    keys = {_key(each) for each in fresh["tables"]}
    stay = [
        each
        for each in former["tables"]
        if _key(each) in keys or each["title"].partition(": ")[0] not in now
    ]
    told = former["facts"].items()
    facts = {key: value for key, value in told if key.partition(", ")[0] not in now}
    return fresh | {
        "options": fresh["options"] | {"names": names},
        "tables": _tables(stay, fresh["tables"]),
        "facts": facts | fresh["facts"],
        "parts": parts,
    }


def days(result: Result, name: str = "") -> str:
    """Return the day of measurement, or the first and the last one.

    Parameters
    ----------
    result : dict
        Results as they are written.
    name : str, optional
        Name of the benchmark whose day is asked for; empty: of all.
    """
    told = [each for each in _parts(result) if name in each["names"]] or _parts(result)
    found = sorted(each["date"][:10] for each in told)
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def _parts(result: Result) -> list[Result]:
    alone = {key: result[key] for key in OF_PART} | {"names": result["options"].get("names", [])}
    found: list[Result] = result.get("parts", [alone])
    return found


def _tables(former: list[Result], fresh: list[Result]) -> list[Result]:
    found = {_key(each): each for each in former}
    for table in fresh:
        rows = found[_key(table)]["rows"] if _key(table) in found else []
        found[_key(table)] = table | {"rows": _rows(rows, table["rows"])}
    return list(found.values())


def _key(table: Result) -> tuple[str, ...]:
    return table["title"], *table["columns"]


def _rows(former: list[list[Any]], fresh: list[list[Any]]) -> list[list[Any]]:
    """Return rows, fresh ones in the place of former ones."""
    found = dict[Any, list[list[Any]]]()
    for rows in (former, fresh):
        own = dict[Any, list[list[Any]]]()
        for row in rows:
            own.setdefault(row[0], []).append(row)
        found |= own
    return [row for rows in found.values() for row in rows]
