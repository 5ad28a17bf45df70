"""False replies are refused where they arrive, and name their sender."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.contract import CASES
from tests.helpers.liars import Lie, run_with_liar
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.build_parties import build_active

SMALL: dict[str, Any] = {
    "models": "mlp",
    "epochs": 1,
    "batch_size": 150,
    "train_rows": 300,
    "embedding_dim": 8,
    "blinding": "none",
}
LIAR, OTHERS = "party-2", ("party-1", "party-3")

PHASES = [
    *(("easter", phase) for phase in ("embed", "predict", "embed_only", "predict_only")),
    *((method, "embed") for method in ("vfedmh", "splitnn", "fedbcd", "vafl", "vimadmm")),
    *((method, "embed_only") for method in ("splitnn", "vimadmm")),
    *((method, "predict") for method in ("agg_vfl", "fdml", "vimadmm_j", "linear_admm")),
    ("agg_vfl", "predict_only"),
    *(("c_vfl", phase) for phase in ("embed", "embed_only")),
    *(("pravfed", phase) for phase in ("pretrain", "embed", "embed_only")),
    *(("adptvfedconv", phase) for phase in ("finetune", "embed", "embed_only")),
]
"""Every phase whose reply is numbers, of methods that do not share it with another."""


def configured(method: str, **changes: Any) -> RunConfig:
    case = SMALL | CASES[method] | changes
    if method == "pravfed":
        case |= {"local_epochs": 1}
    return RunConfig(**case)


def put(value: float) -> Lie:
    """Replace one number of each array of floats."""

    def lie(arrays: list[Array]) -> Sequence[Array]:
        return [_with(value, array) for array in arrays]

    return lie


def _with(value: float, array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    lying = array.copy()
    with np.errstate(over="ignore"):
        lying.reshape(-1)[-1] = value
    return lying


VALUES = {"NaN": np.nan, "infinity": -np.inf, "3e38": 3e38}


def assert_named(cfg: RunConfig, phase: str, lie: Lie) -> None:
    with pytest.raises(PartyError) as refused:
        run_with_liar(cfg, phase, lie)
    said = str(refused.value)
    assert said.startswith(f"{LIAR} ") and f"'{phase}'" in said
    assert not any(other in said for other in OTHERS)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize(("method", "phase"), PHASES)
def test_impossible_numbers_name_the_liar(method: str, phase: str, value: float) -> None:
    assert_named(configured(method), phase, put(value))


SHAPES: dict[str, Lie] = {
    "no array": lambda arrays: [],
    "one array too many": lambda arrays: [*arrays, arrays[0]],
    "a row less": lambda arrays: [arrays[0].reshape(len(arrays[0]), -1)[:-1], *arrays[1:]],
    "a column less": lambda arrays: [arrays[0][..., :-1], *arrays[1:]],
    "doubles": lambda arrays: [arrays[0].astype(np.float64), *arrays[1:]],
    "words": lambda arrays: [arrays[0].astype(np.uint32), *arrays[1:]],
}


@pytest.mark.parametrize("lie", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    ("method", "phase"),
    [
        *(("easter", phase) for phase in ("embed", "predict", "predict_only")),
        *(("splitnn", "embed"), ("vafl", "embed"), ("c_vfl", "embed"), ("agg_vfl", "predict")),
        *(("pravfed", "pretrain"), ("adptvfedconv", "finetune"), ("adptvfedconv", "embed")),
    ],
)
def test_other_arrays_name_the_liar(method: str, phase: str, lie: Lie) -> None:
    assert_named(configured(method), phase, lie)


MASKED = [("easter", "embed"), ("agg_vfl", "predict"), ("pravfed", "embed")]


@pytest.mark.parametrize(("method", "phase"), MASKED)
@pytest.mark.parametrize("lie", [SHAPES["a row less"], lambda a: [a[0].astype("f4")]])
def test_masked_replies_are_words_of_the_right_shape(method: str, phase: str, lie: Lie) -> None:
    assert_named(configured(method, blinding="auto"), phase, lie)


LOW_ORDER = [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]


@pytest.mark.parametrize("key", LOW_ORDER, ids=[0, 1, -1])
def test_keys_of_low_order_name_the_liar(key: bytes) -> None:
    """Who gets such a key cannot but fail."""

    def lie(arrays: list[Array]) -> list[Array]:
        return [np.concatenate([np.frombuffer(key, np.uint8), arrays[0][32:]])]

    with pytest.raises(PartyError, match=f"^{LIAR} sent a public key"):
        run_with_liar(configured("easter", blinding="auto"), "public_key", lie)


# Bounded rows -------------------------------------------------------------------------------------

BOUNDED = [("easter", "embed"), ("agg_vfl", "predict"), ("pravfed", "embed_only")]


@pytest.mark.parametrize(("method", "phase"), BOUNDED)
def test_unmasked_rows_above_the_bound_name_the_liar(method: str, phase: str) -> None:
    above = put(16.1 * (256 if method == "pravfed" else 1))
    with pytest.raises(PartyError, match=f"^{LIAR} sent a row above embedding-bound 16"):
        run_with_liar(configured(method, embedding_bound="16"), phase, above)


def test_rows_above_the_bound_are_refused_where_some_parties_are_asked() -> None:
    cfg = configured("vimadmm_j", embedding_bound="16", participation=0.7)
    with pytest.raises(PartyError, match=f"^{LIAR} sent a row above embedding-bound 16"):
        run_with_liar(cfg, "predict", put(17))


@pytest.mark.parametrize(("method", "phase"), [("splitnn", "embed"), ("agg_vfl", "predict")])
def test_a_lie_in_range_is_not_noticed(method: str, phase: str) -> None:
    """Documented: a reply that an honest party could make is believed."""
    assert run_with_liar(configured(method), phase, put(1000)).progress.step == 2


# Counts of uploads --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"training": -1, "evaluation": 0}, "does not tell how many"),
        ({"training": 2.0, "evaluation": 0}, "does not tell how many"),
        ({"training": True, "evaluation": 0}, "does not tell how many"),
        ({"evaluation": 0}, "does not tell how many"),
        ({"training": 2**63, "evaluation": 0}, "does not tell how many"),
        ({"training": 1, "evaluation": 1}, "fewer uploads than it said before"),
    ],
)
def test_impossible_counts_name_the_liar(counts: dict[str, Any], said: str) -> None:
    active = build_active(configured("splitnn", dp_sigma=1.0))
    active.hear(LIAR, {"training": 2, "evaluation": 1})
    active.hear("party-1", {"training": 1, "evaluation": 1})
    with pytest.raises(PartyError, match=f"^{LIAR} .*{said}"):
        active.hear(LIAR, counts)


def test_noised_replies_have_room_for_noise_and_no_more(tmp_path: Path) -> None:
    cfg = configured("splitnn", dp_sigma=1000.0, dp_clip=1000.0)
    assert run_with_liar(cfg, "embed", list, folder=tmp_path / "honest").progress.step == 2
    with pytest.raises(PartyError, match=f"^{LIAR} answered 'embed'"):
        run_with_liar(cfg, "embed", put(1e8), folder=tmp_path / "lying")
