"""Records that hold the SHA-256 of their values."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vfl_flower.common.checksums.records import (
    check_toml,
    read_checked,
    toml_with_sum,
    write_checked,
)
from vfl_flower.common.checksums.sums import KEY
from vfl_flower.common.errors import ConfigError, DamageError, RunError
from vfl_flower.config.run_config import RunConfig, read_toml

VALUES = {"run": "0123abcd", "seeds": [0, 17], "loss": 0.1, "on": True, "of": {"ü": None}}
SHAPE = {"run": str, "seeds": [int], "loss": float, "on": bool, "of": dict}


def flipped(path: Path) -> Iterator[int]:
    """Flip each bit of a file in turn."""
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        yield bit


def outcomes(path: Path, read: Callable[[Path], Any], good: Any) -> list[bool]:
    """Tell of each flipped bit whether it was noticed."""
    noticed = []
    for _ in flipped(path):
        try:
            found = read(path)
        except (RunError, ConfigError):
            noticed.append(True)
        else:
            noticed.append(False)
            assert found == good
    return noticed


@pytest.mark.slow
def test_each_flipped_bit_of_a_record_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_checked(path, VALUES)
    assert read_checked(path, SHAPE) == VALUES

    def read(path: Path) -> object:
        found = read_checked(path, SHAPE)
        return {key: found[key] for key in VALUES}  # what a flipped name of the sum left behind

    noticed = outcomes(path, read, VALUES)
    assert sum(noticed) > 0.7 * len(noticed)


def test_each_flipped_bit_of_a_configuration_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path, values = tmp_path / "config.toml", {"seed": 3, "dp-sigma": 1e-05, "models": 'm"lp\n'}
    path.write_bytes(toml_with_sum(values))

    def read(path: Path) -> object:
        check_toml(path)
        return read_toml(path)

    assert read(path) == values
    noticed = outcomes(path, read, values)
    assert sum(noticed) > 0.7 * len(noticed)


def test_a_configuration_that_was_cut_short_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    content = toml_with_sum(RunConfig().to_mapping())
    for lines in range(1, content.count(b"\n")):
        path.write_bytes(b"\n".join(content.split(b"\n")[:lines]))
        with pytest.raises(DamageError, match="is damaged, or was edited"):
            check_toml(path)


def test_a_configuration_may_be_laid_out_anew_but_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(toml_with_sum({"seed": 3, "epochs": 4}))
    text = path.read_text()
    path.write_text(f"# mine\r\n{text.replace(' = 3', '=3')}\n\n")
    check_toml(path)
    path.write_text(text.replace("3", "4", 1))
    with pytest.raises(DamageError, match=f"beside --resume.*remove the line '# {KEY}'"):
        check_toml(path)


def test_of_files_without_a_sum_one_warning_is_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("active", "party-1"):
        path = tmp_path / "run" / name / "run.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"run": "ab"}')
        assert read_checked(path, {"run": str}) == {"run": "ab"}
    (told,) = caplog.messages
    assert told.startswith(f"{tmp_path / 'run'} has files of an earlier version")
