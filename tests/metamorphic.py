"""Helpers of the metamorphic checks: random scenarios with traces of round times, their logs, and scaling."""

from __future__ import annotations

import copy
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import random_scenarios
import sledsim
from sledsim import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Table = dict[str, Any]
Log = dict[str, np.ndarray[Any, Any]]

#: Numbers of the random scenarios of a test: 40 in `make test`, 200 in `make test-all`.
RANGES = [
    pytest.param(range(40), id="quick"),
    pytest.param(range(40, 200), id="200", marks=pytest.mark.slow),
]
#: Addresses of a trace are below this number of blocks; every catalogue device and every part of one is larger.
REACH = 16_000
#: A device with round times.
CONSTANT: Table = {"name": "simpledisk-constant", "access_ms": 0.5}


class Scene(random_scenarios.Factory):
    """Draws the parts of a scenario, and a trace."""

    def __init__(self, number: int, folder: Path) -> None:
        super().__init__(number)
        self.random = Random(f"metamorphic {number}")
        self.folder = folder

    def trace(
        self,
        count: int = 120,
        *,
        reach: int = REACH,
        blocks: int | None = None,
        gap_us: int = 4_000,
        reads: float = 0.6,
    ) -> Path:
        """Write a trace whose times are whole microseconds and even, so that they can be halved."""
        rows, time_us = [], 0
        for _ in range(count):
            time_us += 2 * self.random.randint(0, gap_us)
            size = blocks or self.random.choice([1, 2, 8, 8, 16, 64])
            lbn = self.random.randrange(0, reach - size, size)
            rows.append(f"{time_us * 1000},0,{lbn * 512},{size * 512},{'R' if self.random.random() < reads else 'W'}")
        path = self.folder / f"trace-{self.number}.csv"
        path.write_text("\n".join(["t_ns,device,offset_bytes,bytes,op", *rows, ""]))
        return path

    def sound(self, make: Callable[[], Table]) -> Table:
        """Draw systems until one is accepted: keys drawn one by one may contradict each other."""
        while True:
            system = make()
            try:
                sledsim.Scenario.load({"workload": {"arrival": {"kind": "closed", "outstanding": 1}}, "system": system})
            except ScenarioError:
                continue
            return system

    def plain_drive(self, names: list[str] | None = None) -> Table:
        """Draw a drive that serves requests one by one, and never spins down."""
        names = names or [*random_scenarios.MEMS, *random_scenarios.DISKS, *random_scenarios.SIMPLE]
        return {"kind": "drive", "device": self.device(names), "scheduler": self.scheduler()}


def replay(path: Path, system: Table, **keys: Any) -> Table:
    """Return a scenario that replays a trace."""
    return {"workload": {"kind": "trace", "path": str(path), **keys}, "system": system}


def log_of(document: Table) -> Log:
    """Run a scenario, and return its requests in the order of their numbers; no request may have failed."""
    result = sledsim.run(document, log=True, check=True)
    assert result.requests.failed == 0, result["run"]["note"]
    return by_number(result)


def by_number(result: sledsim.Result) -> Log:
    """Return the log of a result in the order of the requests' numbers."""
    order = np.argsort(result.log["id"])
    return {name: column[order] for name, column in result.log.items()}


def scenes(numbers: range, folder: Path) -> Iterator[Scene]:
    """Yield the scenes of these numbers, which draw random scenarios."""
    return (Scene(number, folder) for number in numbers)


def resolved(document: Table) -> Table:
    """Return a scenario with every key."""
    try:
        return sledsim.Scenario.load(document).resolve()
    except ScenarioError as error:
        raise AssertionError(f"{document}: {error}") from error


#: How a key scales with time, by the suffix of its name: the exponent of the factor.
TIMES = {
    "_ms": 1, "_us": 1, "_s": 1, "_ns": 1, "ms_per_block": 1, "mb_per_s": -1, "rate_per_s": -1, "_kbit_s": -1,
    "_m_s2": -2, "_hz": -1, "_rpm": -1,
}  # fmt: skip


def slower(value: Any, factor: float, power: int = 0, key: str = "") -> Any:
    """Return a resolved scenario, or a part of one, in which all times are multiplied by a factor.

    The suffix of a key is its unit; a distribution or curve of such a key has the same unit.

    Parameters
    ----------
    value
        The value to scale.
    factor
        How many times as long.
    power
        Of the factor, which numbers here go by.
    key
        Under which name.
    """
    for end in sorted(TIMES, key=len, reverse=True):
        if key.endswith(end):
            power = TIMES[end]
            break
    if isinstance(value, dict):
        if value.get("curve") == "table":
            return {**value, "points": [[distance, ms * factor] for distance, ms in value["points"]]}
        # The shape and the weights of a distribution are not times.
        fixed = {"scv", "shape", "weight", "k", "kind", "share", "probability"}
        return {name: each if name in fixed else slower(each, factor, power, name) for name, each in value.items()}
    if isinstance(value, list):
        return [slower(each, factor, power) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and power:
        return value * factor**power
    return copy.deepcopy(value)


def powers_scaled(value: Any, factor: float, key: str = "") -> Any:
    """Return a scenario, or a part of one, in which all powers are multiplied by a factor."""
    if isinstance(value, dict):
        return {name: powers_scaled(each, factor, name) for name, each in value.items()}
    if isinstance(value, list):
        return [powers_scaled(each, factor, key) for each in value]
    energy = key.endswith(("_mw", "_w", "_mj", "_j"))
    return value * factor if energy and isinstance(value, int | float) else value
