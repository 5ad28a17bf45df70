"""Code of the documentation and of the first example."""

from pathlib import Path
from typing import Any

import matplotlib.figure
import pandas as pd
import pytest

import vfl_flower as vfl
from tests.helpers.outcomes.pages import blocks, page
from tests.interface.conftest import Frames, made

TEN_LINES = """
import vfl_flower as vfl

bank = vfl.Table(bank_df, id="customer", label="defaulted")
shop = vfl.Table(shop_df, id="customer")
run = vfl.train([bank, shop], method="splitnn", epochs=10, seed=0)
metrics = run.metrics
history = run.history
predictions = run.predict([new_bank, new_shop])
figure = run.plot(); run.report("page.html"); run.save("RUN"); loaded = vfl.load("RUN")
"""


@pytest.mark.slow
def test_ten_lines_train_on_data_frames(
    frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new = made(1).tables()
    names: dict[str, Any] = {"bank_df": frames.bank, "shop_df": frames.shop}
    names |= {"new_bank": new[0], "new_shop": new[1]}
    options = '", batch_size=16, epochs=10'
    with pytest.warns(UserWarning, match="have no prediction"):
        exec(TEN_LINES.replace('", epochs=10', options), names)  # noqa: S102
    assert isinstance(names["history"], pd.DataFrame) and len(names["history"]) == 10
    assert isinstance(names["figure"], matplotlib.figure.Figure)
    assert names["metrics"]["active"]["accuracy"] > 0.6
    assert len(names["predictions"]) == 110
    assert names["loaded"].metrics == names["metrics"]
    assert Path("page.html").is_file()


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    with pytest.warns(UserWarning, match="have no prediction"):
        for block in blocks(page("python"), "python"):
            exec(block, names)  # noqa: S102
    assert names["run"].metrics["active"]["accuracy"] > 0.7
    assert isinstance(names["mine"], vfl.Run)
    assert names["again"].complete
