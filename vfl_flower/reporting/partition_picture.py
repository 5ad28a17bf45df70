"""Picture of a partition: a row of pixels or columns per party."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vfl_flower.common.codec import Array
from vfl_flower.common.files import write_atomically
from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.byte_rows import unit
from vfl_flower.data.columns import Column, Features
from vfl_flower.data.partition.shares import NOTHING, Mask, mask_of
from vfl_flower.data.published_data import PublishedData

_CELL, GAP, _LABEL = 128, 8, 96  # pixels: a small picture's side, space around it, text beside it
_SAMPLES = 6  # images a party
_HELD, _OTHERS, _PAPER, _INK = (36, 99, 168), (226, 229, 234), (255, 255, 255), (20, 24, 31)


def lines_of(cfg: RunConfig) -> list[str]:
    """Describe the share of each party, and the columns of a table.

    Raises
    ------
    DataError
        If the data cannot be had or split.
    """
    data = PublishedData(replace(cfg, batch_size=1, split="random"))  # nothing is trained
    stored, shares, described = data.stored, data.shares, data.described
    total, train = stored[0].size, data.rows["train"]
    lines = []
    for rank, share in enumerate(shares):
        held = int(mask_of(share, stored.shape[1:]).sum())
        lines.append(f"{party_name(rank)} holds {held} of {total} values a row")
        if described and not isinstance(share, tuple):
            lines += [f"  {_told(described[n], stored[:, n], train)}" for n in share]
    return lines


def _told(column: Column, values: Features, train: Array) -> str:
    """Describe one column of a table, (N,), and its gaps."""
    kind = f"categories, {len(column.values)}" if column.values is not None else "numbers"
    missing = int(np.isnan(values).sum())
    if not missing:
        return f"{column.name}: {kind}"
    told = f"{column.name}: {kind}; {missing} of {len(values)} missing"
    if column.values is not None:
        return f"{told}, a category of their own"
    known = values[train][~np.isnan(values[train])]
    if not len(known):
        return f"{told}, all of the training rows"
    return f"{told}, filled with the training rows' median {np.median(known):g}"


def draw(cfg: RunConfig, path: Path) -> None:
    """Draw the holdings of every party that has columns.

    Parameters
    ----------
    cfg : RunConfig
        Names data set, parties and partition.
    path : Path
        The png file; one that is there is replaced.

    Raises
    ------
    DataError
        If the data cannot be had or split.
    RunError
        If the picture cannot be written.
    """
    data = PublishedData(replace(cfg, split="random"))
    stored = data.stored
    masks = {
        party_name(rank): mask_of(share, stored.shape[1:])
        for rank, share in enumerate(data.shares)
        if share is not NOTHING
    }
    if DATASETS[cfg.dataset].images:
        samples = unit(stored[np.linspace(0, len(stored) - 1, _SAMPLES).astype(int)])
        rows = {name: _images(samples, held) for name, held in masks.items()}
    else:
        rows = {name: _columns(held) for name, held in masks.items()}
    buffer = io.BytesIO()
    _stacked(rows).save(buffer, "png")
    write_atomically(path, buffer.getvalue())


def _images(samples: NDArray[np.float32], held: Mask) -> Image.Image:
    """Show some images, blank outside the party's share."""
    made = Image.new("RGB", (len(samples) * (_CELL + GAP), _CELL), _PAPER)
    low, high = samples.min(), samples.max()
    for number, sample in enumerate(samples):
        grey = (sample - low) / max(high - low, 1e-12) * 255
        blank = np.array(_OTHERS).reshape(3, 1, 1)
        pixels = np.where(held.any(0), np.broadcast_to(grey, (3, *grey.shape[1:])), blank)
        tile = Image.fromarray(pixels.astype(np.uint8).transpose(1, 2, 0))
        made.paste(
            tile.resize((_CELL, _CELL), Image.Resampling.NEAREST), (number * (_CELL + GAP), 0)
        )
    return made


def _columns(held: Mask) -> Image.Image:
    """Show a table's columns as cells, filled where the party holds them."""
    side = max(4, min(_CELL // 4, 1200 // len(held)))
    made = Image.new("RGB", (len(held) * side, side), _PAPER)
    pen = ImageDraw.Draw(made)
    for column, own in enumerate(held):
        box = (column * side, 0, (column + 1) * side - 2, side - 2)
        pen.rectangle(box, fill=_HELD if own else _OTHERS)
    return made


def _stacked(rows: dict[str, Image.Image]) -> Image.Image:
    """Put the parties' rows below each other, with their names."""
    first = next(iter(rows.values()))
    height = first.height + GAP
    size = _LABEL + first.width + GAP, height * len(rows) + GAP
    made = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(made)
    for rank, (name, row) in enumerate(rows.items()):
        top = GAP + rank * height
        pen.text((GAP, top + row.height // 2 - 6), name, fill=_INK)
        made.paste(row, (_LABEL, top))
    return made
