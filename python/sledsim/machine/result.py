"""The result of a program on a machine: run time, processor time, and the result of the storage."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sledsim.machine.description import Guest
from sledsim.runs.result import Result
from sledsim.show.shown import OneTable, Plain, Tabled
from sledsim.show.tables import Table, number

__all__ = ["MachineRun", "MachineRuns"]

#: Maximum number of output lines in a table.
SHOWN_LINES = 20
TIMES = (
    ("run time (ms)", "run_ms"),
    ("processor, user (ms)", "user_ms"),
    ("processor, system (ms)", "system_ms"),
    ("waiting for storage (ms)", "waiting_ms"),
    ("  kernel threads (ms)", "kernel_ms"),
    ("  device server (ms)", "server_ms"),
    ("write-back after the end (ms)", "sync_ms"),
    ("requests", "requests"),
    ("kernel overhead of a request (µs)", "path_us"),
)


@dataclass(frozen=True)
class MachineRun(Tabled, Plain):
    """The result of a program on a machine. Times are virtual, to the microsecond; another run gives the same times."""

    program: str
    """Name of the program."""
    status: int
    """The exit status."""
    output: str
    """The standard output."""
    errors: str
    """The standard error output."""
    run_ms: float
    """Time from start to end of the program."""
    user_ms: float
    """User processor time of the program and its children."""
    system_ms: float
    """System processor time of the program and its children."""
    kernel_ms: float
    """Processor time of kernel threads during the run: journal, write-back, block device."""
    server_ms: float
    """Processor time of the device server inside the machine, which a real machine does not have."""
    sync_ms: float
    """Time to write back dirty pages after the end of the program."""
    requests: int
    """Reads, writes and flushes of the device during the run."""
    path_us: float | None
    """Mean overhead of a read in the kernel (block device and socket), beyond its response time in the device server.
    Of writes if there were fewer than 100 reads; ``None`` if there were also fewer than 100 writes, as the kernel
    counts whole ms."""
    result: Result
    """Result of the storage, from the start of the program until the write-back ended."""
    trace: bytes
    """All requests from the mount on, as a CSV trace for replay."""
    starts_s: float
    """Start of the program, s in the trace."""
    ends_s: float
    """End of the program, s in the trace."""
    guest: Guest
    """Options of the machine."""
    fio: dict[str, Any] | None = None
    """The report of fio, if it was the program."""

    @property
    def processor_ms(self) -> float:
        """User and system processor time of the program."""
        return self.user_ms + self.system_ms

    @property
    def waiting_ms(self) -> float:
        """Time spent waiting for storage: run time without processor time."""
        return self.run_ms - self.processor_ms

    def save_trace(self, path: str | Path) -> None:
        """Write the trace into a file.

        Parameters
        ----------
        path
            The file.
        """
        Path(path).write_bytes(self.trace)

    def table(self) -> Table:
        """Return a table of the times."""
        title = f"{self.program}, exit status {self.status}"
        return Table(
            ("", ""), [(label, number(getattr(self, key))) for label, key in TIMES], title, left=frozenset({0})
        )

    def tables(self) -> list[Table]:
        """Return tables of the output, the times, and the result of the storage."""
        lines = (self.output + self.errors).rstrip().splitlines()
        notes = [f"(… {len(lines) - SHOWN_LINES} lines before)"] if len(lines) > SHOWN_LINES else []
        printed = Table(("output",), [(line,) for line in [*notes, *lines[-SHOWN_LINES:]]])
        return [*([printed] if lines else []), self.table(), *self.result.tables()]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, without the trace."""
        own = {key: getattr(self, key) for key in ("program", "status", "output", "errors")}
        times = {key: getattr(self, key) for _, key in TIMES} | {"processor_ms": self.processor_ms}
        more = {"starts_s": self.starts_s, "ends_s": self.ends_s, "guest": asdict(self.guest), "fio": self.fio}
        return own | times | more | {"result": self.result.to_dict()}


class MachineRuns(OneTable, Plain):
    """The results of one program on several systems.

    Parameters
    ----------
    runs
        Results by name of the system.
    """

    def __init__(self, runs: Mapping[str, MachineRun]) -> None:
        self.runs = dict(runs)

    def __getitem__(self, name: str) -> MachineRun:
        return self.runs[name]

    def table(self) -> Table:
        """Return a table of the times and the energy of the storage, with a column for each system."""
        rows = [(label, *(number(getattr(run, key)) for run in self.runs.values())) for label, key in TIMES]
        rows.append(("energy of the storage (J)", *(number(_energy(run)) for run in self.runs.values())))
        rows.append(("exit status", *(str(run.status) for run in self.runs.values())))
        [program] = {run.program for run in self.runs.values()}
        return Table(("", *self.runs), rows, program)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values, without the traces."""
        return {name: run.to_dict() for name, run in self.runs.items()}

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row for each run, with the name of its system."""
        return [{"system": name, **run.to_dict()} for name, run in self.runs.items()]


def _energy(run: MachineRun) -> float | None:
    found = run.result.summary.get("energy") or {}
    total = found.get("total_j")
    return None if total is None else float(total)


def notes_of(text: str) -> dict[str, str]:
    """Return the key-value pairs recorded by a guest; the last value of a key counts.

    Parameters
    ----------
    text
        Lines of ``key=value``.
    """
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def fio_of(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """Return fio's report; ``None`` if there is none. Warnings before the JSON are skipped.

    Parameters
    ----------
    files
        The files sent by the guest.
    """
    text = files.get("fio.json", b"").decode(errors="replace")
    found: dict[str, Any] | None = json.loads(text[text.index("{") :]) if "{" in text else None
    return found
