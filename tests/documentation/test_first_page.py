"""The first page's lines of Python do as it says."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.outcomes.pages import README, ROOT, blocks

MAKE = ROOT / "examples" / "bank-and-shop" / "make_tables.py"


def test_lines_of_python_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = blocks(README, "python")
    assert len([line for line in shown.splitlines() if "=" in line or "run." in line]) <= 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["make_tables.py", "TABLES"])
    runpy.run_path(str(MAKE), run_name="__main__")
    names: dict[str, object] = {}
    with pytest.warns(UserWarning, match="144 rows are not at all parties"):
        exec(shown.replace("run.predict(", "predicted = run.predict("), names)  # noqa: S102
    run, predicted = names["run"], names["predicted"]
    assert run.metrics["active"]["accuracy"] > 0.8  # type: ignore[attr-defined]
    assert len(run.history) == 10  # type: ignore[attr-defined]
    assert isinstance(predicted, pd.DataFrame)
    assert list(predicted)[:2] == ["id", "prediction"]
    assert Path("page.html").exists()
    assert Path("RUN/result.json").exists()
