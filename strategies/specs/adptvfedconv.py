"""Declaration of AdptVFedConv; see `strategies.adptvfedconv`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.compressions import read_compression
from vfl_flower.config.options.shared import (
    CompressionOptions,
    CutOptions,
    LocalEpochsOptions,
    ViewOptions,
)
from vfl_flower.config.partition_spec import grid_for
from vfl_flower.config.schema import FLOAT32_MAX, option
from vfl_flower.config.settings import Settings

from .cut_networks import check_cut, check_views


@dataclass(frozen=True, kw_only=True)
class AdptVFedConvOptions(ViewOptions, CutOptions, CompressionOptions, LocalEpochsOptions):
    """Options of AdptVFedConv's own."""

    model_transfer: bool = option(
        True, "whether passive parties start from the active party's extractor"
    )
    pretrain_epochs: int = option(
        20,
        "epochs of the active party alone on its tile, before all else",
        least=0,
        most=10**9,
    )
    extractor_rate: float = option(
        1e-5,
        "learning rate at which passive parties fine-tune the extractor",
        above=0,
        most=FLOAT32_MAX,
    )
    decoder_rate: float = option(
        1e-3,
        "learning rate of their decoders, and of extractors without model-transfer",
        above=0,
        most=FLOAT32_MAX,
    )
    local_patience: int = option(
        2,
        "early stopping of fine-tuning: epochs without a smaller error of reconstruction on "
        "validation rows; 0: none",
        least=0,
        most=10**9,
    )

    @property
    def label_dependent(self) -> bool:
        """Whether the extractor, which was trained on labels, is sent."""
        return self.model_transfer

    @property
    def label_exposure(self) -> str:
        """Sentence on the extractor."""
        return (
            "passive parties were given an extractor that was trained on the labels and on the "
            "active party's tiles, and may tell of both; label-privacy hides labels"
        )

    @property
    def uploads_before_training(self) -> int:
        """Uploads of each training sample before the first step: one a view."""
        return self.views

    @property
    def epochs_before_training(self) -> int:
        """Epochs of pre-training and fine-tuning."""
        return self.pretrain_epochs + self.local_epochs

    @property
    def cut_at(self) -> str:
        """Place where networks are cut."""
        return "2C+1M" if self.cut == "auto" else self.cut

    def default_partition(self, parties: int) -> str:
        """Return the most nearly square grid of tiles."""
        return grid_for(parties)

    def learning_rate(self, rank: int) -> float | None:
        """Return a passive party's learning rate."""
        return self.decoder_rate if rank else None

    def further_rates(self, rank: int) -> tuple[float, ...]:
        """Return a passive party's learning rate of a transferred extractor."""
        return (self.extractor_rate,) if rank and self.model_transfer else ()


def check_tiles(cfg: Settings, options: AdptVFedConvOptions) -> None:
    """Refuse columns that are not one grid tile per party."""
    if cfg.own_tables:
        raise ConfigError(f"dataset is own, and {cfg.method} needs images; use another method")
    read_compression(options.upload_compression)
    spec = cfg.partition_spec()
    if spec.name != "grid":
        raise ConfigError(
            f"partition is {cfg.partition}, and {cfg.method} puts tiles together by their places; "
            f"use {grid_for(cfg.parties)}"
        )
    tiles = spec.argument[0] * spec.argument[1]
    if tiles != cfg.parties or (spec.kept and sorted(spec.kept) != list(range(tiles))):
        raise ConfigError(
            f"partition {cfg.partition} has {tiles} tiles, and {cfg.method} needs all of them, one "
            f"from each of {cfg.parties} parties"
        )


def check_validation(cfg: Settings, options: AdptVFedConvOptions) -> None:
    """Refuse autoencoders without validation rows, by which they are kept."""
    if not cfg.validation:
        raise ConfigError(
            f"validation is 0, and {cfg.method} keeps the extractors of the least error on "
            "validation rows; hold some out"
        )


SPEC = MethodSpec(
    strategy="strategies.adptvfedconv:AdptVFedConv",
    client="clients.adptvfedconv:AdptVFedConvClient",
    options=AdptVFedConvOptions,
    checks=(check_tiles, check_cut, check_views, check_validation),
    noises=True,
    regression=False,
    weights_secret=False,
    column_exposure=(
        "the active party can make pictures of the others' tiles of what they sent, with a decoder "
        "that it trains on its own; see the audit of reconstruction"
    ),
)
