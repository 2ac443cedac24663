"""Stand-ins used by claims and figures: published statistics of the trace, and a hash of the definition."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sledsim.show import Table
from sledsim.workloads import WorkloadEntry, catalog
from sledsim_papers.harness.reproduction import Reproduction

__all__ = ["StandIn", "stand_ins"]

#: Digits of the hash of a definition.
DIGITS = 16


@dataclass(frozen=True)
class StandIn:
    """A stand-in of the catalogue.

    Parameters
    ----------
    name
        Name of the catalogue entry.
    entry
        The entry.
    """

    name: str
    entry: WorkloadEntry

    @property
    def definition(self) -> str:
        """Hash of all values that determine its requests."""
        made = {key: value["value"] for key, value in self.entry.values.items()} | {"requests": self.entry.requests}
        return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:DIGITS]

    @property
    def matched(self) -> int:
        """Number of published statistics that it matches."""
        return sum(each["matched"] for each in self.entry.statistics)

    @property
    def fitted_to(self) -> Table:
        """Table of the published statistics with their sources and the values of the stand-in."""
        return self.entry.tables()[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
        The outcomes.
    paper
        Name of a paper; all papers if not given.
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
