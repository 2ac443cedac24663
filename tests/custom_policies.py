"""Roles of custom policies: systems, the same policies built in, as classes and in C, and classes that fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sledsim
from conftest import ROOT

EXAMPLES = ROOT / "examples"

#: A module with classes of every role that check their calls, fail, or return invalid values.
CLASSES = '''
from time import sleep

from custom_caches import Lru
from sledsim.caches import Replacement
from sledsim.devices import Mechanism
from sledsim.mirrors import CopyChoice
from sledsim.schedulers import Policy
from sledsim.spin_down import SpinDown


class Fails:
    """Mixin: returns an answer, or raises, after a number of calls."""

    calls = 0
    limit_s = 1.5

    def fails(self):
        self.calls += 1
        if self.calls <= self.after:
            return False
        if self.answer == "raise":
            raise ValueError("no idea")
        if self.answer == "exit":
            raise SystemExit(3)
        if self.answer == "hang":
            sleep(1000)
        return True


class Scheduler(Fails, Policy):
    after: int = 0
    answer: int | float | str | None = "soon"

    def pick(self, now_ns, pending):
        return self.answer if self.fails() else 0


class Cache(Fails, Lru):
    after: int = 0
    answer: int | float | str | None = "soon"

    def victim(self, key, after):
        return self.answer if self.fails() else super().victim(key, after)


class Mirror(Fails, CopyChoice):
    after: int = 0
    answer: int | float | str | None = "soon"

    def pick(self, now_ns, request, copies):
        return self.answer if self.fails() else 0


class Stops(Fails, SpinDown):
    after: int = 0
    answer: int | float | str | None = "soon"

    def after_ns(self, now_ns, mode, modes):
        return self.answer if self.fails() else 0


class Device(Fails, Mechanism):
    after: int = 0
    answer: int | float | str | None = "soon"
    capacity_blocks = 6_750_000

    def positioning_ns(self, now_ns, lbn, read):
        return 1000

    def serve(self, now_ns, lbn, blocks, read):
        return self.answer if self.fails() else 5_000_000


class Positions(Device):
    def positioning_ns(self, now_ns, lbn, read):
        return self.answer if self.calls >= self.after and self.fails() else 1000.0

    def serve(self, now_ns, lbn, blocks, read):
        self.calls += 1
        return 5_000_000


class ArrivalFails(Policy):
    def arrived(self, ready_ns, request):
        if request.id == 50:
            raise KeyError("enough")

    def pick(self, now_ns, pending):
        return 0


class CompletionFails(ArrivalFails):
    def arrived(self, ready_ns, request):
        pass

    def completed(self, now_ns, request):
        if request.id == 50:
            raise KeyError("enough")


class MirrorCompletionFails(CopyChoice):
    def completed(self, now_ns, member, access):
        raise KeyError("enough")

    def pick(self, now_ns, request, copies):
        return 0


class IdleEndFails(SpinDown):
    def ended(self, now_ns, idle_ns, modes):
        raise KeyError("enough")

    def after_ns(self, now_ns, mode, modes):
        return 0


class CountsRequests(Policy):
    positioning = False

    def __post_init__(self):
        self.there, self.last_ns = {}, 0

    def arrived(self, ready_ns, request):
        assert request.id not in self.there
        assert request.arrival_ns <= ready_ns
        self.there[request.id] = (request.lbn, request.blocks, request.read, ready_ns)

    def pick(self, now_ns, pending):
        assert now_ns >= self.last_ns
        self.last_ns = now_ns
        assert len(pending.positioning_ns) == 0
        for row in range(len(pending)):
            lbn, blocks, read, ready_ns = self.there[pending.id[row]]
            assert (lbn, blocks, read) == (pending.lbn[row], pending.blocks[row], pending.read[row])
            assert pending.age_ns[row] == now_ns - ready_ns
        assert list(pending.id) == sorted(pending.id)
        return 0

    def completed(self, now_ns, request):
        assert now_ns >= self.last_ns
        del self.there[request.id]
        assert len(self.there) < 400


class CountsAccesses(CopyChoice):
    def __post_init__(self):
        self.there = {}

    def arrived(self, now_ns, member, access):
        self.there[member] = self.there.get(member, 0) + 1

    def completed(self, now_ns, member, access):
        self.there[member] -= 1

    def pick(self, now_ns, request, copies):
        assert request.read
        assert [self.there.get(member, 0) for member in copies.member.tolist()] == copies.pending.tolist()
        return 0


class CountsIdleTimes(SpinDown):
    def __post_init__(self):
        self.free_ns = 0

    def served(self, now_ns, request):
        assert now_ns >= self.free_ns
        self.free_ns = now_ns

    def ended(self, now_ns, idle_ns, modes):
        assert 0 < idle_ns <= now_ns - self.free_ns

    def after_ns(self, now_ns, mode, modes):
        assert now_ns == self.free_ns
        assert 0 < mode < len(modes) == len(modes.names) == len(modes.power_w)
        return None


class Learns(SpinDown):
    last_ns = 0

    def ended(self, now_ns, idle_ns, modes):
        self.last_ns = idle_ns

    def after_ns(self, now_ns, mode, modes):
        if mode < len(modes) - 1:
            after_ns = int(modes.after_ns[mode])
            return None if after_ns < 0 else after_ns
        return int(modes.wake_w[mode] * float(modes.wake_ns[mode]) / modes.power_w[0] + float(self.last_ns // 2))
'''

POISSON = {"kind": "poisson", "rate_per_s": 900.0}
ZIPF = {"kind": "zipf", "exponent": 1.1, "regions": 20_000}
PART = {"kind": "partition", "bytes": 16 << 20, "child": {"device": "g2"}}
POWER = {
    "active_read_w": 3.0,
    "active_write_w": 3.5,
    "seek_w": 2.0,
    "idle_modes": [
        {"name": "ready", "power_w": 1.0},
        {"name": "off", "power_w": 0.1, "after_s": 0.004, "wake_ms": 2.5, "wake_w": 4.0},
    ],
}
LINEAR = {"capacity_blocks": 6_750_000, "nearest_ms": 0.1, "farthest_ms": 2.0}
SLED = {
    "columns": 2500,
    "column_blocks": 2700,
    "width_um": 100.0,
    "length_um": 100.0,
    "acceleration_m_s2": 800.0,
    "settle_ms": 0.2,
    "block_us": 130.0,
}


@dataclass(frozen=True)
class Same:
    """The same policy three times: built-in or as a class, and as a class or in C with its further keys."""

    expected: Any
    python: str
    symbol: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Role:
    """A role: the key of the policy, systems with their arrivals per second, and policies that exist more than once.

    `failing` is the class of `CLASSES` that fails in `method`, `invalid` an invalid answer, `expects` its message.
    `varied` is a class with a parameter that changes results, with two values.
    """

    key: str
    example: str
    systems: dict[str, tuple[dict[str, Any], float]]
    same: tuple[Same, ...]
    failing: str
    method: str
    invalid: Any
    expects: str
    varied: tuple[str, str, tuple[float, float]]

    def scenario(self, policy: object, system: str | None = None, **run: Any) -> dict[str, Any]:
        """Return a scenario with a policy, in the first system unless another one is named."""
        found, rate_per_s = self.systems[system or next(iter(self.systems))]
        arrival = {"kind": "poisson", "rate_per_s": rate_per_s}
        if rate_per_s == 0:
            arrival = {"kind": "closed", "outstanding": 24}
        workload: dict[str, Any] = {"arrival": arrival, "read_fraction": 0.6}
        if self.key == "policy":
            workload["location"] = ZIPF
        return {"seed": 5, "workload": workload, "system": {**found, self.key: policy}, "run": {"requests": 300, **run}}

    @property
    def path(self) -> str:
        """Return the policy's path in a scenario."""
        return f"system.{self.key}"


