"""Predictions without parties that have left."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.helpers.connections.services import calling, service_of
from tests.helpers.outcomes.commands import command, train
from tests.helpers.own_data.own import flags, result_of
from tests.helpers.own_data.partly import PARTIES, make, presence
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.simulate import predict

TINY = ("--epochs=2", "--batch-size=200", "--models=mlp", "--baselines=off")
USE = ("--missing-parties=use", f"--parties={PARTIES}", "--method=agg_vfl", "--models=mlp")
UNMASKED = {
    "splitnn": (),
    "agg_vfl": ("--blinding=none",),
    "easter": ("--blinding=none",),
    "vimadmm": (),
}
"""Methods of different kinds, and what they need."""


def said(run: Path, out: Path, **how: str) -> pd.DataFrame:
    """Predict, and return the table."""
    tables, rows = how.pop("tables", None), how.pop("rows", None)
    predict(run, out, tables, rows, truth=not tables, **how)  # type: ignore[arg-type]
    return pd.read_csv(out)


@pytest.mark.parametrize("method", UNMASKED)
def test_its_score_is_the_one_measured_while_training(method: str, tmp_path: Path) -> None:
    """Nothing of the party that has left is needed."""
    run = tmp_path / "run"
    assert train([*TINY, f"--method={method}", *UNMASKED[method], f"--out={run}"]) == 0
    shutil.rmtree(run / "party-2")
    made = said(run, tmp_path / "said.csv", rows="validation", without="party-2")
    score = (made["prediction"] == made["truth"]).mean()
    result = result_of(run)
    assert score == pytest.approx(result["leave_one_out"]["scores"]["party-2"])
    assert result["without"] == []


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a masked run of tables of which parties lack rows."""
    assert train(flags(make(tmp_path / "tables"), tmp_path / "run", *USE)) == 0
    return tmp_path / "run"


def without_its_rows(folder: Path) -> tuple[str, int]:
    """Make tables of new ids, of rows at two other parties."""
    here = presence()
    chosen = here[:, 0] & here[:, 2]
    here[~chosen] = False
    tables = make(folder, here)
    for path in folder.glob("*.csv"):
        path.write_text(path.read_text().replace("id-", "new-"))
    return tables, int(chosen.sum())


@pytest.mark.slow
def test_new_rows_go_on_under_masks(run: Path, tmp_path: Path) -> None:
    """Rows of three parties are predicted from two, others as before."""
    tables, count = without_its_rows(tmp_path / "new")
    files = tables.split(",")
    shutil.rmtree(run / "party-2")
    given = ",".join([*files[:2], *files[3:]])
    made = said(run, tmp_path / "said.csv", tables=given, without="party-2")
    assert len(made) == count
    with pytest.raises(ConfigError, match=r"names 4 tables, and without party-2 there are 3 part"):
        predict(run, tmp_path / "said.csv", tables, None, without="party-2")


@pytest.mark.slow
def test_rows_scored_with_the_leaver_are_refused_under_masks(run: Path, tmp_path: Path) -> None:
    tables, _ = without_its_rows(tmp_path / "new")
    files = tables.split(",")
    before = said(run, tmp_path / "before.csv", tables=tables)
    given = ",".join([*files[:2], *files[3:]])
    with pytest.raises(PartyError, match="rows were in sums of other parties"):
        predict(run, tmp_path / "said.csv", given, None, without="party-2")
    others = _lacking_the_second(tmp_path / "others")
    made = said(run, tmp_path / "made.csv", tables=others, without="party-2")
    same = before.merge(made, on="id")
    probability = [name for name in made if name.startswith("probability")]
    for name in probability:
        assert np.array_equal(same[f"{name}_x"], same[f"{name}_y"])
    assert len(same) == len(made) > 0


def _lacking_the_second(folder: Path) -> str:
    """Make the same tables, of rows alone that the second party lacks."""
    here = presence()
    here[~(here[:, 0] & here[:, 2]) | here[:, 1]] = False
    tables = make(folder, here)
    for path in folder.glob("*.csv"):
        path.write_text(path.read_text().replace("id-", "new-"))
    files = tables.split(",")
    return ",".join([*files[:2], *files[3:]])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "splitnn", "without": "party-9"}, "no passive party of the run"),
        ({"method": "c_vfl", "without": "party-1"}, "no zeros can stand for one party's uploads"),
        ({"method": "easter", "without": "party-1"}, "train with missing-parties = use"),
        (
            {"method": "easter", "without": "party-1,party-2", "missing_parties": "use"},
            "leaves 1 passive parties, and 2 must be there",
        ),
        ({"method": "splitnn", "without": "party-1,party-2,party-3"}, "leaves 0 passive parties"),
        ({"method": "easter", "on_leave": "continue"}, "under masks a step that is repeated"),
        ({"method": "c_vfl", "on_leave": "continue"}, "trains with all parties only"),
        (
            {
                "method": "splitnn",
                "on_leave": "continue",
                "missing_parties": "use",
                "subset_training": "on",
            },
            "whose subsets all parties draw together",
        ),
        (
            {"method": "vafl", "vafl_mode": "asynchronous", "on_leave": "continue"},
            "trains with all parties only",
        ),
    ],
)
def test_refusals(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RunConfig(**options)  # type: ignore[arg-type]


def test_masked_training_has_all_parties(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flagged = [*TINY, "--missing-parties=use", "--without=party-1", f"--out={tmp_path / 'run'}"]
    assert train(flagged) == 2
    assert "under masks a step that is repeated" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_training_goes_on_without_a_party(tmp_path: Path) -> None:
    """Unmasked, from the beginning; predictions go on without it unasked."""
    run = tmp_path / "run"
    assert train([*TINY, "--method=splitnn", "--without=party-3", f"--out={run}"]) == 0
    assert result_of(run)["without"] == ["party-3"]
    assert not (run / party_name(3)).exists()
    assert {*result_of(run)["leave_one_out"]["scores"]} == {"party-1", "party-2"}
    made = said(run, tmp_path / "said.csv", rows="test")
    score = (made["prediction"] == made["truth"]).mean()
    assert score == pytest.approx(result_of(run)["test_accuracy"]["active"])


@pytest.mark.slow
def test_a_service_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train([*TINY, "--method=splitnn", f"--out={run}"]) == 0
    made = said(run, tmp_path / "said.csv", rows="all", without="party-2")
    shutil.rmtree(run / "party-2")
    with calling(service_of(run, tmp_path, without="party-2")) as caller:
        found = caller.predictions([0, 5, 7])
    expected = made.set_index("id").loc[[0, 5, 7], "prediction"]
    assert [each["prediction"] for each in found] == [str(each) for each in expected]


def test_the_commands_take_it(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "said.csv"
    assert train([*TINY, "--method=splitnn", f"--out={run}"]) == 0
    asked = [str(run), "--without", "party-1,party-3", "--out", str(out)]
    assert command("predict")(asked) == 0
    assert len(pd.read_csv(out)) > 0
