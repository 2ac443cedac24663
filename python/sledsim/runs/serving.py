"""A network block device served by a simulated system, with real programs as the workload."""

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

#: Maximum dilation of the device's clock.
MOST_DILATION = 1000.0
#: Keys of a scenario's ``run`` that have an effect.
COUNTS = ("run.warmup_requests", "run.warmup_s")
#: The text if there were no reads and writes.
NOTHING = "nothing was read or written"


@dataclass(frozen=True)
class Served(Tabled, Plain):
    """The requests of programs to a served system, and the timing errors of the replies."""

    result: Result
    """The result of a run with these requests."""
    reads: int
    """Number of answered reads."""
    writes: int
    """Number of answered writes."""
    flushes: int
    """Number of answered flushes."""
    on_time: float | None
    """Share of reads and writes whose replies were sent within 2 % of their simulated response time, counted from their
    receipt; ``None`` without reads and writes."""
    median_error_us: float | None
    """Median timing error of the replies, µs of the machine's clock."""
    p99_error_us: float | None
    """99th percentile of the timing error, µs."""
    trusted: bool | None
    """True if 99 % were on time, so that the run times of programs can be trusted."""

    def table(self) -> Table:
        """Return a table of the timing of the replies."""
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
        """Return the tables of the result, and the table of the timing of the replies."""
        return [*self.result.tables(), self.table()]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        own = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "result"}
        return {"delivery": own, "result": self.result.to_dict()}


def require_dilation(dilation: Any) -> None:
    """Raise if a dilation is not a number from 1 to :data:`MOST_DILATION`."""
    is_number = isinstance(dilation, Real)
    if not is_number or not 1 <= dilation <= MOST_DILATION:
        allowed: dict[str, object] = {"least": 1, "most": MOST_DILATION}
        value = dilation if is_number else brief(dilation)[0]
        raise make_error(_core.SledsimError, "out-of-range", path="dilation", value=value, allowed=allowed)


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
    """Serve a system as a network block device (NBD) that replies at the simulated completion times.

    It runs until Ctrl-C, or with ``once`` until its last client disconnects. Written data are stored in memory or in a
    file, and can be read back.

    Parameters
    ----------
    system
        As for :class:`sledsim.Session`.
    overrides
        Values that replace those of the system. Keys of ``workload``, and keys of ``run`` other than the warm-up, are
        ignored in a scenario and rejected here.
    socket
        Path of the Unix socket to create; ``sledsim.sock`` if neither this nor ``tcp`` is given.
    tcp
        Alternatively, a TCP port on the loopback interface, or an address and a port, such as ``127.0.0.1:10809``.
    remote
        True to allow addresses that other machines can reach. Every client that connects can read and write the device.
    image
        A sparse file for the data. It is created if it does not exist or is empty; otherwise, such as after an earlier
        run, it must have the size of the device, and no other server may use it. By default, data are stored in memory.
    drop
        True to delete the file at the end.
    dilation
        How many times slower the device's clock runs than the machine's, 1 to 1000. Timing errors of the machine, some
        tens of microseconds, then have less effect by this factor.
    log
        A CSV trace of all requests, with the times of receipt, simulated completion and reply, ns of the device's
        clock. An existing file is overwritten.
    once
        True to end when the last client disconnects.
    ready
        A function called when clients can connect, with the address, the size in bytes, and the mean early reply after
        1 ms (ns).

    Raises
    ------
    ScenarioError
        If the system is invalid.
    RunError
        If the socket, image or log cannot be opened, or the run fails.
    SledsimError
        If an argument is invalid, or the operating system is not Linux.
    """
    if not hasattr(_core, "serve_nbd"):
        raise make_error(
            _core.SledsimError, "unsupported", f"a block device can be served only on Linux, not on {sys.platform}"
        )
    if socket is not None and tcp is not None:
        raise make_error(_core.SledsimError, "conflict", ": give a socket or a TCP address", path="tcp", value=tcp)
    if remote and tcp is None:
        raise make_error(_core.SledsimError, "conflict", ": it needs a TCP address", path="remote", value=remote)
    if drop and image is None:
        raise make_error(
            _core.SledsimError, "conflict", ": there is no file to remove: give an image", path="drop", value=drop
        )
    require_dilation(dilation)
    at = Path("sledsim.sock") if socket is None and tcp is None else socket
    files = {"socket": at, "image": image, "log": log}
    for key, path in files.items():
        if path is not None and not str(path):
            raise make_error(_core.SledsimError, "misfit", ": no file has an empty name", path=key, value="")
        if path is not None and (message := no_name(str(path))):
            raise make_error(_core.SledsimError, "notation", f": {message}", path=key)
    if tcp is not None and (message := no_text(str(tcp))):
        raise make_error(_core.SledsimError, "notation", f": {message}", path="tcp")
    resolved = resolved_system(system, _of_the_system(overrides))
    _require_apart(files, system, files_read(system, overrides))
    if log is not None and is_document(log):
        message = f": {log}: the log is CSV: name a file that ends in .csv"
        raise make_error(_core.SledsimError, "unknown-format", message, path="log", value=str(log), allowed=[".csv"])
    where = {"socket": at, "tcp": None if tcp is None else str(tcp), "remote": remote}
    options = where | {"image": image, "drop": drop, "dilation": float(dilation), "log": log, "once": once}
    output, delivery = _core.serve_nbd(resolved, options, ready or (lambda *_: None))
    broken = delivery.pop("log_fault")
    if broken:
        raise make_error(_core.RunError, "unreadable", f": the log is incomplete: {broken}", path="log")
    summary = output.summary()
    summary["scenario"] = resolved.values
    return Served(Result(summary, output), **delivery)


def _of_the_system(sets: Sets) -> list[str]:
    """Return the overrides, and raise for keys of the workload or of the run, which programs determine."""
    settings = set_list(sets)
    for setting in settings:
        path = setting.partition("=")[0].strip()
        if path.partition(".")[0] in ("run", "workload") and path not in COUNTS:
            message = "programs are the workload and determine its length: leave it out"
            [fault] = make_error(_core.ScenarioError, "conflict", message, path=path).faults
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
