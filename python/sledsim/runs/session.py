"""Drives a system from a program: requests in, completions out, on the program's clock."""

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

#: What stands in the place of a workload.
FROM_OUTSIDE = {"kind": "session"}
#: The latest time, ns.
LATEST_NS = 2**63 - 1
#: So many requests are handed in before what came back is taken: what is kept meanwhile fits into a processor's caches.
AT_ONCE = 1 << 14


class Session(_core.Session):
    """A system whose requests and whose clock come from your program.

    Hand in requests, ask when something happens next, let time pass, and take what came back. Time is counted in whole
    nanoseconds and never runs back. However it is cut into steps, what comes out is what a run with the same requests
    gives, byte for byte.

    Parameters
    ----------
    system
        A system, as a scenario has it: the name or file of a device or a drawing, or a table such as
        ``{"device": "g2", "scheduler": "sptf"}``. Or a whole scenario: its workload is left out, and of its ``run``
        only the warm-up counts.
    overrides
        Values that replace those given: ``["device.settle_constants=0"]`` or a dictionary.
    log
        True to keep a row per request for ``session.result().log``.
    timeline
        True to keep what each mechanism did for ``session.result().timeline``, as in :func:`sledsim.run`.
    check
        True if the simulator checks its own rules on the way.

    Raises
    ------
    ScenarioError
        Where the system is wrong.

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
        """Open a session to which nothing has happened yet."""
        resolved = resolved_system(system, overrides)
        stretch = stretch_of(timeline)
        if stretch:
            require_powers(resolved)
        session = super().__new__(cls, resolved, log=log, timeline=stretch, check=check)
        session._resolved, session._logged, session._timed = resolved, log, stretch is not None
        return session

    def __init__(self, *_: Any, **__: Any) -> None:
        """Everything has been done."""

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
        """Hand in many requests at once, without letting time pass.

        Parameters
        ----------
        lbns, blocks, read, fua, flush, at_ns
            As for :meth:`serve`.

        Raises
        ------
        SledsimError
            A value is wrong: the error names its index. Times decrease, or are before :attr:`now_ns`.
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
        """Hand in many requests at once, and let time pass until all have come back.

        Each argument is a value for all requests, or a list, an array of any type of numbers, or a Series of pandas or
        polars, with a value for each request.

        Parameters
        ----------
        lbns
            First block of each request.
        blocks
            Blocks of each request, or of all.
        read
            True if each of them, or all, are read; written otherwise.
        fua
            True if each of them, or all, are writes with forced unit access, which come back when the medium has them.
        flush
            True if each of them, or all, are flushes, whose block, number of blocks and ``read`` mean nothing.
        at_ns
            When each arrives, in rising order; one number for all, now if none is given.
        until_ns
            Let time pass only until then; what has not come back by then stays under way.

        Returns
        -------
        dict
            NumPy columns, a row for each request that came back, in that order: ``id``, ``arrival_ns``, ``start_ns``,
            ``end_ns``, ``served`` and ``energy_j``. Those handed in before that come back meanwhile are among them.

        Raises
        ------
        SledsimError
            A value is wrong: the error names its index. Times decrease, or are before :attr:`now_ns`.
        """
        served = self._serve_one(lbns, blocks, read, fua, flush, at_ns, until_ns)
        if served is not None:
            return served
        rows = self._rows(lbns, blocks, read, fua, flush, at_ns)
        first, _, _, arrivals = rows
        if until_ns is not None or first.size <= AT_ONCE or (arrivals[1:] < arrivals[:-1]).any():
            self._submit_all(*rows)
            return self.advance_all(until_ns)
        return self._served(rows)

    def _rows(
        self, lbns: Any, blocks: Any, read: Any, fua: Any, flush: Any, at_ns: Any
    ) -> "tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint64]]":
        """Return requests as the core takes them: first blocks, numbers of blocks, operations, arrivals."""
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

    def _served(self, rows: "tuple[NDArray[Any], ...]") -> "dict[str, NDArray[np.generic]]":
        """Hand in many requests, some at a time, and let time pass until all have come back."""
        import numpy as np

        back = []
        size, arrivals = rows[0].size, rows[-1]
        for start in range(0, size, AT_ONCE):
            behind = start + AT_ONCE
            self._submit_all(*(column[start:behind] for column in rows))
            # Before the next arrivals, the system has the state as if all requests had been submitted at once.
            if behind < size and (before := int(arrivals[behind]) - 1) > self.now_ns:
                back.append(self.advance_all(before))
        back.append(self.advance_all())
        return {name: np.concatenate([part[name] for part in back]) for name in back[0]}

    def snapshot(self) -> Self:
        """Return a session that stands where this one does, and goes its own way from there."""
        copy = _core.Session.__new__(type(self), self)
        copy._resolved, copy._logged, copy._timed = self._resolved, self._logged, self._timed
        return copy

    def restore(self, snapshot: _core.Session) -> None:
        """Go back, or on, to where another session of the same system stands.

        Parameters
        ----------
        snapshot
            That session; it stays where it is.

        Raises
        ------
        SledsimError
            Where it is no session, or one of another system; nothing has changed then.
        """
        if snapshot is self:
            return
        if not isinstance(snapshot, Session):
            raise argument_error("snapshot", snapshot, "a session, as its method snapshot returns it")
        super().restore(snapshot)
        self._resolved, self._logged, self._timed = snapshot._resolved, snapshot._logged, snapshot._timed

    def result(self) -> Result:
        """Return what a run that had gone like this session, and ended now, would have found; the session may go on."""
        output = self.output()
        summary = output.summary()
        summary["scenario"] = self._resolved.values
        return Result(summary, output, logged=self._logged, timed=self._timed)

    def __repr__(self) -> str:
        return f"<Session at {self.now_ns / 1e9:.9g} s: {with_count(self.under_way, 'request')} under way>"


def scenario_of(system: ScenarioLike | Model) -> ScenarioLike:
    """Return a scenario with a system, whose requests come from outside.

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
    return {**scenario, "workload": FROM_OUTSIDE}


def _is_device(name: str | Path) -> bool:
    """Return true for the name of a device, and for a file with a device or a drawing instead of a scenario."""
    text = str(name)
    if "\n" in text or text == "-":
        return False
    if Path(name).suffix not in FORMATS:
        return isinstance(name, str)
    try:
        return not any(has_key(Path(name), key) for key in ("system", "workload", "device", "run"))
    except _core.SledsimError:
        # Reading it as a scenario says what is wrong.
        return False


def resolved_system(system: ScenarioLike | Model, sets: Sets = ()) -> Resolved:
    """Return the resolved scenario of a system whose requests come from outside, whatever workload it has.

    Parameters
    ----------
    system
        As for :class:`Session`.
    sets
        Values that replace those given.
    """
    return resolve(scenario_of(system), [*set_list(sets), 'workload={kind="session"}'])


def files_read(system: ScenarioLike | Model, sets: Sets = ()) -> list[Path]:
    """Return the files that a scenario names, those of its own workload among them, if that is one.

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
        # A system without a workload, or with one that is wrong.
        return files_of(resolved_system(system, sets))


def system_of(word: str) -> str | Path:
    """Return the system that a word on a command line means: a file, or the name of a device.

    Parameters
    ----------
    word
        What was typed; ``-`` is standard input.
    """
    path = Path(word)
    # What UTF-8 cannot hold is the name of a file at most, and an empty word is not the folder that is worked in.
    return path if word and (is_file_name(path) or is_there(path) or not _is_text(word)) else word


def _is_text(word: str) -> bool:
    try:
        return bool(word.encode())
    except UnicodeEncodeError:
        return False
