"""A service in a deployment on loopback, whose parties are killed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import Deployment
from deploy.ports import free_port
from tests.helpers.connections.deployments import PATIENCE, Start, kill
from tests.helpers.connections.services import Caller, token_in
from tests.helpers.own_data.own import make

pytestmark = pytest.mark.slow

WAIT = 180.0  # seconds: sessions are opened anew by processes that import torch


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return make(tmp_path_factory.mktemp("tables")).split(",")


@pytest.fixture(scope="module")
def deployment(tables: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a SuperLink and two SuperNodes with tables of their own."""
    own = [f'table="{path}" new-table="{path}"' for path in tables[1:]]
    with Deployment(tmp_path_factory.mktemp("deployment"), 2, own=own) as made:
        yield made


def test_a_service_survives_the_death_of_a_party(
    deployment: Deployment, start: Start, tables: list[str], tmp_path: Path
) -> None:
    """Its ClientApp is killed; requests are refused until it is back."""
    data = f'parties=3 dataset="own" tables="{tables[0]}" stream-listen="127.0.0.1:0"'
    data += f' party-timeout={PATIENCE} models="mlp"'
    log = start(f'{data} run-name="loans" epochs=1 batch-size=64').finished()
    assert "saved in" in log
    port, file = free_port(), tmp_path / "service.toml"
    file.touch(mode=0o600)
    file.write_text(f'listen = "127.0.0.1:{port}"\ntoken = "{token_in(tmp_path)}"\n')
    asked = f'task="serve" model="loans" service="{file}" stream-grace=3.0'
    run = start(f'{data} run-name="scoring" {asked}')
    run.wait_until(lambda: f"serving on http://127.0.0.1:{port}" in run.log())
    caller = Caller(f"http://127.0.0.1:{port}", tmp_path / "token")
    caller.wait(WAIT)
    before = caller.predictions([f"id-{row:03d}" for row in range(240)])
    assert any(each["status"] == "predicted" for each in before)
    kill(deployment, "flwr-clientapp", within="node2")
    statuses, until = set[int](), time.monotonic() + WAIT
    ids = [each["id"] for each in before]
    while (response := caller.ask(ids)).status_code != 200 or statuses != {503}:
        assert time.monotonic() < until, (run.log(), response.text)
        assert response.status_code in (200, 503)
        statuses |= {response.status_code} - {200}
        time.sleep(0.2)
    assert response.json()["predictions"] == before
