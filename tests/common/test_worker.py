"""The thread that does one job after another."""

import threading

import pytest

from vfl_flower.common.worker import Worker


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
