"""Boosted trees on bad input, and against parties that deviate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from flwr.common import Scalar
from torch import Tensor

from clients.boosted_trees import BoostedTreesClient
from strategies.boosted_trees import BoostedTrees
from vfl_flower.algorithms.boosting.bins import Bins
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.published_data import PublishedData
from vfl_flower.protocol.uploads import Upload
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(method="boosted_trees", dataset="wine", parties=3, epochs=2, tree_depth=2, bins=8)


class Changed(PublishedData):
    """Data whose labels and columns a test changes."""

    def __init__(self, cfg: RunConfig, y: Any = None, x: Any = None) -> None:
        super().__init__(cfg)
        self.y, self.x = y or (lambda y: y), x or (lambda x: x)

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        data = super().party(rank, labelled=labelled)
        data = replace(data, x=self.x(data.numbers.clone()))
        return data if data.y is None else replace(data, y=self.y(data.y.clone()))


def trained(
    source: PublishedData, kind: type[BoostedTreesClient] | None = None
) -> tuple[BoostedTrees, list[BoostedTreesClient]]:
    """Train, with a party-2 of another kind."""
    active = build_active(CFG, source=source)
    passive = [build_passive(CFG, k, data=source.party(k)) for k in (1, 2)]
    if kind:
        passive[1].__class__ = kind
    serve(active, [Endpoint(party) for party in passive])
    assert isinstance(active, BoostedTrees)
    return active, passive  # type: ignore[return-value]


def of_one_row(y: Tensor) -> Tensor:
    """Leave one training row of the class 2."""
    train = torch.from_numpy(PublishedData(CFG).party(0).rows["train"])
    y[(y == 2).nonzero()[:, 0]] = 1
    y[train[3]] = 2
    return y


def test_a_class_of_one_row_is_learnt() -> None:
    active, _ = trained(Changed(CFG, y=of_one_row))
    first, last = (each.train_loss["active"] for each in active.progress.records)
    assert last < first


def constant(x: Tensor) -> Tensor:
    x[:] = 3.0
    return x


def test_constant_columns_are_never_split() -> None:
    active, _ = trained(Changed(CFG, x=constant))
    assert (active.net.owner < 0).all()
    assert torch.isfinite(active.scores).all()
    assert not active.net.value.abs().max() > 1e-6


def test_more_bins_than_values() -> None:
    x = np.array([[0, 5], [1, 5], [1, 5], [7, 5]], np.float32)
    bins = Bins(x, 255)
    assert [each.tolist() for each in bins.edges] == [[0.5, 4.0], []]
    assert np.array_equal(bins.codes, [[0, 1, 1, 2], [0, 0, 0, 0]])


@pytest.mark.parametrize("most", [2, 3, 8])
def test_quantiles_have_alike_many_rows(most: int) -> None:
    x = np.random.default_rng(0).random((1000, 1), np.float32)
    counts = np.bincount(Bins(x, most).codes[0])
    assert len(counts) == most
    assert counts.max() - counts.min() <= 2


def test_values_without_a_neighbour_between_them() -> None:
    near = np.nextafter(np.float32(1), np.float32(2))
    bins = Bins(np.array([[1], [near]], np.float32), 255)
    assert np.array_equal(bins.codes, [[0, 1]])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_labels_that_are_not_finite_are_refused(bad: float) -> None:
    def spoilt(y: Tensor) -> Tensor:
        y = y.float()
        y[PublishedData(CFG).party(0).rows["train"][5]] = bad
        return y

    with pytest.raises(DataError, match="active: a label is not finite"):
        trained(Changed(CFG, y=spoilt))


class OtherSums(BoostedTreesClient):
    """Says sums that no rows come to."""

    def sums(self) -> Upload:
        made = super().sums()
        return replace(made, values=made.values + 2**40)


class FlatteredSums(BoostedTreesClient):
    """Says sums of other rows: a perfect split by gradients."""

    def sums(self) -> Upload:
        made, trees = super().sums(), len(self.growth.values) // 2
        g, h = self.growth.values[:trees], self.growth.values[trees:]
        for index, node in enumerate(self.growth.layer.smaller()):
            tree, rows = self.growth.layer.tree[node], self.growth.layer.rows(node)
            left = rows[g[tree, rows] > 0]
            made.values[index, :, 0] = int(g[tree, left].sum(dtype=np.int64))
            made.values[index, :, 1] = int(h[tree, left].sum(dtype=np.int64))
        return made


class FewerSums(BoostedTreesClient):
    """Offers fewer candidates in a later layer."""

    def sums(self) -> Upload:
        made = super().sums()
        deeper = bool(self.growth.layer.node.any())
        return replace(made, values=made.values[:, : -1 if deeper else None])


def test_a_party_whose_candidates_change_within_a_round_is_named() -> None:
    with pytest.raises(PartyError, match=r"party-2 summed \d+ candidates, where \d+ were offered"):
        trained(Changed(CFG), FewerSums)


@pytest.mark.parametrize("kind", [OtherSums, FlatteredSums])
def test_a_party_whose_histogram_does_not_add_up_is_named(kind: type[BoostedTreesClient]) -> None:
    with pytest.raises(PartyError, match="the histogram of party-2 does not add up"):
        trained(Changed(CFG), kind)


def started(unit: float = 1.0) -> tuple[BoostedTreesClient, Array]:
    """Build a party that has begun a round; return its sums, too."""
    party = build_passive(CFG, 1)
    assert isinstance(party, BoostedTreesClient)
    rows = party.data.rows["train"]
    g = np.random.default_rng(0).integers(-9, 9, (len(rows), 3), np.int32)
    sums = asked(party, "boost", rows, g, np.abs(g) + np.int32(1), np.full(2, unit, "f4"))
    return party, sums[0]


def asked(party: BoostedTreesClient, phase: str, *arrays: Array) -> list[Array]:
    """Ask a party; its error as an exception of pytest's."""
    config: dict[str, Scalar] = {
        "exchange": party.exchange + 1,
        "phases": phase,
        "arrays": str(len(arrays)),
    }
    reply, _, metrics = party.fit(list(arrays), config)
    if "error" in metrics:
        pytest.fail(f"{metrics['error']!r}: {metrics['message']!r}", pytrace=False)
    return reply


