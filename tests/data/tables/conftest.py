"""Fixture that writes and reads own tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reader import OwnTable, read_table


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., OwnTable]:
    """Return a function that writes a CSV file and reads it."""

    def read(content: str | bytes, trained: Encoder | None = None, **said: Any) -> OwnTable:
        path = tmp_path / "own.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        said.setdefault("id", "id")
        return read_table(Description(path, **said), "party-3", trained)

    return read
