"""Preparation and execution of one run of a sweep, in a thread or on a worker."""

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

#: Hexadecimal digits of a key: 128 bits, so that keys are unique in practice.
KEY_DIGITS = 32

DONE, FAILED = "done", "failed"


class Stopped(Exception):  # noqa: N818  a requested stop is no error
    """The sweep was stopped before this run ended."""


@dataclass(frozen=True, slots=True)
class Prepared(CanFail):
    """A run that is ready for execution on any worker.

    Parameters
    ----------
    key
        Hash of the scenario, including its seed and the content of its trace, and of Sledsim's version.
    scenario
        The resolved scenario; ``None`` if it is invalid.
    faults
        Faults of an invalid scenario.
    """

    key: str
    scenario: Resolved | None
    faults: tuple[Fault, ...] = ()

    @property
    def seed(self) -> int:
        """The seed of the scenario; 0 if the scenario is invalid."""
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
        The numbers of its summary by path; ``None`` if it failed.
    faults
        Reasons of a failure.
    histograms
        By quantity, the lower and upper edges of its bins in ms and the number of requests in them.
    citations
        Sources of the values of its devices.
    started_s
        Start of the run, in seconds since 1970.
    seconds
        Duration of the run.
    place
        Machine and process of the run.
    """

    metrics: dict[str, float] | None
    faults: tuple[Fault, ...]
    histograms: dict[str, Bins]
    citations: str
    started_s: float
    seconds: float
    place: Place


def canonical(values: Any) -> str:
    """Return the canonical JSON text of values, which is the same for equal values; scenarios have their own method."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def prepare_base(base: Written, sets: Sequence[Setting]) -> Prepared:
    """Resolve a run and compute its key; a run that cannot be resolved has faults instead of a scenario.

    Parameters
    ----------
    base
        The base scenario.
    sets
        Settings that replace its values.
    """
    try:
        scenario = base.resolve(list(sets))
        return Prepared(_key(scenario.canonical(_content(scenario))), scenario)
    except SledsimError as error:
        # An invalid scenario is identified by its text, settings and faults.
        identity = canonical([base.text, list(sets), [facts_of(fault) for fault in error.faults]])
        return Prepared(_key(identity), None, error.faults)


def _key(identity: str) -> str:
    return hashlib.sha256(f"{_core.__version__}\n{identity}".encode()).hexdigest()[:KEY_DIGITS]


def _content(scenario: Resolved) -> tuple[str, str] | None:
    """Return the file name and the digest of a trace, which change with its content but not with its folder."""
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
    """Return the digests of the files whose names occur as texts in nested values.

    Parameters
    ----------
    values
        Tables, lists and texts.
    base_dir
        The folder of relative names.
    """
    found = {}
    for name in _texts(values):
        path = Path(base_dir) / name
        try:
            if path.is_file():
                stat = path.stat()
                found[name] = content_digest(str(path), stat.st_size, stat.st_mtime_ns)
        except (OSError, ValueError):
            # The text is not a valid file name.
            continue
    return found


def _texts(values: Any) -> set[str]:
    if isinstance(values, str):
        return {values}
    items = values.values() if isinstance(values, Mapping) else values if isinstance(values, list | tuple) else ()
    return {text for item in items for text in _texts(item)}


@cache
def content_digest(path: str, size: int, modified_ns: int) -> str:
    """Return the SHA-256 of a file; the result is cached by size and modification time.

    Parameters
    ----------
    path
        The file.
    size
        Size in bytes.
    modified_ns
        Modification time, ns.
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def execute(scenario: Resolved, keep_going: Callable[[], bool] | None = None) -> Outcome:
    """Run a resolved scenario; the outcome of a failed run has its faults.

    Parameters
    ----------
    scenario
        The scenario.
    keep_going
        A function called about ten times a second; the run stops when it returns false.

    Raises
    ------
    Stopped
        If the run was stopped.
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
    """Return the outcome of a run that could not start.

    Parameters
    ----------
    *faults
        The reasons.
    """
    return Outcome(None, faults, {}, "", time.time(), 0.0, _here())


@cache
def _here() -> Place:
    kind = f"{platform.system()} {platform.machine()}"
    return Place(platform.node(), os.getpid(), _core.__version__, platform.python_version(), kind)
