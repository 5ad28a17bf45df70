"""Networks cut in two, and the decoders that mirror their extractors."""

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vfl_flower.common.errors import NetworkError
from vfl_flower.common.optional.torchvision_import import models
from vfl_flower.config.catalog import NETWORKS, cut_networks
from vfl_flower.learning.networks.decoder import mirror
from vfl_flower.learning.networks.papers.vgg import vgg16_bn
from vfl_flower.learning.networks.split_factory import chain, padded
from vfl_flower.learning.networks.splittable import Chain, shapes_through

if TYPE_CHECKING:
    from vfl_flower.learning.networks.base import Shape

TABLE_3 = ("1C", "2C", "2C+1M", "3C+1M", "4C+1M", "4C+2M", "5C+2M", "6C+2M", "7C+2M", "7C+3M")
TILE = (3, 16, 16)
NARROW = 0.05


@pytest.mark.slow
def test_it_is_torchvisions_network() -> None:
    """At full width, layer for layer, and its published weights fit."""
    ours = vgg16_bn((3, 32, 32), 10, 1.0).layers
    theirs: nn.Sequential = models.vgg16_bn().features
    ours[: len(theirs)].load_state_dict(theirs.state_dict())
    assert [*map(type, ours.children())][: len(theirs)] == [*map(type, theirs.children())]
    widths = [layer.out_features for layer in ours if isinstance(layer, nn.Linear)]
    assert widths == [4096, 4096, 10]


def test_the_table_of_networks_says_which_can_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cut_networks() == ["vgg16_bn"]
    assert chain("vgg16_bn", TILE, 10, NARROW).cuts == vgg16_bn(TILE, 10, NARROW).cuts
    with pytest.raises(NetworkError, match="network 'mlp' cannot be cut in two"):
        chain("mlp", TILE, 10, NARROW)
    mine = NETWORKS["mlp"]._replace(chain=f"{__name__}:without_cuts")
    monkeypatch.setitem(NETWORKS, "mine", mine)
    assert cut_networks() == ["vgg16_bn", "mine"]
    assert chain("mine", TILE, 10, NARROW).cuts == {}


def without_cuts(shape: "Shape", classes: int, width: float) -> Chain:
    """Return a network's chain that has no cuts."""
    return Chain(shape, nn.Sequential(), {})


def test_the_cuts_of_table_3_come_first_and_in_order() -> None:
    assert tuple(vgg16_bn(TILE, 10, NARROW).cuts)[:10] == TABLE_3


@pytest.mark.parametrize("cut", TABLE_3)
def test_a_cut_has_the_blocks_and_poolings_that_it_says(cut: str) -> None:
    extractor, classifier = vgg16_bn(TILE, 10, NARROW).halves(cut)
    kinds = [type(layer) for layer in extractor]
    blocks, _, pools = cut.replace("M", "").partition("C+") if "+" in cut else (cut[:-1], "", "0")
    assert kinds.count(nn.Conv2d) == kinds.count(nn.BatchNorm2d) == int(blocks)
    assert kinds.count(nn.MaxPool2d) == int(pools)
    side = 16 >> int(pools)
    assert shapes_through(extractor, TILE)[-1][1:] == (side, side)
    assert shapes_through(nn.Sequential(extractor, classifier), TILE)[-1] == (10,)


def test_the_last_pooling_is_left_out_of_a_small_tile_and_no_other() -> None:
    def pools(side: int) -> int:
        layers = vgg16_bn((3, side, side), 10, NARROW).layers
        return sum(isinstance(layer, nn.MaxPool2d) for layer in layers)

    assert [pools(side) for side in (1, 2, 4, 16, 32, 64)] == [0, 1, 2, 4, 5, 5]


@settings(max_examples=25, deadline=None)
@given(
    cut=st.sampled_from(TABLE_3),
    channels=st.sampled_from((1, 3)),
    side=st.sampled_from((8, 12, 16, 20)),
)
def test_the_mirror_gives_back_the_shape_of_every_tile(cut: str, channels: int, side: int) -> None:
    tile = channels, side, side
    extractor, _ = vgg16_bn(tile, 10, NARROW).halves(cut)
    decoder = mirror(extractor, tile)
    assert shapes_through(nn.Sequential(extractor, decoder), tile)[-1] == tile


def test_the_mirror_has_the_papers_blocks_and_ends_linearly() -> None:
    extractor, _ = vgg16_bn(TILE, 10, NARROW).halves("4C+2M")
    kinds = [type(layer) for layer in mirror(extractor, TILE)]
    block = [nn.ConvTranspose2d, nn.BatchNorm2d, nn.ReLU]
    assert kinds == [nn.Upsample, *block, *block, nn.Upsample, *block, nn.ConvTranspose2d]


def test_the_mirror_of_strides_nested_blocks_and_other_activations() -> None:
    shape: Shape = (3, 11, 9)
    extractor = nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 6, 5, stride=2, padding=1), nn.GELU(), nn.Dropout2d(0.1)),
        nn.Sequential(nn.Conv2d(6, 6, 3, dilation=2, padding=2, groups=2), nn.Tanh()),
        nn.AvgPool2d(2),
    )
    decoder = mirror(extractor, shape)
    assert shapes_through(nn.Sequential(extractor, decoder), shape)[-1] == shape
    kinds = [type(layer) for layer in decoder]
    assert kinds == [nn.Upsample, nn.ConvTranspose2d, nn.Tanh, nn.ConvTranspose2d]


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 3, 1), nn.ConvTranspose2d(3, 3, 1)])
def test_a_layer_without_a_mirror_is_named(layer: nn.Module) -> None:
    extractor = nn.Sequential(layer, nn.InstanceNorm2d(3))
    with pytest.raises(NetworkError, match=r"no mirror of InstanceNorm2d|no convolution"):
        mirror(extractor, (3, 4, 4))


def test_replicated_pixels_make_a_constant_image_constant() -> None:
    """By zeros, the edges of a constant image show."""
    spread = {}
    for padding in ("replicate", "zeros"):
        torch.manual_seed(0)
        extractor, _ = vgg16_bn(TILE, 10, NARROW).halves("2C")
        made = padded(extractor, padding).eval()(torch.ones(1, *TILE))
        spread[padding] = (made.amax((2, 3)) - made.amin((2, 3))).max().item()
    assert spread["replicate"] < 1e-5 < 1e-2 < spread["zeros"]


def test_an_unknown_cut_is_told_with_those_that_there_are() -> None:
    with pytest.raises(NetworkError, match=r"no cut '9M'.* cuts are 1C, 2C, 2C\+1M"):
        vgg16_bn(TILE, 10, NARROW).halves("9M")
    with pytest.raises(NetworkError, match="of 3 x 2 x 2, of which its poolings must leave"):
        vgg16_bn((3, 2, 2), 10, NARROW).halves("4C+2M")
