"""Boosted trees, passive party; notation and header in `strategies.boosted_trees`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.algorithms.boosting.bins import Bins
from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.algorithms.boosting.channels.encrypted_growth import EncryptedGrowth
from vfl_flower.algorithms.boosting.forest import Splits, trees_a_round
from vfl_flower.algorithms.boosting.gains import Regularizer
from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.algorithms.boosting.importance import IMPORTANCE, importance_csv
from vfl_flower.algorithms.boosting.monotone import found_in, own_signs
from vfl_flower.api import (
    Party,
    PartyData,
    PassiveParty,
    RunConfig,
    Upload,
    floats,
    integers,
    number,
    octets,
    phase,
    rows,
)
from vfl_flower.common.codec import to_array
from vfl_flower.common.errors import ProtocolError

if TYPE_CHECKING:
    from strategies.specs.boosted_trees import BoostedTreesOptions


class BoostedTreesClient(PassiveParty):
    """Sums gradients by bins, and keeps its own splits."""

    options: "BoostedTreesOptions"
    net: Splits
    remembers = (*PassiveParty.remembers, "growth")

    @classmethod
    def own_network(cls, cfg: RunConfig, data: PartyData) -> nn.Module:
        """Build its empty trees."""
        options = cast("BoostedTreesOptions", cfg.options)
        return Splits(cfg.epochs, trees_a_round(data), options.tree_depth)

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        generator, options = self.randomness.generator, self.options
        limits = Regularizer(options.leaf_l2, options.least_child)
        share = options.column_share
        kind = EncryptedGrowth if options.encrypted else Growth
        self.signs = own_signs(self)
        grown = self.net, generator, share, limits
        self.growth = kind(self.binned, *grown, signs=self.signs, hidden=True)

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths that the run sets, by symbol."""
        return {**super().sizes(), **slots.sizes(), "T": trees_a_round(self.data)}

    @property
    def rounds(self) -> int:
        """Rounds of a run, and one more."""
        return len(self.net.column) + 1

    def binned(self) -> Bins:
        """Bin its columns of the training rows."""
        x = to_array(self.columns(self.data.rows["train"]))
        return Bins(x.reshape(len(x), -1), self.options.bins)

    @phase(
        takes=(
            rows("batch"),
            integers("B", "T", dtype="int32", name="g"),
            integers("B", "T", dtype="int32", low=0, name="h"),
            floats(2, name="units"),
        ),
        gives=integers("P", "M", 2, name="S_k"),
        sends="histogram",
    )
    def boost(self, rows: Tensor, g: Tensor, h: Tensor, units: Tensor) -> Upload:
        """Begin a round; return the sums at the roots.

        (B,), (B, T) twice, (2,) -> (T, M, 2).
        """
        if isinstance(self.growth, EncryptedGrowth):
            raise ProtocolError("gradients came in the clear, and this run encrypts them")
        self.growth.begin(self.automaton.step - 1, g.numpy(), h.numpy(), units.numpy())
        return self.sums()

    @phase(
        takes=(rows("batch"), octets("X", name="n"), octets("B", "T", "Y", name="E(g, h)")),
        gives=octets("P", "Z", "Y", name="E(S_k)"),
        sends="histogram",
    )
    def boost_encrypted(self, rows: Tensor, n: Tensor, sealed: Tensor) -> Upload:
        """Begin a round on encrypted gradients; return encrypted sums at the roots.

        (B,), (X,), (B, T, Y) -> (T, Z, Y).
        """
        if not isinstance(self.growth, EncryptedGrowth):
            raise ProtocolError("gradients came encrypted, and this run does not encrypt them")
        self.growth.receive(self.automaton.step - 1, n.numpy(), sealed.numpy())
        return self.sums()

    @phase(
        after=("boost", "boost_encrypted"),
        optional=True,
        gives=(
            integers("M", dtype="int8", low=-1, high=1, name="signs"),
            integers("Q", dtype="uint8", high=1, name="columns found"),
        ),
        sends=("directions", "directions"),
    )
    def constrain(self) -> tuple[Upload, Upload]:
        """Tell how scores may move with the round's candidates.

        -> (M,), (Q,): 1 rising, -1 falling, 0 neither; and which columns of ``monotone`` it has.
        """
        named = self.options.signs
        if not named:
            raise ProtocolError("signs were asked for, and this run has no monotone constraints")
        found = torch.from_numpy(found_in(self, named))
        signs = torch.from_numpy(self.signs[self.growth.offered.column])
        return Upload(signs, rows=0), Upload(found, rows=0)

    @phase(
        after=("boost", "constrain", "layer", "boost_encrypted", "layer_encrypted"),
        optional=True,
        takes=integers("Q", 2, low=0, name="nodes, candidates"),
        gives=octets("L", name="bits"),
        sends="directions",
    )
    def split(self, picks: Tensor) -> Upload:
        """Split nodes of the layer; return who goes left, in bits.

        (Q, 2), index and candidate -> (L,), node by node. Of a node there are several where sums
        are encrypted: those of equal sums, of which one is taken.
        """
        layer, offered = self.growth.layer, self.growth.offered
        index, candidate = picks.numpy().T
        step = np.diff(index)
        again = (step == 0) & isinstance(self.growth, EncryptedGrowth)
        if ((step <= 0) & ~again).any() or (index >= len(layer)).any():
            raise ProtocolError("a split names nodes out of order, or one that is not in the layer")
        if (candidate >= len(offered.column)).any():
            raise ProtocolError("a split names a candidate that was not offered")
        self.growth.split(index, candidate)
        left = np.concatenate([np.empty(0, bool), *self.growth.chosen.values()])
        return Upload(torch.from_numpy(np.packbits(left)), rows=len(left))

    @phase(
        after=("boost", "constrain", "split", "layer"),
        optional=True,
        takes=(octets("S", name="which are split"), octets("T", "W", name="who goes left")),
        gives=integers("P", "M", 2, name="S_k"),
        sends="histogram",
    )
    def layer(self, split: Tensor, left: Tensor) -> Upload:
        """Go on to the next layer; return its sums.

        (S,), (T, B / 8) bits -> (P, M, 2).
        """
        return self.next_layer(split, left)

    @phase(
        after=("boost_encrypted", "constrain", "split", "layer_encrypted"),
        optional=True,
        takes=(octets("S", name="which are split"), octets("T", "W", name="who goes left")),
        gives=octets("P", "Z", "Y", name="E(S_k)"),
        sends="histogram",
    )
    def layer_encrypted(self, split: Tensor, left: Tensor) -> Upload:
        """Go on to the next layer; return its encrypted sums.

        (S,), (T, B / 8) bits -> (P, Z, Y).
        """
        return self.next_layer(split, left)

    def next_layer(self, split: Tensor, left: Tensor) -> Upload:
        """Check a layer's splits, and take them."""
        growth = self.growth
        if len(split) != len(growth.layer) or not split.any():
            raise ProtocolError("a layer came that does not fit the one before")
        if 2 * int(growth.layer.node.max()) + 1 >= 2**self.options.tree_depth - 1:
            raise ProtocolError(f"trees have {self.options.tree_depth} layers; another was asked")
        rows = growth.layer.place.shape[1]
        if left.shape[1] != (rows + 7) // 8:
            raise ProtocolError("who goes left does not fit the rows of the round")
        goes = np.unpackbits(left.numpy(), axis=1, count=rows).astype(bool)
        for index, said in growth.chosen.items():
            there = goes[growth.layer.tree[index], growth.layer.rows(index)]
            if not split[index] or not np.array_equal(there, said):
                raise ProtocolError("rows of a node do not go where its party said")
        growth.advance(split.numpy().astype(bool), goes)
        return self.sums()

    @phase(
        training=False,
        takes=(rows("held-out"), number("rounds")),
        gives=octets("B", "W", name="bits"),
        sends="directions",
    )
    def predict_only(self, rows: Tensor, since: Tensor) -> Tensor:
        """Tell who goes left at its splits from a round on.

        (B,), () -> (B, S_k / 8) bits.
        """
        x = to_array(self.columns(rows))
        left = self.net.directions(x.reshape(len(x), -1), int(since))
        return torch.from_numpy(np.packbits(left, axis=1))

    def further_files(self) -> Mapping[str, bytes]:
        """Return how much its own columns count."""
        gained = not self.options.encrypted
        return {IMPORTANCE: importance_csv(self.cfg, self.data, self.net, gained=gained)}

    def sums(self) -> Upload:
        """Return the layer's sums, which tell of all rows of the round."""
        made = torch.from_numpy(self.growth.sums())
        return Upload(made, rows=self.growth.layer.place.shape[1])
