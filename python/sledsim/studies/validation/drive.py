"""Validation of a drive model: its service times compared with measured ones."""

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sledsim import _core, devices
from sledsim._core import ScenarioError, TraceError
from sledsim.runs.running import ProgressCallback, run_resolved
from sledsim.scenario.disksim import DiskSimImport, LeftOut, import_disksim
from sledsim.scenario.reading import Resolved, Sets, resolve
from sledsim.scenario.system_tree import drive_of
from sledsim.scenario.texts import is_document
from sledsim.show.arguments import require_path
from sledsim.show.faults import is_file_name, make_error, missing_file
from sledsim.show.frames import relation_of, write_columns
from sledsim.show.naming import label_of
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, number
from sledsim.traces.trace import Trace, TraceLike, open_trace, source_of

if TYPE_CHECKING:
    import altair
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MEASURED",
    "Agreement",
    "DriveValidation",
    "demerit_ms",
    "left_out_table",
    "measured_model",
    "measured_trace",
    "validate_drive",
]

#: The format of traces with measured service times, and gaps from a completion to the next request.
MEASURED = "disksim-validate"

#: The parameter of DiskSim's files with the number of blocks of a drive.
BLOCK_COUNT = "Block count"


@dataclass(frozen=True)
class Agreement:
    """Agreement of modelled and measured service times.

    Parameters
    ----------
    requests
        Number of requests.
    measured_mean_ms, modelled_mean_ms
        Mean service times.
    demerit_ms
        Root mean square horizontal distance between the two cumulative distributions (Ruemmler and Wilkes 1994).
    demerit_percent
        The demerit in percent of the measured mean; ``None`` if the mean is 0.
    median_absolute_error_ms
        Median absolute error of the model over the requests.
    """

    requests: int
    measured_mean_ms: float
    modelled_mean_ms: float
    demerit_ms: float
    demerit_percent: float | None
    median_absolute_error_ms: float


