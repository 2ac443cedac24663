"""Run one scenario."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sledsim import _core
from sledsim._core import RunError
from sledsim.runs.result import Result, provenance
from sledsim.runs.timeline import Stretch, require_powers, stretch_of
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, resolve
from sledsim.show.arguments import require_kind, require_path
from sledsim.show.faults import require_writable
from sledsim.show.files import atomic_write
from sledsim.show.frames import COPY_OPTIONS
from sledsim.show.progress import reporting
from sledsim.traces.table import MEMORY, is_parquet, parquet_table
from sledsim.traces.trace import require_file

__all__ = ["ProgressCallback", "readable", "run", "run_resolved"]

#: Called with the number of submitted requests, their total if known, the simulated time (s), and its end if known.
ProgressCallback = Callable[[int, int | None, float, float | None], None]


def run(
    scenario: ScenarioLike,
    *,
    overrides: Sets = (),
    log: bool | str | Path = False,
    timeline: Stretch = False,
    progress: ProgressCallback | bool | None = None,
    check: bool = False,
) -> Result:
    """Simulate a scenario.

    An interruption (Ctrl-C, or the notebook's stop button) ends the run early: the result then has the completed
    requests, and its ``complete`` is false.

    Parameters
    ----------
    scenario
        A :class:`~sledsim.Scenario`, a dictionary, a file (TOML, YAML or JSON), a text of several lines, or the result
        of :func:`sledsim.scenario.resolve`.
    overrides
        Values that replace those of the scenario: ``["device.settle_constants=0"]`` or ``{"run.requests": 1000}``.
    log
        True to record each request, for :attr:`Result.log`, with about 0.5 KB of memory each. Or a file with suffix
        ``.parquet``, ``.csv`` or ``.json``, which gets the same columns during the run, with about 40 MB of memory in
        all.
    timeline
        True to record the states of each mechanism over time, for :attr:`Result.timeline`; or a pair of times in
        seconds from the start of the run. More than 200,000 spans are aggregated in time slots, see
        :class:`~sledsim.runs.Timeline`.
    progress
        A function called about ten times a second, or true for a progress bar on a terminal.
    check
        True to check the invariants of the simulator during the run: requests fit their devices and complete once,
        events are in order, schedulers return pending requests, and the states of arrays and caches are consistent. It
        takes time and does not change the result.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    TraceError
        If a trace cannot be read.
    RunError
        If the run fails, as with a request beyond the device, or ``check`` finds a violation. If a custom policy is the
        cause, the error's ``result`` has the results until then.

    Examples
    --------
    >>> arrival = {"kind": "poisson", "rate_per_s": 500.0}
    >>> scenario = {"workload": {"arrival": arrival}, "system": {"device": "g2"}}
    >>> result = run(scenario, overrides={"run.requests": 1000, "scheduler": "sptf"})
    >>> result.requests.completed
    1000
    >>> result.response.mean_ms > result.service.mean_ms
    True
    """
    return run_resolved(resolve(scenario, overrides), log=log, timeline=timeline, progress=progress, check=check)


def run_resolved(
    resolved: Resolved,
    *,
    log: bool | str | Path = False,
    timeline: Stretch = False,
    progress: ProgressCallback | bool | None = None,
    check: bool = False,
) -> Result:
    """Simulate a resolved scenario; see :func:`run`."""
    require_kind(RunError, "resolved", resolved, Resolved, "a resolved scenario")
    stretch = stretch_of(timeline)
    if stretch:
        require_powers(resolved)
    bar = reporting(progress)
    scenario = readable(resolved)
    logged, failed = log is True, None
    with _log_file(log, resolved) as file, bar as report:
        try:
            output = _core.run(scenario, log=logged, log_file=file, timeline=stretch, progress=report, check=check)
        except RunError as error:
            if not isinstance(error.result, _core.RunOutput):
                raise
            output, failed = error.result, error
    summary = output.summary()
    summary["scenario"] = resolved.values
    result = Result(summary, output, logged=logged, timed=stretch is not None)
    if failed is not None:
        failed.result = result
        raise failed
    return result


# The path of a file for the log of a run, its name in messages, its format and the metadata of a Parquet file.
_LogFile = tuple[Path, str, str, list[tuple[str, str]]]


@contextmanager
def _log_file(log: bool | str | Path, resolved: Resolved) -> Iterator[_LogFile | None]:
    """Yield the file of a log while it is written; ``None`` for no file."""
    if isinstance(log, bool):
        yield None
        return
    path = require_path(RunError, "log", log)
    require_writable(RunError, path, COPY_OPTIONS)
    metadata = provenance(_core.__version__, resolved.values)
    with atomic_write(path) as unfinished:
        yield unfinished, str(path), path.suffix.lower()[1:], list(metadata.items())


def readable(resolved: Resolved) -> Resolved:
    """Return the scenario with a Parquet trace read into memory, as the core cannot read Parquet files.

    Parameters
    ----------
    resolved
        The scenario.

    Raises
    ------
    TraceError
        If the file does not exist, or is a Parquet file that cannot be read.
    """
    if resolved.trace is None or resolved.table is not None:
        return resolved
    path, columns = resolved.trace
    if str(path).startswith(MEMORY):
        # The core reports a trace that is no longer in memory.
        return resolved
    require_file(path)
    return resolved.with_table(*parquet_table(path, columns)) if is_parquet(path) else resolved
