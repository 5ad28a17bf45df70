"""Feature maps are kept and found again."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.methods.test_joint_conv import TINY as TINIER
from vfl_flower.algorithms.feature_map_store import Maps
from vfl_flower.common.errors import RunError, VflError

TINY = TINIER | {"train_rows": 0}  # all of them, in several messages
TRAIN, VALIDATION, TEST = 1294, 144, 359


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kept", ["file", "memory"])
def test_maps_come_back_as_they_were_put(dtype: str, kept: str, tmp_path: Path) -> None:
    views = [np.arange(10, dtype=np.int32), np.array([7, 1, 3, 9], np.int32)]
    maps = Maps(tmp_path if kept == "file" else None, views, 10, (3, 2, 2), dtype)
    given_maps = torch.randn(4, 3, 2, 2).half().float()
    rows = torch.tensor([1, 7, 9, 3])
    maps.put(1, rows, given_maps)
    maps.put(0, torch.tensor([7]), given_maps[:1])
    assert maps.take(torch.tensor([1, 0, 1]), torch.tensor([1, 7, 3])).equal(given_maps[[0, 0, 3]])
    assert maps.lacking(np.array([7, 0])).tolist() == [0]
    with pytest.raises(RunError, match="missing or damaged"):
        maps.take(torch.tensor([0]), torch.tensor([1]))
    maps.delete()
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_too_large_to_be_kept_are_an_error(tmp_path: Path) -> None:
    maps = Maps(tmp_path, [np.arange(2, dtype=np.int32)], 2, (1, 1, 1), "float16")
    with pytest.raises(VflError, match="too large for float16; use compression = none"):
        maps.put(0, torch.tensor([0]), torch.full((1, 1, 1, 1), 1e5))
