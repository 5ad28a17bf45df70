"""Reduced sets of parties."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.data import columns_of
from tests.helpers.outcomes.commands import explain as run
from tests.helpers.outcomes.explained import BLANK, Runs, result_of
from vfl_flower.analysis.explain.retraining import Choice, reduced
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig


@given(
    st.lists(st.floats(0, 100), min_size=2, max_size=30),
    st.floats(0, 100, exclude_min=True, exclude_max=True),
    st.sampled_from(("top", "bottom")),
)
def test_the_parties_that_stay_are_at_one_end(norms: list[float], percent: float, end: str) -> None:
    by_place = dict(enumerate(norms, 1))
    kept = Choice(end, percent).places(by_place)
    left = set(by_place) - set(kept)
    assert kept == sorted(set(kept))
    assert kept
    assert left
    assert abs(len(kept) - percent / 100 * len(norms)) <= 1
    inner, outer = [norms[p - 1] for p in kept], [norms[p - 1] for p in left]
    assert min(inner) >= max(outer) if end == "top" else max(inner) <= min(outer)


@pytest.mark.parametrize("text", ["top:0", "top:100", "bottom:-1", "top:nan", "top", "best:50", ""])
def test_a_choice_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="must be top:PERCENT or bottom:PERCENT"):
        Choice.read(text)


@pytest.mark.parametrize("partition", ["auto", "strips:rows", "grid:2x3", "importance:1", BLANK])
@pytest.mark.parametrize("active_columns", ["own", "none"])
def test_the_parties_that_stay_are_as_they_were(partition: str, active_columns: str) -> None:
    holders = partition.count(";") + 1 if partition == BLANK else 6
    cfg = RunConfig(
        method="vimadmm",
        partition=partition,
        active_columns=active_columns,
        parties=holders + (active_columns == "none"),
        optimizers=",".join(["sgd", "adam", "momentum", "adagrad", "sgd", "adam", "sgd"][:holders])
        + (",adam" if active_columns == "none" else ""),
    )
    places = [0, 2, 3]
    fewer = reduced(replace(cfg, column_noise="3:0.5"), places[1:])
    assert fewer.parties == 3
    assert fewer.noises() == {2: 0.5}
    fewer = replace(fewer, column_noise="")
    for rank, earlier in enumerate(places):
        assert columns_of(fewer, rank).equal(columns_of(cfg, earlier))
        for of in (RunConfig.model_of, RunConfig.optimizer_of, RunConfig.rate_of):
            assert of(fewer, rank) == of(cfg, earlier)
    least = reduced(fewer, [2])
    assert columns_of(least, 1).equal(columns_of(cfg, 3))
    changed = {"parties", "partition", "models", "optimizers"}
    for key, value in least.to_mapping().items():
        assert key in changed or value == cfg.to_mapping()[key]


def test_too_few_parties_for_the_method_are_refused() -> None:
    with pytest.raises(ConfigError, match="keeps 1 of 3 passive parties: vimadmm_j blinds"):
        reduced(RunConfig(method="vimadmm_j"), [2])


@pytest.mark.slow
def test_too_few_parties_are_refused_before_anything_is_drawn(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([str(runs / "labels only"), "--out", str(out), "--retrain", "top:10"]) == 2
    assert "--retrain keeps 1 of 3 passive parties" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


@pytest.mark.slow
def test_a_reduced_run_with_labels_only_trains(runs: Runs, tmp_path: Path) -> None:
    arguments = ["--out", str(tmp_path / "out"), "--retrain", "bottom:60"]
    assert run([str(runs / "labels only"), *arguments]) == 0
    result = result_of(tmp_path / "out" / "bottom-60")
    assert result["parties"] == 3
    assert result["models"][0] == "none"
