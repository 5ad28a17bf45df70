"""State files as somebody leaves them who edits them by hand."""

import json
import re
from pathlib import Path
from typing import Any


def values_of(path: Path) -> dict[str, Any]:
    """Return a JSON file's values without their SHA-256."""
    values: dict[str, Any] = json.loads(path.read_text())
    values.pop("sha256", None)
    return values


def edit(path: Path, old: str, new: str) -> None:
    """Replace text in a TOML file, and take its SHA-256 out."""
    text = re.sub("# sha256 = .*\n", "", path.read_text())
    assert old in text
    path.write_text(text.replace(old, new))