ROLES = {
    "scheduler": Role(
        key="scheduler",
        example="custom_schedulers",
        systems={
            "a sled": ({"device": "g2"}, 900.0),
            "two sleds, closed": ({"device": {"name": "g2", "sleds": 2}}, 0),
            "batches": ({"device": "g1", "batch_max": 8}, 8000.0),
            "merging": ({"device": "g3", "merge": {}}, 8000.0),
            "a disk": ({"device": "atlas10k"}, 0),
            "a disk with a queue of its own": ({"device": "cheetah9LP"}, 900.0),
            "constant": ({"device": "simpledisk-constant"}, 900.0),
            "delayed": (
                {"device": "g2", "spin_down": "immediate", "delayed_startup": {"requests": 4, "wait_ms": 20}},
                900.0,
            ),
        },
        same=(
            Same("fcfs", "Fcfs", "fcfs", {"positioning": False}),
            Same("clook", "Clook", "clook", {"positioning": False, "state_bytes": 8}),
            Same("sptf", "Sptf", "sptf"),
            Same({"name": "asptf", "weight": 0.01}, "AgedSptf", "aged", {"weight": 0.01, "seven": 7}, {"weight": 0.01}),
        ),
        failing="Scheduler",
        method="pick",
        invalid=-1,
        expects="returned -1: expected a whole number",
        varied=("AgedSptf", "weight", (0.0, 1.0)),
    ),
    "replacement": Role(
        key="policy",
        example="custom_caches",
        systems={
            "through": ({"kind": "ram-cache", "bytes": 300 * 4096, "write": "through", "child": "g2"}, 250.0),
            "back": ({"kind": "ram-cache", "bytes": 400 * 4096, "child": {"device": "g2", "scheduler": "sptf"}}, 250.0),
            "mcd": (
                {"kind": "mcd", "mems_bytes": 4 << 20, "mems": "g2", "disk": "atlas10k", "flush": {"idle_ms": 5.0}},
                250.0,
            ),
        },
        same=(
            Same("lru", "Lru", "lru", {"state_bytes": 8, "slot_bytes": 16}),
            Same("arc", "Arc"),
        ),
        failing="Cache",
        method="victim",
        invalid=99_999,
        expects="returned 99999: expected a slot from 0 to 299",
        varied=("", "", (0, 0)),
    ),
    "mirror": Role(
        key="read",
        example="custom_mirrors",
        systems={
            "sleds": (
                {"kind": "mirror", "members": [{"count": 3, "system": {"device": "g2", "scheduler": "sptf"}}]},
                900.0,
            ),
            "disks": ({"kind": "mirror", "members": ["atlas10k", {"device": "cheetah9LP"}]}, 900.0),
            "arrays": (
                {"kind": "mirror", "members": [{"count": 2, "system": {"kind": "stripe", "members": ["g1", "g1"]}}]},
                900.0,
            ),
            "failing": (
                {
                    "kind": "mirror",
                    "members": [{"count": 3, "system": PART}],
                    "spares": 1,
                    "faults": [
                        {"member": 1, "fails_at_s": 0.1},
                        {"member": 0, "unreadable": [{"lbn": 0, "blocks": 9000}]},
                    ],
                },
                900.0,
            ),
        },
        same=(
            Same("round-robin", "RoundRobin", "round_robin", {"positioning": False, "state_bytes": 8}),
            Same("shortest-queue", "ShortestQueue", "shortest_queue", {"state_bytes": 8}),
            Same("nearest", "Nearest", "nearest", {"state_bytes": 8}),
        ),
        failing="Mirror",
        method="pick",
        invalid=3,
        expects="returned 3: expected a whole number from 0 to 2",
        varied=("", "", (0, 0)),
    ),
    "spin-down": Role(
        key="spin_down",
        example="custom_spin_down",
        systems={
            "a sled": ({"device": "g2"}, 100.0),
            "tips that go on": ({"device": {"name": "g2", "idle_tips": "last-access"}, "scheduler": "sptf"}, 50.0),
            "two sleds, batches": ({"device": {"name": "g3", "sleds": 2}, "batch_max": 4}, 200.0),
            "a disk": ({"device": "travelstar"}, 0.3),
            "delayed": ({"device": "g2", "delayed_startup": {"requests": 3, "wait_ms": 20}, "merge": {}}, 100.0),
        },
        same=(
            Same("immediate", "Immediate", "immediate"),
            Same({"name": "timeout", "after_ms": 9.0}, "Timeout", "timeout", {"after_ms": 9.0}, {"after_ms": 9.0}),
            Same("never", "Never", "never"),
            Same("adaptive", "Adaptive"),
            Same("mine:Learns", "", "learns", {"state_bytes": 8}),
        ),
        failing="Stops",
        method="after_ns",
        invalid=-5,
        expects="returned -5: expected None or a whole number",
        varied=("Timeout", "after_ms", (1.0, 5.0)),
    ),
    "device": Role(
        key="device",
        example="custom_mechanism",
        systems={
            "fcfs": ({"scheduler": "fcfs"}, 600.0),
            "asptf, closed": ({"scheduler": "asptf"}, 0),
            "clook": ({"scheduler": "clook", "merge": {}}, 8000.0),
            "sdf": ({"scheduler": "sdf"}, 600.0),
            "batches": ({"scheduler": "sptf", "batch_max": 8}, 8000.0),
            "stopped at once": ({"scheduler": "sptf", "spin_down": "immediate"}, 600.0),
            "delayed": (
                {"scheduler": "sptf", "spin_down": "immediate", "delayed_startup": {"requests": 4, "wait_ms": 20}},
                600.0,
            ),
        },
        same=(
            Same({"name": "simpledisk-linear", "power": POWER}, "Linear", "linear", {"state_bytes": 8, **LINEAR}),
            Same("custom_mechanism:Sled", "", "sled", {"state_bytes": 16, **SLED}),
        ),
        failing="Device",
        method="serve",
        invalid=-1,
        expects="returned -1: expected nanoseconds",
        varied=("Sled", "settle_ms", (0.1, 1.0)),
    ),
}


def log_of(scenario: dict[str, Any]) -> tuple[bytes, object]:
    """Run a scenario with the contracts checked; return its log, and its energies and power cuts."""
    result = sledsim.run(scenario, log=True, check=True)
    assert result.complete
    energy = dict(result.summary["energy"] or {})
    # A device with a mechanism has a state in which data pass, if only for no time.
    energy.pop("states", None)
    log = b"".join(name.encode() + column.tobytes() for name, column in sorted(result.log.items()))
    return log, (energy, result.summary.get("power_cuts"))
