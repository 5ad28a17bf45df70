"""Groups of columns that are permuted together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.schema import near
from vfl_flower.data.held_columns import blocks, pooled_places, sources_of
from vfl_flower.parties.party import Party

_MOST_BLOCKS = 8
"""Blocks of pixels along a side of an image."""


@dataclass(frozen=True, eq=False)
class Group:
    """Columns of one party that are permuted together.

    Attributes
    ----------
    name : str
        The party's name, or that of a column of its table, or of a block of pixels.
    holder : Party
        The party with these columns: of pooled columns, the active one.
    places : Tensor or None
        Which of a row's columns they are, bool in the shape of a row; None for all.
    """

    name: str
    holder: Party
    places: Tensor | None = None

    @contextmanager
    def permuted(self, rows: Array, order: Array) -> Iterator[None]:
        """Give rows each other's columns, and then their own again.

        Parameters
        ----------
        rows : ndarray of int32
            (N,).
        order : ndarray of int
            (N,): the place among `rows` of the row whose columns each gets.
        """
        x = self.holder.x
        assert isinstance(x, Tensor)  # noqa: S101  a panel's parties hold numbers
        index = torch.from_numpy(rows).long().to(x.device)
        kept = x[index]
        moved = kept[torch.from_numpy(order).to(x.device)]
        x[index] = moved if self.places is None else moved.where(self.places.to(x.device), kept)
        try:
            yield
        finally:
            x[index] = kept


def of_parties(parties: list[Party]) -> list[Group]:
    """Return one group for each party that has columns, by place.

    Parameters
    ----------
    parties : list of Party
        All parties of a run, the active one first.
    """
    cfg = parties[0].cfg
    ranks = range(cfg.parties - cfg.holders, cfg.parties)
    if cfg.spec.pools:
        split = parties[0].data.split
        return [Group(party_name(k), parties[0], pooled_places(cfg, k, split)) for k in ranks]
    return [Group(party_name(k), parties[k]) for k in ranks]


def of_columns(party: Party) -> list[Group]:
    """Return a group for each column, or block of pixels.

    All that one column of the table was encoded to is one group.
    """
    if party.x.ndim > 2:
        cut = blocks(party.x.shape[1:], _MOST_BLOCKS)
        return [Group(name, party, places) for name, places in cut]
    sources = sources_of(party.cfg, party.data)
    return [
        Group(name, party, torch.tensor([each == name for each in sources]))
        for name in dict.fromkeys(sources)
    ]


def named(parties: list[Party], name: str) -> Party:
    """Find a party with columns of its own by name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    cfg = parties[0].cfg
    if cfg.spec.pools:
        raise ConfigError(f"{cfg.method} pools all columns, and no party has a model of its own")
    known = {party_name(k): parties[k] for k in range(cfg.parties - cfg.holders, cfg.parties)}
    if name not in known:
        raise ConfigError(f"no party with columns is '{name}'{near(name, tuple(known))}")
    return known[name]
