"""Registry of transports: one name, one class, the runtime that it needs."""

import subprocess
import sys
from pathlib import Path

import pytest
from flwr.common import FitIns, Parameters

from tests.helpers.connections.streams import node
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.transports import TRANSPORTS, Runtime, chosen_transport
from vfl_flower.protocol.transport import Transport


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_name_is_that_of_its_class(name: str) -> None:
    loaded = TRANSPORTS[name].load()
    assert issubclass(loaded, Transport)
    assert loaded.name == name


@pytest.mark.parametrize(
    ("name", "runtime", "chosen"),
    [
        ("auto", Runtime.ONE_PROCESS, "local"),
        ("local", Runtime.ONE_PROCESS, "local"),
        ("auto", Runtime.FLOWER, "stream"),
        ("stream", Runtime.FLOWER, "stream"),
        ("messages", Runtime.FLOWER, "messages"),
    ],
)
def test_a_runtime_has_a_default(name: str, runtime: Runtime, chosen: str) -> None:
    assert chosen_transport(name, runtime) is TRANSPORTS[chosen]


@pytest.mark.parametrize(
    ("name", "runtime", "says"),
    [
        ("stream", Runtime.ONE_PROCESS, "transport is stream, .* flwr run; use auto or local here"),
        ("messages", Runtime.ONE_PROCESS, "transport is messages, .* flwr run; use auto or local"),
        ("local", Runtime.FLOWER, r"needs run_simulation\.py; use auto or stream here"),
    ],
)
def test_a_transport_of_another_runtime_is_refused(name: str, runtime: Runtime, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        chosen_transport(name, runtime)


def test_a_choice_loads_no_transport() -> None:
    """So that help and completion stay fast."""
    code = (
        "import sys; import vfl_flower.config.run_config, vfl_flower.cli.main\n"
        "print([m for m in sys.modules if m in ('torch', 'grpc', 'vfl_flower.transport')])"
    )
    done = subprocess.run(  # noqa: S603  its own words
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_message_of_no_transport_is_refused(tmp_path: Path) -> None:
    answer = node(0, tmp_path, {}).fit(FitIns(Parameters([], ""), {"phase": "embed"}))
    assert answer.metrics["error"] == "ProtocolError"
    assert "no transport" in str(answer.metrics["message"])


def test_the_option_has_a_former_name() -> None:
    assert RunConfig.from_mapping({"carrier": "messages"}).transport == "messages"
