"""Several labels of a row: training, metrics, predictions, refusals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, hamming_loss, roc_auc_score

from tests.helpers.outcomes.commands import inspect, report, train
from tests.helpers.outcomes.commands import predict as run
from tests.helpers.own_data.own import flags, result_of
from tests.helpers.own_data.own_predictions import OF_IMAGES, Finished, read, some
from tests.helpers.own_data.several import LABELS, TRUTH, VALUES, aligned, all_tables, tables_of
from vfl_flower.config.catalog import MULTI_LABEL
from vfl_flower.config.registry import spec_of, specs
from vfl_flower.data.columns import Column
from vfl_flower.data.loading import load_parties
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.parties.residuals import Residuals

LEARN = sorted(name for name, each in specs().items() if each.regression and not each.gives_labels)
NAMES = ["large", "late_fee", "_odd"]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return the folder of a method's run; nobody may change it."""
    root = tmp_path_factory.mktemp("several")
    tables, made = all_tables(root / "tables"), dict[str, Path]()

    def finish(method: str) -> Path:
        if method not in made:
            made[method] = root / method
            more = [f"--method={method}", "--epochs=3"]
            if "learning_rates" not in spec_of(method).unused:
                more.append("--learning-rates=0.01")
            assert train(flags(tables, made[method], *more)) == 0
        return made[method]

    return finish


