"""Contents of a run's messages, compared with the method's **Learns**."""

import math

import numpy as np
import pytest
import torch
from flwr.common import FitIns, FitRes

from strategies.c_vfl import CVFL
from tests.helpers.contract import (
    CASES,
    EPOCHS,
    IN_TURNS,
    Run,
    configured,
    finished,
    method_of,
)
from tests.helpers.data import all_columns, columns_of, labels_of
from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.crypto.fixed_point import encode_ring
from vfl_flower.data.byte_rows import unit
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.partition.shares import take
from vfl_flower.data.published_data import PublishedData
from vfl_flower.learning.compression import restore_tensors

EXCHANGING = [case for case in CASES if not method_of(case).alone]

each_case = pytest.mark.parametrize("method", EXCHANGING)

READS_LABELS = dict.fromkeys(("easter", "vfedmh", "agg_vfl", "agg_vfl adaptive"), "update")
"""The phase from whose array a party reads the batch's labels, for methods that admit it."""

TELLS_CLASSES_APART = dict.fromkeys(
    (
        *("splitnn", "fedbcd", "c_vfl", "c_vfl both ways", "vafl", "vafl in turns"),
        "splitnn of labels only",
    ),
    "update",
)
"""The phase whose rows are alike for rows of one class."""

EXCHANGES = {"easter": (2, 2), "vfedmh": (2, 2), "pravfed": (2, 1), "adptvfedconv": (2, 1)}
"""Exchanges for a batch in training and in evaluation, where it is not one."""

ONCE = {"pravfed", "adptvfedconv"}
"""Methods whose parties embed all rows once, and not a batch at a time."""

LAYERED = {"boosted_trees", "boosted_trees encrypted"}
"""Methods whose steps have several exchanges, not all of them with all parties."""

GIVES_ONCE = {"pravfed", "fdml"}
"""Methods that give the labels of all training rows away at once."""


def parts_shown(method: str) -> list[str]:
    """Return whose rows evaluations show the passive parties, in order."""
    return ["validation"] * (1 if method in ONCE else EPOCHS) + ["test"]


def of_labels(array: Array) -> bool:
    """Tell whether an array holds labels as they travel."""
    return array.dtype == np.uint8 and array.ndim == 1 and array.max() < 10


def columns_in(array: Array) -> set[bytes]:
    """Return each informative column of an array as float64 bytes."""
    if array.ndim == 0 or len(array) < 2:
        return set()
    table = array.reshape(len(array), -1).astype(np.float64)
    return {c.tobytes() for c in table.T if len(np.unique(c)) > 1}


def secrets_of(run: Run, rank: int, rows: Array) -> set[bytes]:
    """Return a party's columns in every form that could leak."""
    cfg = run.active.cfg
    if cfg.blank(rank):
        return set()
    x = columns_of(cfg, rank)
    published = PublishedData(cfg)
    pixels = unit(take(published.stored, published.shares[rank]))
    words = encode_ring(x, 3)
    return columns_in(x.numpy()[rows]) | columns_in(pixels[rows]) | columns_in(words[rows])


def batches_asked(run: Run, k: int) -> list[Array]:
    """Return the rows of one party's requested batches and evaluations."""
    return [rows for _, rows in run.asked_rows(k)]


def batches_of_all(run: Run) -> list[Array]:
    """Return the rows of all requested batches and evaluations, each once."""
    asked = [rows for k in range(len(run.taps)) for rows in batches_asked(run, k)]
    return list({rows.tobytes(): rows for rows in asked}.values())


def replies_of(run: Run, k: int) -> list[Array]:
    """Return a party's uploads, decompressed where needed."""
    found = run.taps[k].replies()
    if isinstance(run.active, CVFL):
        asked = (batches_asked(run, k), [r for r in map(arrays_of, run.taps[k].sent) if r])
        for rows, reply in zip(*asked, strict=True):
            message = reply[: len(run.active.compression.layout(1))]
            found.append(run.active.compression.restore(message, len(rows)).numpy())
    return found


