"""The baselines equal their joint autograd programs, bit for bit."""

from collections import deque
from dataclasses import replace
from functools import partial

import pytest
from torch import Tensor

from tests.helpers.joint.reference import Step, balanced, joint, uneven
from tests.helpers.joint.reference_split import (
    StaleLogits,
    Vafl,
    alone_step,
    logits_step,
    several_steps,
    splitnn_step,
    splitnn_step_after,
)
from tests.helpers.networks import register
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of
from vfl_flower.learning.losses import loss_of

Options = dict[str, str | int | bool]


CASES: dict[str, Options] = {
    "splitnn": {"method": "splitnn"},
    "splitnn after": {"method": "splitnn", "top_gradient": "after"},
    "fedbcd": {"method": "fedbcd"},
    "fedbcd in two steps": {"method": "fedbcd", "local_steps": 2},
    "fedbcd, one step of the active party": {"method": "fedbcd", "active_steps": "one"},
    "fedbcd of sums": {"method": "fedbcd", "top": "sum", "embedding_dim": 10},
    "fedbcd of sums, of labels only": {
        "method": "fedbcd",
        "top": "sum",
        "embedding_dim": 10,
        "active_columns": "none",
    },
    "c_vfl": {"method": "c_vfl"},
    "c_vfl in three bits": {"method": "c_vfl", "compression": "quantize:3", "local_steps": 2},
    "c_vfl top-k": {"method": "c_vfl", "compression": "topk:0.3", "local_steps": 3},
    "c_vfl as published": {"method": "c_vfl", "share_labels": True, "local_steps": 3},
    "c_vfl on the lattice": {"method": "c_vfl", "compression": "lattice:3", "local_steps": 3},
    "c_vfl both ways": {
        "method": "c_vfl",
        "compression": "lattice:4",
        "downlink": "same",
        "local_steps": 2,
    },
    "c_vfl as published, both ways": {
        "method": "c_vfl",
        "compression": "lattice:3",
        "downlink": "same",
        "share_labels": True,
        "local_steps": 3,
    },
    "c_vfl, sparse gradients": {"method": "c_vfl", "downlink": "topk:0.2"},
    "vafl": {"method": "vafl"},
    "vafl in turns": {"method": "vafl", "vafl_mode": "asynchronous"},
    "agg_vfl": {"method": "agg_vfl"},
    "agg_vfl bare": {"method": "agg_vfl", "blinding": "none"},
    "fdml": {"method": "fdml"},
    "fdml bare": {"method": "fdml", "blinding": "none"},
    "fdml of means": {"method": "fdml", "prediction": "mean"},
    "local": {"method": "local"},
    "central": {"method": "central"},
    "splitnn of labels only": {"method": "splitnn", "active_columns": "none"},
    "splitnn after, of labels only": {
        "method": "splitnn",
        "active_columns": "none",
        "top_gradient": "after",
    },
    "c_vfl of labels only": {"method": "c_vfl", "active_columns": "none"},
    "c_vfl as published, of labels only": {
        "method": "c_vfl",
        "active_columns": "none",
        "share_labels": True,
    },
    **{
        f"{method} of labels only": {"method": method, "active_columns": "none"}
        for method in ("fedbcd", "vafl", "agg_vfl", "fdml")
    },
    "vafl in turns, of labels only": {
        "method": "vafl",
        "active_columns": "none",
        "vafl_mode": "asynchronous",
    },
    "fdml, some steps apart": {"method": "fdml", "staleness": 3},
    "fdml, some steps apart, bare": {"method": "fdml", "staleness": 2, "blinding": "none"},
    "fdml of means, some steps apart": {"method": "fdml", "prediction": "mean", "staleness": 40},
    "fdml of labels only, some steps apart": {
        "method": "fdml",
        "active_columns": "none",
        "staleness": 5,
    },
}


WEIGHTED = ["splitnn after", "fedbcd", "c_vfl as published", "vafl", "agg_vfl", "fdml", "local"]
"""A case of each way in which parties come to the gradient of a loss."""


