"""Pieces of work shared out among threads."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from itertools import count

import pytest

from sledsim.runs import Pool, in_threads


def test_outcomes_come_with_their_places_whatever_they_are() -> None:
    found = dict(in_threads(lambda n: 12 // n, [3, 0, 4], 2))
    assert sorted(found) == [0, 1, 2]
    assert (found[0].result(), found[2].result()) == (4, 3)
    with pytest.raises(ZeroDivisionError):
        found[1].result()
    assert not list(in_threads(str, [], 2))


def test_items_are_taken_when_a_thread_is_free_and_no_more_after_the_end() -> None:
    before = set(threading.enumerate())
    outcomes = in_threads(str, count(), 2, tick_s=10.0, join=True)
    first = next(outcomes)
    assert first is not None
    assert first[1].result() == str(first[0])
    # It waits for the threads: nobody is left who could begin anything.
    outcomes.close()
    assert set(threading.enumerate()) <= before


def test_what_the_items_raise_is_an_outcome() -> None:
    outcomes = list(in_threads(lambda n: 1 // n, (1 // n for n in [1, 0]), 1))
    assert outcomes[0][1].result() == 1
    assert isinstance(outcomes[1][1].exception(), ZeroDivisionError)


def test_while_there_is_no_outcome_it_ticks() -> None:
    go_on = threading.Event()
    outcomes = in_threads(lambda _: go_on.wait(10.0), [0], 1, tick_s=0.01)
    assert next(outcomes) is None
    go_on.set()
    assert [each[1].result() for each in outcomes if each] == [True]


def test_a_pool_calls_in_order_until_it_is_stopped() -> None:
    pool, begun, go_on = Pool(1), threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go_on.wait(10.0)

    first = pool.submit(wait)
    second, third = pool.submit(lambda: 1 // 0), pool.submit(lambda: 3)
    go_on.set()
    assert (first.result(), third.result()) == (True, 3)
    assert isinstance(second.exception(), ZeroDivisionError)
    begun.clear()
    go_on.clear()
    first, second = pool.submit(wait), pool.submit(lambda: 2)
    begun.wait(10.0)
    pool.stop()
    with pytest.raises(CancelledError):
        second.result()
    go_on.set()
    pool.stop(join=True)
    assert first.result() is True