class DriveValidation(Shown):
    """Modelled and measured service times of a drive; see :func:`validate_drive`.

    Parameters
    ----------
    device
        Name of the device, or its file.
    trace
        The trace.
    columns
        NumPy columns with a row per request in the order of the trace: ``lbn``, ``blocks``, ``read``, ``measured_ms``,
        ``modelled_ms``; ``outcome`` if the trace records hits and misses of the real drive's buffer, else ``flush``.
    left_out
        Parameters of the drive's file that the model does not have.
    """

    def __init__(
        self,
        device: str,
        trace: str,
        columns: "Mapping[str, NDArray[np.generic]]",
        left_out: tuple[LeftOut, ...] = (),
    ) -> None:
        self.device = device
        self.trace = trace
        self.columns = dict(columns)
        self.left_out = left_out

    @cached_property
    def groups(self) -> dict[str, Agreement]:
        """The agreement over all reads and writes, reads, writes, each outcome of the drive's buffer, and flushes.

        Reads and writes are split by outcome if they have more than one.
        """
        import numpy as np

        read, every = self.columns["read"].astype(np.bool_), self._accesses
        outcome = self.columns.get("outcome", np.zeros(len(read)))
        found = {"all": every, "reads": read, "writes": every & ~read}
        for name in ("reads", "writes"):
            outcomes = np.unique(outcome[found[name]]).tolist()
            for each in outcomes if len(outcomes) > 1 else ():
                found[f"{name}, {each}"] = found[name] & (outcome == each)
        found["flushes"] = ~every
        return {name: self._agreement(rows) for name, rows in found.items() if rows.any()}

    @property
    def _accesses(self) -> "NDArray[np.bool_]":
        """A mask that is true for reads and writes."""
        import numpy as np

        flush = self.columns.get("flush")
        return np.full(len(self.columns["read"]), fill_value=True) if flush is None else ~flush.astype(np.bool_)

    def _agreement(self, rows: "NDArray[np.generic]") -> Agreement:
        import numpy as np

        measured, modelled = (self.columns[name][rows].astype(np.float64) for name in ("measured_ms", "modelled_ms"))
        demerit, mean = demerit_ms(measured, modelled), float(measured.mean())
        return Agreement(
            requests=len(measured),
            measured_mean_ms=mean,
            modelled_mean_ms=float(modelled.mean()),
            demerit_ms=demerit,
            demerit_percent=100 * demerit / mean if mean > 0 else None,
            median_absolute_error_ms=float(np.median(np.abs(modelled - measured))),
        )

    @property
    def agreement(self) -> Agreement:
        """The agreement over all reads and writes."""
        return self.groups["all"]

    @property
    def demerit_ms(self) -> float:
        """Root mean square horizontal distance between the two cumulative distributions."""
        return self.agreement.demerit_ms

    @property
    def median_absolute_error_ms(self) -> float:
        """Median absolute error of the model over the requests."""
        return self.agreement.median_absolute_error_ms

    def quantiles(self, points: int = 200) -> "dict[str, NDArray[np.float64]]":
        """Return the quantiles of both distributions over reads and writes.

        Parameters
        ----------
        points
            Number of quantiles, evenly spaced between 0 and 1, starting half a step from 0.

        Returns
        -------
        dict
            NumPy columns ``share`` (of requests that take no longer), ``measured_ms``, ``modelled_ms``.
        """
        import numpy as np

        share = (np.arange(points) + 0.5) / points
        rows = self._accesses
        columns = {name: np.quantile(self.columns[name][rows].astype(np.float64), share) for name in SERIES}
        return {"share": share, **columns}

    def table(self) -> Table:
        """Return a table of the agreement, over all requests and by kind."""
        rows = [
            [
                name if name in WHOLE else f"  {name}",
                number(each.requests),
                number(each.measured_mean_ms),
                number(each.modelled_mean_ms),
                number(each.demerit_ms),
                number(each.demerit_percent, 3),
                number(each.median_absolute_error_ms),
            ]
            for name, each in self.groups.items()
        ]
        title = f"{label_of(self.device)} against {self.trace}: means, demerit and error in ms"
        return Table(HEADERS, rows, title=title)

    def notes(self) -> Table | None:
        """Return a table of parameters that the model lacks and that change results; ``None`` if there are none."""
        return left_out_table(self.left_out)

    def tables(self) -> list[Table]:
        """Return the tables of the agreement and of parameters that the model lacks."""
        return [table for table in (self.table(), self.notes()) if table]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain dictionaries, with parameters that the model lacks and that change results."""
        return {
            "device": self.device,
            "trace": self.trace,
            "groups": {name: asdict(each) for name, each in self.groups.items()},
            "left_out": [asdict(each) for each in self.left_out if each.changes_results],
        }

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the requests as a DuckDB relation, for SQL queries."""
        return relation_of(self.columns, "validation")

    def write(self, path: str | Path) -> None:
        """Write the requests to a file (``.parquet``, ``.csv`` or ``.json``)."""
        write_columns(self.columns, Path(path))

    def plot(self) -> "altair.TopLevelMixin":
        """Draw both cumulative distributions, and the horizontal distance between them."""
        from sledsim.studies.validation.chart import validation_curves

        return validation_curves(self)

    def __repr__(self) -> str:
        return f"<DriveValidation of {self.device}: demerit {self.demerit_ms:.3g} ms>"


SERIES = ("measured_ms", "modelled_ms")
#: Groups that are not part of another group.
WHOLE = ("all", "flushes")
HEADERS = (
    "service times",
    "requests",
    "measured",
    "modelled",
    "demerit",
    "% of mean",
    "median error",
)


def left_out_table(left_out: Sequence[LeftOut]) -> Table | None:
    """Return a table of parameters that a model lacks and that change results; ``None`` if there are none.

    Parameters
    ----------
    left_out
        Parameters that the model does not have.
    """
    rows = [
        [f"{each.file}:{each.line}", each.name, each.value, each.reason] for each in left_out if each.changes_results
    ]
    return Table(["not in the model", "parameter", "value", "why"], rows, left=frozenset({1, 2, 3})) if rows else None


def demerit_ms(measured_ms: "NDArray[np.float64]", modelled_ms: "NDArray[np.float64]") -> float:
    """Return the demerit of a model (Ruemmler and Wilkes 1994).

    It is the root mean square of the horizontal distance between the cumulative distributions over all quantiles.

    Parameters
    ----------
    measured_ms, modelled_ms
        Equally many times, in any order.
    """
    import numpy as np

    apart = np.sort(modelled_ms) - np.sort(measured_ms)
    return float(np.sqrt(np.mean(np.square(apart))))


