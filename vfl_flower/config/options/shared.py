"""Options that several methods share by inheritance."""

from dataclasses import dataclass

from vfl_flower.config.catalog import cut_networks
from vfl_flower.config.method_spec import MethodOptions
from vfl_flower.config.options.compressions import COMPRESSIONS
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class LocalStepsOptions(MethodOptions):
    """Several local steps between exchanges."""

    local_steps: int = option(4, "steps of every party between exchanges (Q, tau)", least=1)


@dataclass(frozen=True, kw_only=True)
class LocalEpochsOptions(MethodOptions):
    """Epochs that passive parties train by themselves."""

    local_epochs: int = option(
        4, "epochs that passive parties train by themselves, at most", least=1
    )


@dataclass(frozen=True, kw_only=True)
class CompressionOptions(MethodOptions):
    """Compressed uploads."""

    compression: str = option(
        "auto",
        "of uploads: topk:SHARE of each row, quantize:BITS or lattice:BITS a number, float16, or "
        "none; auto: the method's",
        suggested=("auto", *COMPRESSIONS),
    )

    @property
    def upload_compression(self) -> str:
        """Compression of the passive parties' uploads."""
        return "none" if self.compression == "auto" else self.compression


@dataclass(frozen=True, kw_only=True)
class CutOptions(MethodOptions):
    """Networks that are cut into extractor and classifier."""

    cut: str = option(
        "auto",
        "where networks are cut: vgg16_bn's behind so many blocks of convolution and so many "
        "poolings, 1C, 2C, 2C+1M and so on; your own's by its names; auto: the method's, if any",
    )
    width: float = option(
        1.0, "factor of vgg16_bn's channels and hidden layers", least=0.01, most=4
    )
    padding: str = option(
        "replicate",
        "padding of tiles in extractors' convolutions: replicate or zeros",
        choices=("replicate", "zeros"),
    )

    @property
    def cut_at(self) -> str:
        """Place where networks are cut; empty if they are not."""
        return "" if self.cut == "auto" else self.cut

    @property
    def default_network(self) -> str:
        """The usual network that can be cut, where networks are."""
        return cut_networks()[0] if self.cut_at else ""


@dataclass(frozen=True, kw_only=True)
class ViewOptions(MethodOptions):
    """Augmented views of images."""

    views: int = option(
        1,
        "views of each training row: as it is, and augmented; with more than one, all training is "
        "on augmented images",
        least=1,
        most=100,
    )
    augment: str = option(
        "flip-crop",
        "augmentation of further views: flip-crop, flip or crop",
        choices=("flip-crop", "flip", "crop"),
    )
