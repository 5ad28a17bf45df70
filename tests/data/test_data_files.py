"""The data sets and their files: read, missing, damaged, imported."""

import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers.data import columns_of, labels_of
from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.partition.shares import take
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.sources.cinic10 import Cinic10

ROOT = Path(__file__).resolve().parents[2]


def test_digits() -> None:
    cfg = RunConfig()
    shares = [columns_of(cfg, rank) for rank in range(4)]
    assert [tuple(share.shape) for share in shares] == [(1797, 1, 8, 2)] * 4
    assert sorted(labels_of(cfg).unique().tolist()) == list(range(dataset_of("digits").classes))


@pytest.mark.parametrize(
    ("name", "shape", "classes"), [("breast-cancer", (569, 30), 2), ("wine", (178, 13), 3)]
)
def test_bundled_tables(name: str, shape: tuple[int, int], classes: int) -> None:
    """All defaults fit a table: split columns, an MLP at every party."""
    cfg = RunConfig(dataset=name)
    shares = [columns_of(cfg, rank) for rank in range(4)]
    assert sum(share.shape[1] for share in shares) == shape[1]
    assert {len(share) for share in shares} == {shape[0]}
    assert sorted(labels_of(cfg).unique().tolist()) == list(range(classes))
    assert {cfg.model_of(rank) for rank in range(4)} == {"mlp"}


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    """Write MNIST's format: a magic number, the sizes, then bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = struct.pack(f">{1 + array.ndim}I", 0x0800 + array.ndim, *array.shape)
    path.write_bytes(head + array.tobytes())


@pytest.fixture
def made_mnist(tmp_path: Path) -> tuple[Path, NDArray[np.uint8], NDArray[np.uint8]]:
    """Write as many images as MNIST has, of noise, in its files."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (70_000, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, 70_000, dtype=np.uint8)
    for part, rows in (("train", slice(60_000)), ("t10k", slice(60_000, 70_000))):
        write_idx(tmp_path / "MNIST" / "raw" / f"{part}-images-idx3-ubyte", pixels[rows])
        write_idx(tmp_path / "MNIST" / "raw" / f"{part}-labels-idx1-ubyte", labels[rows])
    return tmp_path, pixels, labels


