"""New parties join from Python, with data sets and with frames."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import vfl_flower as vfl
from tests.interface.conftest import made

METHOD: dict[str, Any] = {
    "method": "agg_vfl",
    "blinding": "none",
    "models": "mlp",
    "baselines": "off",
}


def test_a_party_joins_on_a_data_set(tmp_path: Path) -> None:
    few = {**METHOD, "epochs": 1, "parties": 3, "partition": "strips@0-2/4"}
    old = vfl.train("digits", out=tmp_path / "old", progress=False, **few)
    more = {**METHOD, "epochs": 2, "partition": "strips"}
    new = vfl.train("digits", model=old.path, new_parties=1, progress=False, **more)
    assert new.result["joined"]["parties"] == ["party-3"]
    assert len(new.predict(rows="test")) == 359


def test_a_party_joins_with_a_frame(tmp_path: Path) -> None:
    frames = made()
    small: dict[str, Any] = {**METHOD, "batch_size": 16, "progress": False, "epochs": 1}
    old = vfl.train(frames.tables(), out=tmp_path / "old", **small)
    wide = np.random.default_rng(0).normal(size=(100, 3))
    web = pd.DataFrame(wide, columns=["clicks", "pages", "hours"]).assign(customer=range(5, 105))
    tables = [*frames.tables(), vfl.Table(web, id="customer")]
    new = vfl.train(tables, model=old.path, new_parties=1, out=tmp_path / "new", **small)
    assert new.result["joined"]["model"] == "old"
    assert new.result["parties"] == 3
    kept, now = (run.path / "party-1" / "model" / "weights.safetensors" for run in (old, new))
    assert kept.read_bytes() == now.read_bytes()
    assert len(new.predict(tables)) == 95