@pytest.mark.parametrize("method", LEARN)
def test_every_general_method_learns_several_labels(
    method: str, several: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metrics of the result are scikit-learn's of the predictions."""
    folder, out = several(method), tmp_path / "said.csv"
    result = result_of(folder)
    assert (result["task"], result["classes"]) == (MULTI_LABEL, LABELS)
    assert run([str(folder), "--rows=test", "--truth", f"--out={out}"]) == 0
    head, lines = read(out)
    kinds = ("prediction", "probability", "truth")
    assert head == ["id", *(f"{kind}_{name}" for kind in kinds for name in NAMES)]
    rows = [int(line[0][3:]) for line in lines]
    words = [[VALUES[n].index(line[n + 1]) for n in range(3)] for line in lines]
    said, shares = np.array(words), np.array([line[4:7] for line in lines], float)
    assert [line[7:] for line in lines] == [
        [VALUES[n][at] for n, at in enumerate(TRUTH[row])] for row in rows
    ]
    assert (said == (shares > 0.5)).all()
    assert result["test_f1"]["active"] == pytest.approx(
        f1_score(TRUTH[rows], said, average="macro")
    )
    metrics = result["metrics"]["active"]
    assert metrics["auc"] == pytest.approx(roc_auc_score(TRUTH[rows], shares), abs=1e-6)
    assert metrics["hamming_loss"] == pytest.approx(hamming_loss(TRUTH[rows], said))
    assert metrics["subset_accuracy"] == pytest.approx((TRUTH[rows] == said).all(1).mean())
    shares_of_ones = TRUTH[rows].mean(0)
    assert result["majority_share"] == pytest.approx(
        (2 * shares_of_ones / (1 + shares_of_ones)).mean()
    )


@pytest.mark.parametrize("method", ["easter", "splitnn"])
def test_new_rows_have_a_prediction_of_each_label(
    method: str, several: Finished, tmp_path: Path
) -> None:
    folder = several(method)
    rows = some(1), some(2, 200), some(3, 200)
    new = tables_of(tmp_path / "new", *rows)
    asked = [str(folder), f"--tables={new}", "--truth", "--keep-missing"]
    assert run([*asked, f"--out={tmp_path / 'said.csv'}"]) == 0
    lines = read(tmp_path / "said.csv")[1]
    assert [line[0] for line in lines] == [f"id-{row:03d}" for row in rows[0]]
    assert {line[1] for line in lines} == {"0", "1", ""}
    assert [line[7] for line in lines] == [VALUES[0][TRUTH[row, 0]] for row in rows[0]]
    assert run([str(folder), "--rows=all", f"--out={tmp_path / 'own.csv'}"]) == 0
    own = {line[0]: line[4:7] for line in read(tmp_path / "own.csv")[1]}
    common = [line for line in lines if line[0] in own and line[1]]
    assert len(common) > 20
    for line in common:
        told = [float(each) for each in own[line[0]]]
        assert [float(each) for each in line[4:7]] == pytest.approx(told, abs=5e-3)


@pytest.mark.slow
def test_it_learns(tmp_path: Path) -> None:
    tables = all_tables(tmp_path / "tables")
    more = ("--epochs=30", "--learning-rates=0.01", "--keep=best", "--metric=micro-f1")
    given = flags(tables, tmp_path / "run", "--method=splitnn", *more)
    given[given.index("--baselines=off")] = "--baselines=on"
    assert train(given) == 0
    result = result_of(tmp_path / "run")
    assert result["test_f1"]["active"] > 0.85
    assert "several of each" in " ".join(result["unprotected"])
    assert "several of each" in (tmp_path / "run" / "party-1" / "model" / "card.md").read_text()
    assert set(result["baselines"]) == {"local", "central"}
    assert result["baselines"]["central"] > 0.85 > result["baselines"]["local"]


@pytest.mark.slow
def test_a_run_is_shown_and_resumed(
    several: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = several("vafl")
    assert inspect([str(folder)]) == 0
    assert "subset accuracy" in " ".join(capsys.readouterr().out.split())
    assert report([str(folder), f"--page={tmp_path / 'page.html'}"]) == 0
    assert "all labels in each row" in (tmp_path / "page.html").read_text()
    before = result_of(folder)
    (folder / "result.json").unlink()
    assert train(["--resume", str(folder)]) == 0
    assert result_of(folder)["metrics"] == before["metrics"]
    target = json.loads((folder / "active" / "model" / "target.json").read_text())
    assert target["values"] == [[*pair] for pair in VALUES]


def test_the_rarer_of_two_words_is_found() -> None:
    parts = tuple(
        Column(name, values) for name, values in (("kind", ("fraud", "ok")), ("b", ("0", "1")))
    )
    places = np.array([[1, 1], [1, 1], [0, 1], [1, 0]], np.float64)
    label = Column("kind, b", ("kind", "b"), parts=parts)
    target = Target.fit(places, label, np.arange(4), "active")
    assert target.apply(places, label, "active").tolist() == [[0, 1], [0, 1], [1, 1], [0, 0]]
    assert target.told_positive == "found: kind fraud, b 1"


OTHERS = sorted({*specs()} - {*LEARN})
REFUSED = [
    *(
        (f"--method={name}", "each row has several labels")
        for name in OTHERS
        if name not in OF_IMAGES
    ),
    ("--label-privacy=randomized-response", "label-privacy is randomized-response"),
    ("--metric=accuracy", "metric is accuracy, and the labels are several"),
    ("--threshold=f1", "threshold is f1, which is of two classes"),
    ("--split=stratified", "split is stratified"),
    ("--class-weights=balanced", "class-weights is balanced"),
    ("--long-tail=2", "long-tail is 2"),
    ("--loss=cross-entropy", "loss is cross-entropy"),
    ("--loss=mean-squared-error", "loss is mean-squared-error"),
]


@pytest.mark.parametrize(("flag", "told"), REFUSED)
def test_options_of_classes_are_refused_before_work(
    flag: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(flags(all_tables(tmp_path / "tables"), tmp_path / "run", flag)) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_a_passive_party_takes_residuals_of_zeros_and_ones_only(tmp_path: Path) -> None:
    cfg = aligned(tmp_path, method="easter")
    data = load_parties(cfg)
    assert data[0].y is not None and data[0].y.shape == (len(data[0].x), 3)
    rules = Residuals(cfg, 3, "cross-entropy", 100, several=data[1].several)
    R = torch.randn(4, 3)
    R[1, 0], R[0, 0] = 40, -200  # of which the means are 1 and 0
    R.requires_grad_()
    y = torch.tensor([[0.0, 0, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0]])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(R, y, reduction="sum")
    (g,) = torch.autograd.grad(loss / len(y) / np.log(2), [R])
    assert rules.fault(g.numpy(), R.detach()) == rules.fault(g.numpy(), None) == ""
    assert "none of the run's labels" in rules.fault(0.5 * g.numpy(), R.detach())
    assert "larger than the loss allows" in rules.fault(9 * g.numpy(), None)


BAD = {
    'label = ["large", "large"]\n': "label must be one column, or a list of two or more",
    'label = ["large"]\n': "label must be one column, or a list of two or more",
    'label = ["large", "id"]\n': "id and label are one column",
    'label = ["large", "nothing"]\n': "has no column 'nothing'",
    'label = ["large", "column 0"]\n': "the label column 0 has .* values, and each of",
    'label = ["large", "late fee"]\npositive = "1"\n': "positive is a class of one label",
    'label = ["large", "late fee"]\ntask = "binary"\n': "label is a list, and task is binary",
    'label = "large"\ntask = "multi-label"\n': "write label as a list",
}


@pytest.mark.parametrize("said", BAD)
def test_labels_that_cannot_be_are_refused(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = all_tables(tmp_path / "tables")
    toml = tmp_path / "tables" / "0.toml"
    toml.write_text(re.sub(r"label = .*\n", said, toml.read_text()))
    assert train(flags(tables, tmp_path / "run", "--method=splitnn")) == 2
    assert re.search(BAD[said], " ".join(capsys.readouterr().err.split()))


def test_a_label_at_a_passive_party_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every one of the names, not the first alone."""
    tables = all_tables(tmp_path / "tables")
    path = tmp_path / "tables" / "2.csv"
    path.write_text(path.read_text().replace("column 16", "Late Fee", 1))
    assert train(flags(tables, tmp_path / "run", "--method=splitnn")) == 2
    assert "a column has the name of the labels" in " ".join(capsys.readouterr().err.split())


def test_rows_with_several_labels_have_weights(tmp_path: Path) -> None:
    """Passive parties solve a row's residual for labels and weight."""
    tables = all_tables(tmp_path / "tables")
    path = tmp_path / "tables" / "0.csv"
    head, *rows = path.read_text().splitlines()
    lines = [f"{head},counts", *(f"{row},{1 + n % 4}" for n, row in enumerate(rows))]
    path.write_text("\n".join([*lines, ""]))
    with path.with_suffix(".toml").open("a") as toml:
        toml.write('weight = "counts"\n')
    more = ("--method=easter", "--epochs=1", "--largest-weight=4")
    assert train(flags(tables, tmp_path / "run", *more)) == 0
    assert result_of(tmp_path / "run")["task"] == MULTI_LABEL
