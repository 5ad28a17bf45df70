"""Settings of services between machines, and runs that cannot serve."""

from pathlib import Path
from typing import Any

import pytest

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.serving.options import DeployedOptions

OWN: dict[str, Any] = {"dataset": "own", "tables": "/srv/bank.toml", "task": "serve"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "task is serve, and model is empty"),
        ({"model": "loans", "transport": "messages"}, "keeps no party in a session; use stream"),
        ({"model": "loans", "truth": True}, "truth is of predictions, and task is serve"),
        ({"model": "loans", "task": "predict", "service": "/a.toml"}, "use task = serve"),
        ({"task": "train", "service": "/a.toml"}, "service is /a.toml, and task is train"),
    ],
)
def test_a_run_that_cannot_serve_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        RunConfig(**(OWN | options))


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        ('token = "/t"\nport = 1', 0o600, "unknown key 'port'; known are "),
        ('token = "/t"\nwindow = "1"', 0o600, "window must be of type float, not '1'"),
        ('token = "/t"\nsession-life = 1e9', 0o600, "session-life must be at least 1 and at most"),
        ("token", 0o600, "Expected '=' after a key"),
        ("", 0o600, "token is empty"),
        ('token = "/t"', 0o620, "may be written by others; chmod go-w it"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(
    content: str, mode: int, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "service.toml"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(ConfigError) as refused:
        DeployedOptions.load(path)
    assert str(refused.value).startswith(f"service {path}: ")
    assert says in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        DeployedOptions.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="service must be the absolute path of a toml file"):
        DeployedOptions.load(Path("service.toml"))


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text('token = "/t"\nwindow = 2\nmost-ids = 7\nmodel = "loans"\n')
    path.chmod(0o600)
    made = DeployedOptions.load(path)
    assert (made.window, made.most_ids, made.model) == (2.0, 7, "loans")
