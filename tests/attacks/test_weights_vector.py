"""PraVFed's weights are accepted once: no two sums of the same embeddings.

A deviating active party shares accuracies that differ between two requests for the same rows. The
masks cancel in both sums, and two sums of two parties' embeddings are solved for each.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import agree, answer, public_keys, send
from vfl_flower.algorithms.integer_weights import weights_of
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import decode_ring
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(
    method="pravfed",
    models="mlp",
    parties=3,
    local_epochs=1,
    label_privacy="none",
    embedding_dim=8,
    baselines="off",
)


def pretrained(folder: Path | None = None) -> tuple[list[PassiveParty], Array]:
    """Return two parties that have learnt, and their accuracies."""
    active = build_active(CFG)
    rows = active.rows["train"]
    y = active.training_labels.published(torch.from_numpy(rows)).numpy()
    parties = [build_passive(CFG, rank, folder) for rank in (1, 2)]
    agree(parties)
    accuracies = [answer(party, 3, "pretrain", rows, y) for party in parties]
    return parties, np.concatenate(accuracies)


def summed(parties: Sequence[PassiveParty], rows: Array, accuracies: Array) -> Tensor | str:
    """Return the sum that the active party decodes, or a refusal."""
    exchange = max(party.exchange for party in parties) + 1
    words = []
    for party in parties:
        reply, metrics = send(party, exchange, "embed_only", rows, accuracies)
        if metrics:
            return str(metrics["message"])
        words += reply
    return decode_ring(np.add.reduce(words, dtype=np.uint32))


def solved(
    parties: Sequence[PassiveParty], rows: Array, vectors: Sequence[Array]
) -> tuple[float, list[str]]:
    """Solve two sums for both embeddings; return the largest error, and refusals."""
    sums = [summed(parties, rows, each) for each in vectors]
    if refusals := [each for each in sums if isinstance(each, str)]:
        return float("inf"), refusals
    W = torch.tensor([weights_of("weighted", torch.from_numpy(each))[:2] for each in vectors])
    found = torch.linalg.solve(
        W.float(), torch.stack([s.flatten() for s in sums if isinstance(s, Tensor)])
    )
    with torch.no_grad():
        E = torch.stack([party.embed_rows(rows).flatten() for party in parties])
    return float((found - E).abs().max()), []


def appended(accuracies: Array) -> Array:
    """Append entries, which change every weight and no party's own entry."""
    return np.concatenate([accuracies, np.full(2, 0.9, np.float32)])


def others_changed(accuracies: Array) -> Array:
    return np.array([accuracies[0], 1 - accuracies[1] / 2], np.float32)


def test_appended_accuracies_unmask_nothing() -> None:
    parties, accuracies = pretrained()
    rows = parties[0].data.rows["test"][:20]
    error, refusals = solved(parties, rows, [accuracies, appended(accuracies)])
    assert refusals, f"single embeddings are known up to {error:.1e}"
    assert "array 2 of phase 'embed_only' is float32(4,), not float32(2,)" in refusals[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.1])
def test_accuracies_are_shares(value: float) -> None:
    parties, accuracies = pretrained()
    accuracies[1] = value
    refusal = summed(parties[:1], parties[0].data.rows["test"][:5], accuracies)
    assert "array 2 of phase 'embed_only' has a number that is not" in str(refusal)


def test_a_second_vector_is_refused_by_every_party() -> None:
    parties, accuracies = pretrained()
    rows = parties[0].data.rows["test"][:20]
    assert not isinstance(summed(parties, rows, accuracies), str)
    for party in parties:
        other = accuracies.copy()
        other[2 - party.rank] = 0.5
        refusal = summed([party], rows, other)
        assert "the accuracies that were shared are not those of before" in str(refusal)
    assert not isinstance(summed(parties, rows, accuracies), str)


def returned(party: PassiveParty, run: Array) -> None:
    step = np.array(0)
    assert send(party, party.exchange + 1, "restore", step, run) == ([], {})


