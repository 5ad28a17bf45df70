"""Declaration of Compressed-VFL; see `strategies.c_vfl`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.compressions import COMPRESSIONS, read_compression
from vfl_flower.config.options.shared import CompressionOptions
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

from .fedbcd import FedBCDOptions


@dataclass(frozen=True, kw_only=True)
class CVFLOptions(CompressionOptions, FedBCDOptions):
    """Options of Compressed-VFL's own."""

    share_labels: bool = option(
        False, "as published: passive parties are given the labels and others' embeddings"
    )

    downlink: str = option(
        "none",
        "compression of the gradients, or of the top model, that passive parties are sent: as "
        "compression is written, or same",
        suggested=("none", "same", *COMPRESSIONS),
    )

    @property
    def shares_labels(self) -> bool:
        """Whether passive parties get the labels, and with them each other's embeddings."""
        return self.share_labels

    @property
    def upload_compression(self) -> str:
        """Compression of embeddings."""
        return "quantize:8" if self.compression == "auto" else self.compression

    @property
    def downlink_compression(self) -> str:
        """Compression of gradients, or of the top model's weights."""
        return self.upload_compression if self.downlink == "same" else self.downlink


def check(cfg: Settings, options: CVFLOptions) -> None:
    """Refuse a missing compression, unshareable top models, undefendable gradients."""
    read_compression(options.upload_compression)
    read_compression(options.downlink_compression, "downlink", "same")
    if cfg.defended and options.downlink_compression != "none" and not options.share_labels:
        raise ConfigError(
            f"gradient-defence is {cfg.gradient_defence}, and gradients are compressed before it "
            f"(downlink = {options.downlink}); use downlink = none"
        )
    if options.share_labels and ":" in cfg.model_of(0):
        raise ConfigError(
            "share-labels gives the top model away, which must be one of this package's; "
            f"the active party's network is {cfg.model_of(0)}"
        )


SPEC = MethodSpec(
    strategy="strategies.c_vfl:CVFL",
    client="clients.c_vfl:CVFLClient",
    gradients_only=True,
    soft_targets=True,
    options=CVFLOptions,
    checks=(check,),
    label_only=True,
    embedding_gradients=True,
)