def refused(party: BoostedTreesClient, text: str, phase: str, *arrays: Array) -> None:
    with pytest.raises(pytest.fail.Exception, match=text):
        asked(party, phase, *arrays)


def test_a_party_tells_one_split_of_a_node() -> None:
    """Bins of whole columns cannot be asked for."""
    party, sums = started()
    refused(party, "names nodes out of order", "split", np.array([[0, 0], [0, 1]]))
    party, sums = started()
    refused(party, "that was not offered", "split", np.array([[0, sums.shape[1]]]))
    party, sums = started()
    refused(party, "not in the layer", "split", np.array([[3, 0]]))
    party, sums = started()
    asked(party, "split", np.array([[0, 0]]))
    refused(party, "must follow", "split", np.array([[1, 0]]))


def test_units_of_any_size_are_answered() -> None:
    """Gains are quotients of squares, and units have 32 bits."""
    for unit in (3e38, 1e-38, 0.0):
        party, _ = started(unit)
        asked(party, "split", np.array([[0, 0]]))


def test_rows_go_where_their_party_said() -> None:
    party, _ = started()
    (bits,) = asked(party, "split", np.array([[0, 0]]))
    rows = len(party.data.rows["train"])
    left = np.zeros((3, rows), bool)
    split = np.array([1, 0, 0], np.uint8)
    refused(party, "do not go where", "layer", split, np.packbits(left, axis=1))
    left[0] = np.unpackbits(bits, count=rows)
    asked(party, "layer", split, np.packbits(left, axis=1))


def test_trees_are_no_deeper_than_the_run_says() -> None:
    party, _ = started()
    rows = len(party.data.rows["train"])
    left = np.packbits(np.arange(3 * rows).reshape(3, rows) % 2 == 0, axis=1)
    asked(party, "layer", np.ones(3, np.uint8), left)
    refused(party, "trees have 2 layers", "layer", np.ones(6, np.uint8), left)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("models", "mlp"), ("embedding_dim", 8), ("batch_size", 64), ("optimizers", "sgd")),
        *(("schedule", "cosine"), ("loss", "cross-entropy"), ("wire_precision", "float16")),
        *(("eval_every", 3), ("weights", "a.pth"), ("long_tail", 2.0)),
        ("precision", "bf16"),
    ],
)
def test_options_without_meaning_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{option.replace('_', '-')} is .* no use for it"):
        replace(CFG, **{option: value})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"blinding": "pairwise"}, "needs each party's own answer"),
        ({"dp_sigma": 1.0}, "do not send one thing an exchange"),
        ({"learning_rates": "0.1,0.1,0.1"}, "has one"),
        ({"baselines": "on"}, "of which boosted_trees has none"),
        ({"gradient_defence": "marvell:2"}, "sends other things than gradients"),
        ({"bins": 256}, "bins must be"),
        ({"patience": 2, "validation": 0.0}, "patience is set, and validation is 0"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        replace(CFG, **options)
