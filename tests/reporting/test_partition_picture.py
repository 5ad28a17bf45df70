"""Pictures of the columns that each party holds."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers.outcomes.commands import data as run


@pytest.mark.parametrize("flags", [["--partition", "grid:2x2"], ["--dataset", "wine"]])
def test_the_picture_shows_each_party(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "holdings.png"
    assert run(["show", *flags, "--picture", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines = [line for line in lines if not line.startswith("  ")]  # what a table's columns are
    assert lines[1].startswith("party-1 holds ")
    assert len(lines) == 5
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    rows = np.array_split(pixels[8:], 4)
    assert len({row.tobytes() for row in rows}) == 4
    assert all(len(np.unique(row.reshape(-1, 3), axis=0)) > 2 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "--partition", "grid:3x3"], "9 tiles"),
        (["show", "--dataset", "wien"], "did you mean 'wine'"),
        (["show", "--dataset", "mnist", "--no-download", "--data-dir", "none"], "set data-dir"),
        (["show", "--epochs", "3"], "--epochs"),
        ([], "Missing command"),
    ],
)
def test_a_picture_that_cannot_be_drawn_says_why(
    arguments: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments:
        arguments = [*arguments, "--picture", str(tmp_path / "none.png")]
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
    assert not list(tmp_path.iterdir())
