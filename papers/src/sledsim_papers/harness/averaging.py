"""The mean result of runs of one scenario with several seeds."""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, hypot
from typing import TYPE_CHECKING, Any

from sledsim.runs import Result
from sledsim.show import Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SEEDS", "SEEDS_SAID", "Averaged", "draws"]

#: Seeds of a scenario that names none.
SEEDS = (1, 2, 3)
#: Text for these seeds.
SEEDS_SAID = f"seeds {SEEDS[0]} to {SEEDS[-1]}"

#: Keys of a result that describe the run and are not averaged.
SAID = ("scenario", "sledsim")
LOW, HIGH = "ci95_low", "ci95_high"


def draws(scenario: Mapping[str, Any]) -> bool:
    """Return true if a scenario uses random numbers; replaying a trace does not.

    Parameters
    ----------
    scenario
        Nested keys.
    """
    workload = scenario.get("workload")
    return not (isinstance(workload, Mapping) and workload.get("kind") == "trace")


class Averaged(Result):
    """The mean of several results under the same keys, and the requests of all runs.

    Every figure is a mean over the runs, also maxima and standard deviations. Confidence intervals are those of the
    mean of independent means.

    Parameters
    ----------
    results
        One for each seed.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        summaries = [each.summary for each in results]
        first = summaries[0]
        Section.__init__(self, {**_means(summaries), **{key: first[key] for key in SAID if key in first}})
        self._results = tuple(results)

    @property
    def log(self) -> "Joined":  # type: ignore[override]
        """The requests of all runs, one run after the other; see :attr:`sledsim.Result.log`."""
        return Joined([each.log for each in self._results])


class Joined(Mapping[str, "NDArray[np.generic]"]):
    """Columns of several logs, concatenated on access.

    Parameters
    ----------
    logs
        Logs with the same columns.
    """

    def __init__(self, logs: "Sequence[Mapping[str, NDArray[np.generic]]]") -> None:
        self._logs = logs

    def __getitem__(self, name: str) -> "NDArray[np.generic]":
        import numpy as np

        return np.concatenate([log[name] for log in self._logs])

    def __iter__(self) -> Iterator[str]:
        return iter(self._logs[0])

    def __len__(self) -> int:
        return len(self._logs[0])


def _means(sections: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means of the keys that all sections have."""
    shared = [key for key in sections[0] if all(key in each for each in sections)]
    found = {key: _mean([each[key] for each in sections]) for key in shared}
    return {key: value for key, value in found.items() if value is not ABSENT} | _intervals(sections, shared)


#: Stands for a value that cannot be averaged, such as lists of different lengths.
ABSENT = object()


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean of values; values equal in all runs are kept."""
    first = values[0]
    if all(each == first for each in values):
        return first
    if any(each is None for each in values):
        return None
    if all(isinstance(each, Mapping) for each in values):
        return _means(values)
    if all(isinstance(each, list) for each in values):
        alike = len({len(each) for each in values}) == 1
        return [_mean(parts) for parts in zip(*values, strict=True)] if alike else ABSENT
    if all(isinstance(each, int | float) for each in values):
        return fsum(values) / len(values)
    return ABSENT


def _intervals(sections: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, float | None]:
    """Return the ends of the confidence intervals of means of independent means."""
    found: dict[str, float | None] = {}
    for low_key in (key for key in keys if key.startswith(LOW)):
        high_key = low_key.replace(LOW, HIGH)
        ends = [(each[low_key], each[high_key]) for each in sections]
        if all(low is not None and high is not None for low, high in ends):
            middle = fsum(low + high for low, high in ends) / (2 * len(ends))
            half = hypot(*((high - low) / 2 for low, high in ends)) / len(ends)
            found |= {low_key: middle - half, high_key: middle + half}
    return found
