"""Tilings of images: the place of each party's tile, and joining."""

from collections.abc import Sequence
from dataclasses import dataclass

from flwr.common import Scalar
from torch import Tensor

from vfl_flower.common.errors import DataError, sizes
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.byte_rows import Held


@dataclass(frozen=True)
class Tiling:
    """A grid of equal tiles, one of each party.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of tiles.
    places : tuple of (int, int)
        Row and column of each party's tile, the active party's first.
    """

    shape: tuple[int, int]
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, cfg: RunConfig, whole: Sequence[int]) -> "Tiling":
        """Work out the tiling of a run's images.

        Parameters
        ----------
        cfg : RunConfig
            Its partition and number of parties.
        whole : sequence of int
            Shape of a row with the columns of all parties.

        Raises
        ------
        DataError
            If the rows are no images, or the tiles are not all alike.
        """
        deal = cfg.partition_spec()
        rows, columns = deal.argument
        order = deal.kept or range(cfg.parties)
        if len(whole) != 3:
            raise DataError(f"{cfg.method} puts tiles of images together; {cfg.dataset} has none")
        _, height, width = whole
        if height % rows or width % columns:
            raise DataError(
                f"{cfg.method} needs tiles that are all alike, and grid:{rows}x{columns} does not "
                f"divide images of {height} x {width} pixels; take another grid"
            )
        return cls((rows, columns), tuple(divmod(tile, columns) for tile in order))

    def whole(self, tile: Sequence[int]) -> tuple[int, int, int]:
        """Return the shape of all tiles together: channels, height, width."""
        channels, height, width = tile
        return channels, height * self.shape[0], width * self.shape[1]

    def join(self, tiles: Sequence[Tensor], mirrored: Tensor) -> Tensor:
        """Put maps of tiles together by position.

        Parameters
        ----------
        tiles : sequence of Tensor
            Of each party, the active one's first, (B, c, h, w).
        mirrored : Tensor
            (B,) bool: whose tiles are mirrored images. They lie the other way round.

        Returns
        -------
        Tensor
            (B, c, rows h, columns w).
        """
        count, *tile = tiles[0].shape
        _, height, width = tile
        joined = tiles[0].new_empty(count, *self.whole(tile))
        for part, (row, column) in zip(tiles, self.places, strict=True):
            opposite = self.shape[1] - 1 - column
            for rows, at in ((~mirrored, column), (mirrored, opposite)):
                down = slice(row * height, (row + 1) * height)
                joined[rows, :, down, at * width : (at + 1) * width] = part[rows]
        return joined


def tile_fact(x: Held) -> dict[str, Scalar]:
    """Return the tile's shape for the roll call, where all must match."""
    return {"tiles of": sizes(tuple(x.shape[1:]))}