def validate_drive(
    specs: str | Path | Mapping[str, Any],
    trace: TraceLike,
    *,
    overrides: Sets = (),
    skip_bad: int = 0,
    sort: bool = False,
    progress: ProgressCallback | bool | None = None,
) -> DriveValidation:
    """Replay a trace measured on a drive on its model, and compare the service times.

    A trace with gaps is replayed closed, as it was measured: each request arrives the recorded gap after the completion
    of the previous one. A trace with arrivals and responses, such as the log of a served device, is replayed at its
    arrival times, and response times are compared, waiting included. No parameter is fitted to the trace.

    Parameters
    ----------
    specs
        The drive: a file of DiskSim's parameters (``.parv``, ``.diskspecs``), a device file (``.toml``), an entry of
        the catalogue, or a dictionary as a scenario's ``device``.
    trace
        A file in DiskSim's validation format, ``R|W Hit|Miss lbn blocks service_us next_gap_us``, in CSV or Parquet
        with a column of responses, such as ``response_us``, or a latency log of fio with offsets (``log_offset=1``);
        a :class:`~sledsim.Trace`, or a frame with such a column.
    overrides
        Values that replace those of the drive: ``["device.buffer_caching=false"]``.
    skip_bad
        Number of malformed records to skip.
    sort
        True to sort the records by arrival.
    progress
        A function called about ten times a second, or true for a progress bar on a terminal.

    Returns
    -------
    DriveValidation
        Demerit, errors, and both times of every request.

    Raises
    ------
    ScenarioError
        If the drive is unknown or its file is invalid.
    TraceError
        If the trace cannot be read, has no measured times or exceeds the drive.
    """
    model = measured_model(specs, trace, overrides=overrides, skip_bad=skip_bad, sort=sort)
    opened, measured, left_out = model.trace, model.measured, model.left_out
    result = run_resolved(model.resolved, log=True, progress=progress)
    if not result.complete:
        raise KeyboardInterrupt
    import numpy as np

    in_order = np.argsort(result.log["id"])
    kind, time_ns = ("outcome", "service_ns") if opened.format == MEASURED else ("flush", "response_ns")
    columns = {
        "lbn": result.log["lbn"][in_order],
        "blocks": result.log["blocks"][in_order],
        "read": measured["read"],
        kind: measured[kind],
        "measured_ms": measured[time_ns].astype(np.float64) / 1e6,
        # The measured times include command processing, so that the modelled response times are compared.
        "modelled_ms": result.log["response_ns"][in_order].astype(np.float64) / 1e6,
    }
    name = opened.path.name if opened.path else opened.name
    return DriveValidation(result["device"]["name"], name, columns, left_out)


class MeasuredModel(NamedTuple):
    """A drive model, and the trace that is replayed on it.

    Parameters
    ----------
    resolved
        The scenario of the replay.
    trace
        The trace.
    measured
        Its columns.
    left_out
        Parameters of the drive's file that the model does not have.
    """

    resolved: Resolved
    trace: Trace
    measured: "dict[str, NDArray[np.generic]]"
    left_out: tuple[LeftOut, ...]


def measured_model(
    specs: str | Path | Mapping[str, Any],
    trace: TraceLike,
    *,
    overrides: Sets = (),
    skip_bad: int = 0,
    sort: bool = False,
) -> MeasuredModel:
    """Return the replay of a measured trace on a drive model.

    Parameters and errors are those of :func:`validate_drive`.
    """
    device, file = _device(specs)
    opened = _measured_trace(trace, skip_bad, sort=sort)
    measured = _columns(opened)
    left_out = file.notes if file else ()
    if file and (denied := _denied(file, measured)):
        device, left_out = {**device, "capacity_blocks": None}, (*left_out, denied)
    keys = {"format": MEASURED, "mode": "closed"} if opened.format == MEASURED else {}
    workload = opened.workload(**keys)
    resolved = resolve({"workload": workload, "system": {"device": device}}, overrides)
    _require_inside(drive_of(resolved.values["system"])["device"], measured, opened.path)
    return MeasuredModel(resolved, opened, measured, left_out)


def measured_trace(trace: TraceLike) -> "tuple[Trace, dict[str, NDArray[np.generic]]]":
    """Open a trace with measured times, and return it with its columns.

    Errors are those of :func:`validate_drive`.
    """
    opened = _measured_trace(trace, 0, sort=False)
    return opened, _columns(opened)


def _device(specs: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], DiskSimImport | None]:
    """Return the device of a scenario, and the import if it comes from a DiskSim file."""
    if isinstance(specs, Mapping):
        return specs, None
    name, path = str(specs), require_path(ScenarioError, "specs", specs)
    if name in devices.catalog() or (is_document(path) and path.is_file()):
        return {"name": name}, None
    if path.is_file():
        read = _read_disksim(name)
        return read.device, read
    if path.is_dir():
        message = "a folder; expected a file of DiskSim's parameters, or a device file"
        raise make_error(ScenarioError, "unreadable", message, path="drive", value=str(path), file=path)
    if is_file_name(path):
        raise missing_file(ScenarioError, path)
    message = f"{name}: no such file, and no device of the catalogue"
    raise make_error(ScenarioError, "unknown-name", message, path="drive", value=name, known=devices.catalog())


