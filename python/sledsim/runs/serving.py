"""Serving a system as a network block device: real programs as its workload."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim.runs.result import Result
from sledsim.runs.session import files_read, resolved_system
from sledsim.scenario.reading import ScenarioLike, Sets, set_list
from sledsim.scenario.texts import is_document, no_name, no_text
from sledsim.show.faults import brief, make_error, require_apart, with_facts
from sledsim.show.shown import Plain, Tabled
from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    from sledsim.scenario.models.model import Model

__all__ = ["Served", "serve"]

#: How much slower than the machine's a device's clock may run.
MOST_DILATION = 1000.0
#: What counts of a scenario's ``run``.
COUNTS = ("run.warmup_requests", "run.warmup_s")
#: The text if there were no requests.
NOTHING = "nothing was read or written"


@dataclass(frozen=True)
class Served(Tabled, Plain):
    """The requests of programs to a served system, and how punctual the answers were."""

    result: Result
    """The result of a run with these requests."""
    reads: int
    """Reads that were answered."""
    writes: int
    """Writes."""
    flushes: int
    """Flushes."""
    on_time: float | None
    """Share of reads and writes whose answers left within 2 % of the time that they should take, from when they had
    been read; ``None`` where there were none."""
    median_error_us: float | None
    """How far answers left from when they should, the median: µs of the machine's clock."""
    p99_error_us: float | None
    """The 99th percentile, µs."""
    trusted: bool | None
    """True if 99 % were on time, so that what a program took can be trusted."""

    def table(self) -> Table:
        """Return how the answers were delivered."""
        on_time = NOTHING if self.on_time is None else f"{100 * self.on_time:.1f} %"
        trusted = {True: "yes", False: "no: raise the dilation, or idle the machine", None: NOTHING}[self.trusted]
        rows = [
            ("requests", f"{self.reads:,} reads, {self.writes:,} writes, {self.flushes:,} flushes"),
            ("within 2 % of their time", on_time),
            ("error, median (µs)", number(self.median_error_us, 3)),
            ("error, p99 (µs)", number(self.p99_error_us, 3)),
            ("times can be trusted", trusted),
        ]
        return Table(("delivery", ""), rows, left=frozenset({0, 1}))

    def tables(self) -> list[Table]:
        """Return what the system did, and how the answers were delivered."""
        return [*self.result.tables(), self.table()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        own = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "result"}
        return {"delivery": own, "result": self.result.to_dict()}


