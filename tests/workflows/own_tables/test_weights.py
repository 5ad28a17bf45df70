"""A column of weights: read, checked, in proportion, and no feature."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import vfl_flower as vfl
from tests.helpers.outcomes.commands import explain, predict
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import TINY, flags, weights_of
from tests.helpers.own_data.own_runs import align, stopped
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.build_parties import build_active


def weighted(tables: str, folder: Path, cells: list[str], more: str = 'weight = "w"\n') -> str:
    """Write the tables with a column of weights at the active party."""
    first, *others = (Path(each) for each in tables.split(","))
    with first.with_suffix(".csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    given = [[*row, cells[n % len(cells)]] for n, row in enumerate(rows)]
    with (folder / "weighted.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "w"], *given])
    said = first.read_text().replace(first.with_suffix(".csv").name, "weighted.csv")
    (folder / "weighted.toml").write_text(said + more)
    return ",".join(map(str, [folder / "weighted.toml", *others]))


def test_weights_are_in_proportion_and_no_feature(tables: str, tmp_path: Path) -> None:
    given = weighted(tables, tmp_path, ["2", "0", "6"])
    cfg = RunConfig(
        **TINY, tables=given, alignment=str(tmp_path), largest_weight=4.0, class_weights="balanced"
    )
    align(cfg, "local", tmp_path)
    active = build_active(cfg)
    assert active.x.shape[1] == 8
    weights = active.training_labels.weights
    assert weights is not None
    train = weights[torch.from_numpy(active.rows["train"])]
    assert train.mean().item() == pytest.approx(1, rel=1e-5)
    assert sorted({round(each / train.amax().item(), 5) for each in weights.tolist()}) == [
        0,
        pytest.approx(1 / 3, abs=1e-4),
        1,
    ]
    rows = active.rows["validation"]
    logits = torch.randn(len(rows), 2, generator=torch.Generator().manual_seed(1))
    y, of_class = active.y[rows], active.training_labels.class_weights
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, torch.nn.functional.one_hot(y, 2).float(), reduction="none"
    ).sum(1) / np.log(2)
    expected = (each * weights[rows] * of_class[y]).mean().item()
    assert active.loss(logits, active.truth(rows)).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_equal_weights_train_as_none(tables: str, tmp_path: Path) -> None:
    even = weighted(tables, tmp_path, ["3.5"])
    assert run(flags(tables, tmp_path / "plain", "--method=splitnn")) == 0
    assert run(flags(even, tmp_path / "even", "--method=splitnn")) == 0
    assert weights_of(tmp_path / "even") == weights_of(tmp_path / "plain")


def test_explanations_weigh_rows_as_the_result_does(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = weighted(tables, tmp_path, ["1", "3", "0"])
    out = tmp_path / "out"
    assert run(flags(given, out, "--method=splitnn", "--largest-weight=3")) == 0
    capsys.readouterr()
    assert explain([str(out), "--rows", "test", "--repeats", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["permutation"]["score"] == pytest.approx(found["recorded"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["agg_vfl", "vimadmm_j"])
def test_weights_act_and_predictions_need_none(method: str, tables: str, tmp_path: Path) -> None:
    given = weighted(tables, tmp_path, ["1", "3", "0"])
    out, more = tmp_path / "out", (f"--method={method}", "--largest-weight=3")
    assert run(flags(given, out, *more)) == 0
    assert run(flags(tables, tmp_path / "plain", *more)) == 0
    assert weights_of(out) != weights_of(tmp_path / "plain")
    listed = [str(out), "--tables", tables, "--out", str(tmp_path / "said.csv")]
    assert predict(listed) == 0


@pytest.mark.slow
def test_rows_of_a_regression_have_weights_too(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"id": range(300), "a": random.normal(size=300)})
    far = frame.assign(y=np.where(frame.id % 2, 1.0, -1.0), w=np.where(frame.id % 2, 9.0, 1.0))
    parties = [vfl.Table(far, id="id", label="y", task="regression", weight="w")]
    parties += [vfl.Table(frame.assign(b=1.0 * (frame.id % 3)), id="id")]
    options: dict[str, Any] = {"method": "splitnn", "largest_weight": 2, "epochs": 25}
    done = vfl.train(parties, **options, batch_size=64, seed=0, baselines="off")
    said = done.predict(parties)["prediction"]
    assert np.mean(said) == pytest.approx(0.8, abs=0.25)  # the weighted mean, not 0


REFUSED: list[tuple[list[str], str, str, tuple[str, ...]]] = [
    (["1", "", "2"], "", "has a row that has no weight, row 2 the first of", ()),
    (["1", "-1"], "", "has a row that weighs less than 0, row 2 the first of", ()),
    (["1", "heavy"], "", "column w is no number in row 2", ()),
    (["1", "inf"], "", "column w holds infinity", ()),
    (["0"], "", "has no row that weighs anything", ()),
    (["1"], 'weight = "id"\n', "needs one of its own", ()),
    (["1"], 'weight = "outcome"\n', "needs one of its own", ()),
    (["1"], 'weight = "v"\n', "v", ()),
    (["1"], 'weight = "w"\ncolumns = {w = "numeric"}\n', "is the id, the label or the weight", ()),
    (["1", "9"], "", "set it to 1.", ()),
    (["1", "9"], "", "label-epsilon would not be true", ("--label-privacy=laplace",)),
    (["1", "9"], "", "from labels that they are given", ("--method=fdml",)),
    (["1"], "", "from labels that they", ("--method=c_vfl", "--share-labels")),
    (["1"], "", "from labels that they", ("--method=pravfed", "--label-privacy=none")),
]


@pytest.mark.parametrize(("cells", "more", "told", "options"), REFUSED, ids=str)
def test_weights_that_cannot_be_are_refused(
    cells: list[str],
    more: str,
    told: str,
    options: tuple[str, ...],
    tables: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = weighted(tables, tmp_path, cells, more or 'weight = "w"\n')
    stopped(given, tmp_path / "out", capsys, told, *options)


def test_a_passive_party_has_no_weights(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    active, first, second = tables.split(",")
    said = Path(first).read_text().replace('file = "', f'file = "{Path(first).parent}/')
    (tmp_path / "1.toml").write_text(said + 'weight = "column 9"\n')
    given = f"{active},{tmp_path / '1.toml'},{second}"
    stopped(given, tmp_path / "out", capsys, "party-1: 1.toml names a weight")


@pytest.mark.parametrize(
    "options", [{"label_privacy": "alibi"}, {"method": "fdml"}, {"method": "pravfed"}], ids=str
)
def test_an_option_for_weights_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="rows have weights"):
        RunConfig(largest_weight=2.0, **options)


def test_weights_of_a_table_in_memory_are_checked() -> None:
    frame = pd.DataFrame({"id": [1, 2], "y": [0, 1]})
    with pytest.raises(ConfigError, match="weight must be the name of one column"):
        vfl.Table(frame, id="id", label="y", weight=3)  # type: ignore[arg-type]
    with pytest.raises((ConfigError, DataError), match="w"):
        vfl.train([vfl.Table(frame, id="id", label="y", weight="w"), vfl.Table(frame, id="id")])
