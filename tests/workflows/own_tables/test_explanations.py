"""Explanations of runs of own tables."""

import json

import pytest

from tests.helpers.outcomes.commands import explain as run
from tests.helpers.own_data.own import NAMES
from tests.helpers.own_data.own_predictions import OF_IMAGES, Finished
from vfl_flower.config.registry import METHODS, specs


@pytest.mark.parametrize("method", sorted({*METHODS} - OF_IMAGES))
def test_parties_and_no_columns_are_told(
    method: str, finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--rows", "test", "--repeats", "2", "--json"]
    folder = finished(f"--method={method}")
    capsys.readouterr()
    assert run([str(folder), *arguments]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)["permutation"]
    assert (found["rows"], found["repeats"], found["metric"]) == ("test", 2, "accuracy")
    assert [each["party"] for each in found["parties"]] == ["active", "party-1", "party-2"]
    assert {each["holds"] for each in found["parties"]} == {"8 columns"}
    if found["score"] > 0.75:
        assert any(each["drop"] for each in found["parties"])
    assert ("norm" in printed.out) == specs()[method].additive
    assert not any(name in printed.out + printed.err for name in NAMES)
    assert not list(folder.rglob("explanation.json"))
