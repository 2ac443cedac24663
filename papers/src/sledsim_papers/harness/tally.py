"""Counts the seeds of the runs behind a finding."""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from sledsim.scenario import Sets
from sledsim_papers.harness.averaging import draws

__all__ = ["Tally"]


class Tally:
    """The seeds of the runs of a figure, and of its probes. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seeds: dict[str, set[int]] = {}
        self._averaged_over: dict[str, int] = {}
        self._of_probes: dict[str, bool] = {}
        self.probing = False

    def add(self, scenarios: Sequence[Mapping[str, Any]], settings: Sets, averaged_over: int) -> None:
        """Count runs of one scenario, unless nothing in it is random.

        Parameters
        ----------
        scenarios
            The scenario with each of its seeds.
        settings
            Values that replace those of the scenario.
        averaged_over
            Number of seeds of the average. It may exceed the number of scenarios if the scenario depends on the seed.
        """
        if draws(scenarios[0]):
            changes = dict(settings) if isinstance(settings, Mapping) else list(settings)
            apart = [{key: value for key, value in scenarios[0].items() if key != "seed"}, changes]
            name = json.dumps(apart, sort_keys=True, default=str)
            with self._lock:
                self._count(name, {each["seed"] for each in scenarios}, averaged_over, of_probes=self.probing)

    def take(self, other: "Tally") -> None:
        """Add the counts of another tally.

        Parameters
        ----------
        other
            The other tally.
        """
        with self._lock:
            for name, seeds in other._seeds.items():
                of_probes = self.probing or other._of_probes[name]
                self._count(name, seeds, other._averaged_over[name], of_probes=of_probes)

    def _count(self, name: str, seeds: set[int], averaged_over: int, *, of_probes: bool) -> None:
        self._seeds.setdefault(name, set()).update(seeds)
        self._averaged_over[name] = max(averaged_over, self._averaged_over.get(name, 1))
        # A run for both counts for the figure.
        self._of_probes[name] = self._of_probes.get(name, True) and of_probes

    def least(self, *, of_probes: bool) -> int | None:
        """Return the smallest number of seeds of a scenario; ``None`` if nothing is random.

        Parameters
        ----------
        of_probes
            True for scenarios of probes only, false for those of the figure.
        """
        counts = [
            max(len(seeds), self._averaged_over[name])
            for name, seeds in self._seeds.items()
            if self._of_probes[name] == of_probes
        ]
        return min(counts, default=None)