def gradient_in(run: Run, arrays: list[Array], rows: int) -> Array:
    """Return a gradient (B, D) as its receiver reads it."""
    if not isinstance(run.active, CVFL):
        return arrays[0]
    text, shapes = run.active.options.downlink_compression, [(rows, run.active.cfg.embedding_dim)]
    return restore_tensors(text, shapes, arrays)[0].numpy()


def arrays_of(sent: tuple[FitIns, FitRes]) -> list[Array]:
    return from_parameters(sent[1].parameters)


@each_case
def test_no_columns_leave_a_party(method: str) -> None:
    run = finished(method, "local")
    least = 10 / len(run.taps) if method in IN_TURNS else 10
    for rank in range(1, run.active.parties):
        batches = batches_asked(run, rank - 1)
        assert len(batches) > least or method in ONCE or method_of(method).full_batch
        secrets = set().union(*(secrets_of(run, rank, rows) for rows in batches))
        assert len(secrets) > 100
        sent = set().union(*map(columns_in, replies_of(run, rank - 1)))
        assert len(sent) > 10
        assert not secrets & sent


@each_case
def test_neither_labels_nor_columns_leave_the_active_party(method: str) -> None:
    run = finished(method, "local")
    y = labels_of(run.active.cfg).numpy()
    secrets: set[bytes] = set()
    for rows in batches_of_all(run):
        secrets |= columns_in(y[rows]) | columns_in(np.eye(10)[y[rows]])
        secrets |= secrets_of(run, 0, rows)
    labels = {column for rows in batches_of_all(run) for column in columns_in(y[rows])}
    for tap in run.taps:
        sent = set().union(*(columns_in(a) for _, arrays in tap.requests() for a in arrays))
        assert len(sent) > 10
        given = labels if run.active.cfg.labels_given else set()
        assert secrets & sent <= given
        assert bool(secrets & sent) == run.active.cfg.labels_given  # as Learns says


@each_case
def test_the_two_tests_above_can_see(method: str) -> None:
    """A leaked column is found in an array whatever stands beside it."""
    run = finished(method, "local")
    rows = batches_asked(run, 0)[0]
    x = columns_of(run.active.cfg, 1).numpy()[rows].reshape(len(rows), -1)
    noise = np.random.default_rng(0).normal(size=(len(rows), 3)).astype(np.float32)
    assert columns_in(np.hstack([noise, x[:, 3:5]])) & secrets_of(run, 1, rows)
    assert not columns_in(noise) & secrets_of(run, 1, rows)


@pytest.mark.parametrize("method", list(READS_LABELS))
def test_residuals_tell_the_labels(method: str) -> None:
    """As Learns states: a residual row's smallest entry is its class's."""
    run = finished(method, "local")
    y = labels_of(run.active.cfg).numpy()
    rows = run.batches()
    for tap in run.taps:
        read = [a[0].argmin(1) for phase, a in tap.requests() if phase == READS_LABELS[method]]
        assert len(rows) == len(read) == EPOCHS * 7
        assert np.array_equal(np.concatenate(read), y[np.concatenate(rows)])


@pytest.mark.parametrize("method", list(TELLS_CLASSES_APART))
def test_gradients_of_embeddings_tell_classes_apart(method: str) -> None:
    """As Learns states: known classes reveal those of similar rows."""
    run = finished(method, "local")
    y = labels_of(run.active.cfg).numpy()
    phase = TELLS_CLASSES_APART[method]
    for k, tap in enumerate(run.taps):
        rows, told = run.batches(k)[-3], [a for p, a in tap.requests() if p == phase][-3]
        last = gradient_in(run, told, len(rows))
        directions = last / np.linalg.norm(last, axis=1, keepdims=True)
        alike = directions @ directions.T - 2 * np.eye(len(rows))
        assert (y[rows[alike.argmax(1)]] == y[rows]).mean() > 0.8  # a tenth by chance


@pytest.mark.parametrize("method", [c for c in EXCHANGING if configured(c).labels_given])
def test_given_labels_are_those_of_the_batch_or_of_all_rows(method: str) -> None:
    """As published, and as loudly said."""
    run = finished(method, "local")
    y = labels_of(run.active.cfg).numpy()
    rows = [run.active.rows["train"]] if method in GIVES_ONCE else run.batches()
    for tap in run.taps:
        given = [a for _, arrays in tap.requests() for a in arrays if of_labels(a)]
        assert len(given) == len(rows)
        assert all(map(np.array_equal, given, [y[each] for each in rows]))


