"""With how many seeds was run what something was found by."""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from sledsim.scenario import Sets
from sledsim_papers.harness.averaging import draws

__all__ = ["Tally"]


class Tally:
    """The seeds of runs, those of a figure and those of the probes beside it. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seeds: dict[str, set[int]] = {}
        self._averaged_over: dict[str, int] = {}
        self._of_probes: dict[str, bool] = {}
        self.probing = False

    def add(self, scenarios: Sequence[Mapping[str, Any]], settings: Sets, averaged_over: int) -> None:
        """Count runs that were asked for, unless nothing of them is drawn at random.

        Parameters
        ----------
        scenarios
            The same but for the seed, which is among their keys.
        settings
            Values that replace those of the scenario.
        averaged_over
            With how many seeds the like of it is made, which may be other runs: each seed may seek a rate of its own.
        """
        if draws(scenarios[0]):
            changes = dict(settings) if isinstance(settings, Mapping) else list(settings)
            apart = [{key: value for key, value in scenarios[0].items() if key != "seed"}, changes]
            name = json.dumps(apart, sort_keys=True, default=str)
            with self._lock:
                self._count(name, {each["seed"] for each in scenarios}, averaged_over, of_probes=self.probing)

    def take(self, other: "Tally") -> None:
        """Count what another has counted: runs that something shared was found by.

        Parameters
        ----------
        other
            Of that.
        """
        with self._lock:
            for name, seeds in other._seeds.items():
                of_probes = self.probing or other._of_probes[name]
                self._count(name, seeds, other._averaged_over[name], of_probes=of_probes)

    def _count(self, name: str, seeds: set[int], averaged_over: int, *, of_probes: bool) -> None:
        self._seeds.setdefault(name, set()).update(seeds)
        self._averaged_over[name] = max(averaged_over, self._averaged_over.get(name, 1))
        # What is both is of the figure.
        self._of_probes[name] = self._of_probes.get(name, True) and of_probes

    def least(self, *, of_probes: bool) -> int | None:
        """Return with how many seeds that scenario was run which has the fewest; nothing where none is random.

        Parameters
        ----------
        of_probes
            Whether of those of probes alone, or of those of the figure.
        """
        counts = [
            max(len(seeds), self._averaged_over[name])
            for name, seeds in self._seeds.items()
            if self._of_probes[name] == of_probes
        ]
        return min(counts, default=None)
