"""Where columns of a party's data come from."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.byte_rows import unit
from vfl_flower.data.loading import run_data
from vfl_flower.data.partition.shares import Columns, Share, mask_of, take, union
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.record import Split

_MOST_RUNS = 3  # of columns that are told


def sources_of(cfg: RunConfig, data: PartyData) -> tuple[str, ...]:
    """Name the source of each of a party's encoded columns.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's.

    Returns
    -------
    tuple of str
        One for each column of a row, in order; empty for images.
    """
    if data.x.ndim > 2 or not data.x.shape[1]:
        return ()
    if data.encoder is not None:
        return data.encoder.sources
    return _published(PublishedData(cfg, data.split), data.share)


def encoder_of(cfg: RunConfig, data: PartyData) -> Encoder | None:
    """Return the encoder of a party's columns; None for numbers alone.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's.
    """
    if data.encoder is not None or cfg.own_tables or isinstance(data.share, tuple):
        return data.encoder
    return _encoder(PublishedData(cfg, data.split), data.share)


def pooled_places(cfg: RunConfig, rank: int, split: Split | None) -> Tensor:
    """Mark the columns of one party in a pooled row.

    Parameters
    ----------
    cfg : RunConfig
        Of a run that pools the columns of all parties.
    rank : int
        The party's.
    split : Split or None
        The run's; see `vfl_flower.data.loading.split_of`.

    Returns
    -------
    Tensor
        bool, in the shape of a row. A pixel or column of several parties is each one's.
    """
    if cfg.own_tables:
        return _joined_places(cfg, rank, split)
    source = PublishedData(cfg, split)
    share, whole = source.shares[rank], union(source.shares)
    if isinstance(whole, tuple):
        return torch.from_numpy(mask_of(share, source.stored.shape[1:]))
    held = {*_published(source, share)}
    return torch.tensor([name in held for name in _published(source, whole)])


def _joined_places(cfg: RunConfig, rank: int, split: Split | None) -> Tensor:
    """Mark one party's columns where own tables lie side by side."""
    # pyarrow is slow to import
    from vfl_flower.data.table_columns import joined

    data = run_data(cfg, split=split)
    rows = []
    for each in range(cfg.parties - cfg.holders, cfg.parties):
        row = data.party(each, labelled=False).x[:1]
        rows.append(torch.full_like(row, each == rank, dtype=torch.bool))
    return joined(rows)[0]


def _published(source: PublishedData, share: Share) -> tuple[str, ...]:
    """Name the source of each encoded column of a share."""
    assert not isinstance(share, tuple)  # noqa: S101  parts of images have pixels
    if encoder := _encoder(source, share):
        return encoder.sources
    what = "pixel" if DATASETS[source.cfg.dataset].images else "column"
    return tuple(f"{what} {number}" for number in share)


def _encoder(source: PublishedData, share: Columns) -> Encoder | None:
    """Fit the encoder of a share of a published table with categories."""
    if not source.described:
        return None
    columns = [source.described[column] for column in share]
    own = unit(take(source.stored, share))
    return Encoder.fit(own, columns, source.rows["train"], party_name(0))


def blocks(shape: Sequence[int], most: int) -> list[tuple[str, Tensor]]:
    """Cut an image into blocks of pixels.

    Parameters
    ----------
    shape : sequence of int
        (channels, height, width).
    most : int
        Blocks along a side.

    Returns
    -------
    list of tuple
        What each block is called, and a mask of the shape: bool, all channels.
    """
    sides = [np.array_split(np.arange(size), min(size, most)) for size in shape[1:]]
    made = []
    for rows in sides[0]:
        for columns in sides[1]:
            mask = torch.zeros(*shape, dtype=torch.bool)
            mask[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
            name = f"rows {_span(rows[0], rows[-1])}, columns {_span(columns[0], columns[-1])}"
            made.append((name, mask))
    return made


def holds(cfg: RunConfig, data: PartyData) -> str:
    """Describe in a few words which columns a party holds, without names."""
    if data.encoder is None:
        return told(data.share, DATASETS[cfg.dataset].images)
    return f"{len({*data.encoder.sources})} columns"


def told(share: Share, images: bool) -> str:
    """Describe a share in a few words."""
    if isinstance(share, tuple):
        _, *sides = share
        parts = zip(("rows", "columns"), sides, strict=True)
        cut = [f"{name} {_span(s.start, s.stop - 1)}" for name, s in parts if s != slice(None)]
        return ", ".join(cut) or "all"
    what, numbers = "pixels" if images else "columns", np.sort(share)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    if len(runs) > _MOST_RUNS:
        return f"{len(share)} {what}"
    return f"{what} {', '.join(_span(run[0], run[-1]) for run in runs)}"


def _span(first: int, last: int) -> str:
    return f"{first}-{last}" if first < last else f"{first}"
