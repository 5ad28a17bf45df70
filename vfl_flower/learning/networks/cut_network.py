"""Bottom and top halves of cut networks, for the parties' tiles."""

from torch import nn

from vfl_flower.common.errors import NetworkError, sizes
from vfl_flower.config.options.shared import CutOptions
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.tiling import Tiling
from vfl_flower.learning.networks.base import Shape, SplitNet, TopInput
from vfl_flower.learning.networks.decoder import mirror
from vfl_flower.learning.networks.split_factory import chain, padded
from vfl_flower.learning.networks.splittable import Chain, shapes_through


def cut_network(
    cfg: RunConfig, data: PartyData, top_input: TopInput = TopInput.EMBEDDING
) -> SplitNet:
    """Build the network of a party, cut where the run says.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's, whose columns are a part of each image: (N, channels, height, width).
    top_input : TopInput
        What `decide` takes: `TILED` makes it the layers behind the cut of the whole image's
        network, `MIRROR` the decoder of the extractor, any other the layers behind the cut.

    Returns
    -------
    SplitNet
        `embed` is the extractor.

    Raises
    ------
    NetworkError
        If the network cannot be cut there, or not for such tiles.
    """
    apart = top_input is not TopInput.EMBEDDING
    tiling = Tiling.of(cfg, data.whole) if apart else None  # its errors come first
    shape, classes = tuple(data.x.shape[1:]), data.classes
    whole = _chain(cfg, shape, classes)
    extractor, classifier = whole.halves(cfg.options.cut_at)
    padded(extractor, cfg.own(CutOptions).padding)
    decide: nn.Module = classifier
    if top_input is TopInput.MIRROR:
        decide = mirror(extractor, shape)
    elif top_input is TopInput.TILED and tiling:
        decide = _tiled(cfg, tiling, shape, extractor, classes)
    else:
        _try(cfg, classifier, classes, shapes_through(extractor, shape)[-1])
    net = SplitNet(extractor, decide)
    net.own_randomness = whole.own_randomness
    return net


def halves(net: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return a party's extractor, and the layers behind the cut."""
    return net.embed, net.decide  # type: ignore[return-value]


def _chain(cfg: RunConfig, shape: Shape, classes: int) -> Chain:
    return chain(cfg.listed_model(0), shape, classes, cfg.own(CutOptions).width)


def _tiled(
    cfg: RunConfig, tiling: Tiling, shape: Shape, extractor: nn.Sequential, classes: int
) -> nn.Module:
    """Build the classifier of joined maps of all tiles."""
    whole, classifier = _chain(cfg, tiling.whole(shape), classes).halves(cfg.options.cut_at)
    tile = shapes_through(extractor, shape)[-1]
    image = shapes_through(whole, tiling.whole(shape))[-1]
    if len(tile) != 3 or tiling.whole(tile) != image:
        raise NetworkError(
            f"the cut {cfg.options.cut_at} makes maps of {sizes(tile)} out of tiles of "
            f"{sizes(shape)}, and {tiling.shape[0]} x {tiling.shape[1]} of them are not the "
            f"{sizes(image)} that the whole image gives; cut before poolings that do not divide "
            "a tile, or take a coarser grid"
        )
    _try(cfg, classifier, classes, image)
    return classifier


def _try(cfg: RunConfig, classifier: nn.Sequential, classes: int, shape: Shape) -> None:
    """Try the layers behind a user's own cut on zeros."""
    if ":" not in cfg.listed_model(0):
        return
    logits = shapes_through(classifier, shape)[-1]
    if logits != (classes,):
        raise NetworkError(
            f"the layers behind the cut {cfg.options.cut_at} make {sizes(logits)} of maps of "
            f"{sizes(shape)}, and there are {classes} classes"
        )
    if not any(each.requires_grad for each in classifier.parameters()):
        raise NetworkError(f"the layers behind the cut {cfg.options.cut_at} have nothing to learn")