@pytest.mark.slow
def test_mnist_files_are_read_with_the_test_rows_last(
    made_mnist: tuple[Path, NDArray[np.uint8], NDArray[np.uint8]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without torchvision, which is slow to import and large."""
    monkeypatch.setitem(sys.modules, "vfl_flower.common.optional.torchvision_import", None)
    folder, pixels, labels = made_mnist
    features = dataset_of("mnist").features(folder, False)
    assert features.dtype == np.uint8
    assert np.array_equal(features, pixels[:, None])
    assert dataset_of("mnist").labels(folder, False).tolist() == labels.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["strips", "listed:0-99;100-399;400-599;600-783"])
def test_bytes_can_have_the_scale_of_whole_images(
    made_mnist: tuple[Path, NDArray[np.uint8], NDArray[np.uint8]], partition: str
) -> None:
    folder, pixels, _ = made_mnist
    cfg = RunConfig(dataset="mnist", data_dir=str(folder), partition=partition, models="mlp")
    data = PublishedData(replace(cfg, pixel_scaling="whole"))
    known = pixels[data.rows["train"]] / 255
    for rank in range(4):
        own = take(pixels[:, None], data.shares[rank]) / 255
        expected = (own - known.mean()) / known.std()
        assert np.allclose(data.party(rank).numbers.numpy(), expected, atol=1e-5)


def test_data_that_is_missing_says_what_to_do(tmp_path: Path) -> None:
    cfg = RunConfig(dataset="mnist", data_dir=str(tmp_path / "none"), download=False)
    for load in (partial(columns_of, cfg, 0), partial(labels_of, cfg)):
        with pytest.raises(
            AbsentDataError, match=r"MNIST is not in .*none.*set data-dir"
        ) as refusal:
            load()
        assert "download" in str(refusal.value)
    assert not (tmp_path / "none").exists()  # nothing was fetched


def test_a_failing_download_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vfl_flower.common.optional.torchvision_import import datasets

    def fail(_: object) -> None:
        raise RuntimeError("Error downloading train-images-idx3-ubyte.gz")

    monkeypatch.setattr(datasets.MNIST, "download", fail)
    cfg = RunConfig(dataset="fashion-mnist", data_dir=str(tmp_path))
    with pytest.raises(
        AbsentDataError, match=r"FashionMNIST is not in .*cannot be downloaded.*data-dir"
    ):
        columns_of(cfg, 0)


IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def cut(raw: Path) -> None:
    (raw / IMAGES).write_bytes((raw / IMAGES).read_bytes()[:-5])


def cut_labels(raw: Path) -> None:
    (raw / LABELS).write_bytes((raw / LABELS).read_bytes()[:1000])


def other_magic(raw: Path) -> None:
    (raw / IMAGES).write_bytes(b"\xff" + (raw / IMAGES).read_bytes()[1:])


def emptied(raw: Path) -> None:
    (raw / IMAGES).write_bytes(b"")


def folder_in_its_place(raw: Path) -> None:
    (raw / IMAGES).unlink()
    (raw / IMAGES).mkdir()


def swapped_part(raw: Path) -> None:
    for name in (IMAGES, LABELS):
        shutil.copy(raw / name.replace("train", "t10k"), raw / name)


def swapped_labels(raw: Path) -> None:
    shutil.copy(raw / LABELS.replace("train", "t10k"), raw / LABELS)


DAMAGES = [
    *(cut, cut_labels, other_magic, emptied, folder_in_its_place),
    *(swapped_part, swapped_labels),
]


@pytest.mark.slow
@pytest.mark.parametrize("download", [False, True])
def test_damaged_data_files_are_a_data_error(
    download: bool, made_mnist: tuple[Path, NDArray[np.uint8], NDArray[np.uint8]], tmp_path: Path
) -> None:
    """Named as damaged, never taken for missing, never overwritten."""
    folder, _, _ = made_mnist
    for number, damage in enumerate(DAMAGES):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(folder / "MNIST", copy / "MNIST")
        damage(copy / "MNIST" / "raw")
        with pytest.raises(DataError, match=r"MNIST in .*raw is damaged or not whole") as refusal:
            dataset_of("mnist").features(copy, download)
        assert "delete that folder" in str(refusal.value), damage
        shutil.rmtree(copy)


@pytest.mark.slow
def test_a_label_that_is_no_class_is_a_data_error(
    made_mnist: tuple[Path, NDArray[np.uint8], NDArray[np.uint8]],
) -> None:
    folder, _, labels = made_mnist
    labels[5] = 255
    write_idx(folder / "MNIST" / "raw" / LABELS, labels[:60_000])
    with pytest.raises(DataError, match="active: a label is none of the classes 0 to 9"):
        labels_of(RunConfig(dataset="mnist", data_dir=str(folder)))


@pytest.fixture
def made_cinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write three pictures a class and part, one of them grey."""
    monkeypatch.setattr(Cinic10, "rows", (30, 30))
    for part, base in (("train", 0), ("test", 100)):
        for label, name in enumerate(Cinic10.classes):
            folder = tmp_path / "CINIC-10" / part / name
            folder.mkdir(parents=True)
            for n in range(3):
                value = base + label * 3 + n
                mode, colour = ("L", value) if n == 2 else ("RGB", (value, 0, 255))
                Image.new(mode, (32, 32), colour).save(folder / f"{n}.png")
    return tmp_path


def test_cinic_pictures_are_read_by_class(made_cinic: Path) -> None:
    pixels, labels = (
        np.concatenate(each)
        for each in zip(*Cinic10().parts(made_cinic, download=False), strict=True)
    )
    assert pixels.shape == (60, 3, 32, 32)
    assert pixels.dtype == np.uint8
    assert labels.tolist() == [label for _ in range(2) for label in range(10) for _ in range(3)]
    reds = [base + n for base in (0, 100) for n in range(30)]
    assert pixels[:, 0, 5, 7].tolist() == reds
    assert pixels[0, :, 0, 0].tolist() == [0, 0, 255]
    assert pixels[2, :, 0, 0].tolist() == [2, 2, 2]  # grey


def test_cinic_that_is_not_whole_is_a_data_error(made_cinic: Path) -> None:
    source = Cinic10()
    with pytest.raises(AbsentDataError, match=r"CINIC-10 is not in .*unpack it there"):
        source.parts(made_cinic / "elsewhere", download=True)
    picture = made_cinic / "CINIC-10" / "train" / "cat" / "0.png"
    whole = picture.read_bytes()
    picture.write_bytes(whole[:40])
    with pytest.raises(DataError, match=r"cat/0\.png is damaged"):
        source.parts(made_cinic, download=False)
    Image.new("RGB", (31, 32)).save(picture)
    with pytest.raises(DataError, match="31 x 32 pixels"):
        source.parts(made_cinic, download=False)
    picture.unlink()
    with pytest.raises(DataError, match="29 pictures where 30 are published"):
        source.parts(made_cinic, download=False)


IMPORT_TWICE = """
import importlib
import vfl_flower.common.optional.torchvision_import as shim
first = shim.datasets
importlib.reload(shim)
assert shim.datasets is first
from vfl_flower.common.optional.torchvision_import import datasets
import torchvision
assert torchvision.datasets is datasets is first
print(datasets.MNIST.__name__, datasets.FashionMNIST.__name__)
"""


@pytest.mark.slow
def test_torchvisions_data_sets_import_in_a_new_process_once_and_again() -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", IMPORT_TWICE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["MNIST", "FashionMNIST"]), done.stderr
