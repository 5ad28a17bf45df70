"""Boosted trees, active party.

Cheng et al. 2021, "SecureBoost: A Lossless Federated Learning Framework", IEEE Intelligent Systems,
arXiv:1901.08755; splits by histograms as in LightGBM (Ke et al. 2017).

A round grows T trees: one for two classes or numbers, else one a class. A step is a round, an epoch
too, and takes all N training rows. Party k has F_k columns, in at most ``bins`` bins by their
quantiles. With R the output, and z a row's scores, of which it is made:

    g, h = dL / dz, d^2 L / dz^2    (N, T)     of all rows, to every party, as whole numbers
                                               of two units
    S_k  = sums of (g, h) over the rows that would go left, of each node and candidate: a threshold
           of a column of party k, in a secret order of columns that it draws anew each round
    gain   as in `algorithms.boosting.gains`; the best candidate of all parties splits a node, or
           its owner's first in the order of the table that has the same S_k
    bits   who goes left, from the owner of the candidate, which keeps column and threshold
    z     += learning-rate * value of the row's leaf; values stay with the active party

Layers of all T trees grow together. Of two siblings the sums of the smaller are sent, and the
other's are the parent's less them. Sums of whole numbers are exact: rows that a party sends left
must add up to what it summed, or the run ends with its name. With ``monotone``, parties say signs
of candidates once a round (`algorithms.boosting.monotone`). With ``gradient-encryption =
paillier`` g, h and S_k travel under a key of the active party's (`crypto.paillier`), one ciphertext
a row and tree, and one for 19 candidates of a node. Trees are the same.

Learns
    Active: *for each node, the sums of g and h over the bins of each column, in order of their
    values*, and who goes left at every split. It knows g and h of each row: in nodes of few rows
    the sums tell which bin each row is in, and over many rounds those of all, so it may know *the
    order of all training rows in every column, up to bins* (the audit's attack ``histograms``).
    Candidates are numbers to it: it learns no value, no threshold, and not which column of the
    table one is. But columns can be told apart, and followed through rounds, by their sums; of one
    of zeros and ones the bins are the values. Of held-out rows it gets the side at every split of a
    party. Encryption changes none of that: it decrypts the same sums, randomised, and no more. With
    ``monotone`` it is told which candidates rise or fall, and all parties the columns' names.
    Passive k: *g and h of every training row, which are its label*: the sign of g is that of the
    class. Which nodes of which size are split, and who goes left at splits of all parties. How much
    its own splits gain. Not values of leaves, nor thresholds of others. *Encrypted*: no g, h, sum
    or gain, but still who goes left where, *from which labels can be guessed*: splits part classes;
    and which of its candidates have the same sums as one that splits. With ``label-privacy`` g
    and h are of labels noised once, and so is all that follows. With ``gradient-epsilon`` g is
    noised in each round, and all follows from that; see `algorithms.boosting.noise`.
Assumes
    Semi-honest parties, labels that passive parties may know (or ``label-privacy``, or encryption
    where splits may tell of them), and columns whose order the active party may know. Nothing is
    masked: pairwise masks cannot help sums that are never added up. Encrypted: decisional composite
    residuosity, for a modulus of 2048 bits.
Deviates
    SecureBoost always encrypts g and h; here that is asked for. It asks party after party along the
    path of a row to be predicted; here each tells all its bits in one exchange. Trees grow layer by
    layer to ``tree-depth``, not leaf by leaf: where ``tree-leaves`` are used up, the splits of
    largest gain in the layer count. Hessians are the loss's own: 2 of the squared error. A missing
    number or date is a bin of its own, which goes to the side that gains more; to that of more rows
    if no training row of the node lacks a value. Of a column that lacks some there are two
    candidates a threshold, which tells of it. Categories are columns of zeros and ones. g and h are
    rounded to 2^-30 of the largest (more where N is above 2^22). Of equal gains that of the first
    party counts, then the smallest sums, then its first column and threshold. Which columns
    ``column-share`` draws, the seed tells everybody, unless ``party-randomness`` is private.
Costs
    A layer takes two exchanges (the second only where a passive party owns a split): at most 2 D a
    round of depth D. Down, once a round 4N + 8NT + 8 bytes (encrypted 4N + 512NT + 256), and a
    layer S + NT / 8; up, 16 bytes a candidate and node that is sent (encrypted 512 for 19), and a
    bit for each row of a node that is split. A prediction takes one exchange: a bit for each row
    and split of the party. Encrypted: NT encryptions a round; a multiplication for each row and
    column in a layer; powers and a decryption for all that is sent.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from hashlib import sha256

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vfl_flower.algorithms.boosting.bins import Bins
from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.algorithms.boosting.channels.channel import Channel, Clear, Encrypted
from vfl_flower.algorithms.boosting.forest import Forest, trees_a_round
from vfl_flower.algorithms.boosting.gains import Regularizer, within_leaves
from vfl_flower.algorithms.boosting.gradients import (
    Whole,
    base_scores,
    derivatives,
    left_out,
    outputs_of,
    whole,
)
from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.algorithms.boosting.importance import IMPORTANCE, importance_csv
from vfl_flower.algorithms.boosting.monotone import begun, own_signs
from vfl_flower.algorithms.boosting.noise import gradient_noise_of, new_key
from vfl_flower.algorithms.boosting.sums import directions, side_by_side
from vfl_flower.api import ActiveParty, Party, PartyData, Protocol, RunConfig, ask, ask_each, train
from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import DataError
from vfl_flower.common.names import party_name
from vfl_flower.common.state import State
from vfl_flower.learning.losses import Labels, loss_of

from .specs.boosted_trees import BoostedTreesOptions


class BoostedTrees(ActiveParty):
    """Trees with splits of all parties, and leaves of this one."""

    options: BoostedTreesOptions
    net: Forest
    remembers = (*ActiveParty.remembers, "scores", "seen", "noise_key")

    @classmethod
    def own_network(cls, cfg: RunConfig, data: PartyData) -> nn.Module:
        """Build its empty trees."""
        depth = cfg.own(BoostedTreesOptions).tree_depth
        return Forest(cfg.epochs, trees_a_round(data), depth)

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        generator, share = self.randomness.generator, self.options.column_share
        self.limits = Regularizer(self.options.leaf_l2, self.options.least_child)
        signs, grown = own_signs(self), (self.net, generator, share, self.limits)
        self.growth = Growth(self.binned, *grown, signs=signs, hidden=False)
        self.scores = torch.empty(0, dtype=torch.float64)  # (N, T) of training rows
        self.seen: State = {}  # by rows, the rounds that their scores are of, and these
        self.noise = gradient_noise_of(self, self.options, trees_a_round(self.data))
        self.noise_key = new_key()

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths of replies that the run sets, by symbol."""
        return {**super().sizes(), **slots.sizes(), "T": trees_a_round(self.data)}

    @cached_property
    def channel(self) -> Channel:
        """Choose how gradients travel, with a new key if encrypted."""
        return Encrypted() if self.options.encrypted else Clear()

    def binned(self) -> Bins:
        """Bin its columns of the training rows."""
        return Bins(self.table(self.rows["train"]), self.options.bins)

    def table(self, rows: Array) -> Array:
        """Return its columns of some rows, (B, F)."""
        return to_array(self.columns(rows).flatten(1))

    def protocol(self) -> Protocol:
        """Train."""
        yield from train(self)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Grow the trees of one round; return the loss before it."""
        if not len(self.scores):
            self.begin(y, len(rows))
        classes = self.training_labels.classes
        R = outputs_of(self.scores, classes).float()
        L, targets = self.loss(R, y).item(), self.training_labels.taught(R, y)
        g, h = derivatives(loss_of(self.loss_name), self.scores, classes, targets)
        without = left_out(self.cfg.seed, self.progress.step, self.options.row_share, len(rows))
        h[without] = 0
        G, H = self.published(g, without), whole(h)
        np.maximum(H.numbers, 1, out=H.numbers, where=~without[:, None])
        leaf = yield from self.grow(rows, G, H)
        self.settle(leaf, G, H)
        return [L]

    def published(self, g: Array, without: NDArray[np.bool_]) -> Whole:
        """Return gradients as they travel, (B, T), noised or not."""
        if self.noise is None:
            g[without] = 0
            return whole(g)
        made = self.noise.noised(g, self.noise_key, self.progress.step)
        made.numbers[without] = 0
        return made

    def begin(self, y: Labels, rows: int) -> None:
        """Fit the scores before the first round."""
        learnt = self.y[torch.from_numpy(self.rows["train"])]
        if not torch.isfinite(learnt.double()).all():
            raise DataError("active: a label is not finite; remove its row, or correct it")
        taught, classes = self.training_labels, self.training_labels.classes
        if self.noise is None:  # or labels are told by noised gradients alone
            self.net.base.copy_(base_scores(taught, y, classes, self.loss_name))
        self.scores = self.net.base.repeat(rows, 1)

    def grow(self, rows: Array, G: Whole, H: Whole) -> Protocol:
        """Grow trees layer by layer; return each row's node: (T, B)."""
        growth, encrypted, start = self.growth, self.options.encrypted, partial(self.start, G, H)
        sent = self.channel.sent(G, H)
        replies = yield ask("boost_encrypted" if encrypted else "boost", rows, *sent, own=start)
        leaf, parents, offered = np.zeros((G.numbers.shape[1], len(rows)), np.int64), None, None
        leaves = np.full(len(leaf), self.options.tree_leaves - 1)
        for depth in range(self.options.tree_depth):
            said, offered = self.joined(replies.own, replies.arrays, offered)
            sums = growth.layer.whole(said, parents)
            if not depth:
                self.bounds = yield from begun(self, growth, offered)
            limits = growth.totals(), growth.units, offered, self.bounds.of(growth.layer)
            picked, gained = self.limits.best(sums, *limits)
            picked = within_leaves(picked, gained, growth.layer.tree, leaves)
            split = picked >= 0
            if not split.any():
                break
            leaves -= np.bincount(growth.layer.tree[split], minlength=len(leaves))
            left = yield from self.divide(picked, gained, sums, offered)
            self.bounds.divide(growth, picked, sums, self.limits)
            growth.descend(leaf, split, left)
            if depth + 1 == self.options.tree_depth or not leaves.any():
                break
            parents, go_on = sums[split], partial(self.go_on, split, left)
            told = split.astype(np.uint8), np.packbits(left, axis=1)
            replies = yield ask("layer_encrypted" if encrypted else "layer", *told, own=go_on)
        return leaf

    def start(self, G: Whole, H: Whole) -> Array:
        """Begin a round on its own columns; return their sums."""
        units = np.array([G.unit, H.unit], np.float32)
        self.growth.begin(self.progress.step, G.numbers, H.numbers, units)
        return self.growth.sums()

    def go_on(self, split: Array, left: NDArray[np.bool_]) -> Array:
        """Go on to the next layer; return its own sums."""
        self.growth.advance(split, left)
        return self.growth.sums()

    def joined(
        self, own: Array, arrays: Sequence[Sequence[Array]], offered: Array | None
    ) -> tuple[Array, Array]:
        """Read the parties' sums, and put them side by side; see `side_by_side`."""
        said = [self.channel.sums(party_name(k), reply) for k, [reply] in enumerate(arrays, 1)]
        return side_by_side([own, *said], self.growth.bounds(), offered)

    def divide(self, picked: Array, gained: Array, sums: Array, offered: Array) -> Protocol:
        """Split nodes at candidates; return who goes left: (T, B)."""
        layer, growth = self.growth.layer, self.growth
        left = np.zeros(layer.place.shape, bool)
        nodes = np.flatnonzero(picked >= 0)
        owner = np.searchsorted(offered, picked[nodes], side="right") - 1
        place = self.progress.step, layer.tree[nodes], layer.node[nodes]
        self.net.owner[place] = torch.from_numpy(owner.astype(np.int32))
        self.net.gain[place] = torch.from_numpy(gained[nodes])
        growth.split(nodes[owner == 0], picked[nodes[owner == 0]])
        for index, goes in growth.chosen.items():
            left[layer.tree[index], layer.rows(index)] = goes
        to = [rank for rank in range(1, self.parties) if (owner == rank).any()]
        if not to:
            return left
        asked, signs = [nodes[owner == rank] for rank in to], self.bounds.signs
        picks = [
            self.channel.picks(each, picked[each], sums[each], signs, *offered[rank : rank + 2])
            for rank, each in zip(to, asked, strict=True)
        ]
        replies = yield ask_each("split", picks, to=to)
        for rank, each, [bits] in zip(to, asked, replies.arrays, strict=True):
            growth.place(left, party_name(rank), each, bits, sums[each, picked[each]])
        return left

    def settle(self, leaf: Array, G: Whole, H: Whole) -> None:
        """Give leaves their values, and rows their new scores."""
        rate, width = self.cfg.rate_of(0), self.net.value.shape[2]
        for tree, nodes in enumerate(leaf):
            g, h = (np.bincount(nodes, x.numbers[:, tree], width) * x.unit for x in (G, H))
            values = self.limits.value(g, h, self.bounds.leaves(tree))
            value = torch.from_numpy(rate * values).float()
            self.net.value[self.progress.step, tree] = value
            self.scores[:, tree] += value[torch.from_numpy(nodes)].double()
        self.net.grown.fill_(self.progress.step + 1)

    @property
    def own_end(self) -> str:
        """Tell that no score was better for `patience` rounds."""
        best, patience = self.progress.best, self.options.patience
        waited = self.progress.step - best.step if best else 0
        return "patience" if 0 < patience <= waited else ""

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows, and keep scores."""
        key, grown = sha256(rows.tobytes()).hexdigest(), int(self.net.grown)
        since, scores = self.seen.get(key, (0, self.net.base.repeat(len(rows), 1)))
        replies = yield ask("predict_only", rows, np.array(since), purpose="evaluation")
        left = [self.net.directions(self.table(rows), since)]
        for rank, [bits] in enumerate(replies.arrays, 1):
            left.append(directions(party_name(rank), bits, self.net.splits_of(rank, since)))
        scores = scores + self.net.scores(left, since)
        if self.cfg.task == "train":
            self.seen[key] = [grown, scores]
        return [outputs_of(scores, self.training_labels.classes).float()]

    def figures(self) -> dict[str, float]:
        """Return splits and gains of each party; epsilon of noise."""
        noise = {"gradient_epsilon": self.noise.spent(self.progress.step)} if self.noise else {}
        return self.net.importance(self.parties) | noise

    def further_files(self) -> Mapping[str, bytes]:
        """Return how much its own columns count."""
        return {IMPORTANCE: importance_csv(self.cfg, self.data, self.net)}

    def take_best(self) -> None:
        """Take back the trees kept last; forget the scores kept."""
        super().take_best()
        self.seen.clear()