def _read_disksim(path: str) -> DiskSimImport:
    """Read a file of DiskSim's parameters, and raise a specific error if it is a trace or has several devices."""
    try:
        return import_disksim(path)
    except ScenarioError as error:
        [fault, *_] = error.faults
        if fault.kind == "missing" and fault.path is None and isinstance(fault.allowed, tuple):
            command = f"sledsim import {shlex.quote(path)} --device {fault.allowed[0]} --out drive.toml"
            message = f"several devices ({', '.join(fault.allowed)}): `{command}` writes a file of one of them"
            raise make_error(ScenarioError, "missing", message, allowed=fault.allowed, file=path) from None
        try:
            open_trace(path, format=MEASURED).head(1)
        except TraceError:
            pass
        else:
            message = "a trace, not a drive: are drive and trace exchanged?"
            raise make_error(ScenarioError, "conflict", message, path="drive", value=str(path), file=path) from None
        raise


def _denied(file: DiskSimImport, records: "Mapping[str, NDArray[np.generic]]") -> LeftOut | None:
    """Return the block count of a drive's file as a left-out parameter if the trace exceeds it but not the zones."""
    offered, reached = file.device.get("capacity_blocks"), _reached_bytes(records)
    if file.device["mechanism"] != "disk" or offered is None or reached <= offered * file.device["block_bytes"]:
        return None
    full = _core.Device({**file.device, "capacity_blocks": None})
    if reached > full.capacity_blocks * full.block_bytes:
        return None
    where = tomllib.loads(file.device_file)["values"]["capacity_blocks"]["where"]
    source, _, line = where.removesuffix(f" {BLOCK_COUNT}").rpartition(":")
    reason = f"the trace exceeds it; the zones have {full.capacity_blocks:,} blocks, which DiskSim uses, too"
    return LeftOut(source, int(line), BLOCK_COUNT, str(offered), reason, changes_results=True, decides=False)


def _reached_bytes(records: "Mapping[str, NDArray[np.generic]]") -> int:
    """Return the end of the farthest request, bytes."""
    import numpy as np

    return int(np.add(records["offset_bytes"], records["bytes"], dtype=np.uint64).max())


def _measured_trace(given: TraceLike, skip_bad: int, *, sort: bool) -> Trace:
    """Open a trace, and raise if it has no measured times."""
    expected = "expected DiskSim's validation format, R|W Hit|Miss lbn blocks service_us next_gap_us"
    expected += ", CSV with a column such as response_us, or a latency log of fio with offsets"
    source = source_of(given, skip_bad=skip_bad, sort=sort)
    try:
        trace = Trace.of_source(source)
    except TraceError as error:
        if error.kind == "unknown-format":
            message = f"not a trace; {expected}"
            raise make_error(
                TraceError, "unknown-format", message, path="trace", value=source.name, file=source.path
            ) from None
        raise
    if not trace.has_responses:
        message = f"its format, {trace.format}, has no measured service times; {expected}"
        raise make_error(TraceError, "unknown-format", message, path="trace", value=trace.format, file=trace.path)
    if all(batch["flush"].all() for batch in trace):
        raise make_error(
            TraceError, "missing", "the trace has only flushes, no read or write", path="trace", file=trace.path
        )
    return trace


def _require_inside(device: Mapping[str, Any], records: "Mapping[str, NDArray[np.generic]]", file: Path | None) -> None:
    """Raise if a trace has addresses beyond the drive's capacity."""
    import numpy as np

    made = _core.Device(dict(device))
    blocks = made.capacity_blocks * device.get("sleds", 1) * device.get("actuator_ranges", 1)
    ends = np.add(records["offset_bytes"], records["bytes"], dtype=np.uint64)
    beyond = np.flatnonzero(ends > blocks * made.block_bytes)
    if len(beyond):
        first = int(beyond[0])
        lbn = int(records["offset_bytes"][first]) // made.block_bytes
        message = (
            f"record {first + 1}, lbn {lbn:,}, reaches beyond {label_of(device['name'])}, which has "
            f"{blocks:,} blocks of {made.block_bytes} bytes: is it another drive's trace?"
        )
        raise make_error(TraceError, "misfit", message, path="trace", value=lbn, file=file)


def _columns(trace: Trace) -> "dict[str, NDArray[np.generic]]":
    """Read a whole trace."""
    import numpy as np

    batches = list(trace)
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
