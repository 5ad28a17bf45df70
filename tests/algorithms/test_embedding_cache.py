"""Embedding cache: the latest value of each row and party."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.algorithms.embedding_cache import EmbeddingCache
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.state import read_state, write_state

K, N, WIDTH = 3, 7, 2
EVERY = np.arange(N, dtype=np.int32)
uploads = st.lists(
    st.tuples(
        st.integers(0, K - 1),
        st.lists(st.integers(0, N - 1), unique=True).map(lambda r: np.array(r, np.int32)),
        st.integers(0, 2**32),
    )
)


def drawn(rows: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(seed))


@given(uploads)
def test_each_row_is_what_its_party_sent_last(sent: list[tuple[int, Array, int]]) -> None:
    known = EmbeddingCache(K, N, WIDTH)
    plain: dict[tuple[int, int], torch.Tensor] = {}
    for party, rows, seed in sent:
        values = drawn(len(rows), seed)
        known.put(party + 1, rows, values)
        plain |= {(party, row): value for row, value in zip(rows.tolist(), values, strict=True)}
    order = EVERY[::-1].copy()
    found = known.of(order)
    assert (found.shape, found.dtype) == ((K, N, WIDTH), torch.float32)
    for party in range(K):
        for rank, row in enumerate(order.tolist()):
            expected = plain.get((party, row), torch.zeros(WIDTH))
            assert torch.equal(found[party, rank], expected)


def test_what_was_given_out_and_taken_in_does_not_change() -> None:
    known, values = EmbeddingCache(K, N, WIDTH), drawn(N, 0).requires_grad_()
    before = known.of(EVERY)
    known.put(2, EVERY, values)
    assert not before.any()
    with torch.no_grad():
        values.zero_()
    after = known.of(EVERY)
    assert torch.equal(after[1], drawn(N, 0))
    assert not after.requires_grad


@pytest.mark.parametrize("shape", [(1, WIDTH), (N, 1), (N,), (WIDTH,), ()])
def test_a_party_that_sends_another_shape_is_named(shape: tuple[int, ...]) -> None:
    """Shapes that could be stretched too."""
    known = EmbeddingCache(K, N, WIDTH)
    with pytest.raises(ProtocolError, match=r"party-3 sent an array of shape .*, not \(7, 2\)"):
        known.put(3, EVERY, torch.ones(shape))
    assert not known.of(EVERY).any()


def test_it_survives_a_checkpoint(tmp_path: Path) -> None:
    known, again = EmbeddingCache(K, N, WIDTH), EmbeddingCache(K, N, WIDTH)
    known.put(3, EVERY[3:], drawn(N - 3, 1))
    write_state(tmp_path / "state", {"known": known.state_dict()})
    again.load_state_dict(read_state(tmp_path / "state")["known"])
    assert torch.equal(again.of(EVERY), known.of(EVERY))
    again.put(3, EVERY[3:], drawn(N - 3, 2))
    assert torch.equal(known.of(EVERY)[2, 3:], drawn(N - 3, 1))
