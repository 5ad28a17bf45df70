"""Counts of uploads that were set back before a prediction."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import values_of
from tests.helpers.outcomes.predictions import tiny
from vfl_flower.common.errors import PrivacyError, RunError
from vfl_flower.common.layout import MODEL, NETWORK, steps_kept
from vfl_flower.privacy.client_dp.upload_log import FILE, Counts, Uploads
from vfl_flower.workflows.local.predict import predict_rows

NAME = "party-2"


@pytest.fixture(scope="module")
def noised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete run of which an evaluation takes two uploads."""
    out = tmp_path_factory.mktemp("runs") / "run"
    Attempt(replace(tiny("splitnn"), dp_sigma=2.0, eval_batch_size=200), out).run()
    return out


@pytest.fixture
def folder(noised: Path, tmp_path: Path) -> Path:
    """Return a copy without checkpoints, which a test may harm."""
    copy = Path(shutil.copytree(noised, tmp_path / "run"))
    for step in steps_kept(copy / NAME):
        (copy / NAME / f"checkpoint-{step:09d}.safetensors").unlink()
    return copy


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [shorten, empty, Path.unlink])
def test_a_count_that_was_set_back_predicts_nothing(
    harm: Callable[[Path], None], folder: Path
) -> None:
    harm(folder / NAME / FILE)
    out = folder.parent / "said.csv"
    with pytest.raises(PrivacyError, match=f"{NAME}'s count of uploads is missing or cut short"):
        predict_rows(folder, "test", out)
    assert not out.exists()


def test_a_model_folder_knows_how_many_uploads_there_were(folder: Path) -> None:
    about = json.loads((folder / NAME / MODEL / NETWORK).read_text())
    assert Counts(about["uploads"]) == Uploads(folder / NAME).counts()
    assert about["uploads"]["training"] > 0
    predict_rows(folder, "test", folder.parent / "said.csv")
    assert Uploads(folder / NAME).counts() == Counts(about["uploads"]) + Counts(evaluation=2)
    predict_rows(folder, "test", folder.parent / "said.csv")  # a larger count is no harm


@pytest.mark.parametrize("uploads", [None, {"training": -1}, []])
def test_a_damaged_number_is_refused(uploads: object, folder: Path) -> None:
    path = folder / NAME / MODEL / NETWORK
    path.write_text(json.dumps(values_of(path) | {"uploads": uploads}))
    with pytest.raises(RunError, match="is damaged"):
        predict_rows(folder, "test", folder.parent / "said.csv")


def test_a_folder_of_an_earlier_version_predicts_as_before(folder: Path) -> None:
    path = folder / NAME / MODEL / NETWORK
    about = values_of(path)
    del about["uploads"]
    path.write_text(json.dumps(about))
    shorten(folder / NAME / FILE)
    predict_rows(folder, "test", folder.parent / "said.csv")
