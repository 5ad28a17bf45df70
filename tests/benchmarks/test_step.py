"""The limit of a step's ratio on the machine."""

import pytest

from benchmarks import step
from benchmarks.harness import checks
from benchmarks.harness.report import Report


def measured(monkeypatch: pytest.MonkeyPatch, gain: float) -> list[dict[str, object]]:
    """Measure steps on a machine of some gain; return rows by columns."""
    monkeypatch.setattr(step, "gain", lambda programs, *, tiny: gain)
    monkeypatch.setattr(checks, "compare", lambda cfg, pairs: [0.0] * 5)
    report = Report()
    step.measure(step.BENCHMARK.parsed(["--tiny", "--models", "mlp"]), report)
    table = report.tables[0]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize(
    ("parties", "gain", "ms"),
    [([3.0, 3.0, 3.0], 1.0, 9.0), ([3.0, 3.0, 3.0], 1.5, 6.0), ([1.0, 8.0, 1.0], 2.0, 8.0)],
)
def test_a_step_takes_all_work_or_the_longest(parties: list[float], gain: float, ms: float) -> None:
    assert step.least(parties, gain) == ms


@pytest.mark.slow
def test_without_a_gain_the_limit_is_that_of_parties_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes, beside, in_turn, *others = measured(monkeypatch, 1.0)
    assert in_turn["limit"] is None
    for row in (processes, beside, *others):  # two pairs: medians are means, which add up
        assert row["limit"] * row["joint ms"] == pytest.approx(in_turn["ours ms"])  # type: ignore[operator]


@pytest.mark.slow
def test_with_all_gain_the_longest_party_is_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    _, beside, in_turn, *_ = measured(monkeypatch, float("inf"))
    share = beside["limit"] * beside["joint ms"] / in_turn["ours ms"]  # type: ignore[operator]
    assert 0.25 <= share < 1  # of four parties
