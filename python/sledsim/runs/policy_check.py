"""The contract of schedulers, tried on one: of one's own, or built in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sledsim._core import SledsimError
from sledsim.runs.running import run_resolved
from sledsim.runs.session import Session
from sledsim.scenario.reading import resolve
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table

__all__ = ["PolicyCheck", "check_policy"]

#: Queues of several kinds: a sled, one whose requests are served together, a platter, and several queues at once.
SYSTEMS: dict[str, dict[str, Any]] = {
    "one sled": {"device": "g2"},
    "batches": {"device": "g2", "batch_max": 4},
    "merged requests": {"device": "g2", "merge": {}},
    "a disk": {"device": "atlas10k"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
}
#: Requests of a burst, bursts, and how long one comes after another, ns: some of a burst still wait then.
BURST, BURSTS, APART_NS = 60, 8, 25_000_000
#: Requests kept pending where it is seen whether one is passed over for ever, and how many are served meanwhile.
DEPTH, SERVED = 16, 6000
#: One of them that is passed over so often is starved: far more often than any policy that comes back to it.
PASSED_OVER = 2000
#: Blocks of each request.
BLOCKS = 8


@dataclass(frozen=True)
class Verdict:
    """What came of one of the tests.

    Parameters
    ----------
    rule
        What a scheduler has to do.
    fault
        The first request, or answer, with which it did not; empty where it did.
    """

    rule: str
    fault: str

    @property
    def passed(self) -> bool:
        """Whether it did."""
        return not self.fault


class PolicyCheck(OneTable, Plain):
    """What came of the contract tests of a scheduler.

    Parameters
    ----------
    name
        The scheduler.
    verdicts
        What came of each.
    """

    def __init__(self, name: str, verdicts: list[Verdict]) -> None:
        self.name = name
        self.verdicts = verdicts

    @property
    def passed(self) -> bool:
        """Whether it keeps to the contract, as far as this is tried."""
        return all(verdict.passed for verdict in self.verdicts)

    def table(self) -> Table:
        """Return the tests, and with what request one failed."""
        rows = [[verdict.rule, "yes" if verdict.passed else verdict.fault] for verdict in self.verdicts]
        return Table([self.name, "kept"], rows, left=frozenset({0, 1}))

    def to_dict(self) -> dict[str, Any]:
        """Return the tests as plain values."""
        rules = [{"rule": verdict.rule, "passed": verdict.passed, "fault": verdict.fault} for verdict in self.verdicts]
        return {"scheduler": self.name, "passed": self.passed, "rules": rules}

    def __repr__(self) -> str:
        return f"<PolicyCheck of {self.name}: {'passed' if self.passed else 'failed'}>"


class _BrokenError(Exception):
    """A rule that is not kept."""


def check_policy(scheduler: "str | type | Mapping[str, Any]") -> PolicyCheck:
    """Try the contract of schedulers on one: the tests that those built in pass.

    Parameters
    ----------
    scheduler
        A class of one's own, its name ``my_module:MyPolicy``, or a scheduler as a scenario has it, with parameters.

    Returns
    -------
    PolicyCheck
        What came of each test, with the first request with which it failed.

    Raises
    ------
    ScenarioError
        Where there is no such scheduler, or its parameters are wrong.

    Examples
    --------
    >>> check_policy("sptf").passed
    True
    """
    given: Any = scheduler
    if isinstance(scheduler, type):
        given = {"python": scheduler}
    # What is wrong with its name or parameters is no matter of the contract.
    resolved = resolve({"workload": {"kind": "session"}, "system": {"device": "g2", "scheduler": given}})
    name = given if isinstance(given, str) else _name(resolved.values["system"]["scheduler"])
    rules: list[tuple[str, Callable[[Any], None]]] = [
        *((f"serves each request once: {title}", _serves_once(system)) for title, system in SYSTEMS.items()),
        ("decides the same again", _decides_the_same),
        ("goes on from a snapshot as it would have", _goes_on_from_a_snapshot),
        ("survives power cuts", _survives_power_cuts),
        ("starves no request", _starves_none),
    ]
    return PolicyCheck(name, [Verdict(rule, _fault(test, given)) for rule, test in rules])


def _name(scheduler: Mapping[str, Any]) -> str:
    return str(next(scheduler[key] for key in ("python", "symbol", "library", "name") if scheduler.get(key)))


def _fault(test: Callable[[Any], None], scheduler: Any) -> str:
    try:
        test(scheduler)
    except _BrokenError as broken:
        return str(broken)
    except SledsimError as error:
        return str(error)
    return ""


def _scattered(capacity_blocks: int, count: int) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """Return places all over a device, the same ones each time; some twice."""
    numbers = np.arange(count, dtype=np.uint64) // np.uint64(5) * np.uint64(5) + np.arange(count, dtype=np.uint64) % 4
    return numbers * np.uint64(2_654_435_761) % np.uint64(capacity_blocks - BLOCKS)


def _opened(system: Mapping[str, Any], scheduler: Any) -> Session:
    return Session({**system, "scheduler": scheduler}, check=True)


def _fill(session: Session) -> None:
    """Hand in bursts: reads and writes of several sizes."""
    count = BURST * BURSTS
    numbers = np.arange(count)
    session.submit_all(
        _scattered(session.capacity_blocks, count),
        (1 + numbers % BLOCKS).astype(np.uint32),
        (numbers % 3 == 0).astype(np.uint8),
        (numbers // BURST * APART_NS).astype(np.uint64),
    )


def _served(session: Session) -> Iterator[int]:
    """Yield the numbers of requests as they come back, and see to it that each does once."""
    seen: set[int] = set()
    count = session.under_way
    for done in session.drain():
        if done.id in seen:
            raise _BrokenError(f"request {done.id} came back twice")
        if not 0 <= done.id < count:
            raise _BrokenError(f"request {done.id} came back, which nobody handed in")
        seen.add(done.id)
        yield done.id
    lost = sorted(set(range(count)) - seen)
    if lost:
        raise _BrokenError(f"request {lost[0]} never came back, and {len(lost) - 1} others")


def _serves_once(system: Mapping[str, Any]) -> Callable[[Any], None]:
    def test(scheduler: Any) -> None:
        session = _opened(system, scheduler)
        _fill(session)
        list(_served(session))

    return test


def _first_difference(found: list[int], expected: list[int], what: str) -> None:
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one != other:
            raise _BrokenError(f"request {one} was served at place {place}, and {what} request {other}")


def _decides_the_same(scheduler: Any) -> None:
    """Two queues in turns: what one remembers must not be the other's."""
    first, second, alone = (_opened(SYSTEMS["one sled"], scheduler) for _ in range(3))
    for session in (first, second, alone):
        _fill(session)
    order: dict[str, list[int]] = {"first": [], "second": []}
    while first.under_way or second.under_way:
        for name, session in (("first", first), ("second", second)):
            order[name] += [done.id for done in session.advance()]
    _first_difference(order["second"], order["first"], "beside it")
    _first_difference([done.id for done in alone.drain()], order["first"], "another time")


