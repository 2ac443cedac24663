"""Sessions: a program submits requests to a system, advances its clock and receives completions."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sledsim import _core
from sledsim.runs.result import Result
from sledsim.runs.timeline import Stretch, require_powers, stretch_of
from sledsim.scenario.documents import has_key
from sledsim.scenario.models.model import Model
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, files_of, resolve, set_list
from sledsim.scenario.texts import FORMATS
from sledsim.show.arguments import argument_error, broadcast_to_requests, require_flags, require_integers
from sledsim.show.faults import is_file_name, is_there
from sledsim.show.naming import with_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Session", "files_read", "resolved_system", "scenario_of", "system_of"]

#: The workload of a session.
SESSION_WORKLOAD = {"kind": "session"}
#: The latest time, ns.
LATEST_NS = 2**63 - 1
#: Number of requests submitted before completions are collected: their state fits the processor's caches.
BATCH = 1 << 14


class Session(_core.Session):
    """A system whose requests and clock are controlled by your program.

    Submit requests, get the time of the next event, advance the time, and receive completions. Times are whole
    nanoseconds and never decrease. The result does not depend on the steps in which time advances: it equals that of a
    run with the same requests, byte for byte.

    Parameters
    ----------
    system
        A system as in a scenario: the name or file of a device or a drawing, or a table such as
        ``{"device": "g2", "scheduler": "sptf"}``. Or a complete scenario, whose workload is ignored, like its ``run``
        except for the warm-up.
    overrides
        Values that replace those of the system: ``["device.settle_constants=0"]`` or a dictionary.
    log
        True to record each request for ``session.result().log``.
    timeline
        True to record the states of each mechanism for ``session.result().timeline``, as in :func:`sledsim.run`.
    check
        True to check the invariants of the simulator, as in :func:`sledsim.run`.

    Raises
    ------
    ScenarioError
        If the system is invalid.

    Examples
    --------
    >>> session = Session({"device": "g2", "scheduler": "sptf"})
    >>> number = session.submit(1_000, 8)
    >>> while session.under_way:
    ...     for completion in session.advance():
    ...         print(completion.id == number, completion.status, completion.response_ns < 10_000_000)
    True served True
    >>> later = session.now_ns + 5_000_000
    >>> session.serve([0, 5_000_000, 300], 8, at_ns=later)["served"].tolist()
    [True, True, True]
    """

    _resolved: Resolved
    _logged: bool
    _timed: bool

    def __new__(
        cls,
        system: ScenarioLike | Model,
        *,
        overrides: Sets = (),
        log: bool = False,
        timeline: Stretch = False,
        check: bool = False,
    ) -> Self:
        """Create a session in its initial state."""
        resolved = resolved_system(system, overrides)
        stretch = stretch_of(timeline)
        if stretch:
            require_powers(resolved)
        session = super().__new__(cls, resolved, log=log, timeline=stretch, check=check)
        session._resolved, session._logged, session._timed = resolved, log, stretch is not None
        return session

    def __init__(self, *_: Any, **__: Any) -> None:
        """Ignore the arguments, which :meth:`__new__` uses."""

    def submit_all(
        self,
        lbns: Any,
        blocks: Any = 1,
        *,
        read: Any = True,
        fua: Any = False,
        flush: Any = False,
        at_ns: Any = None,
    ) -> None:
        """Submit many requests without advancing the time.

        Parameters
        ----------
        lbns, blocks, read, fua, flush, at_ns
            As for :meth:`serve`.

        Raises
        ------
        SledsimError
            If a value is invalid: the error names its index; or if times decrease or are before :attr:`now_ns`.
        """
        self._submit_all(*self._rows(lbns, blocks, read, fua, flush, at_ns))

    def serve(
        self,
        lbns: Any,
        blocks: Any = 1,
        *,
        read: Any = True,
        fua: Any = False,
        flush: Any = False,
        at_ns: Any = None,
        until_ns: int | None = None,
    ) -> "dict[str, NDArray[np.generic]]":
        """Submit many requests, and advance the time until all complete.

        Each argument is one value for all requests, or a list, an array of any numeric type, or a Series of pandas or
        polars, with a value for each request.

        Parameters
        ----------
        lbns
            First block of each request.
        blocks
            Number of blocks of each request.
        read
            True for reads, false for writes.
        fua
            True for writes with forced unit access, which complete when the data are on the medium.
        flush
            True for flushes; their block, number of blocks and ``read`` are ignored.
        at_ns
            Arrival times, not decreasing; by default, the current time.
        until_ns
            Advance the time only until then; requests that have not completed remain outstanding.

        Returns
        -------
        dict
            NumPy columns with a row for each completed request, in order of completion: ``id``, ``arrival_ns``,
            ``start_ns``, ``end_ns``, ``served`` and ``energy_j``. Requests submitted before are included if they
            complete.

        Raises
        ------
        SledsimError
            If a value is invalid: the error names its index; or if times decrease or are before :attr:`now_ns`.
        """
        served = self._serve_one(lbns, blocks, read, fua, flush, at_ns, until_ns)
        if served is not None:
            return served
        rows = self._rows(lbns, blocks, read, fua, flush, at_ns)
        first, _, _, arrivals = rows
        if until_ns is not None or first.size <= BATCH or (arrivals[1:] < arrivals[:-1]).any():
            self._submit_all(*rows)
            return self.advance_all(until_ns)
        return self._serve_in_batches(rows)

    def _rows(
        self, lbns: Any, blocks: Any, read: Any, fua: Any, flush: Any, at_ns: Any
    ) -> "tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint64]]":
        """Return requests in the format of the core: first blocks, numbers of blocks, operations, arrivals."""
        import numpy as np

        first = np.atleast_1d(require_integers("lbns", lbns, 0, LATEST_NS)).astype(np.uint64)
        if first.ndim > 1:
            raise argument_error("lbns.shape", first.shape, "one row")
        arrival = require_integers("at_ns", self.now_ns if at_ns is None else at_ns, 0, LATEST_NS).astype(np.uint64)
        count = require_integers("blocks", blocks, 0, 2**32 - 1).astype(np.uint32)
        reads, forced, flushes = (
            broadcast_to_requests(name, require_flags(name, given), first.size)
            for name, given in (("read", read), ("fua", fua), ("flush", flush))
        )
        if (needless := reads & forced & ~flushes).any():
            raise argument_error("fua", True, "a write, with read = False", index=(int(needless.argmax()),))
        ops = np.where(flushes, 2, np.where(forced, 3, ~reads)).astype(np.uint8)
        counts = broadcast_to_requests("blocks", count, first.size)
        return first, counts, ops, broadcast_to_requests("at_ns", arrival, first.size)

    def _serve_in_batches(self, rows: "tuple[NDArray[Any], ...]") -> "dict[str, NDArray[np.generic]]":
        """Submit many requests in batches, and advance the time until all complete."""
        import numpy as np

        completions = []
        size, arrivals = rows[0].size, rows[-1]
        for start in range(0, size, BATCH):
            end = start + BATCH
            self._submit_all(*(column[start:end] for column in rows))
            # Before the next arrivals, the system has the state as if all requests had been submitted at once.
            if end < size and (before := int(arrivals[end]) - 1) > self.now_ns:
                completions.append(self.advance_all(before))
        completions.append(self.advance_all())
        return {name: np.concatenate([part[name] for part in completions]) for name in completions[0]}

    def snapshot(self) -> Self:
        """Return an independent session with the same state."""
        copy = _core.Session.__new__(type(self), self)
        copy._resolved, copy._logged, copy._timed = self._resolved, self._logged, self._timed
        return copy

    def restore(self, snapshot: _core.Session) -> None:
        """Set the state of this session to that of another session of the same system.

        Parameters
        ----------
        snapshot
            The other session, which does not change.

        Raises
        ------
        SledsimError
            If it is not a session, or a session of another system; this session then does not change.
        """
        if snapshot is self:
            return
        if not isinstance(snapshot, Session):
            raise argument_error("snapshot", snapshot, "a session, as its method snapshot returns it")
        super().restore(snapshot)
        self._resolved, self._logged, self._timed = snapshot._resolved, snapshot._logged, snapshot._timed

    def result(self) -> Result:
        """Return the result of a run with the same requests that ends now; the session can continue."""
        output = self.output()
        summary = output.summary()
        summary["scenario"] = self._resolved.values
        return Result(summary, output, logged=self._logged, timed=self._timed)

    def __repr__(self) -> str:
        return f"<Session at {self.now_ns / 1e9:.9g} s: {with_count(self.under_way, 'request')} under way>"


def scenario_of(system: ScenarioLike | Model) -> ScenarioLike:
    """Return a scenario with a system and the workload of a session.

    Parameters
    ----------
    system
        As for :class:`Session`.
    """
    values = system.to_dict() if isinstance(system, Model) else system
    if isinstance(values, str | Path) and _is_device(values):
        values = {"device": str(values)}
    if not isinstance(values, Mapping):
        return values
    scenario = dict(values) if "system" in values else {"system": dict(values)}
    return {**scenario, "workload": SESSION_WORKLOAD}


def _is_device(name: str | Path) -> bool:
    """Return true for the name of a device, and for a file with a device or a drawing."""
    text = str(name)
    if "\n" in text or text == "-":
        return False
    if Path(name).suffix not in FORMATS:
        return isinstance(name, str)
    try:
        return not any(has_key(Path(name), key) for key in ("system", "workload", "device", "run"))
    except _core.SledsimError:
        # The error is reported when the file is read as a scenario.
        return False


def resolved_system(system: ScenarioLike | Model, sets: Sets = ()) -> Resolved:
    """Return the resolved scenario of a system with the workload of a session.

    Parameters
    ----------
    system
        As for :class:`Session`.
    sets
        Values that replace those of the system.
    """
    return resolve(scenario_of(system), [*set_list(sets), 'workload={kind="session"}'])


def files_read(system: ScenarioLike | Model, sets: Sets = ()) -> list[Path]:
    """Return the files that a scenario names, including those of its workload.

    Parameters
    ----------
    system
        As for :class:`Session`.
    sets
        Values that replace those of the scenario.
    """
    try:
        return files_of(resolve(scenario_of(system), sets))
    except _core.SledsimError:
        # A system without a workload, or with an invalid one.
        return files_of(resolved_system(system, sets))


def system_of(word: str) -> str | Path:
    """Return the system given by an argument of the command line: a file, or the name of a device.

    Parameters
    ----------
    word
        The argument; ``-`` is standard input.
    """
    path = Path(word)
    # An argument that is not UTF-8 text is a file name; an empty one is not the current folder.
    return path if word and (is_file_name(path) or is_there(path) or not _is_text(word)) else word


def _is_text(word: str) -> bool:
    try:
        return bool(word.encode())
    except UnicodeEncodeError:
        return False
