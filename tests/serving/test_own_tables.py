"""Services of own tables: ids, missing rows, logs without rows."""

import logging
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.connections.services import calling, service_of, shares_of
from tests.helpers.outcomes.commands import predict, train
from tests.helpers.own_data.own import flags, make
from tests.helpers.own_data.own_predictions import new_tables, read, some

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("own")
    assert train(flags(make(root / "tables"), root / "run")) == 0
    return root / "run"


def names(rows: np.ndarray) -> set[str]:
    return {f"id-{row:03d}" for row in rows.tolist()}


def test_rows_of_new_tables_are_found_by_id(run: Path, tmp_path: Path) -> None:
    rows = [some(seed, 100) for seed in range(3)]
    tables, out = new_tables(tmp_path / "new", *rows), tmp_path / "said.csv"
    assert predict([str(run), f"--tables={tables}", f"--out={out}", "--keep-missing"]) == 0
    _, lines = read(out)
    with calling(service_of(run, tmp_path, tables)) as caller:
        said = caller.predictions([line[0] for line in lines])
        assert caller.predictions(["id-9999", "ID-001"])[0]["status"] == "unknown"
        assert caller.refusal([7]) == (422, "ids must be texts, as the table has")
    there = names(rows[0]) & names(rows[1]) & names(rows[2])
    for line, answer in zip(lines, said, strict=True):
        assert answer["status"] == ("predicted" if line[0] in there else "missing")
        assert (answer["prediction"] or "") == line[1]
    scored = [each for each in said if each["prediction"]]
    expected = np.array([line[2:] for line in lines if line[1]], np.float32)
    assert np.array_equal(shares_of(scored), expected)


def test_rows_of_the_run_are_found_by_id(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.csv"
    assert predict([str(run), "--rows=all", f"--out={out}"]) == 0
    _, lines = read(out)
    with calling(service_of(run, tmp_path)) as caller:
        said = caller.predictions([line[0] for line in lines])
    assert [each["prediction"] for each in said] == [line[1] for line in lines]
    assert np.array_equal(shares_of(said), np.array([line[2:] for line in lines], np.float32))


def test_no_log_has_anything_of_a_row(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of ids found, unknown, of a wrong type or too many."""
    caplog.set_level(logging.DEBUG)
    service = service_of(run, tmp_path, most_ids=3)
    with calling(service) as caller:
        statuses = [
            caller.http.post("/predict", json={"ids": ids}).status_code
            for ids in (
                ["id-001", "id-secret"],
                ["id-secret", 99887766],
                [{"id": "id-secret"}],
                ["id-secret"] * 4,
            )
        ]
        json = {"Content-Type": "application/json"}
        caller.http.post("/predict", content=b'{"ids": ["id-secret"', headers=json)
    assert statuses == [200, 422, 422, 413]
    shown = capfd.readouterr()
    logged = "".join(
        f"{r.getMessage()} {r.exc_text}" for r in caplog.records if "httpx" not in r.name
    )
    files = "".join(p.read_text(errors="replace") for p in run.rglob("log.txt"))
    for text in ("id-secret", "id-001", "99887766"):
        assert text not in shown.out + shown.err + logged + files
