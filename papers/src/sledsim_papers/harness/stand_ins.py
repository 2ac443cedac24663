"""The stand-ins that claims and figures rest on: what each was fitted to, and which definition of it was run."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sledsim.show import Table
from sledsim.workloads import WorkloadEntry, catalog
from sledsim_papers.harness.reproduction import Reproduction

__all__ = ["StandIn", "stand_ins"]

#: Digits of a hash that tell one definition from another.
DIGITS = 16


@dataclass(frozen=True)
class StandIn:
    """A stand-in of the catalogue, and which of its definitions was run.

    Parameters
    ----------
    name
        Entry of the catalogue.
    entry
        What it says.
    """

    name: str
    entry: WorkloadEntry

    @property
    def definition(self) -> str:
        """A hash of all that decides its requests: another one is another generator."""
        made = {key: value["value"] for key, value in self.entry.values.items()} | {"requests": self.entry.requests}
        return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:DIGITS]

    @property
    def matched(self) -> int:
        """How many of the published statistics it reaches."""
        return sum(each["matched"] for each in self.entry.statistics)

    @property
    def fitted_to(self) -> Table:
        """What is published of the trace, where, and what this reaches."""
        return self.entry.tables()[0]

    def to_dict(self) -> dict[str, Any]:
        """Return what it is as plain values for JSON."""
        return {
            "name": self.name,
            "stands_in_for": self.entry.stands_in_for,
            "definition": self.definition,
            "matched": self.matched,
            "fitted_to": [dict(each) for each in self.entry.statistics],
        }


def stand_ins(found: Reproduction, paper: str | None = None) -> list[StandIn]:
    """Return the stand-ins that were run, by name.

    Parameters
    ----------
    found
        What came of the claims.
    paper
        For which paper; for all if not given.
    """
    run: list[Mapping[str, Any]] = []
    for answer in found.answers:
        if answer.finding and paper in {None, answer.claim.paper}:
            run += answer.finding.scenarios
    for redrawn in found.redrawn:
        if redrawn.drawn and paper in {None, redrawn.picture.paper}:
            run += redrawn.drawn.scenarios
    entries = catalog()
    return [StandIn(name, entries[name]) for name in sorted({*_named(run)} & {*entries})]


def _named(scenarios: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the names of workloads."""
    for scenario in scenarios:
        workload = scenario.get("workload")
        name = workload.get("name") if isinstance(workload, Mapping) else workload
        if name:
            yield str(name)
