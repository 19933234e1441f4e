"""Threads: loops are covered once, errors are raised, and n_jobs means what it says."""

from __future__ import annotations

import pickle
import threading

import pytest

from secateur._kernels.threads import Threads, available_cores, resolve_n_jobs
from secateur.exceptions import ParameterError


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize(("n_items", "grain"), [(0, 1), (1, 1), (7, 2), (100, 8), (100, 1000)])
def test_ranges_cover_all_items_once_in_steps_of_the_grain(n_threads, n_items, grain):
    seen = []
    with Threads(n_threads) as threads:
        threads.run(lambda start, stop: seen.append((start, stop)), n_items, grain)
    assert sorted(i for start, stop in seen for i in range(start, stop)) == list(range(n_items))
    assert all(start % grain == 0 for start, _ in seen)
    assert len(seen) <= max(1, min(n_threads, n_items // grain))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_task_is_done_once(n_threads):
    seen = []
    with Threads(n_threads) as threads:
        threads.share(lambda worker, number: seen.append((worker, number)), 20)
    assert sorted(number for _, number in seen) == list(range(20))
    assert {worker for worker, _ in seen} <= set(range(n_threads))


def test_an_error_in_any_thread_is_raised_and_the_threads_go_on():
    def fail(start, stop):
        if start > 0:
            raise ValueError("part 2")

    seen = []
    with Threads(2) as threads:
        with pytest.raises(ValueError, match="part 2"):
            threads.run(fail, 10)
        threads.run(lambda start, stop: seen.append(stop - start), 10)
    assert sum(seen) == 10


def test_closing_ends_the_threads():
    before = set(threading.enumerate())
    threads = Threads(3)
    threads.run(lambda start, stop: None, 10)
    started = set(threading.enumerate()) - before
    threads.close()
    for thread in started:
        thread.join(5.0)
    assert started
    assert not any(thread.is_alive() for thread in started)
    assert threads.n_threads == 1


def test_a_copy_elsewhere_has_one_thread():
    with Threads(4) as threads:
        assert pickle.loads(pickle.dumps(threads)).n_threads == 1  # noqa: S301


def test_n_jobs():
    assert resolve_n_jobs(3) == 3
    assert resolve_n_jobs(-1) == available_cores()
    assert resolve_n_jobs(-(10**6)) == 1
    with pytest.raises(ParameterError, match="n_jobs"):
        resolve_n_jobs(0)
