"""Seeds that are drawn together: alike, unpredictable, and nobody's choice."""

import pytest

from vfl_flower.common.errors import BlindingError
from vfl_flower.crypto.joint_seed import JointSeed


def parties(count: int = 3) -> list[JointSeed]:
    return [JointSeed(rank) for rank in range(1, count + 1)]


def test_all_parties_have_one_seed_and_another_one_next_time() -> None:
    drawing, seeds = parties(), []
    for _ in range(2):
        commitments = [each.commit(1) for each in drawing]
        shares = [each.reveal(2, commitments) for each in drawing]
        drawn = {each.joined(shares) for each in drawing}
        assert len(drawn) == 1
        seeds += [*drawn]
    assert len({*seeds}) == 2 and {len(seed) for seed in seeds} == {32}


def test_the_state_survives_between_messages() -> None:
    drawing = parties()
    commitments = [each.commit(1) for each in drawing]
    again = JointSeed(1)
    again.load_state_dict(drawing[0].state_dict())
    shares = [again.reveal(2, commitments), *(each.reveal(2, commitments) for each in drawing[1:])]
    last = JointSeed(1)
    last.load_state_dict(again.state_dict())
    assert last.joined(shares) == drawing[1].joined(shares)


def test_a_share_that_was_not_committed_to_names_its_party() -> None:
    """Else the last to reveal would choose the seed."""
    drawing = parties()
    commitments = [each.commit(1) for each in drawing]
    shares = [each.reveal(2, commitments) for each in drawing]
    with pytest.raises(BlindingError, match="party-3"):
        drawing[0].joined([*shares[:2], bytes(32)])


def test_a_share_is_no_other_partys() -> None:
    """A party that copies another's commitment cannot open it."""
    drawing = parties()
    commitments = [each.commit(1) for each in drawing]
    copied = [*commitments[:2], commitments[0]]
    share = drawing[0].reveal(2, copied)
    with pytest.raises(BlindingError, match="party-3"):
        drawing[0].joined([share, drawing[1].reveal(2, copied), share])


def test_no_share_is_revealed_to_commitments_without_the_own_one() -> None:
    (one, *_), other = parties(), JointSeed(1)
    commitments = [one.commit(1), bytes(32), bytes(32)]
    with pytest.raises(BlindingError, match="this party's own"):
        one.reveal(2, [other.commit(1), *commitments[1:]])
    assert len(one.reveal(2, commitments)) == 32


def test_a_share_is_revealed_once() -> None:
    """Commitments that are changed afterwards would be made with knowledge of it."""
    (one, *_) = parties()
    commitments = [one.commit(1), bytes(32), bytes(32)]
    before = one.state_dict()
    one.reveal(2, commitments)
    one.load_state_dict(before)  # as another message at the same time may leave it
    with pytest.raises(BlindingError, match="after the commitments"):
        one.reveal(3, [commitments[0], bytes(32), bytes([1] * 32)])


@pytest.mark.parametrize("committed", [False, True])
def test_steps_come_in_order(committed: bool) -> None:
    (one, *_) = parties()
    if committed:
        one.commit(1)
    else:
        with pytest.raises(BlindingError):
            one.reveal(2, [bytes(32)] * 3)
    with pytest.raises(BlindingError, match="before"):
        one.joined([bytes(32)] * 3)
