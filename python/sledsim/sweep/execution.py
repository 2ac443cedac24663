"""One run of a sweep: from its scenario to its summary, in a thread here or on another machine."""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.runs.running import readable
from sledsim.scenario.reading import Resolved, Setting, Written
from sledsim.show.faults import CanFail, facts_of, make_error
from sledsim.traces.table import MEMORY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Bins",
    "Outcome",
    "Prepared",
    "Stopped",
    "canonical",
    "contents_of",
    "execute",
    "not_run",
    "prepare_base",
]

#: Hexadecimal digits of a key: 128 bits, so that no two runs of anybody's share one.
KEY_DIGITS = 32

DONE, FAILED = "done", "failed"


class Stopped(Exception):  # noqa: N818  a requested stop is no error
    """The sweep ends before this run is over."""


@dataclass(frozen=True, slots=True)
class Prepared(CanFail):
    """A run ready to go anywhere.

    Parameters
    ----------
    key
        Hash of the scenario, with its seed and the content of its trace, and of Sledsim's version.
    scenario
        The scenario; ``None`` where there is none, for
    faults
        what is wrong with it.
    """

    key: str
    scenario: Resolved | None
    faults: tuple[Fault, ...] = ()

    @property
    def seed(self) -> int:
        """The scenario's seed; 0 where there is none."""
        return 0 if self.scenario is None else self.scenario.seed


@dataclass(frozen=True, slots=True)
class Place:
    """The machine and process of a run.

    Parameters
    ----------
    host
        Name of the machine.
    process
        Number of the process.
    version
        Version of Sledsim there.
    python
        Version of Python there.
    platform
        Operating system and processor.
    """

    host: str
    process: int
    version: str
    python: str
    platform: str


#: Lower and upper edges of bins, ms, and the requests in them.
Bins = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.uint64]"]


@dataclass(frozen=True, slots=True)
class Outcome(CanFail):
    """The outcome of a run.

    Parameters
    ----------
    metrics
        Every number of its summary by its path; ``None`` where it failed, for
    faults
        the reasons.
    histograms
        By quantity, the lower and the upper edges of its bins in ms and the requests in them.
    citations
        Works that the values of its devices are from.
    started_s
        When it began, in seconds since 1970.
    seconds
        How long it took.
    place
        Where it was run.
    """

    metrics: dict[str, float] | None
    faults: tuple[Fault, ...]
    histograms: dict[str, Bins]
    citations: str
    started_s: float
    seconds: float
    place: Place


def canonical(values: Any) -> str:
    """Write values as the one JSON text that all equal values have; of a scenario its own method does."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def prepare_base(base: Written, sets: Sequence[Setting]) -> Prepared:
    """Resolve a run and give it its key; where it can't be resolved, say why in its place.

    Parameters
    ----------
    base
        The base scenario.
    sets
        What replaces its values.
    """
    try:
        scenario = base.resolve(list(sets))
        return Prepared(_key(scenario.canonical(_content(scenario))), scenario)
    except SledsimError as error:
        # The scenario is known by what is wrong with it, wherever that stands: in a text that it is based on, too.
        identity = canonical([base.text, list(sets), [facts_of(fault) for fault in error.faults]])
        return Prepared(_key(identity), None, error.faults)


def _key(identity: str) -> str:
    return hashlib.sha256(f"{_core.__version__}\n{identity}".encode()).hexdigest()[:KEY_DIGITS]


def _content(scenario: Resolved) -> tuple[str, str] | None:
    """Return the name and the digest of a trace: one that changed is another, one that moved is not."""
    if scenario.trace is None:
        return None
    path = Path(scenario.trace[0])
    if str(path).startswith(MEMORY):
        # The name of a trace in memory has the hash of its content.
        return None
    try:
        stat = path.stat()
        return path.name, content_digest(str(path), stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise make_error(ScenarioError, "unreadable", f"{error.strerror}", file=path) from None


def contents_of(values: Any, base_dir: str) -> dict[str, str]:
    """Return the digests of the files that texts among values name.

    Parameters
    ----------
    values
        Tables, lists, texts.
    base_dir
        The folder from which relative names start.
    """
    found = {}
    for name in _texts(values):
        path = Path(base_dir) / name
        try:
            if path.is_file():
                stat = path.stat()
                found[name] = content_digest(str(path), stat.st_size, stat.st_mtime_ns)
        except (OSError, ValueError):
            # It could not be the name of a file.
            continue
    return found


def _texts(values: Any) -> set[str]:
    if isinstance(values, str):
        return {values}
    items = values.values() if isinstance(values, Mapping) else values if isinstance(values, list | tuple) else ()
    return {text for item in items for text in _texts(item)}


@cache
def content_digest(path: str, size: int, modified_ns: int) -> str:
    """Return the SHA-256 of a file; it is read once as long as its size and time stay.

    Parameters
    ----------
    path
        The file.
    size
        Its bytes.
    modified_ns
        When it was last written.
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def execute(scenario: Resolved, keep_going: Callable[[], bool] | None = None) -> Outcome:
    """Run a resolved scenario; where it fails, the outcome says why.

    Parameters
    ----------
    scenario
        The scenario.
    keep_going
        Asked about ten times a second.

    Raises
    ------
    Stopped
        Where the run was asked to end before it was over.
    """

    def watch(*_: object) -> None:
        if keep_going is not None and not keep_going():
            raise Stopped

    started_s, clock = time.time(), time.perf_counter()
    try:
        output = _core.run(readable(scenario), progress=watch if keep_going else None)
        cited = "; ".join(scenario.citations)
        numbers, histograms = output.numbers(), output.histograms()
    except SledsimError as error:
        return Outcome(None, error.faults, {}, "", started_s, time.perf_counter() - clock, _here())
    return Outcome(numbers, (), histograms, cited, started_s, time.perf_counter() - clock, _here())


def not_run(*faults: Fault) -> Outcome:
    """Return the outcome of a run that could not even begin.

    Parameters
    ----------
    *faults
        Why.
    """
    return Outcome(None, faults, {}, "", time.time(), 0.0, _here())


@cache
def _here() -> Place:
    kind = f"{platform.system()} {platform.machine()}"
    return Place(platform.node(), os.getpid(), _core.__version__, platform.python_version(), kind)
