"""Interface of a party with columns, for protections of uploads."""

from typing import Protocol

from vfl_flower.data.party_data import PartyData
from vfl_flower.protocol.components import Answerer


class Holder(Answerer, Protocol):
    """An owner with columns.

    Attributes
    ----------
    data : PartyData
        Columns and split of the rows.
    """

    data: PartyData
