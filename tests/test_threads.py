"""Pieces of work shared out among threads."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from conftest import EXAMPLES
from sledsim import SledsimError, _core
from sledsim.machine import run_each
from sledsim.reliability import simulate
from sledsim.runs import Pool, in_threads, threads_of
from sledsim.sweep import Evaluation, Sweep, optimise, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

MOST = {name: most for name, most, *_ in _core.limits()}["threads"]


def test_outcomes_have_their_index() -> None:
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
    # It waits for the threads, so no item starts afterwards.
    outcomes.close()
    assert set(threading.enumerate()) <= before


def test_exceptions_of_items_are_outcomes() -> None:
    outcomes = list(in_threads(lambda n: 1 // n, (1 // n for n in [1, 0]), 1))
    assert outcomes[0][1].result() == 1
    assert isinstance(outcomes[1][1].exception(), ZeroDivisionError)


def test_the_pool_ticks_while_waiting() -> None:
    go_on = threading.Event()
    outcomes = in_threads(lambda _: go_on.wait(600.0), [0], 1, tick_s=0.01)
    assert next(outcomes) is None
    go_on.set()
    assert [each[1].result() for each in outcomes if each] == [True]


def test_a_pool_calls_in_order_until_it_is_stopped() -> None:
    pool, begun, go_on = Pool(1), threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go_on.wait(600.0)

    first = pool.submit(wait)
    second, third = pool.submit(lambda: 1 // 0), pool.submit(lambda: 3)
    go_on.set()
    assert (first.result(), third.result()) == (True, 3)
    assert isinstance(second.exception(), ZeroDivisionError)
    begun.clear()
    go_on.clear()
    first, second = pool.submit(wait), pool.submit(lambda: 2)
    begun.wait(600.0)
    pool.stop()
    with pytest.raises(CancelledError):
        second.result()
    go_on.set()
    pool.stop(join=True)
    assert first.result() is True


SWEEP = Sweep(
    {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 1.0}}, "system": {"device": "g2"}}, {"seed": [1]}
)
ENCLOSURE = EXAMPLES / "raid6.toml"
SEARCH = EXAMPLES / "velocity.toml"


def evaluate(folder: Path, threads: Any) -> None:
    with Evaluation(SWEEP.scenario, folder / "s", threads=threads):
        pass


#: All functions with a number of threads.
TAKERS: dict[str, Callable[[Path, Any], object]] = {
    "simulate": lambda _, threads: simulate(ENCLOSURE, threads=threads),
    "sweep": lambda folder, threads: run(SWEEP, folder / "s", threads=threads),
    "local cluster": lambda folder, threads: run(SWEEP, folder / "s", threads=threads, cluster="local"),
    "evaluation": evaluate,
    "optimise": lambda folder, threads: optimise(SEARCH, folder / "s", threads=threads),
    "machines": lambda _, threads: run_each({"g2": "g2"}, "postmark", threads=threads),
}


@pytest.mark.parametrize("threads", [0, -1, MOST + 1, 2**32, 2**64, 1.5, "2", True])
@pytest.mark.parametrize("taker", TAKERS)
def test_a_number_of_threads_has_bounds(taker: str, threads: Any, tmp_path: Path) -> None:
    with pytest.raises(SledsimError, match="threads = ") as caught:
        TAKERS[taker](tmp_path, threads)
    (fault,) = caught.value.faults
    kind = "wrong-type" if isinstance(threads, str | bool) else "out-of-range"
    assert (fault.kind, fault.path) == (kind, "threads")
    assert fault.allowed == {"least": 1.0, "most": float(MOST), "whole": True, "unit": ""}


@pytest.mark.parametrize(
    "words",
    [("sweep", "run", "rates.toml"), ("optimise", "velocity.toml")],
)
def test_the_command_line_limits_the_number_of_threads(
    words: tuple[str, ...], sledsim_cli: Callable[..., Outcome], tmp_path: Path
) -> None:
    given = [str(EXAMPLES / word) if word.endswith(".toml") else word for word in words]
    for threads in (0, MOST + 1, 2**64):
        done = sledsim_cli(*given, "--threads", str(threads), "--store", tmp_path / "s")
        assert done.status == 2
        assert "--threads" in done.err if threads == 0 else f"--threads = {threads} is not a whole number" in done.err


def test_the_maximum_of_threads_gives_the_same_result() -> None:
    found = [simulate(ENCLOSURE, lifetimes=5000, threads=threads).to_dict() for threads in (1, MOST)]
    assert found[0] == found[1]
    assert threads_of(MOST) == MOST
    assert threads_of(None) >= 1


def test_fewer_threads_do_the_work_if_more_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def start_some(thread: threading.Thread) -> None:
        if len(begun) == room:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    room = 2
    assert sorted(outcome.result() for _, outcome in in_threads(str, range(9), 5)) == [str(n) for n in range(9)]
    room = len(begun)
    with pytest.raises(SledsimError, match="no room for one more thread"):
        Pool(2).submit(int)
