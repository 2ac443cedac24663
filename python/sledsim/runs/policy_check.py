"""Checks a custom or built-in policy against its contract."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import RunError, ScenarioError, SledsimError, cache_policies, mechanisms, policy_title, schedulers
from sledsim.runs.running import run_resolved
from sledsim.runs.session import Session
from sledsim.scenario.policies import CopyChoice, Mechanism, Pending, Plugin, Policy, Replacement, SpinDown
from sledsim.scenario.policy_loading import found_class, load
from sledsim.scenario.reading import resolve
from sledsim.show.faults import brief, is_one_of, make_error
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PolicyCheck", "check_policy"]

#: Queues of several kinds: a sled, one whose requests are served together, a platter, and several queues at once.
QUEUES: dict[str, dict[str, Any]] = {
    "one sled": {"device": "g2"},
    "batches": {"device": "g2", "batch_max": 4},
    "merged requests": {"device": "g2", "merge": {}},
    "a disk": {"device": "atlas10k"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
}
#: Caches of several kinds, much smaller than what goes through them.
CACHES: dict[str, dict[str, Any]] = {
    "a cache that writes back": {"kind": "ram-cache", "bytes": 128 << 10, "child": {"device": "g2"}},
    "a cache that writes through": {
        "kind": "ram-cache",
        "bytes": 128 << 10,
        "write": "through",
        "child": {"device": "g2"},
    },
    "a cache of two lines": {"kind": "ram-cache", "bytes": 8 << 10, "child": {"device": "g2"}},
    "a disk cached on MEMS": {
        "kind": "mcd",
        "mems_bytes": 2 << 20,
        "mems": {"device": "g2"},
        "disk": {"device": "atlas10k"},
    },
}
#: Mirrors of several kinds: of sleds, of platters, one a copy of which fails and is rebuilt, one of arrays.
MIRRORS: dict[str, dict[str, Any]] = {
    "three copies": {"kind": "mirror", "members": [{"count": 3, "system": {"device": "g2"}}]},
    "disks": {"kind": "mirror", "members": ["atlas10k", "atlas10k"]},
    "a copy that fails": {
        "kind": "mirror",
        "members": [{"count": 3, "system": {"kind": "partition", "bytes": 16 << 20, "child": {"device": "g2"}}}],
        "spares": 1,
        "faults": [{"member": 1, "fails_at_s": 0.05}],
    },
    "copies of two sleds": {
        "kind": "mirror",
        "members": [{"count": 2, "system": {"kind": "stripe", "members": ["g2", "g2"]}}],
    },
}
#: Devices of several kinds that have idle modes.
STOPPING: dict[str, dict[str, Any]] = {
    "one sled": {"device": "g2"},
    "batches": {"device": "g2", "batch_max": 4},
    "merged requests": {"device": "g2", "merge": {}},
    "a disk of several idle modes": {"device": "travelstar"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
    "a sled that waits for others": {"device": "g2", "delayed_startup": {"requests": 3, "wait_ms": 20}},
}
#: Drives that ask a device little, and much.
DRIVES: dict[str, dict[str, Any]] = {
    "in the order of arrival": {"scheduler": "fcfs"},
    "by positioning time": {"scheduler": "sptf"},
    "batches": {"scheduler": "sptf", "batch_max": 4},
    "merged requests": {"scheduler": "clook", "merge": {}},
}
#: Requests of a burst, and bursts.
BURST, BURSTS = 60, 8
#: Requests kept pending where it is seen whether one is passed over for ever, and how many are served meanwhile.
DEPTH, SERVED = 16, 6000
#: One of them that is passed over so often is starved: far more often than any policy that comes back to it.
PASSED_OVER = 2000
#: How long requests that come alone come after one another, ns: from 1 ms to 8 s, again and again.
ALONE_NS = tuple(round(1e6 * 2**power) for power in range(14)) * 6
#: Blocks of each request.
BLOCKS = 8


@dataclass(frozen=True)
class Role:
    """The role of a policy.

    Parameters
    ----------
    key
        The key of a component that names one.
    base
        What classes of it are made from.
    systems
        Components that ask one; the first is tried most.
    waits
        True if requests wait for it, so that one may starve.
    apart_ns
        How long one burst of requests comes after another, ns: some of a burst still wait then, or none any more.
    alone_ns
        How long requests that come alone, after the bursts, come after one another, ns.
    """

    key: str
    base: type[Plugin]
    systems: dict[str, dict[str, Any]]
    waits: bool = False
    apart_ns: int = 25_000_000
    alone_ns: tuple[int, ...] = ()

    def first(self, policy: Any) -> dict[str, Any]:
        """Return the first of the systems with a policy."""
        return {**next(iter(self.systems.values())), self.key: policy}


#: By the word for them.
ROLES = {
    "scheduler": Role("scheduler", Policy, QUEUES, waits=True),
    "replacement": Role("policy", Replacement, CACHES),
    "mirror": Role("read", CopyChoice, MIRRORS),
    # Whether a device had stopped tells at what idle time it does: that lies between two of these.
    "spin-down": Role("spin_down", SpinDown, STOPPING, apart_ns=4_000_000_000, alone_ns=ALONE_NS),
    "device": Role("device", Mechanism, DRIVES),
}


@dataclass(frozen=True)
class Verdict:
    """The result of one test.

    Parameters
    ----------
    rule
        What a policy has to do.
    fault
        The first request, or answer, with which it did not; empty where it did.
    """

    rule: str
    fault: str

    @property
    def passed(self) -> bool:
        """True if the test passed."""
        return not self.fault


class PolicyCheck(OneTable, Plain):
    """The results of the contract tests of a policy.

    Parameters
    ----------
    role
        What it decides: ``scheduler``, ``replacement``, ``mirror`` or ``spin-down``.
    name
        The policy.
    verdicts
        What came of each.
    """

    def __init__(self, role: str, name: str, verdicts: list[Verdict]) -> None:
        self.role = role
        self.name = name
        self.verdicts = verdicts

    @property
    def passed(self) -> bool:
        """True if it keeps to the contract, as far as this is tried."""
        return all(verdict.passed for verdict in self.verdicts)

    def table(self) -> Table:
        """Return the tests, and with what request one failed."""
        rows = [[verdict.rule, "yes" if verdict.passed else verdict.fault] for verdict in self.verdicts]
        return Table([self.name, "kept"], rows, left=frozenset({0, 1}))

    def to_dict(self) -> dict[str, Any]:
        """Return the tests as plain values."""
        rules = [{"rule": verdict.rule, "passed": verdict.passed, "fault": verdict.fault} for verdict in self.verdicts]
        return {self.role: self.name, "passed": self.passed, "rules": rules}

    def __repr__(self) -> str:
        return f"<PolicyCheck of {self.name}: {'passed' if self.passed else 'failed'}>"


class _BrokenError(Exception):
    """A violated rule."""


def check_policy(policy: "str | type | Mapping[str, Any]", role: str | None = None) -> PolicyCheck:
    """Run the contract tests of built-in policies on a policy.

    Parameters
    ----------
    policy
        A class, its name ``my_module:MyPolicy``, or a policy as a scenario has it, with parameters.
    role
        What it decides: ``scheduler``; ``replacement`` in a cache; ``mirror``, which copy serves a read; ``spin-down``;
        or ``device``, a mechanism. A class, and the name of a built-in policy, tell by themselves.

    Returns
    -------
    PolicyCheck
        What came of each test, with the first request with which it failed.

    Raises
    ------
    ScenarioError
        Where there is no such policy or role, it can't be told which role it has, or its parameters are wrong.

    Examples
    --------
    >>> check_policy("sptf").passed
    True
    """
    if role is None:
        role = _role_of(policy)
    if not is_one_of(role, ROLES):
        raise make_error(ScenarioError, "unknown-name", path="role", value=role, known=list(ROLES))
    tried = ROLES[role]
    given: Any = policy
    if isinstance(policy, type):
        given = {"python": policy}
    # What is wrong with its name or parameters is no matter of the contract.
    resolved = resolve({"workload": {"kind": "session"}, "system": tried.first(given)})
    found = resolved.values["system"][tried.key]
    name = given if isinstance(given, str) else policy_title(found)
    rules: list[tuple[str, Callable[[], None]]] = [
        *(
            (f"serves each request once: {title}", partial(_serves_once, {**system, tried.key: given}, tried))
            for title, system in tried.systems.items()
        ),
        ("repeats its decisions", partial(_decides_the_same, tried.first(given), tried)),
        ("continues unchanged from a snapshot", partial(_goes_on_from_a_snapshot, tried.first(given), tried)),
        ("survives power cuts", partial(_survives_power_cuts, tried.first(given))),
    ]
    if role == "device":
        rules.append(("positioning changes nothing", partial(_asking_changes_nothing, given, tried)))
    if role == "replacement" and isinstance(found, Mapping) and "python" in found:
        rules.append(("choosing changes nothing", partial(_choosing_changes_nothing, tried, found)))
    if tried.waits:
        rules.append(("starves no request", partial(_starves_none, tried.first(given))))
    return PolicyCheck(role, name, [Verdict(rule, _fault(test)) for rule, test in rules])


def _role_of(policy: "str | type | Mapping[str, Any]") -> str:
    """Return the role of a policy from its class, description or name."""
    named = policy.get("python", policy.get("name")) if isinstance(policy, Mapping) else policy
    if not isinstance(named, str | type | None):
        raise make_error(
            ScenarioError, "wrong-type", path="policy", value=brief(named)[0], allowed="a class, or a name"
        )
    kind = found_class(named) if isinstance(named, str) else named
    if isinstance(kind, type):
        found = [word for word, role in ROLES.items() if issubclass(kind, role.base)]
    else:
        lists = {"scheduler": schedulers(), "replacement": cache_policies(), "device": mechanisms()}
        found = [word for word, listed in lists.items() if any(each["name"] == named for each in listed)]
    if len(found) != 1:
        says: list[str | tuple[str]] = [
            "it can't be told what ",
            str(named or "a compiled function"),
            " decides; say so with ",
            ("role",),
        ]
        raise make_error(ScenarioError, "missing", says, path="role", known=list(ROLES))
    return found[0]


def _fault(test: Callable[[], None]) -> str:
    try:
        test()
    except _BrokenError as broken:
        return str(broken)
    except SledsimError as error:
        return str(error)
    return ""


def _scattered(capacity_blocks: int, count: int) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """Return positions distributed over a device, the same on each call; some occur twice."""
    if capacity_blocks <= BLOCKS:
        raise _BrokenError(f"it has {capacity_blocks} blocks: requests of up to {BLOCKS} are tried")
    import numpy as np

    numbers = np.arange(count, dtype=np.uint64) // np.uint64(5) * np.uint64(5) + np.arange(count, dtype=np.uint64) % 4
    return numbers * np.uint64(2_654_435_761) % np.uint64(capacity_blocks - BLOCKS)


class Asking(Policy):
    """The order of arrival, with a look at all positioning times."""

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Take the oldest."""
        return 0


