"""Pieces of work shared out among threads."""

from __future__ import annotations

import threading
import time
from itertools import count

import pytest

from sledsim.runs import in_threads


def test_outcomes_come_with_their_places_whatever_they_are() -> None:
    found = dict(in_threads(lambda n: 12 // n, [3, 0, 4], 2))
    assert sorted(found) == [0, 1, 2]
    assert (found[0].result(), found[2].result()) == (4, 3)
    with pytest.raises(ZeroDivisionError):
        found[1].result()
    assert not list(in_threads(str, [], 2))


def test_items_are_taken_when_a_thread_is_free_and_no_more_after_the_end() -> None:
    begun = count()
    outcomes = in_threads(str, (next(begun) for _ in iter(int, 1)), 2, tick_s=10.0, join=True)
    first = next(outcomes)
    assert first is not None
    assert first[1].result() == str(first[0])
    outcomes.close()
    ended = next(begun)
    time.sleep(0.05)
    assert next(begun) == ended + 1


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
