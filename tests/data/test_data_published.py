"""NUS-WIDE and ModelNet40, from small made files in their published forms."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers.data import columns_of, labels_of
from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.config.dataset_specs import SOURCES
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.sources.modelnet40 import VIEWS, ModelNet40
from vfl_flower.data.sources.nus_wide import BLOCKS, TAGS, NusWide

SHOWS = {"sky": 40, "clouds": 30, "person": 25, "water": 20, "animal": 15, "toy": 5}
"""Of the made NUS-WIDE: in so many lines of a part, each concept; the sixth is not taken."""

LINES, BOTH = 160, 10  # of a part; that show two of the five


def shown() -> dict[str, NDArray[np.bool_]]:
    """Return the lines of a part that show each concept.

    In turn, then some with two.
    """
    order = np.random.default_rng(0).permutation(LINES)
    found, start = {}, 0
    for name, count in SHOWS.items():
        found[name] = np.isin(np.arange(LINES), order[start : start + count])
        start += count
    for name in ("sky", "clouds"):
        found[name] |= np.isin(np.arange(LINES), order[start : start + BOTH])
    return found


def value(part: str, kind: str, line: int, column: int) -> float:
    """Return a made file's value, which tells its origin."""
    scale = {"Train": 1, "Test": -1}[part]
    return scale * (list(BLOCKS).index(kind) + 1) * (line + column / 1000)


@pytest.fixture
def nus_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write all files of 100 training and 60 test rows."""
    monkeypatch.setattr(NusWide, "rows", (100, 60))
    root = tmp_path / "NUS-WIDE"
    for folder in ("Low_Level_Features", "NUS_WID_Tags", "Groundtruth/TrainTestLabels"):
        (root / folder).mkdir(parents=True)
    for part in ("Train", "Test"):
        for name, bits in shown().items():
            path = root / "Groundtruth" / "TrainTestLabels" / f"Labels_{name}_{part}.txt"
            path.write_text("".join(f"{int(bit)}\n" for bit in bits))
        for kind, width in BLOCKS.items():
            lines = [
                " ".join(f"{value(part, kind, line, column):.6f}" for column in range(width))
                for line in range(LINES)
            ]
            path = root / "Low_Level_Features" / f"{part}_Normalized_{kind}.dat"
            path.write_text("".join(f"{line} \n" for line in lines))
        tags = (np.arange(LINES)[:, None] + np.arange(TAGS)) % 7 == 0
        text = "".join("\t".join(map(str, line)) + "\t\n" for line in tags.astype(int).tolist())
        (root / "NUS_WID_Tags" / f"{part}_Tags1k.dat").write_text(text)
    return tmp_path


def test_nus_wide_takes_rows_with_one_of_the_five_concepts(nus_wide: Path) -> None:
    """Of 130 a part: 100 and 60, evenly spaced, with all columns."""
    features, labels = NusWide().load(nus_wide)
    assert features.shape == (160, sum(BLOCKS.values()) + TAGS) == (160, 1634)
    assert features.dtype == np.float32
    table = np.stack([shown()[name] for name in list(SHOWS)[:5]], 1)
    usable = np.flatnonzero(table.sum(1) == 1)
    assert len(usable) == 130
    at = 0
    for part, most in (("Train", 100), ("Test", 60)):
        lines = usable[np.linspace(0, 129, most).round().astype(int)]
        own = features[at : at + most]
        assert np.array_equal(labels[at : at + most], table[lines].argmax(1))
        starts = dict(zip(BLOCKS, np.cumsum([0, *BLOCKS.values()]), strict=False))
        for kind, start in starts.items():
            for column in (0, BLOCKS[kind] - 1):
                told = [value(part, kind, line, column) for line in lines]
                assert np.allclose(own[:, start + column], told)
        assert np.array_equal(own[:, 634 + 3] == 1, (lines + 3) % 7 == 0)
        at += most


def test_nus_wide_is_dealt_to_four_parties_by_lists(
    nus_wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = dataset_of("nus-wide")
    assert (entry.classes, entry.test_rows) == (5, 10_000)
    monkeypatch.setattr(f"{SOURCES}.nus_wide.NUS_WIDE", replace(entry, test_rows=60))
    cfg = RunConfig(
        method="splitnn",
        dataset="nus-wide",
        data_dir=str(nus_wide),
        parties=5,
        active_columns="none",
        partition="listed:0-299;300-633;634-1133;1134-1633",
        batch_size=16,
    )
    widths = [columns_of(cfg, rank).shape for rank in range(5)]
    assert widths == [(160, 0), (160, 300), (160, 334), (160, 500), (160, 500)]
    assert labels_of(cfg).unique().tolist() == [0, 1, 2, 3, 4]


def test_nus_wide_with_fewer_training_rows_takes_all(
    nus_wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NusWide, "rows", (1000, 130))
    assert len(NusWide().load(nus_wide)[1]) == 260
    monkeypatch.setattr(NusWide, "rows", (100, 131))
    with pytest.raises(DataError, match="130 test rows of the 131 needed"):
        NusWide().load(nus_wide)


CH = "NUS-WIDE/Low_Level_Features/Train_Normalized_CH.dat"
SKY = "NUS-WIDE/Groundtruth/TrainTestLabels/Labels_sky_Train.txt"


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        (CH, lambda text: text + text.splitlines()[0] + "\n", "161 lines, and the labels have 160"),
        (CH, lambda text: "".join(text.splitlines(True)[1:]), "159 lines"),
        (CH, lambda text: text.replace(" \n", " 1 \n"), "65 numbers a line, not 64"),
        (CH, lambda text: text.replace(" ", " x", 200), "CH.dat is damaged"),
        (SKY, lambda text: text.replace("1", "2", 1), "a line must be 0 or 1"),
        (SKY, lambda text: text + "1\n", "not equally many lines"),
    ],
)
def test_damaged_nus_wide_is_a_data_error(
    nus_wide: Path, file: str, change: Callable[[str], str], says: str
) -> None:
    path = nus_wide / file
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=says):
        NusWide().load(nus_wide)


def test_missing_nus_wide_says_what_the_folder_must_hold(nus_wide: Path) -> None:
    for file in (CH, SKY):
        (nus_wide / file).unlink()
        says = "same concepts" if file == SKY else r"CH\.dat is not in .*nuswide.*set data-dir"
        with pytest.raises(DataError, match=says):
            NusWide().load(nus_wide)
    with pytest.raises(AbsentDataError, match=r"Labels_CONCEPT_Train\.txt is not in"):
        NusWide().load(nus_wide / "elsewhere")


# ModelNet40 ---------------------------------------------------------------------------------------


def shade(part: str, label: int, number: int, view: int) -> int:
    return {"train": 0, "test": 100}[part] + 2 * label + number + view


@pytest.fixture
def modelnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two objects a class and part, of twelve views each."""
    monkeypatch.setattr(ModelNet40, "rows", (80, 80))
    monkeypatch.setattr(ModelNet40, "side", 6)
    for part in ("train", "test"):
        for label, name in enumerate(ModelNet40.classes):
            folder = tmp_path / "modelnet40_images_new_12x" / name / part
            folder.mkdir(parents=True)
            for number in (0, 1):
                for view in range(1, 13):
                    ending = f".{view}" if label % 2 else f".obj.shaded_v{view:03}"
                    grey = shade(part, label, number, view)
                    picture = Image.new("RGB", (6, 6), (grey, grey, grey))
                    picture.save(folder / f"{name}_000{number}{ending}.png")
    return tmp_path


