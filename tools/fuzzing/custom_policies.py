"""Custom policies and mechanisms: classes of each role that are correct, raise, block, or return invalid values."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

from fuzzing.invariants import require
from fuzzing.running import run_and_check

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from fuzzing.targets import Given

#: By role: the base class, and for each method its arguments and valid return values.
ROLES: dict[str, tuple[str, dict[str, tuple[str, tuple[str, ...]]]]] = {
    "scheduler": (
        "sledsim.schedulers.Policy",
        {
            "pick": (
                "now_ns, pending",
                ("0", "len(pending.id) - 1", "int(pending.lbn.argmin())", "pending.age_ns.argmax()"),
            ),
            "arrived": ("ready_ns, request", ("None",)),
            "completed": ("now_ns, request", ("None",)),
        },
    ),
    "replacement": (
        "sledsim.caches.Replacement",
        {
            "victim": (
                "key, after",
                ("0 if after is None else after + 1", "key % 8 if after is None else (after + 1) % 8"),
            ),
            "admitted": ("slot, key, evicted", ("None",)),
            "hit": ("slot, key", ("None",)),
            "removed": ("slot, key", ("None",)),
            "admits": ("key", ("True", "key % 2 == 0", "False")),
            "started": ("slots", ("None",)),
        },
    ),
    "mirror": (
        "sledsim.mirrors.CopyChoice",
        {
            "pick": ("now_ns, request, copies", ("0", "len(copies.copy) - 1", "int(copies.positioning_ns.argmin())")),
            "arrived": ("now_ns, member, access", ("None",)),
            "completed": ("now_ns, member, access", ("None",)),
        },
    ),
    "spin-down": (
        "sledsim.spin_down.SpinDown",
        {
            "after_ns": ("now_ns, mode, modes", ("None", "0", "10**7", "int(modes.wake_ns[-1])", "1e6 * mode")),
            "ended": ("now_ns, idle_ns, modes", ("None",)),
            "served": ("now_ns, request", ("None",)),
        },
    ),
    "device": (
        "sledsim.devices.Mechanism",
        {
            "positioning_ns": ("now_ns, lbn, read", ("0", "1000.5", "abs(lbn - 500)", "now_ns % 10**6")),
            "serve": ("now_ns, lbn, blocks, read", ("1000 * blocks", "0", "1e6", "10**12")),
        },
    ),
}
#: Return values that are invalid for all methods.
NONSENSE = (
    *("-1", "10**30", "float('nan')", "float('inf')", "-0.5", "1e300", "'x'", "b''", "[0]", "object()", "{}", "10**6"),
    *("type('Row', (), {'__index__': lambda self: self.nothing})()", "lambda: 0", "self", "2**63", "True", "None"),
)
#: Statements that do not return, raise, or change an argument.
MISHAPS = (
    *("raise ValueError('wrong')", "raise KeyboardInterrupt", "raise SystemExit(3)", "raise StopIteration", "1 / 0"),
    *("self.pick = self.victim = None", "del self.__class__", "self.nothing.at_all", "raise ValueError('\\ud800' * 9)"),
    *("[0] * 10**11", "import sledsim; sledsim.run('{}')", "print('<b>', end='')", "self = None", "assert False"),
    *(
        "raise BaseException",
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})",
        "exec('while True: pass')",
    ),
)
#: Class bodies: valid ones, and ones that fail.
BODIES = (
    "weight: float = 1.5",
    "positioning = False",
    "count: int = 3",
    "limit_s = 0.5",
    "weight: Nothing = 1",
    "pick = 3",
)
#: Capacities of a device, valid ones first.
CAPACITIES = ("1000", "100_000", "0", "-1", "10**30", "None", "0.5")
#: Special methods of a class that construction and copies call.
MOMENTS = ("__post_init__", "__deepcopy__", "__init__")


class CustomPolicies:
    """Classes, each in a small system that calls it."""

    def make(self, random: Random) -> Given:
        """Draw a class, and a scenario that names it."""
        role = random.choice([*ROLES])
        base, methods = ROLES[role]
        module, _, name = base.rpartition(".")
        # A short time limit for classes that wait.
        lines = [f"from {module} import {name}", f"class Mine({name}):", "    limit_s = 0.5"]
        wrong = random.choice([0.0, 0.0, 0.15, 0.5])
        lines += [f"    {body}" for body in BODIES if random.random() < wrong / 3]
        if role == "device":
            lines.append(f"    capacity_blocks = {random.choice(CAPACITIES[: None if wrong else 2])}")
        for method, (arguments, right) in methods.items():
            if len(right) > 1 or random.random() < 0.5:
                lines += _method(random, method, arguments, right, wrong)
        if random.random() < wrong / 2:
            lines += _method(random, random.choice(MOMENTS), "*_", ("None",), wrong)
        return {"role": role, "source": "\n".join(lines) + "\n", "scenario": _scenario(random, role)}

    def attempt(self, given: Given, folder: Path) -> None:
        """Run the scenario with the class; errors must name the class or a key."""
        from contextlib import chdir

        from sledsim import RunError
        from sledsim.scenario.reading import resolve

        source: str = given["source"]
        # Python imports a module once, so each class has its own module.
        module = "mine_" + hashlib.sha256(source.encode()).hexdigest()[:16]
        (folder / f"{module}.py").write_text(source)
        document = json.loads(json.dumps(given["scenario"]).replace("MODULE", module))
        try:
            with chdir(folder):
                run_and_check(resolve(document).values, again=given["role"] != "device")
        except RunError as error:
            require("Mine" in str(error) or error.path, f"an error without a place: {error}")
            raise
        finally:
            sys.modules.pop(module, None)


def _method(random: Random, name: str, arguments: str, right: tuple[str, ...], wrong: float) -> list[str]:
    """Write a method, invalid in this share of cases."""
    way = random.random()
    lines = [f"    def {name}(self, {arguments}):"]
    if way < wrong / 2:
        # In some calls only, so that it occurs during a run.
        lines += ["        self.times = getattr(self, 'times', 0) + 1"]
        lines += [f"        if self.times > {random.choice([0, 1, 20])}:", f"            {random.choice(MISHAPS)}"]
    answer = random.choice(NONSENSE if way > 1 - wrong / 2 else right)
    return [*lines, f"        return {answer}"]


def _scenario(random: Random, role: str) -> dict[str, Any]:
    """Return a small scenario with the class in the place of its role."""
    mine = {"python": "MODULE:Mine"}
    systems: dict[str, dict[str, Any]] = {
        "scheduler": {"device": "g2", "scheduler": mine},
        "replacement": {
            "kind": "ram-cache",
            "bytes": 8 * 4096,
            "policy": mine,
            "write": random.choice(["through", "back"]),
            "child": {"device": "g2"},
        },
        "mirror": {"kind": "mirror", "read": mine, "members": [{"count": 2, "device": "g2"}]},
        "spin-down": {"device": random.choice(["g2", "travelstar"]), "spin_down": mine},
        "device": {"device": mine, "scheduler": random.choice(["fcfs", "sptf"])},
    }
    workload: dict[str, Any] = {
        "arrival": {"kind": "poisson", "rate_per_s": random.choice([5.0, 300.0, 3000.0])},
        "size_bytes": {"kind": "fixed", "value": 4096.0},
        "read_fraction": 0.6,
    }
    return {"workload": workload, "system": systems[role], "run": {"requests": 60}, "seed": random.randrange(100)}
