"""A party's state: the same after packing, and safe on disk."""

import json
import os
import stat
from errno import EMFILE
from os import strerror
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file
from safetensors.torch import load_file
from torch import Tensor, nn

from tests.helpers.examples import examples
from vfl_flower.common.errors import DamageError, RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.state import State, pack, read_state, unpack, weights_to_bytes, write_state
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
from vfl_flower.learning.optimizer import optimizer_of

FEWER = examples(60, suppress_health_check=[HealthCheck.too_slow])
DTYPES = [np.dtype(d) for d in ("<f2", "<f4", "<f8", "<i4", "<i8", "<u4", "|u1", "|b1")]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2)
ARRAYS = st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
LEAVES = (
    ARRAYS
    | ARRAYS.map(torch.tensor)
    | st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=40)
)
KEYS = st.integers(0, 9) | st.sampled_from(("$array", "$dict", "$bytes", "net", "tape", "x_1"))
NESTED = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=2)
    ),
    max_leaves=5,
)
STATES = st.dictionaries(st.sampled_from(("net", "descent", "last")), NESTED, max_size=3)


def assert_same(before: Any, after: Any) -> None:
    """Equal bit for bit; arrays have become tensors, tuples lists."""
    if isinstance(before, np.ndarray | Tensor):
        a, b = np.asarray(before), after.numpy()
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(before, dict):
        assert list(before) == list(after)
        for key, value in before.items():
            assert_same(value, after[key])
    elif isinstance(before, list | tuple):
        assert type(after) is list
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            assert_same(one, other)
    else:
        assert type(before) is type(after)
        assert before == after


def stepped(optimizer: str, steps: int) -> tuple[nn.Linear, torch.optim.Optimizer]:
    net = nn.Linear(3, 2)
    nn.init.ones_(net.weight)
    nn.init.zeros_(net.bias)
    made = optimizer_of(optimizer, [{"params": [*net.parameters()]}], 0.1)
    descend(net, made, range(steps))
    return net, made


def descend(net: nn.Linear, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        (net(torch.full((1, 3), 1.0 + step)) ** 2).sum().backward()
        optimizer.step()


@pytest.mark.slow
@FEWER
@given(STATES)
def test_unpack_reverses_pack(state: State) -> None:
    arrays, skeleton = pack(state)
    assert_same(state, unpack(arrays, json.dumps(json.loads(skeleton))))


def test_pack_copies() -> None:
    """A packed state does not change when the party trains on."""
    weights = torch.zeros(3)
    arrays, _ = pack({"net": {"weight": weights}})
    weights += 1
    (packed,) = arrays.values()
    assert packed.tolist() == [0, 0, 0]


def test_pack_for_a_file_copies_nothing() -> None:
    weights = torch.zeros(3)
    (packed,) = pack({"weight": weights}, shared=True)[0].values()
    weights += 1
    assert packed.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "state",
    [
        {"a.b": np.zeros(1), "a": {"b": np.ones(1)}},
        {"a": {0: np.zeros(1), "0": np.ones(1)}},
    ],
    ids=["a dot in a key", "a number and its text"],
)
def test_keys_that_look_alike_stay_apart(state: State) -> None:
    assert_same(state, unpack(*pack(state)))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_go_on_from_a_file_as_if_never_stopped(optimizer: str, tmp_path: Path) -> None:
    net, made = stepped(optimizer, 3)
    write_state(tmp_path / "state", {"net": net.state_dict(), "optimizer": made.state_dict()})
    descend(net, made, range(3, 6))

    state = read_state(tmp_path / "state")
    assert_same(stepped(optimizer, 3)[1].state_dict(), state["optimizer"])
    again, fresh = stepped(optimizer, 0)
    again.load_state_dict(state["net"])
    fresh.load_state_dict(state["optimizer"])
    descend(again, fresh, range(3, 6))
    assert torch.equal(net.weight, again.weight)
    assert torch.equal(net.bias, again.bias)


def sample() -> State:
    return {"net": {"w": torch.arange(3.0), "n": torch.tensor(7)}, "key": b"\x00\xff", "at": (1, 2)}


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "state"
    write_state(path, sample())
    assert_same(sample(), read_state(path))
    assert os.listdir(path.parent) == ["state"]  # noqa: PTH208  no temporary file is left


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_files_are_their_owners_only(umask: int, tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.touch(mode=0o644)
    earlier = os.umask(umask)
    try:
        write_state(path, sample())
    finally:
        os.umask(earlier)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_files_hold_json_and_raw_numbers_only(tmp_path: Path) -> None:
    """The safetensors layout explains every byte: no room for a pickle."""
    write_state(tmp_path / "state", sample())
    raw = (tmp_path / "state").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    assert set(header.pop("__metadata__")) == {"state"}
    spans = sorted(entry["data_offsets"] for entry in header.values())
    assert [end for _, end in spans[:-1]] == [begin for begin, _ in spans[1:]]
    assert (spans[0][0], start + spans[-1][1]) == (0, len(raw))
    assert {entry["dtype"] for entry in header.values()} == {"F32", "I64"}


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_a_failing_write_leaves_the_old_file(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    write_state(path, sample())
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(failing, fail)
    with pytest.raises(RunError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_the_same_state_is_the_same_bytes(tmp_path: Path) -> None:
    for number in range(8):
        write_state(tmp_path / f"{number}", sample())
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_missing_file_is_a_run_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="missing or damaged"):
        read_state(tmp_path / "none")
    with pytest.raises(RunError, match="missing or damaged"):
        read_state(tmp_path)


@pytest.mark.parametrize("error", [OSError(EMFILE, strerror(EMFILE)), MemoryError("no room")])
def test_a_file_that_cannot_be_read_now_is_not_damaged(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run would drop whole checkpoints."""
    write_state(tmp_path / "state", sample())
    monkeypatch.setattr(Path, "open", Mock(side_effect=error))
    with pytest.raises(RunError, match="cannot be read now") as refused:
        read_state(tmp_path / "state")
    assert not isinstance(refused.value, DamageError)


def test_every_truncation_is_a_run_error(tmp_path: Path) -> None:
    write_state(tmp_path / "state", sample())
    raw = (tmp_path / "state").read_bytes()
    for length in range(len(raw)):
        (tmp_path / "cut").write_bytes(raw[:length])
        with pytest.raises(RunError, match="missing or damaged"):
            read_state(tmp_path / "cut")


@pytest.mark.parametrize(
    "skeleton",
    [
        None,
        "",
        "[[[",
        '{"x": 1}',
        '{"$array": "no such"}',
        '{"$dict": [1]}',
        '{"$bytes": "zz"}',
        "[" * 100_000,
    ],
    ids=lambda text: repr(text)[:20],
)
def test_a_damaged_skeleton_is_a_run_error(skeleton: str | None, tmp_path: Path) -> None:
    metadata = None if skeleton is None else {"state": skeleton}
    save_file({"state.x": np.zeros(2)}, tmp_path / "state", metadata=metadata)
    with pytest.raises(RunError, match="missing or damaged"):
        read_state(tmp_path / "state")


def test_weights_load_into_the_same_network_by_any_reader(tmp_path: Path) -> None:
    net = torch.nn.Linear(3, 2)
    (tmp_path / "weights.safetensors").write_bytes(weights_to_bytes(net.state_dict()))
    twin = torch.nn.Linear(3, 2)
    twin.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert torch.equal(net.weight, twin.weight)