def step_of(cfg: RunConfig) -> Step:
    """Return the joint program of a configuration."""
    compression = cfg.options.upload_compression
    steps = getattr(cfg.options, "local_steps", 1)
    in_several_steps = partial(
        several_steps,
        compression=compression_of(compression, cfg.embedding_dim),
        down=getattr(cfg.options, "downlink_compression", "none"),
        steps=steps,
        active_steps=getattr(cfg.options, "steps_of_active", steps),
        shared=cfg.labels_shared,
    )
    after = getattr(cfg.options, "top_gradient", "") == "after"
    programs: dict[str, Step] = {
        "splitnn": splitnn_step_after if after else splitnn_step,
        "fedbcd": in_several_steps,
        "c_vfl": in_several_steps,
        "vafl": Vafl(cfg),
        "agg_vfl": partial(logits_step, rounded=cfg.blinded, divisor=1),
        "fdml": StaleLogits(cfg, STEPS, divisor_of(cfg))
        if getattr(cfg.options, "staleness", 0)
        else partial(logits_step, rounded=cfg.blinded, divisor=divisor_of(cfg)),
        "local": alone_step,
        "central": alone_step,
    }
    return programs[cfg.method]


def divisor_of(cfg: RunConfig) -> int:
    """Return the number that FDML's sum is divided by."""
    return cfg.holders if getattr(cfg.options, "prediction", "") == "mean" else 1


def configured(case: str, **changes: str | int) -> RunConfig:
    return replace(FIFTY, **(CASES[case] | changes))  # type: ignore[arg-type]


def assert_joint(cfg: RunConfig, weight: Tensor | None = None, raw: Tensor | None = None) -> None:
    theirs = joint(cfg, loss_of(cfg.loss or "cross-entropy"), STEPS, step_of(cfg), weight)
    assert_equal(distributed(cfg, raw), theirs)


@pytest.mark.parametrize(("turn", "case"), [*enumerate(CASES)])
def test_mixed_networks_and_optimizers(turn: int, case: str) -> None:
    """Each party has another network and optimizer, rotated from case to case."""
    optimizers = deque(["sgd", "momentum", "adagrad", "adam"])
    optimizers.rotate(turn)
    own = {} if turn % 2 else {"schedule": "cosine", "loss": "binary-cross-entropy"}
    assert_joint(configured(case, models="mixed", optimizers=",".join(optimizers), **own))


@pytest.mark.parametrize("models", ["vim-mlp", "linear", "pravfed-mlp"])
@pytest.mark.parametrize("case", ["c_vfl as published", "c_vfl as published, of labels only"])
def test_top_models_that_are_given_away_are_those_of_the_network(case: str, models: str) -> None:
    assert_joint(configured(case, models=models))


@pytest.mark.parametrize("case", ["splitnn of labels only", "vafl of labels only"])
def test_a_top_model_of_several_layers_drops_out(case: str) -> None:
    assert_joint(configured(case, models="vim-mlp", top_layers=2))


@pytest.mark.parametrize("case", WEIGHTED)
def test_balanced_classes(case: str) -> None:
    cfg = configured(case, class_weights="balanced")
    assert_joint(cfg, balanced(cfg))


@pytest.mark.parametrize("case", ["splitnn", "fedbcd", "c_vfl", "vafl", "agg_vfl", "central"])
def test_weights_of_rows_and_of_classes(case: str) -> None:
    """A row's weight is the product of both."""
    cfg = configured(case, class_weights="balanced", largest_weight=4)
    raw, weight = uneven(cfg)
    assert_joint(cfg, weight * balanced(cfg), raw)


@pytest.mark.parametrize(
    "case",
    ["splitnn", "splitnn after", "vafl", "agg_vfl", "fdml", "fdml, some steps apart", "central"],
)
def test_networks_with_dropout_and_batch_statistics(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch)
    assert_joint(configured(case, models="own-dropout"))


def test_fedbcd_is_splitnn_where_every_step_is_an_exchange() -> None:
    assert_equal(
        distributed(configured("fedbcd", local_steps=1)), distributed(configured("splitnn"))
    )


@pytest.mark.parametrize("steps", [1, 3])
def test_c_vfl_is_fedbcd_where_nothing_is_compressed(steps: int) -> None:
    plain = configured("fedbcd", local_steps=steps)
    same = configured("c_vfl", compression="none", local_steps=steps)
    assert_equal(distributed(same), distributed(plain))


def test_as_published_is_splitnn_too_for_one_step() -> None:
    """At the first step <g_k, h_k(x_k)> and the loss have equal gradients."""
    options: Options = {"compression": "none", "local_steps": 1, "share_labels": True}
    published = configured("c_vfl", **options)
    ours, theirs = distributed(published), distributed(configured("splitnn"))
    for a, b in zip(ours, theirs, strict=True):
        for p, q in zip(a.net.parameters(), b.net.parameters(), strict=True):
            assert p.allclose(q, atol=1e-4)
