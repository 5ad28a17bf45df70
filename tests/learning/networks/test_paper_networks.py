"""Networks of papers, by the sizes of the authors' programs."""

import pytest
import torch
from torch import nn

from vfl_flower.common.errors import NetworkError
from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import SplitNet
from vfl_flower.learning.networks.factory import network

STRIP = (1, 28, 7)
"""One of four strips of MNIST."""

SIZES = {
    "pravfed-mlp": [(50, 196), (10, 50)],
    "pravfed-cnn": [(64, 1, 1, 1), (32, 64, 1, 1), (50, 1344), (10, 50)],
    "pravfed-lenet": [(64, 1, 2, 2), (64, 64, 2, 2), (50, 4608), (192, 50), (10, 192)],
    "pravfed-table": [(64, 196), (50, 64), (10, 50)],
}


@pytest.mark.parametrize("name", SIZES)
def test_layers_have_the_published_sizes(name: str) -> None:
    weights = [tuple(w.shape) for w in network(name)(STRIP, 50, 10).parameters() if w.ndim > 1]
    assert weights == SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_an_embedding_is_a_hidden_layer_after_its_relu(name: str) -> None:
    """A sum of others, under one layer, is linear in all columns."""
    net = network(name)(STRIP, 50, 10)
    embedding = net.embed(torch.randn(200, *STRIP))  # type: ignore[operator]
    assert embedding.shape == (200, 50)
    assert embedding.min() == 0 < embedding.max()
    assert net.decide(embedding).shape == (200, 10)  # type: ignore[operator]


def test_vims_deep_head_is_as_wide_as_an_embedding_and_drops_out() -> None:
    net = network("vim-mlp-deep")(STRIP, 60, 10)
    weights = [tuple(w.shape) for w in net.parameters() if w.ndim > 1]
    assert weights == [(120, 196), (60, 120), (60, 60), (10, 60)]
    assert [each.p for each in net.modules() if isinstance(each, Dropout)] == [0.25]


def test_vims_convolutions_see_enlarged_patches_and_its_embedding_alone_is_normalised() -> None:
    net = network("vim-cnn-32")((3, 10, 12), 60, 10)
    assert isinstance(net, SplitNet)
    weights = [tuple(w.shape) for w in net.parameters() if w.ndim > 1]
    convolutions = [(32, 3, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (128, 64, 3, 3)]
    assert weights == [*convolutions, (60, 128), (10, 60)]
    norms = [each for each in net.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]
    assert [norm.num_features for norm in norms] == [60]
    assert isinstance(net.embed, nn.Sequential)
    patch = torch.arange(2 * 3 * 10 * 12.0).reshape(2, 3, 10, 12)
    assert set(net.embed[0](patch).unique().tolist()) == set(patch.unique().tolist())  # copied
    assert net.embed(patch).min() == 0


def test_a_strip_that_is_too_narrow_is_refused() -> None:
    with pytest.raises(NetworkError, match="pravfed-lenet takes images of at least 5x5 pixels"):
        network("pravfed-lenet")((1, 8, 2), 50, 10)


def test_dropout_of_channels_drops_whole_channels() -> None:
    layer = Dropout(0.5, channels=True)
    layer.generator = torch.Generator().manual_seed(0)
    kept = layer(torch.ones(64, 32, 3, 4)).flatten(2)
    assert torch.equal(kept.amin(2), kept.amax(2))
    assert 0.45 < (kept > 0).float().mean() < 0.55
    assert kept.max() == 2