class Twice(Replacement):
    """Wraps a policy and calls it twice for each choice."""

    of: dict[str, Any]

    def __post_init__(self) -> None:
        """Find the other."""
        found = load("replacement policy", self.of, Path.cwd())
        assert found is not None
        assert found.make is not None
        self.other: Any = found.make()

    def started(self, slots: int) -> None:
        """Forward the call."""
        self.other.started(slots)

    def admits(self, key: int) -> bool:
        """Forward the call."""
        return bool(self.other.admits(key))

    def victim(self, key: int, after: int | None) -> int:
        """Call the other policy twice."""
        self.other.victim(key, after)
        return int(self.other.victim(key, after))

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Forward the call."""
        self.other.admitted(slot, key, evicted)

    def hit(self, slot: int, key: int) -> None:
        """Forward the call."""
        self.other.hit(slot, key)

    def removed(self, slot: int, key: int) -> None:
        """Forward the call."""
        self.other.removed(slot, key)


def _opened(system: Mapping[str, Any]) -> Session:
    return Session(system, check=True)


def _fill(session: Session, role: Role) -> None:
    """Hand in bursts, and requests that come alone after them: reads and writes of several sizes."""
    import numpy as np

    bursts = np.arange(BURST * BURSTS) // BURST * role.apart_ns
    alone = BURSTS * role.apart_ns + np.cumsum(role.alone_ns, dtype=np.int64)
    at_ns = np.concatenate([bursts, alone])
    numbers = np.arange(len(at_ns))
    session.submit_all(
        _scattered(session.capacity_blocks, len(at_ns)),
        1 + numbers % BLOCKS,
        read=numbers % 3 != 0,
        at_ns=at_ns,
    )


def _served(session: Session) -> Iterator[int]:
    """Yield the numbers of completed requests; raise unless each completes once."""
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


def _serves_once(system: Mapping[str, Any], role: Role) -> None:
    session = _opened(system)
    _fill(session, role)
    list(_served(session))


#: The number of a request that came back, and when it did, ns.
Back = tuple[int, int]


def _backs(found: Iterable[Any]) -> list[Back]:
    return [(done.id, done.end_ns) for done in found]


def _first_difference(found: list[Back], expected: list[Back], what: str) -> None:
    for place, ((one, then), (other, other_ns)) in enumerate(zip(found, expected, strict=True)):
        if one != other:
            raise _BrokenError(f"request {one} was served at place {place}, and {what} request {other}")
        if then != other_ns:
            raise _BrokenError(f"request {one} was served by {then / 1e9:g} s, and {what} by {other_ns / 1e9:g} s")


def _decides_the_same(system: Mapping[str, Any], role: Role) -> None:
    """Two instances in turns must not share state."""
    first, second, alone = (_opened(system) for _ in range(3))
    for session in (first, second, alone):
        _fill(session, role)
    order: dict[str, list[Back]] = {"first": [], "second": []}
    while first.under_way or second.under_way:
        for name, session in (("first", first), ("second", second)):
            order[name] += _backs(session.advance())
    _first_difference(order["second"], order["first"], "beside it")
    _first_difference(_backs(alone.drain()), order["first"], "another time")


def _goes_on_from_a_snapshot(system: Mapping[str, Any], role: Role) -> None:
    session = _opened(system)
    _fill(session, role)
    session.advance(3 * role.apart_ns)
    snapshot = session.snapshot()
    rest = _backs(session.drain())
    _first_difference(_backs(snapshot.drain()), rest, "without a snapshot")


def _survives_power_cuts(system: Mapping[str, Any]) -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 3000.0}, "read_fraction": 0.5}
    run = {"requests": 400, "power_cuts": {"random": 3}}
    scenario = {"seed": 1, "workload": workload, "system": system, "run": run}
    found = run_resolved(resolve(scenario), check=True)
    missing = found.requests.submitted - found.requests.completed - found.requests.failed
    if missing:
        raise _BrokenError(f"{missing} requests never came back")


def _asking_changes_nothing(device: Any, role: Role) -> None:
    """Ask for positioning times of what is not served next, or do not."""
    # Watching a device asks for its positioning times.
    plain, asked = (
        Session({"device": device, "scheduler": scheduler})
        for scheduler in ("fcfs", {"python": f"{Asking.__module__}:{Asking.__name__}"})
    )
    for session in (plain, asked):
        _fill(session, role)
    _first_difference(_backs(asked.drain()), _backs(plain.drain()), "where no positioning times are asked for")


def _choosing_changes_nothing(role: Role, policy: Mapping[str, Any]) -> None:
    """Ask once more what is to leave: a disk cached on MEMS asks, too, where nothing leaves."""
    twice = {"python": f"{Twice.__module__}:{Twice.__name__}", "of": dict(policy)}
    plain, asked = (_opened(role.first(each)) for each in (policy, twice))
    for session in (plain, asked):
        _fill(session, role)
    once = _backs(plain.drain())
    try:
        backs = _backs(asked.drain())
    except RunError as error:
        if error.at_s is None:
            raise
        # Only what it answered the second time can be why: asked once, it has come this far.
        says = f"asked twice what is to leave, it can't go on at {error.at_s:g} s, with request {error.request}"
        raise _BrokenError(says) from None
    _first_difference(backs, once, "where each choice is asked for once")


def _starves_none(system: Mapping[str, Any]) -> None:
    """As many requests as ever are pending, all over the device: each comes to its turn."""
    session = _opened(system)
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
