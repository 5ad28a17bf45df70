"""Labels of own tables, and targets made of them."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.own_data.own_tables import Read, fitted, lines
from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.target import Target


@pytest.mark.parametrize(
    ("written", "said", "task", "classes"),
    [
        (["no", "yes"], "", "binary", ("no", "yes")),
        (["True", "False"], "", "binary", ("False", "True")),
        (["10", "9", "-1"], "", "multi-class", ("-1", "9", "10")),
        (["0.0", "1.0"], "", "binary", ("0.0", "1.0")),
        (["0.5", "1.5", "2"], "", "regression", None),
        (["0.5", "1.5", "2"], "multi-class", "multi-class", ("0.5", "1.5", "2")),
        ([str(n) for n in range(21)], "", "regression", None),
        ([str(n) for n in range(21)], "multi-class", "multi-class", tuple(map(str, range(21)))),
        (["1", "2", "3"], "regression", "regression", None),
    ],
)
def test_the_task_is_what_the_labels_look_like(
    written: list[str], said: str, task: str, classes: tuple[str, ...] | None, table: Read
) -> None:
    """Ids and labels alone are a table of an active party."""
    rows = 2 * len(written)
    content = lines("id,y", lambda n: f"{n},{written[n % len(written)]}", rows)
    read = table(content, label="y", task=said)
    assert read.task == task
    assert read.features.shape == (rows, 0)
    assert read.label is not None
    assert read.labels is not None
    assert read.label.values == classes
    target = Target.fit(read.labels, read.label, np.arange(rows), "active")
    learnt = target.apply(read.labels, read.label, "active")
    expected = [written[n % len(written)] for n in range(rows)]
    if classes is None:
        assert learnt.dtype == np.float32
        assert learnt.mean() == pytest.approx(0, abs=1e-6)
        assert learnt.std() == pytest.approx(1)
        np.testing.assert_allclose(target.restored(learnt), [*map(float, expected)], atol=1e-5)
    else:
        assert learnt.dtype == np.int64
        assert [target.classes[rank] for rank in learnt] == expected


@pytest.mark.parametrize(
    ("labels", "said", "told"),
    [
        (["1", "", "2"], "", "has no label in 1 of 3 rows, first in row 2"),
        (["1", "1"], "", "the label y has 1 values; there is nothing to learn"),
        (["1", "2", "3"], "binary", "the label y has 3 values, and task is binary"),
        (["1", "x", "3"], "regression", "column y is no number in row 2"),
        (["0.5", "inf", "1.5"], "", "column y holds infinity"),
    ],
)
def test_labels_that_cannot_be_are_refused(
    labels: list[str], said: str, told: str, table: Read
) -> None:
    with pytest.raises(DataError, match=told):
        table(lines("id,y", lambda n: f"{n},{labels[n]}", len(labels)), label="y", task=said)


def test_a_saved_target_does_the_same_to_another_file(table: Read, tmp_path: Path) -> None:
    """Also for a file with fewer classes; unknown classes are refused."""
    read = table("id,y\n1,b\n2,a\n3,c\n", label="y")
    assert read.label is not None
    assert read.labels is not None
    with pytest.raises(DataError, match="active: no training row is of one of the") as refusal:
        Target.fit(read.labels, read.label, np.array([0, 1]), "active")
    assert refusal.value.detail == "c"
    target = Target.fit(read.labels, read.label, np.arange(3), "active")
    (tmp_path / "target.json").write_bytes(target.to_json())
    target = Target.load(tmp_path / "target.json")
    assert target == Target("multi-class", ("a", "b", "c"))
    new = table("id,y\n1,c\n2,b\n", label="y")
    assert new.labels is not None
    assert new.label is not None
    assert target.apply(new.labels, new.label, "active").tolist() == [2, 1]
    strange = Column("y", ("a", "d"))
    with pytest.raises(DataError, match="active: there is a class that no"):
        target.apply(np.zeros(1), strange, "active")
    with pytest.raises(DataError, match="active: y was learnt as multi-class"):
        target.apply(np.zeros(1), Column("y"), "active")


@pytest.mark.parametrize("content", ["id,a\n1,2\n2,3\n", "id,a,y\n1,2,\n2,3,\n"])
def test_a_table_to_be_predicted_needs_no_labels(content: str, table: Read) -> None:
    read = table("id,a,y\n1,2,u\n2,3,v\n", label="y")
    new = table(content, fitted(read), label="y")
    assert new.labels is None
    assert new.task == ""
    assert np.array_equal(new.features, read.features)


@pytest.mark.parametrize("written", [[1, 1], [0, 2]])
def test_labels_of_a_task_that_was_learnt_need_not_be_of_all_classes(
    written: list[int], table: Read
) -> None:
    read = table("id,a,y\n1,2,0\n2,3,1\n3,3,2\n", label="y")
    assert read.labels is not None
    assert read.label is not None
    target = Target.fit(read.labels, read.label, np.arange(3), "active")
    content = lines("id,a,y", lambda n: f"{n},2,{written[n]}", 2)
    new = table(content, fitted(read), label="y", task=target.task)
    assert new.labels is not None
    assert new.label is not None
    assert target.apply(new.labels, new.label, "active").tolist() == written