@pytest.mark.parametrize("anew", [False, True])
def test_a_return_to_the_start_takes_no_vector_back(anew: bool, tmp_path: Path) -> None:
    """Neither at a live party nor at one of another process."""
    run, active = np.zeros(8, np.uint8), build_active(CFG)
    rows = active.rows["train"]
    y = active.training_labels.published(torch.from_numpy(rows)).numpy()
    parties = [build_passive(CFG, rank, tmp_path) for rank in (1, 2)]
    for party in parties:
        assert send(party, 1, "checkpoint", np.array(0), run) == ([], {})
    vectors = []
    for attempt in range(2):
        if attempt and anew:
            parties = [build_passive(CFG, rank, tmp_path) for rank in (1, 2)]
        if attempt:
            for party in parties:
                returned(party, run)
        exchange = max(party.exchange for party in parties) + 1
        keys = public_keys(parties, exchange)
        for party in parties:
            assert send(party, exchange + 1, "agree", keys, np.arange(16, dtype=np.uint8))[1] == {}
        found = [answer(party, exchange + 2, "pretrain", rows, y) for party in parties]
        accuracies = np.concatenate(found)
        vectors.append(others_changed(accuracies) if attempt else accuracies)
        refusal = summed(parties[:1], parties[0].data.rows["test"][:5], vectors[-1])
        assert isinstance(refusal, str) == bool(attempt)
    assert np.array_equal(vectors[0][:1], vectors[1][:1])
    assert "are not those of before" in str(refusal)


# Labels -------------------------------------------------------------------------------------------


def chosen(active: ActiveParty) -> Array:
    """Return labels of the active party's choice."""
    return np.arange(len(active.rows["train"]), dtype=np.uint8) % 10


@pytest.mark.parametrize("anew", [False, True])
def test_no_accuracy_is_told_of_other_labels(anew: bool, tmp_path: Path) -> None:
    """Neither at a live party nor at one of another process."""
    run, active = np.zeros(8, np.uint8), build_active(CFG)
    rows = active.rows["train"]
    y = active.training_labels.published(torch.from_numpy(rows)).numpy()
    party = build_passive(CFG, 1, tmp_path)
    assert send(party, 1, "checkpoint", np.array(0), run) == ([], {})
    told = answer(party, 2, "pretrain", rows, y)
    party = build_passive(CFG, 1, tmp_path) if anew else party
    returned(party, run)
    said, metrics = send(party, party.exchange + 1, "pretrain", rows, chosen(active))
    assert said == [], f"a second accuracy is known: {said}"
    assert "the labels that were sent are not those of before" in str(metrics["message"])
    returned(party, run)
    assert np.array_equal(answer(party, party.exchange + 1, "pretrain", rows, y), told)


def test_another_run_of_the_same_name_plants_nothing(tmp_path: Path) -> None:
    """It asks before the run has a number."""
    active = build_active(CFG)
    rows = active.rows["train"]
    y = active.training_labels.published(torch.from_numpy(rows)).numpy()
    learn(build_passive(CFG, 1, tmp_path), rows, chosen(active))
    party = build_passive(CFG, 1, tmp_path)
    assert send(party, 1, "checkpoint", np.array(0), np.ones(8, np.uint8)) == ([], {})
    learn(party, rows, y)


def learn(party: PassiveParty, rows: Array, y: Array) -> None:
    """Let one party learn from labels, and accept accuracies."""
    pair = [party, build_passive(CFG, 2)]
    exchange = party.exchange + 1
    keys = public_keys(pair, exchange)
    assert send(party, exchange + 1, "agree", keys, np.arange(16, dtype=np.uint8)) == ([], {})
    ACC = answer(party, party.exchange + 1, "pretrain", rows, y)
    both = np.concatenate([ACC, np.array([0.5], np.float32)])
    assert not isinstance(summed([party], party.data.rows["test"][:5], both), str)
