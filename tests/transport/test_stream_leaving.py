"""Training goes on without a party that does not come back."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.connections.sessions import CFG, kill, nodes
from tests.helpers.connections.streams import FakeGrid, run_stream
from vfl_flower.common.errors import RosterError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.parties.active import ActiveParty
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.stream.run import StreamTransport
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.run import conduct

pytestmark = pytest.mark.usefixtures("soon")


def leaving(**more: Any) -> RunConfig:
    how = {"stream_grace": 0.5, "return_timeout": 2.0, "baselines": "off", "on_leave": "continue"}
    cfg = replace(CFG, method="splitnn", run_name="one", **how)  # type: ignore[arg-type]
    return replace(cfg, party_randomness="public", embedding_bound="none", **more)


def conducted(folder: Path, cfg: RunConfig, grid: FakeGrid) -> tuple[ActiveParty, dict[str, Any]]:
    active = build_active(cfg, folder / "run")
    streaming = replace(cfg, stream_listen="127.0.0.1:0")
    transport = StreamTransport(grid, streaming, cfg.to_mapping(), simulated=False)  # type: ignore[arg-type]
    return active, conduct(active, transport, RunFolder(folder / "run", cfg))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"missing_parties": "use", "method": "agg_vfl"}])
def test_a_run_goes_on_without_a_party(
    more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluations since then alone say which weights count."""
    if more:
        more = {**more, "blinding": "none"}
    cfg = leaving(**more)
    grid = FakeGrid(nodes(tmp_path, cfg))
    kill(monkeypatch, (20,), partial(grid.nodes.__delitem__, 101))
    active, result = conducted(tmp_path, cfg, grid)
    assert result["without"] == ["party-2"]
    assert result["steps"] == 3 * steps_per_epoch(cfg, len(active.rows["train"]))
    told = [each.without for each in read_metrics(tmp_path / "run")]
    assert told[0] == [] and told[-1] == ["party-2"]
    counting = active.progress.counting("best")
    assert counting is not None and counting.without == ["party-2"]
    assert {*result["leave_one_out"]["scores"]} <= {"party-1", "party-3"}
    assert RunFolder.reopen(tmp_path / "run", {}).cfg.without == "party-2"


@pytest.mark.slow
def test_who_leaves_before_the_first_step_trains_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are those of a run that is told of it."""
    cfg = leaving()
    grid = FakeGrid(nodes(tmp_path, cfg))
    kill(monkeypatch, (3,), partial(grid.nodes.__delitem__, 101))
    left, _ = conducted(tmp_path, cfg, grid)
    other = tmp_path / "other"
    other.mkdir()
    grid = FakeGrid(nodes(other, cfg))
    told, _ = conducted(other, replace(cfg, without="party-2"), grid)
    for name, value in told.net.state_dict().items():
        assert value.equal(left.net.state_dict()[name]), name


@pytest.mark.slow
def test_a_party_that_was_never_there_ends_the_run(tmp_path: Path) -> None:
    cfg = replace(leaving(), party_timeout=2.0)
    grid = FakeGrid(nodes(tmp_path, cfg))
    del grid.nodes[101]
    with pytest.raises(RosterError, match="missing after 2 s: party-2"):
        run_stream(build_active(cfg, tmp_path), grid, "127.0.0.1:0", cfg.to_mapping())
