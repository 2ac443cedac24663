"""The result of a program on a machine: its time, the processor's share, and the activity of its storage."""

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

#: How much of a program's output a table shows.
SHOWN_LINES = 20
TIMES = (
    ("run time (ms)", "run_ms"),
    ("processor, program (ms)", "user_ms"),
    ("processor, kernel for it (ms)", "system_ms"),
    ("waiting for storage (ms)", "waiting_ms"),
    ("  of it threads of the kernel (ms)", "kernel_ms"),
    ("  of it the way to the device (ms)", "server_ms"),
    ("writing what is left, after it (ms)", "sync_ms"),
    ("requests", "requests"),
    ("way of a request to the server (µs)", "path_us"),
)


@dataclass(frozen=True)
class MachineRun(Tabled, Plain):
    """A program that ran on a machine. Times are virtual, to the microsecond; another run gives the same."""

    program: str
    """Its name."""
    status: int
    """The exit status."""
    output: str
    """The standard output."""
    errors: str
    """The standard error output."""
    run_ms: float
    """From its start to its end."""
    user_ms: float
    """Processor time of it and its children."""
    system_ms: float
    """Processor time of the kernel on their behalf."""
    kernel_ms: float
    """Processor time of the kernel's own threads meanwhile: journal, writing back, the block device."""
    server_ms: float
    """Processor time of what serves the device inside the machine, which a real machine does not have."""
    sync_ms: float
    """Time to write back the data that the program had left in memory, s."""
    requests: int
    """Reads, writes and flushes of the device while it ran."""
    path_us: float | None
    """What a read took for the kernel beside what it took for the server of the device, the mean: block device and
    socket. Of writes where there were fewer than 100 reads; ``None`` where there were fewer of these, too, as the
    kernel counts whole ms."""
    result: Result
    """Activity and energy of the storage, from the program's start until all was written."""
    trace: bytes
    """All requests from the mount on, as a trace in CSV that Sledsim replays."""
    starts_s: float
    """When the program started, s of the trace."""
    ends_s: float
    """When it ended."""
    guest: Guest
    """How the machine was made."""
    fio: dict[str, Any] | None = None
    """The report of fio, if it was the program."""

    @property
    def processor_ms(self) -> float:
        """Processor time of the program, and of the kernel on its behalf."""
        return self.user_ms + self.system_ms

    @property
    def waiting_ms(self) -> float:
        """Run time without processor time: what it waited for its storage."""
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
        """Return the times."""
        title = f"{self.program}, which ended with {self.status}"
        return Table(
            ("", ""), [(label, number(getattr(self, key))) for label, key in TIMES], title, left=frozenset({0})
        )

    def tables(self) -> list[Table]:
        """Return the times, and what the storage did."""
        said = (self.output + self.errors).rstrip().splitlines()
        notes = [f"(… {len(said) - SHOWN_LINES} lines before)"] if len(said) > SHOWN_LINES else []
        printed = Table(("it printed",), [(line,) for line in [*notes, *said[-SHOWN_LINES:]]])
        return [*([printed] if said else []), self.table(), *self.result.tables()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the trace as plain values."""
        own = {key: getattr(self, key) for key in ("program", "status", "output", "errors")}
        times = {key: getattr(self, key) for _, key in TIMES} | {"processor_ms": self.processor_ms}
        more = {"starts_s": self.starts_s, "ends_s": self.ends_s, "guest": asdict(self.guest), "fio": self.fio}
        return own | times | more | {"result": self.result.to_dict()}


class MachineRuns(OneTable, Plain):
    """One program on several systems, side by side.

    Parameters
    ----------
    runs
        Each by the name of its system.
    """

    def __init__(self, runs: Mapping[str, MachineRun]) -> None:
        self.runs = dict(runs)

    def __getitem__(self, name: str) -> MachineRun:
        return self.runs[name]

    def table(self) -> Table:
        """Return the times of each, and the energy of its storage."""
        rows = [(label, *(number(getattr(run, key)) for run in self.runs.values())) for label, key in TIMES]
        rows.append(("energy of the storage (J)", *(number(_energy(run)) for run in self.runs.values())))
        rows.append(("ended with", *(str(run.status) for run in self.runs.values())))
        [program] = {run.program for run in self.runs.values()}
        return Table(("", *self.runs), rows, program)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the traces as plain values."""
        return {name: run.to_dict() for name, run in self.runs.items()}

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row for each run, with the name of its system."""
        return [{"system": name, **run.to_dict()} for name, run in self.runs.items()]


def _energy(run: MachineRun) -> float | None:
    found = run.result.summary.get("energy") or {}
    total = found.get("total_j")
    return None if total is None else float(total)


def notes_of(text: str) -> dict[str, str]:
    """Return what a guest has noted, a line each; the last counts.

    Parameters
    ----------
    text
        Lines of ``key=value``.
    """
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def fio_of(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """Return what fio has written, if it has: lines before its JSON are its warnings.

    Parameters
    ----------
    files
        What the guest has sent.
    """
    text = files.get("fio.json", b"").decode(errors="replace")
    found: dict[str, Any] | None = json.loads(text[text.index("{") :]) if "{" in text else None
    return found
