"""Results of experiments: a JSON file each, in a folder a paper."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import machine, versions
from benchmarks.reproducing.paper import Flags
from benchmarks.reproducing.runs import Record
from vfl_flower.common.errors import RunError
from vfl_flower.common.files import write_atomically

RESULTS = Path(__file__).parents[1] / "results" / "papers"
"""Where the repository keeps them."""


def slug(name: str) -> str:
    """Return a name as part of a path."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


class Store:
    """Results in a folder.

    Parameters
    ----------
    folder : Path
        Holds a folder for each paper.
    """

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder

    def path(self, paper: str, experiment: str) -> Path:
        """Return the file of an experiment."""
        return self.folder / slug(paper) / f"{slug(experiment)}.json"

    def read(self, paper: str, experiment: str) -> Record | None:
        """Return the results of an experiment, if there are some.

        Raises
        ------
        RunError
            If the file is not as it was written.
        """
        path = self.path(paper, experiment)
        try:
            found: Record | None = json.loads(path.read_text()) if path.is_file() else None
        except ValueError as error:
            raise RunError(f"{path} is no result: restore it, or remove it") from error
        return found

    def current(self, paper: str, experiment: str, flags: Flags) -> Record:
        """Return the results of some flags; empty ones if there are none."""
        found = self.read(paper, experiment)
        if found and found["flags"] == dict(flags):
            return found
        names = {"paper": paper, "experiment": experiment}
        return names | {"flags": dict(flags), "searched": [], "chosen": {}, "seeds": []}

    def write(self, record: Record) -> None:
        """Write the results of an experiment."""
        path = self.path(record["paper"], record["experiment"])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _text(record).encode())


def origin() -> Record:
    """Return date, machine and versions of a run that ends now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": now, "machine": machine(), "versions": versions()}


def origins(record: Record) -> list[Record]:
    """Return date, machine and versions of each seed.

    Of early ones, which do not have their own, those of the last of them.
    """
    shared = {name: record[name] for name in ("date", "machine", "versions") if name in record}
    return [shared | each for each in record["seeds"]]


def _text(record: Record) -> str:
    """Serialise with a line for each key and list entry."""
    lines = [f"{json.dumps(key)}: {_lines(_rounded(value))}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, list) or not value:
        return json.dumps(value, allow_nan=False)
    return "[\n" + ",\n".join(json.dumps(each, allow_nan=False) for each in value) + "\n]"


def _rounded(value: Any) -> Any:  # noqa: ANN401
    """Round all numbers to seven digits, more than tables show."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
