"""Contract tests of custom and built-in policies."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import (
    RunError,
    ScenarioError,
    SledsimError,
    cache_policies,
    mechanisms,
    nearest,
    policy_title,
    schedulers,
)
from sledsim.runs.running import run_resolved
from sledsim.runs.session import Session
from sledsim.scenario.policies import CopyChoice, Mechanism, Pending, Plugin, Policy, Replacement, SpinDown
from sledsim.scenario.policy_loading import find_class, load
from sledsim.scenario.reading import resolve
from sledsim.show.faults import brief, is_one_of, make_error
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PolicyCheck", "check_policy"]

#: Systems for schedulers: a sled, batches, merged requests, a disk, and two queues at once.
QUEUES: dict[str, dict[str, Any]] = {
    "one sled": {"device": "g2"},
    "batches": {"device": "g2", "batch_max": 4},
    "merged requests": {"device": "g2", "merge": {}},
    "a disk": {"device": "atlas10k"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
}
#: Caches for replacement policies, much smaller than the accessed data.
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
#: Mirrors for copy choices: of sleds, of disks, with a copy that fails and is rebuilt, and of arrays.
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
#: Drives with idle modes for spin-down policies.
STOPPING: dict[str, dict[str, Any]] = {
    "one sled": {"device": "g2"},
    "batches": {"device": "g2", "batch_max": 4},
    "merged requests": {"device": "g2", "merge": {}},
    "a disk of several idle modes": {"device": "travelstar"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
    "a sled that waits for others": {"device": "g2", "delayed_startup": {"requests": 3, "wait_ms": 20}},
}
#: Drives for mechanisms, with few and with many calls of positioning.
DRIVES: dict[str, dict[str, Any]] = {
    "in the order of arrival": {"scheduler": "fcfs"},
    "by positioning time": {"scheduler": "sptf"},
    "batches": {"scheduler": "sptf", "batch_max": 4},
    "merged requests": {"scheduler": "clook", "merge": {}},
}
#: Number of requests of a burst, and number of bursts.
BURST, BURSTS = 60, 8
#: The starvation test keeps this number of requests pending until that number has been served.
DEPTH, SERVED = 16, 6000
#: A request is starved after this number of later services, far more than under any policy without starvation.
PASSED_OVER = 2000
#: Interarrival times of single requests, ns: from 1 ms to 8 s, repeated.
ALONE_NS = tuple(round(1e6 * 2**power) for power in range(14)) * 6
#: Blocks of each request.
BLOCKS = 8


@dataclass(frozen=True)
class Role:
    """The role of a policy.

    Parameters
    ----------
    key
        The key of a component that gives the policy.
    base
        The base class of policies with this role.
    systems
        Systems that use the policy; most tests use the first.
    waits
        True if requests wait for a decision of the policy, so that one may starve.
    apart_ns
        Time between bursts, ns: shorter or longer than the service of a burst.
    alone_ns
        Interarrival times of single requests after the bursts, ns.
    """

    key: str
    base: type[Plugin]
    systems: dict[str, dict[str, Any]]
    waits: bool = False
    apart_ns: int = 25_000_000
    alone_ns: tuple[int, ...] = ()

    def first(self, policy: Any) -> dict[str, Any]:
        """Return the first system with the policy."""
        return {**next(iter(self.systems.values())), self.key: policy}


#: The roles by name.
ROLES = {
    "scheduler": Role("scheduler", Policy, QUEUES, waits=True),
    "replacement": Role("policy", Replacement, CACHES),
    "mirror": Role("read", CopyChoice, MIRRORS),
    # The state of a device at the next arrival brackets its idle time before a stop between two of these times.
    "spin-down": Role("spin_down", SpinDown, STOPPING, apart_ns=4_000_000_000, alone_ns=ALONE_NS),
    "device": Role("device", Mechanism, DRIVES),
}


@dataclass(frozen=True)
class Verdict:
    """The result of one test.

    Parameters
    ----------
    rule
        The tested rule.
    fault
        The first violation; empty if the test passed.
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
        Its role: ``scheduler``, ``replacement``, ``mirror``, ``spin-down`` or ``device``.
    name
        The policy.
    verdicts
        The result of each test.
    """

    def __init__(self, role: str, name: str, verdicts: list[Verdict]) -> None:
        self.role = role
        self.name = name
        self.verdicts = verdicts

    @property
    def passed(self) -> bool:
        """True if all tests passed."""
        return all(verdict.passed for verdict in self.verdicts)

    def table(self) -> Table:
        """Return a table of the tests with their violations."""
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
        A class, its name ``my_module:MyPolicy``, or a policy with parameters as in a scenario.
    role
        Its role: ``scheduler``; ``replacement`` in a cache; ``mirror``, the choice of a copy for a read; ``spin-down``;
        or ``device``, a mechanism. By default, the role of the class or of the built-in policy.

    Returns
    -------
    PolicyCheck
        The result of each test, with its first violation.

    Raises
    ------
    ScenarioError
        If the policy or role does not exist, the role cannot be determined, or the parameters are invalid.

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
    # Raises errors of its name or parameters before the tests.
    resolved = resolve({"workload": {"kind": "session"}, "system": tried.first(given)})
    found = resolved.values["system"][tried.key]
    name = given if isinstance(given, str) else policy_title(found)
    rules: list[tuple[str, Callable[[], None]]] = [
        *(
            (f"serves each request once: {title}", partial(_check_services, {**system, tried.key: given}, tried))
            for title, system in tried.systems.items()
        ),
        ("repeats its decisions", partial(_check_repetition, tried.first(given), tried)),
        ("continues unchanged from a snapshot", partial(_check_snapshot, tried.first(given), tried)),
        ("survives power cuts", partial(_check_power_cuts, tried.first(given))),
    ]
    if role == "device":
        rules.append(("positioning changes nothing", partial(_check_positioning, given, tried)))
    if role == "replacement" and isinstance(found, Mapping) and "python" in found:
        rules.append(("choosing changes nothing", partial(_check_choices, tried, found)))
    if tried.waits:
        rules.append(("starves no request", partial(_check_starvation, tried.first(given))))
    return PolicyCheck(role, name, [Verdict(rule, _fault(test)) for rule, test in rules])


def _role_of(policy: "str | type | Mapping[str, Any]") -> str:
    """Return the role of a policy from its class, description or name."""
    named = policy.get("python", policy.get("name")) if isinstance(policy, Mapping) else policy
    if not isinstance(named, str | type | None):
        raise make_error(
            ScenarioError, "wrong-type", path="policy", value=brief(named)[0], allowed="a class, or a name"
        )
    kind = find_class(named) if isinstance(named, str) else named
    if isinstance(kind, type):
        found = [word for word, role in ROLES.items() if issubclass(kind, role.base)]
    else:
        lists = {"scheduler": schedulers(), "replacement": cache_policies(), "device": mechanisms()}
        found = [word for word, listed in lists.items() if any(each["name"] == named for each in listed)]
        names = [each["name"] for listed in lists.values() for each in listed]
        if isinstance(named, str) and not found and nearest(named, names):
            raise make_error(ScenarioError, "unknown-name", path="policy", value=named, known=names)
    if len(found) != 1:
        message: list[str | tuple[str]] = [
            f"the role of {named or 'a compiled function'} is unknown; give it as ",
            ("role",),
        ]
        raise make_error(ScenarioError, "missing", message, path="role", known=list(ROLES))
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
        raise _BrokenError(f"the device has {capacity_blocks} blocks; the tests need more than {BLOCKS}")
    import numpy as np

    numbers = np.arange(count, dtype=np.uint64) // np.uint64(5) * np.uint64(5) + np.arange(count, dtype=np.uint64) % 4
    return numbers * np.uint64(2_654_435_761) % np.uint64(capacity_blocks - BLOCKS)


class PositioningFcfs(Policy):
    """FCFS that gets the positioning times of all pending requests, like every policy with ``positioning = True``."""

    def pick(self, now_ns: int, pending: Pending) -> int:
        """Return the oldest request."""
        return 0


class DoubleChoice(Replacement):
    """Wraps a policy and calls it twice for each choice of a victim."""

    of: dict[str, Any]

    def __post_init__(self) -> None:
        """Load the wrapped policy."""
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
        """Call the wrapped policy twice."""
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
    """Submit bursts, followed by single requests: reads and writes of several sizes."""
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
            raise _BrokenError(f"request {done.id} completed twice")
        if not 0 <= done.id < count:
            raise _BrokenError(f"request {done.id} completed, but was not submitted")
        seen.add(done.id)
        yield done.id
    lost = sorted(set(range(count)) - seen)
    if lost:
        raise _BrokenError(f"request {lost[0]} and {len(lost) - 1} others never completed")


def _check_services(system: Mapping[str, Any], role: Role) -> None:
    session = _opened(system)
    _fill(session, role)
    list(_served(session))


#: Number and completion time (ns) of a request.
Completion = tuple[int, int]


def _completions(found: Iterable[Any]) -> list[Completion]:
    return [(done.id, done.end_ns) for done in found]


def _require_equal(found: list[Completion], expected: list[Completion], other_run: str) -> None:
    """Raise for the first difference between the completions of two runs."""
    for place, ((one, end_ns), (other, other_end_ns)) in enumerate(zip(found, expected, strict=True)):
        if one != other:
            raise _BrokenError(f"completion {place} is of request {one}, but {other_run} of request {other}")
        if end_ns != other_end_ns:
            raise _BrokenError(
                f"request {one} completed at {end_ns / 1e9:g} s, but {other_run} at {other_end_ns / 1e9:g} s"
            )


def _check_repetition(system: Mapping[str, Any], role: Role) -> None:
    """Raise if two instances share state, or an instance differs in another run."""
    first, second, alone = (_opened(system) for _ in range(3))
    for session in (first, second, alone):
        _fill(session, role)
    order: dict[str, list[Completion]] = {"first": [], "second": []}
    while first.under_way or second.under_way:
        for name, session in (("first", first), ("second", second)):
            order[name] += _completions(session.advance())
    _require_equal(order["second"], order["first"], "with a concurrent instance")
    _require_equal(_completions(alone.drain()), order["first"], "in another run")


def _check_snapshot(system: Mapping[str, Any], role: Role) -> None:
    session = _opened(system)
    _fill(session, role)
    session.advance(3 * role.apart_ns)
    snapshot = session.snapshot()
    rest = _completions(session.drain())
    _require_equal(_completions(snapshot.drain()), rest, "without a snapshot")


def _check_power_cuts(system: Mapping[str, Any]) -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 3000.0}, "read_fraction": 0.5}
    run = {"requests": 400, "power_cuts": {"random": 3}}
    scenario = {"seed": 1, "workload": workload, "system": system, "run": run}
    found = run_resolved(resolve(scenario), check=True)
    missing = found.requests.submitted - found.requests.completed - found.requests.failed
    if missing:
        raise _BrokenError(f"{missing} requests never completed")


def _check_positioning(device: Any, role: Role) -> None:
    """Raise if calls of positioning for requests that are not served next change the result."""
    # Without check=True, which would call positioning for both.
    fcfs = {"python": f"{PositioningFcfs.__module__}:{PositioningFcfs.__name__}"}
    plain, positioning = (Session({"device": device, "scheduler": scheduler}) for scheduler in ("fcfs", fcfs))
    for session in (plain, positioning):
        _fill(session, role)
    found, expected = _completions(positioning.drain()), _completions(plain.drain())
    _require_equal(found, expected, "without calls of positioning")


def _check_choices(role: Role, policy: Mapping[str, Any]) -> None:
    """Raise if a second call for each choice changes the result: caches may call it without an eviction."""
    double = {"python": f"{DoubleChoice.__module__}:{DoubleChoice.__name__}", "of": dict(policy)}
    plain, doubled = (_opened(role.first(each)) for each in (policy, double))
    for session in (plain, doubled):
        _fill(session, role)
    expected = _completions(plain.drain())
    try:
        found = _completions(doubled.drain())
    except RunError as error:
        if error.at_s is None:
            raise
        # The run with one call per choice did not fail, so that the second call is the cause.
        message = f"with two calls for each choice, the run fails at {error.at_s:g} s, with request {error.request}"
        raise _BrokenError(message) from None
    _require_equal(found, expected, "with one call for each choice")


def _check_starvation(system: Mapping[str, Any]) -> None:
    """Raise if a request is passed over too often while a constant number of requests is pending."""
    session = _opened(system)
    lbns = _scattered(session.capacity_blocks, DEPTH + SERVED)
    waiting: dict[int, int] = {}
    served = 0
    for lbn in lbns[:DEPTH]:
        waiting[session.submit(int(lbn), BLOCKS)] = served
    for lbn in lbns[DEPTH:]:
        while not (completions := session.advance()):
            pass
        for done in completions:
            del waiting[done.id]
            served += 1
        waiting[session.submit(int(lbn), BLOCKS)] = served
        oldest = min(waiting)
        if served - waiting[oldest] > PASSED_OVER:
            raise _BrokenError(
                f"request {oldest} was passed over {served - waiting[oldest]:,} times, "
                f"with at most {DEPTH} requests pending"
            )
