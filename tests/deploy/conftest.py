"""One deployment for each file of tests, to run in parallel."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import CONNECTION, Deployment
from tests.helpers.connections.deployments import EPOCHS, Run, Start, local_weights


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a SuperLink and three SuperNodes."""
    with Deployment(tmp_path_factory.mktemp("deployment"), 3) as made:
        yield made


@pytest.fixture
def start(deployment: Deployment, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts runs; none outlives its test."""
    with contextlib.ExitStack() as runs:

        def streamed(config: str) -> Run:
            file = tmp_path / f"run-{len(list(tmp_path.glob('run-*.log')))}.log"
            with file.open("wb") as log:
                process = subprocess.Popen(  # noqa: S603
                    [
                        str(Path(sys.executable).parent / "flwr"),
                        *("run", ".", CONNECTION, "--stream", "--run-config", config),
                    ],
                    cwd=deployment.app,
                    env=deployment.env,
                    stdout=log,
                    stderr=log,
                )
            run = Run(deployment, process, file)
            runs.callback(run.end)
            return run

        yield streamed


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return the weights of a run that nothing happens to."""
    return local_weights(tmp_path_factory.mktemp("local") / "run", EPOCHS)
