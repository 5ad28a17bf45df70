"""Model folders: files, nonces, and folders that do not fit."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import edit
from tests.helpers.outcomes.predictions import NAMES, Finished, tiny
from vfl_flower.common.errors import Interrupted, ProtocolError, RunError
from vfl_flower.common.layout import CARD, CONFIG, MODEL, NETWORK, TARGET, WEIGHTS
from vfl_flower.common.nonce import nonce_of
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.parties.persistence.checkpoints import read_checkpoint
from vfl_flower.parties.persistence.model_folder import load_model
from vfl_flower.workflows.build_parties import build_passive
from vfl_flower.workflows.local.predict import predict_rows as predict


def test_a_model_folder_has_four_files_and_the_runs_nonce(finished: Finished) -> None:
    runs = set()
    for name in NAMES:
        where = finished("splitnn") / name / MODEL
        labels = {TARGET} if name == "active" else set()
        assert {each.name for each in where.iterdir()} - labels == {WEIGHTS, CONFIG, CARD, NETWORK}
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in where.iterdir())
        about = json.loads((where / NETWORK).read_text())
        assert about["party"] == name
        runs.add(about["run"])
        card = (where / CARD).read_text()
        assert about["run"] in card
        assert ("AUC" in card) == (name == "active")
    assert len(runs) == 1


def test_a_model_folder_names_the_input_of_the_top_model(finished: Finished) -> None:
    texts = ((finished("splitnn") / name / MODEL / NETWORK).read_text() for name in NAMES)
    told = [json.loads(text)["network"]["decide"] for text in texts]
    assert told == ["joined", "embedding", "embedding", "embedding"]
    on_disk = ["embedding", "joined", "added", "tiled", "mirror"]  # as older folders have them
    assert [each.value for each in TopInput] == on_disk


def test_the_nonce_is_the_same_in_all_attempts(tmp_path: Path) -> None:
    first = Attempt(tiny("splitnn"), tmp_path)
    with pytest.raises(Interrupted):
        first.run(stop_at=2)
    again = Attempt(tiny("splitnn"), tmp_path)
    assert again.active.nonce != first.active.nonce
    assert read_checkpoint(again.active, 2)["nonce"] == first.active.nonce
    again.run()
    told = [json.loads((tmp_path / name / MODEL / NETWORK).read_text())["run"] for name in NAMES]
    assert told == [first.active.nonce] * 4


def test_what_is_no_nonce_is_refused() -> None:
    for array in (torch.zeros(7, dtype=torch.uint8), torch.zeros(8)):
        with pytest.raises(ProtocolError, match="a nonce has 8 bytes"):
            nonce_of(array)


def swap_run(run: Path, finished: Finished) -> None:
    Attempt(tiny("splitnn"), run.with_name("other")).run()
    replace_model(run, run.with_name("other") / "party-2")


def swap_configuration(run: Path, finished: Finished) -> None:
    edit(run / CONFIG, "embedding-dim = ", "embedding-dim = 1")


def swap_party(run: Path, finished: Finished) -> None:
    replace_model(run, run / "party-1")


def replace_model(run: Path, other: Path) -> None:
    shutil.copytree(other / MODEL, run / "party-2" / MODEL, dirs_exist_ok=True)


def swap_file(name: str, run: Path, finished: Finished) -> None:
    shutil.copy(finished("fedbcd") / "party-1" / MODEL / name, run / "party-2" / MODEL)


def cut(name: str, run: Path, finished: Finished) -> None:
    path = run / "party-2" / MODEL / name
    path.write_bytes(path.read_bytes()[:50])


def lose(name: str, run: Path, finished: Finished) -> None:
    (run / "party-2" / MODEL / name).unlink()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (swap_run, r"party-2/model is of run \w+, and that of active of run \w+"),
        (swap_configuration, "active/model is of a run with another configuration: embedding-dim"),
        (swap_party, "party-2/model is of party-1, not of party-2"),
        (partial(swap_file, WEIGHTS), r"party-2/model/weights.safetensors is .* another run's or"),
        (partial(swap_file, CONFIG), r"party-2/model/config.toml is missing or damaged"),
        (partial(cut, WEIGHTS), "party-2/model/weights.safetensors is missing or damaged"),
        (partial(cut, CONFIG), "party-2/model/config.toml is missing or damaged"),
        (partial(cut, NETWORK), "party-2/model/network.json is missing or damaged"),
        (partial(lose, WEIGHTS), "party-2/model/weights.safetensors is missing; the folders of"),
        (partial(lose, CONFIG), "party-2/model/config.toml is missing or damaged"),
        (partial(lose, NETWORK), "party-2/model/network.json is missing or damaged"),
    ],
)
def test_model_folders_that_do_not_belong_together_are_refused(
    harm: Callable[[Path, Finished], None],
    says: str,
    copied: Path,
    finished: Finished,
    tmp_path: Path,
) -> None:
    harm(copied, finished)
    with pytest.raises(RunError, match=says):
        predict(copied, "test", tmp_path / "out" / "said.csv")
    assert not (tmp_path / "out").exists()


def test_a_model_of_other_columns_is_refused(finished: Finished) -> None:
    party = build_passive(tiny("splitnn"), 1)
    party.data = replace(party.data, x=party.data.numbers[..., :1])
    with pytest.raises(RunError, match=r"network of party-1: its row is \[1, 8, 2\], not"):
        load_model(finished("splitnn") / "party-1", party, party.cfg)