@pytest.mark.parametrize("method", [c for c in EXCHANGING if method_of(c).blinds])
def test_embeddings_leave_as_masked_words(method: str) -> None:
    """Uploads of a masked run are ring words that look uniform."""
    run = finished(method, "local")
    words = [a for tap in run.taps for a in tap.replies() if a.dtype == np.uint32]
    assert words
    high_bits = np.concatenate([w.ravel() for w in words]) >> 28
    counts = np.bincount(high_bits, minlength=16) / high_bits.size
    assert np.abs(counts - 1 / 16).max() < 0.005


@each_case
def test_all_parties_are_asked_the_same_or_each_in_its_turn(method: str) -> None:
    """In turns, every K batches are another party's each."""
    run = finished(method, "local")
    parties = range(len(run.taps))
    if method in IN_TURNS:
        asked, _ = run.phases()
        turns = {n: k for k in parties for n, phase, _ in run.taps[k].numbered() if phase in asked}
        order = [turns[n] for n in sorted(turns)]
        assert len(order) == sum(len(run.batches(k)) for k in parties) == EPOCHS * 7
        assert all(sorted(order[n : n + 3]) == [0, 1, 2] for n in range(0, len(order) - 2, 3))
        return
    first, *others = ([rows for _, rows in run.asked_rows(k)] for k in parties)
    for other in others:
        assert len(first) == len(other)
        assert all(map(np.array_equal, first, other))


@each_case
def test_rows_are_each_asked_once_an_epoch(method: str) -> None:
    """Batches travel as int32, and cover the training rows."""
    run = finished(method, "local")
    asked = run.batches()
    each = 1 if method in ONCE or method_of(method).full_batch else 7
    assert len(asked) == (1 if method in ONCE else EPOCHS * each)
    for epoch in range(len(asked) // each):
        rows = np.concatenate(asked[epoch * each : (epoch + 1) * each])
        assert np.array_equal(np.sort(rows), np.sort(run.active.rows["train"]))


@each_case
def test_exchanges_are_counted_without_gaps(method: str) -> None:
    run = finished(method, "local")
    numbers = [[ins.config["exchange"] for ins, _ in tap.sent] for tap in run.taps]
    if method in IN_TURNS | LAYERED:
        assert all(each == sorted(each) for each in numbers)
        numbers = [sorted(set().union(*numbers))]  # of all parties together
    for each in numbers:
        assert each == list(range(1, run.active.strategy.exchange + 1))
    assert run.active.ledger.exchanges.total() == run.active.strategy.exchange
    training, evaluation = EXCHANGES.get(method, (1, 1))
    if method not in LAYERED:
        assert run.active.ledger.exchanges["training"] == training * len(run.batches())
    assert run.active.ledger.exchanges["evaluation"] == evaluation * len(parts_shown(method))


@each_case
def test_evaluation_uses_held_out_rows(method: str) -> None:
    run = finished(method, "local")
    for rows, part in zip(run.evaluations(), parts_shown(method), strict=True):
        assert np.array_equal(rows, run.active.rows[part])
        assert not set(rows.tolist()) & set(run.active.rows["train"].tolist())


@each_case
def test_columns_differ_between_parties(method: str) -> None:
    """Together the parties hold all columns, and none holds another's."""
    cfg = finished(method, "local").active.cfg
    holding = [rank for rank in range(cfg.parties) if not cfg.blank(rank)]
    strips = [columns_of(cfg, rank).shape for rank in holding]
    assert sum(math.prod(shape[1:]) for shape in strips) == all_columns(cfg)[0].numel()
    assert len(labels_of(cfg)) == strips[0][0] == dataset_of("digits").features(None, True).shape[0]  # type: ignore[arg-type]
    assert not torch.equal(columns_of(cfg, holding[0]), columns_of(cfg, holding[1]))
