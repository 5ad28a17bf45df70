"""Networks in bfloat16: same accuracy, and weights and messages in float32."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from tests.helpers.contract import configured, differing
from tests.helpers.joint.reference import joint_easter
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.device import computing
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.baselines import baselines_of
from vfl_flower.workflows.build_parties import build_active, build_passive

PRECISIONS = ("bf16", "float32")
METHODS = ("easter", "splitnn", "pravfed", "vimadmm", "vimadmm_j", "adptvfedconv", "local")


def longer(method: str, precision: str) -> RunConfig:
    rate = {"learning_rates": "0.01"} if method != "adptvfedconv" else {}
    cfg = replace(configured(method), epochs=4, batch_size=100, precision=precision)
    return replace(cfg, **rate)  # type: ignore[arg-type]


@cache
def trained(cfg: RunConfig) -> tuple[ActiveParty, list[Party]]:
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return active, [active, *passive]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_it_comes_to_about_the_same_accuracy(method: str) -> None:
    half, whole = (trained(longer(method, each))[0] for each in ("bf16", "float32"))
    for name, score in whole.progress.test["score"].items():
        assert half.progress.test["score"][name] == pytest.approx(score, abs=0.06), name


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "adptvfedconv"])
def test_weights_differ_and_stay_float32(method: str) -> None:
    halves, wholes = (trained(longer(method, each))[1] for each in ("bf16", "float32"))
    weights = [[each.net.state_dict() for each in parties] for parties in (halves, wholes)]
    assert {text.split(":")[0] for text in differing(*weights)} == set("0123")
    floats = [each for net in weights[0] for each in net.values() if each.is_floating_point()]
    assert {each.dtype for each in floats} == {torch.float32}


def test_it_equals_the_joint_program() -> None:
    cfg = replace(configured("easter"), precision="bf16", epochs=1)
    active, parties = trained(cfg)
    theirs = joint_easter(cfg, loss_of("binary-cross-entropy"), active.progress.step, rounded=True)
    weights = [[each.net.state_dict() for each in run] for run in (parties, theirs)]
    assert differing(*weights) == []


def test_what_leaves_a_network_is_float32() -> None:
    party = build_active(replace(configured("easter"), precision="bf16"))
    embedding = party.embed_rows(torch.arange(5))
    assert (embedding.dtype, party.decide(embedding).dtype) == (torch.float32, torch.float32)
    exact = build_active(configured("easter")).embed_rows(torch.arange(5))
    difference = (embedding - exact).abs().max()
    assert 0 < difference < 0.02 * exact.abs().max()


def test_baselines_compute_in_it_too() -> None:
    cfg = replace(configured("splitnn"), epochs=1)
    half, whole = (baselines_of(build_active(replace(cfg, precision=each))) for each in PRECISIONS)
    assert half != whole


@pytest.mark.parametrize("precision", PRECISIONS)
def test_convolutions_read_images_pixel_by_pixel(precision: str) -> None:
    party = build_active(replace(configured("easter"), models="cnn", precision=precision))
    seen = []
    layer = next(each for each in party.net.modules() if isinstance(each, nn.Conv2d))
    layer.register_forward_hook(lambda *of: seen.append(of[-1]))
    party.embed_rows(torch.arange(5))
    by_pixel = seen[0].is_contiguous(memory_format=torch.channels_last)
    assert by_pixel == (precision == "bf16")


ONE_COLUMN: list[tuple[type[nn.Module], tuple[int, ...], dict[str, object]]] = [
    (nn.Conv2d, (3, 14, 2), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (nn.Conv2d, (256, 8, 2), {"kernel_size": 3, "stride": 2, "padding": 1}),  # a ResNet's
    (nn.Conv2d, (16, 8, 1), {"kernel_size": (3, 2), "stride": (2, 3), "padding": 1}),
    (nn.Conv2d, (3, 14, 5), {"kernel_size": 3, "stride": 3, "dilation": 2}),
    (nn.Conv1d, (32, 1), {"kernel_size": 5, "stride": 3, "padding": 2}),
    (nn.ConvTranspose2d, (64, 8, 1), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (nn.ConvTranspose2d, (64, 14, 1), {"kernel_size": 2, "stride": 2}),
]
"""Layers, images of one column before or behind them, and options."""


@pytest.mark.parametrize(("kind", "image", "options"), ONE_COLUMN)
def test_convolutions_of_single_columns_are_right(
    kind: type[nn.Module], image: tuple[int, ...], options: dict[str, object]
) -> None:
    # torch's kernels for AMX return garbage here, with strides along the width
    torch.manual_seed(0)
    layer, images = kind(image[0], 64, **options), torch.randn(8, *image)
    found = []
    for precision in PRECISIONS:
        columns = images.clone().requires_grad_()
        with computing(precision, torch.device("cpu")):
            result = layer(columns)
        torch.manual_seed(1)
        of = torch.randn(result.shape).to(result.dtype)
        inputs = [columns, *layer.parameters()]
        found.append([result.float(), *torch.autograd.grad(result, inputs, of)])
    for half, whole in zip(*found, strict=True):
        assert half.shape == whole.shape
        assert (half - whole).norm() < 0.02 * whole.norm()