def test_modelnet_puts_four_views_side_by_side(modelnet: Path) -> None:
    pixels, labels = ModelNet40().load(modelnet)
    assert pixels.shape == (160, 1, 6, 24)
    assert pixels.dtype == np.uint8
    assert labels.tolist() == [label for _ in range(2) for label in range(40) for _ in range(2)]
    expected = [
        [shade(part, label, number, view) for view in VIEWS]
        for part in ("train", "test")
        for label in range(40)
        for number in (0, 1)
    ]
    assert pixels[:, 0, 2, 3::6].tolist() == expected
    assert (pixels.reshape(160, 6, 4, 6) == np.array(expected)[:, None, :, None]).all()


def test_strips_are_modelnets_views(modelnet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = dataset_of("modelnet40")
    assert (entry.classes, entry.test_rows) == (40, 2468)
    monkeypatch.setattr(f"{SOURCES}.modelnet40.MODELNET40", replace(entry, test_rows=80))
    cfg = RunConfig(
        method="splitnn",
        dataset="modelnet40",
        data_dir=str(modelnet),
        parties=5,
        active_columns="none",
        batch_size=16,
    )
    views = [columns_of(cfg, rank) for rank in range(1, 5)]
    for x in views:
        assert x.shape == (160, 1, 6, 6)
        assert (x == x[:, :, :1, :1]).all()  # a made view has one shade, and no other's
    assert cfg.model_of(1) == "lenet"


def test_modelnet_that_is_not_whole_is_a_data_error(modelnet: Path) -> None:
    source, folder = ModelNet40(), modelnet / "modelnet40_images_new_12x" / "bed" / "train"
    with pytest.raises(AbsentDataError, match=r"ModelNet40 is not in .*CLASS/train.*set data-dir"):
        source.load(modelnet / "elsewhere")
    picture = folder / "bed_0001.obj.shaded_v004.png"
    whole = picture.read_bytes()
    picture.write_bytes(whole[:30])
    with pytest.raises(DataError, match=r"v004\.png is damaged"):
        source.load(modelnet)
    Image.new("L", (6, 7)).save(picture)
    with pytest.raises(DataError, match="6 x 7 pixels, not 6 x 6"):
        source.load(modelnet)
    picture.unlink()
    with pytest.raises(DataError, match=r"no view 4 of bed_0001\.obj\.shaded"):
        source.load(modelnet)
    for path in folder.glob("bed_0001*"):
        path.unlink()
    with pytest.raises(DataError, match="79 train objects where 80 are published"):
        source.load(modelnet)
    (folder / "bed.png").write_bytes(whole)
    with pytest.raises(DataError, match=r"bed\.png names no view"):
        source.load(modelnet)