def serve(
    system: "ScenarioLike | Model",
    *,
    overrides: Sets = (),
    socket: str | Path | None = None,
    tcp: str | int | None = None,
    remote: bool = False,
    image: str | Path | None = None,
    drop: bool = False,
    dilation: float = 1.0,
    log: str | Path | None = None,
    once: bool = False,
    ready: Callable[[str, int, int], object] | None = None,
) -> Served:
    """Serve a system as a network block device, whose answers come when the simulated system says so.

    It goes on until Ctrl-C, or with ``once`` until its last client has gone. What programs write is kept, in memory or
    in a file, and what they read is what they wrote.

    Parameters
    ----------
    system
        As for :class:`sledsim.Session`.
    overrides
        Values that replace those given. Those of a scenario's ``workload`` mean nothing here, and of its ``run`` the
        warm-up alone counts: others are refused here, and left out where a scenario has them.
    socket
        Where programs connect: a Unix socket, which is made. ``sledsim.sock`` where neither this nor ``tcp`` is given.
    tcp
        Or a port of TCP on this machine alone, or an address and a port, such as ``127.0.0.1:10809``.
    remote
        True to allow addresses that other machines can reach. Every client that connects can read and write the device.
    image
        A file for the data, with holes where nothing was written. It is made if it is not there or empty; else it has
        to be as long as the device, as one of an earlier time is, and no other server may have it. In memory where it
        is left out.
    drop
        True to remove that file at the end.
    dilation
        How many times slower than the machine's the device's clock runs, 1 to 1000: errors of the machine, some tens of
        microseconds, then count for so much less.
    log
        A trace in CSV of all requests, with when each was asked, due and answered, ns of the device's clock. What was
        in the file is gone.
    once
        True to end when the last client has gone.
    ready
        Told the address, the size in bytes, and how early answers leave after 1 ms (ns), once programs can connect.

    Raises
    ------
    ScenarioError
        Where the system is wrong.
    RunError
        Where socket, image or log can't be opened, or the run can't go on.
    SledsimError
        Where an argument is wrong, or the machine has no Linux.
    """
    if not hasattr(_core, "serve_nbd"):
        raise make_error(
            _core.SledsimError, "unsupported", f"a block device is served on Linux, and not on {sys.platform}"
        )
    if socket is not None and tcp is not None:
        raise make_error(_core.SledsimError, "conflict", ": give a socket or a TCP address", path="tcp", value=tcp)
    if remote and tcp is None:
        raise make_error(_core.SledsimError, "conflict", ": it is for a TCP address", path="remote", value=remote)
    if drop and image is None:
        raise make_error(
            _core.SledsimError, "conflict", ": there is no file to remove: give an image", path="drop", value=drop
        )
    is_number = isinstance(dilation, Real)
    if not is_number or not 1 <= dilation <= MOST_DILATION:
        allowed: dict[str, object] = {"least": 1, "most": MOST_DILATION}
        value = dilation if is_number else brief(dilation)[0]
        raise make_error(_core.SledsimError, "out-of-range", path="dilation", value=value, allowed=allowed)
    at = Path("sledsim.sock") if socket is None and tcp is None else socket
    files = {"socket": at, "image": image, "log": log}
    for key, path in files.items():
        if path is not None and not str(path):
            raise make_error(_core.SledsimError, "misfit", ": no file has an empty name", path=key, value="")
        if path is not None and (says := no_name(str(path))):
            raise make_error(_core.SledsimError, "notation", f": {says}", path=key)
    if tcp is not None and (says := no_text(str(tcp))):
        raise make_error(_core.SledsimError, "notation", f": {says}", path="tcp")
    resolved = resolved_system(system, _of_the_system(overrides))
    _require_apart(files, system, files_read(system, overrides))
    if log is not None and is_document(log):
        says = f": {log}: the log is CSV: name a file that ends in .csv"
        raise make_error(_core.SledsimError, "unknown-format", says, path="log", value=str(log), allowed=[".csv"])
    where = {"socket": at, "tcp": None if tcp is None else str(tcp), "remote": remote}
    options = where | {"image": image, "drop": drop, "dilation": float(dilation), "log": log, "once": once}
    output, delivery = _core.serve_nbd(resolved, options, ready or (lambda *_: None))
    broken = delivery.pop("log_fault")
    if broken:
        raise make_error(_core.RunError, "unreadable", f": what was written so far is there: {broken}", path="log")
    summary = output.summary()
    summary["scenario"] = resolved.values
    return Served(Result(summary, output), **delivery)


def _of_the_system(sets: Sets) -> list[str]:
    """Return settings; refuse those of what programs are requested in the scenario's place."""
    settings = set_list(sets)
    for setting in settings:
        path = setting.partition("=")[0].strip()
        if path.partition(".")[0] in ("run", "workload") and path not in COUNTS:
            says = "programs are the workload, and ask for as long as they like: leave it out"
            [fault] = make_error(_core.ScenarioError, "conflict", says, path=path).faults
            raise _core.error_of(_core.ScenarioError, [with_facts(fault, setting=setting)])
    return settings


def _require_apart(files: "dict[str, str | Path | None]", system: object, inputs: "list[Path]") -> None:
    """Raise if an output file is also the scenario, a file of the scenario or another output."""
    read: list[tuple[str, str | Path]] = [("system", each) for each in inputs]
    if isinstance(system, Path) or (isinstance(system, str) and is_document(system)):
        read.append(("system", system))
    for key, path in files.items():
        if path is not None:
            require_apart(_core.SledsimError, key, path, read)
            read.append((key, path))
