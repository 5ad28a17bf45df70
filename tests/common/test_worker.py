"""Threads that do one job after another, and when to do without."""

import threading

import pytest

from vfl_flower.common import worker as module
from vfl_flower.common.worker import PERIOD, TRIALS, Adaptive, Concurrency, InTurn, Worker


@pytest.fixture(autouse=True)
def usual_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try as often as a user's run, not as other tests."""
    monkeypatch.setattr(module, "TRIALS", TRIALS)


def test_jobs_return_and_raise_in_another_thread() -> None:
    worker = Worker()
    worker.submit(threading.get_ident)
    assert worker.result() != threading.get_ident()
    worker.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        worker.result()
    worker.submit(lambda: 7)
    assert worker.result() == 7
    worker.close()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, BaseException])
def test_whoever_waits_hears_of_everything(kind: type[BaseException]) -> None:
    def job() -> None:
        raise kind

    worker = Worker()
    worker.submit(job)
    with pytest.raises(kind):
        worker.result()
    worker.close()


def test_a_thread_is_there_from_the_first_job_to_the_close() -> None:
    before = set(threading.enumerate())
    worker = Worker()
    worker.close()
    assert set(threading.enumerate()) <= before
    for _ in range(2):  # a closed worker may be used again
        worker.submit(lambda: 1)
        assert worker.result() == 1
        (thread,) = set(threading.enumerate()) - before
        worker.close()
        thread.join(10)
        assert not thread.is_alive()


def test_a_job_done_here_ends_before_it_is_waited_for() -> None:
    worker, before = Worker(), threading.active_count()
    worker.submit(threading.get_ident, here=True)
    assert worker.wait(0)
    assert worker.result() == threading.get_ident()
    worker.submit(lambda: 1 // 0, here=True)
    with pytest.raises(ZeroDivisionError):
        worker.result()
    assert threading.active_count() == before


def exchanges(concurrency: Concurrency, count: int, beside: float, in_turn: float) -> list[bool]:
    """Note exchanges that take so many seconds; return which were in turn."""
    chosen = []
    for _ in range(count):
        chosen.append(concurrency.in_turn("embed"))
        concurrency.note("embed", chosen[-1], in_turn if chosen[-1] else beside)
    return chosen


@pytest.mark.parametrize(("beside", "in_turn"), [(0.002, 0.001), (0.001, 0.002)])
def test_what_was_faster_in_trials_is_chosen(beside: float, in_turn: float) -> None:
    chosen = exchanges(Adaptive(3), 100, beside, in_turn)
    trials, rest = chosen[: 2 * TRIALS], chosen[2 * TRIALS :]
    assert trials.count(True) == TRIALS
    assert set(rest) == {in_turn < beside}


def test_a_few_slow_exchanges_do_not_undo_a_choice() -> None:
    adaptive = Adaptive(3)
    exchanges(adaptive, 50, 0.015, 0.020)
    assert not any(exchanges(adaptive, 2 * TRIALS, 0.025, 0.020))
    assert not any(exchanges(adaptive, 50, 0.015, 0.020))


def test_long_exchanges_are_never_tried_in_turn() -> None:
    assert not any(exchanges(Adaptive(3), 2 * PERIOD, 1.0, 0.1))


def test_exchanges_of_many_parties_may_be_longer() -> None:
    assert exchanges(Adaptive(100), PERIOD, 1.0, 0.1)[-1]


def test_a_choice_is_tried_again_when_the_machine_has_changed() -> None:
    adaptive = Adaptive(3)
    assert exchanges(adaptive, PERIOD, 0.002, 0.001)[-1]
    assert not exchanges(adaptive, PERIOD, 0.001, 0.002)[-1]


def test_phases_have_trials_of_their_own() -> None:
    adaptive = Adaptive(3)
    exchanges(adaptive, PERIOD, 0.002, 0.001)
    assert not adaptive.in_turn("update")


def test_other_ways_do_not_change() -> None:
    assert set(exchanges(Concurrency(), 50, 0.2, 0.1)) == {False}
    assert set(exchanges(InTurn(), 50, 0.1, 0.2)) == {True}
