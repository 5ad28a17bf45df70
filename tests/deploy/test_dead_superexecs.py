"""SuperExecs that die in a deployment whose programs are supervised."""

from collections.abc import Iterator

import pytest

from deploy.local import Deployment
from tests.helpers.connections.deployments import Start, kill, result
from tests.helpers.connections.supervised import Supervised

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a SuperLink and two SuperNodes under a supervisor."""
    with Supervised(tmp_path_factory.mktemp("supervised"), 2) as made:
        yield made


def test_a_node_whose_superexec_died_is_started_again(deployment: Supervised, start: Start) -> None:
    """Without a supervisor it would take the invitation, and start nothing."""
    kill(deployment, "flower-superexec", within="node2")
    run = start(
        'parties=3 stream-listen="127.0.0.1:0" party-timeout=240.0 models="mlp" epochs=1 '
        'run-name="after"'
    )
    log = run.finished()
    assert result(deployment, "after")["connections"]["tls"], log
    assert ("node2", 2) in deployment.ended
    assert "flower-superexec ended (-9)" in (deployment.folder / "node2.log").read_text()