def _goes_on_from_a_snapshot(scheduler: Any) -> None:
    session = _opened(SYSTEMS["one sled"], scheduler)
    _fill(session)
    session.advance(3 * APART_NS)
    snapshot = session.snapshot()
    rest = [done.id for done in session.drain()]
    _first_difference([done.id for done in snapshot.drain()], rest, "without a snapshot")


def _survives_power_cuts(scheduler: Any) -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 3000.0}, "read_fraction": 0.5}
    run = {"requests": 400, "power_cuts": {"random": 3}}
    scenario = {"seed": 1, "workload": workload, "system": {"device": "g2", "scheduler": scheduler}, "run": run}
    found = run_resolved(resolve(scenario), check=True)
    missing = found.requests.submitted - found.requests.completed - found.requests.failed
    if missing:
        raise _BrokenError(f"{missing} requests never came back")


def _starves_none(scheduler: Any) -> None:
    """As many requests as ever are pending, all over the device: each comes to its turn."""
    session = _opened(SYSTEMS["one sled"], scheduler)
    places = _scattered(session.capacity_blocks, DEPTH + SERVED)
    waiting: dict[int, int] = {}
    served = 0
    for place in places[:DEPTH]:
        waiting[session.submit(int(place), BLOCKS)] = served
    for place in places[DEPTH:]:
        while not (back := session.advance()):
            pass
        for done in back:
            del waiting[done.id]
            served += 1
        waiting[session.submit(int(place), BLOCKS)] = served
        oldest = min(waiting)
        if served - waiting[oldest] > PASSED_OVER:
            raise _BrokenError(
                f"request {oldest} was passed over {served - waiting[oldest]:,} times, "
                f"with never more than {DEPTH} requests pending"
            )
