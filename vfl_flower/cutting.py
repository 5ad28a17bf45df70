"""The parties' halves of networks that are cut in two, for the tiles that they hold."""

from torch import nn

from vfl_flower.chain import Chain, chain, mirror, padded, shapes_through, written
from vfl_flower.config import RunConfig
from vfl_flower.data import classes_of
from vfl_flower.data.tiles import Tiling
from vfl_flower.errors import NetworkError
from vfl_flower.nets import Shape, SplitNet


def cut_network(cfg: RunConfig, shape: Shape, top: str = "") -> SplitNet:
    """Build the network of a party, cut where the run says.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    shape : tuple of int
        Of what the party holds of an image: channels, height, width.
    top : str
        What `decide` is: empty for the layers behind the cut; "tiled" for those of the whole image;
        "mirror" for the decoder of the extractor.

    Returns
    -------
    SplitNet
        `embed` is the extractor.

    Raises
    ------
    NetworkError
        If the network cannot be cut there, or not for such tiles.
    """
    tiling = Tiling.of(cfg) if top else None  # its errors come first
    whole = _chain(cfg, shape)
    extractor, decide = whole.halves(cfg.cut_at)
    padded(extractor, cfg.padding)
    if top == "mirror":
        decide = mirror(extractor, shape)
    if top == "tiled" and tiling:
        decide = _tiled(cfg, tiling, shape, extractor)
    net = SplitNet(extractor, decide)
    net.own_randomness = whole.own_randomness
    return net


def halves(net: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return a party's extractor, and what stands behind the cut."""
    return net.embed, net.decide  # type: ignore[return-value]


def _chain(cfg: RunConfig, shape: Shape) -> Chain:
    return chain(cfg.listed_model(0), shape, classes_of(cfg, 0), cfg.width)


def _tiled(cfg: RunConfig, tiling: Tiling, shape: Shape, extractor: nn.Module) -> nn.Module:
    """Return the classifier of maps of tiles put together, if they can be."""
    whole, classifier = _chain(cfg, tiling.whole(shape)).halves(cfg.cut_at)
    tile = shapes_through(extractor, shape)[-1]
    image = shapes_through(whole, tiling.whole(shape))[-1]
    if len(tile) != 3 or tiling.whole(tile) != image:
        raise NetworkError(
            f"the cut {cfg.cut_at} makes maps of {written(tile)} out of tiles of {written(shape)}, "
            f"and {tiling.shape[0]} x {tiling.shape[1]} of them are not the {written(image)} that "
            "the whole image gives; cut before poolings that do not divide a tile, or take a "
            "coarser grid"
        )
    return classifier
