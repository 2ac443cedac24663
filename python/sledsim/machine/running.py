"""Runs of a program on a machine with one system or several."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from sledsim._core import RunError, SledsimError
from sledsim.machine.assembled import Assembled, assembled, emulator
from sledsim.machine.description import Guest
from sledsim.machine.emulation import Job, boot
from sledsim.machine.programs import Program, program
from sledsim.machine.result import MachineRun, MachineRuns, fio_of, notes_of
from sledsim.runs.running import run as run_scenario
from sledsim.runs.session import Session, resolved_system
from sledsim.runs.threads import in_threads, threads_of
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    from sledsim.scenario.models.model import Model

__all__ = ["run", "run_each"]

#: Default time limit of a run on the wall clock, s.
LIMIT_S = 1800.0


def run(
    system: "ScenarioLike | Model",
    name: str = "command",
    *,
    command: str | None = None,
    job: str | Path | None = None,
    files: Sequence[str | Path] = (),
    sizes: Mapping[str, int] | None = None,
    guest: Guest | None = None,
    overrides: Sets = (),
    machine: str | Path | None = None,
    limit_s: float = LIMIT_S,
) -> MachineRun:
    """Run a program on an emulated Linux machine with simulated storage, in virtual time.

    Each instruction takes the same time. The file system of the machine is on a block device served by the simulated
    system inside the machine, so that processor and device share one clock. Two runs give the same times, to the
    microsecond, and the same requests.

    Parameters
    ----------
    system
        As for :class:`sledsim.Session`.
    name
        ``"postmark"``, ``"andrew"``, ``"link"``, ``"tpch"``, ``"browse"``, ``"fio"``; or ``"command"``.
    command
        A shell command, run in the root of the device's file system, if the name is ``"command"``.
    job
        A job file of fio.
    files
        Files and folders to copy onto the device, under their own names; at most 512 MiB.
    sizes
        Size of the work, with these defaults: ``{"files": 500, "transactions": 500, "folders": 10}`` of postmark,
        ``{"copies": 1}`` of andrew, ``{"objects": 1500}`` of link, ``{"first": 4, "last": 4, "scale_percent": 1}``
        (queries, and scale 0.01 or 0.1) of tpch,
        ``{"pages": 200, "visits": 200, "cache_kib": 7680, "pause_ms": 0}`` of browse.
    guest
        Options of the machine.
    overrides
        Values that replace those of the system.
    machine
        The folder created by ``make machine``; by default, the one named by ``SLEDSIM_MACHINE``, else ``out/machine``.
    limit_s
        Time limit on the wall clock, s.

    Raises
    ------
    ScenarioError
        If the system is invalid.
    RunError
        If the machine fails: it hangs, panics, exceeds its time limit, or has no file system.
    SledsimError
        If an argument is invalid, or the kernel or the emulator is missing.
    """
    resolved = resolved_system(system, overrides)
    program_options: dict[str, Any] = {"command": command, "job": job, "files": files, "sizes": sizes}
    return _run(_check_options(name, guest=guest, machine=machine, limit_s=limit_s, **program_options), resolved)


def run_each(
    systems: "Mapping[str, ScenarioLike | Model]",
    name: str = "command",
    *,
    overrides: Mapping[str, Sets] | None = None,
    threads: int | None = None,
    **options: Any,
) -> MachineRuns:
    """Run one program on several systems in parallel.

    Parameters
    ----------
    systems
        The systems by name.
    name, **options
        As for :func:`run`.
    overrides
        Values that replace those of the systems, by name of the system.
    threads
        Number of machines that run at a time; by default, the number of processors.

    Raises
    ------
    SledsimError
        As for :func:`run`; the first error of any run.
    """
    if not isinstance(systems, Mapping):
        raise make_error(SledsimError, "wrong-type", path="systems", value=systems, allowed="systems by their names")
    if not isinstance(overrides, Mapping | None):
        raise make_error(
            SledsimError, "wrong-type", path="overrides", value=overrides, allowed="values by the names of systems"
        )
    if not systems:
        raise make_error(SledsimError, "missing", "no system is given", path="systems")
    count = threads_of(threads)
    resolved = {each: resolved_system(system, (overrides or {}).get(each, ())) for each, system in systems.items()}
    run_options = _check_options(name, **options)
    names, found, over = list(systems), {}, Event()
    # After a failure or Ctrl-C, the other machines are stopped.
    work = in_threads(lambda each: _run(run_options, resolved[each], over), names, count, join=True, over=over)
    with closing(work):
        for place, outcome in work:
            found[names[place]] = outcome.result()
    return MachineRuns({each: found[each] for each in names})


@dataclass(frozen=True)
class RunOptions:
    """The checked options of a run, without its storage."""

    program: Program
    """The program."""
    guest: Guest
    """Options of the machine."""
    machine: Assembled
    """The kernel, modules and programs."""
    emulator: str
    """Path of QEMU."""
    limit_s: float
    """Time limit on the wall clock, s."""


def _check_options(
    name: str,
    *,
    guest: Guest | None = None,
    machine: str | Path | None = None,
    limit_s: float = LIMIT_S,
    **options: Any,
) -> RunOptions:
    """Check the arguments of a run, first those that do not need the assembled machine."""
    made = Guest() if guest is None else guest
    if not isinstance(made, Guest):
        raise make_error(SledsimError, "wrong-type", path="guest", value=guest, allowed="a sledsim.machine.Guest")
    limit: object = limit_s
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        raise make_error(SledsimError, "wrong-type", path="limit_s", value=limit_s, allowed="a number of seconds")
    if not limit_s > 0:
        raise make_error(SledsimError, "out-of-range", path="limit_s", value=limit_s, allowed={"above": 0})
    if not isinstance(machine, str | Path | None):
        raise make_error(SledsimError, "wrong-type", path="machine", value=machine, allowed="the path of a folder")
    chosen = program(name, lambda: assembled(machine), **options)
    return RunOptions(chosen, made, assembled(machine), emulator(), limit_s)


def _run(options: RunOptions, resolved: Resolved, over: Event | None = None) -> MachineRun:
    session, guest = Session(resolved), options.guest
    size = session.capacity_blocks * session.block_bytes
    if guest.file_system_mib is not None and guest.file_system_mib << 20 > size:
        allowed: dict[str, object] = {"most": size >> 20}
        raise make_error(
            SledsimError, "out-of-range", path="file_system_mib", value=guest.file_system_mib, allowed=allowed
        )
    with TemporaryDirectory(prefix="sledsim-machine-") as folder:
        work = Path(folder)
        job = Job(options.machine, guest, options.program, json.dumps(resolved.values), size, options.limit_s)
        files = boot(job, options.emulator, work, over)
        found = times_of(files, guest)
        requests = files["trace.csv"]
        trace = work / "trace.csv"
        trace.write_bytes(requests)
        result = run_scenario(
            {
                "system": resolved.values["system"],
                "workload": {"kind": "trace", "path": str(trace)},
                "run": {"warmup_s": found["starts_s"]},
            }
        )
    output, errors = (files.get(key, b"").decode(errors="replace") for key in ("output", "errors"))
    more: dict[str, Any] = {"result": result, "trace": requests, "guest": guest, "fio": fio_of(files)}
    return MachineRun(program=options.program.name, output=output, errors=errors, **found, **more)


def times_of(files: Mapping[str, bytes], guest: Guest) -> dict[str, Any]:
    """Return the times recorded by a guest, on the clock of the device.

    Parameters
    ----------
    files
        The files sent by the guest.
    guest
        Options of the machine.

    Raises
    ------
    RunError
        If the device server ended early.
    """
    notes = notes_of(files["notes"].decode())
    served = files["served"].decode(errors="replace")
    began = re.search(r"began at (\d+) ns", served)
    if began is None or notes.get("served") != "0":
        raise make_error(
            RunError, "unsupported", f"the device was not served to the end: {served.strip()}", path="machine"
        )

    def spent(key: str, until: str = "end") -> int:
        return int(notes[f"{until}_{key}"]) - int(notes[f"start_{key}"])

    def at(point: str) -> float:
        return (1000 * int(notes[f"{point}_us"]) - int(began.group(1))) / 1e9 / guest.dilation

    scale = 1e3 * guest.dilation
    rows = list(csv.DictReader(io.StringIO(files["trace.csv"].decode())))
    starts, ends = at("start"), at("end")
    while_it_ran = [row for row in rows if starts <= int(row["t_ns"]) / 1e9 < ends]
    return {
        "status": int(notes["status"]),
        "run_ms": spent("us") / scale,
        "user_ms": spent("program_user_usec") / scale,
        "system_ms": spent("program_system_usec") / scale,
        "kernel_ms": spent("kernel_ns") / 1e3 / scale,
        "server_ms": spent("server_usage_usec") / scale,
        "sync_ms": (int(notes["synced_us"]) - int(notes["end_us"])) / scale,
        "requests": len(while_it_ran),
        "path_us": _path_us(rows, notes, guest),
        "starts_s": starts,
        "ends_s": ends,
    }


#: Fields of the kernel's block device statistics: number and total time (ms) of reads, and of writes.
STATISTICS = {"R": (0, 3), "W": (4, 7)}
#: Minimum number of requests for a mean accurate to 10 µs, as the kernel reports whole ms.
FEWEST_REQUESTS = 100


def _path_us(rows: Sequence[Mapping[str, str]], notes: Mapping[str, str], guest: Guest) -> float | None:
    """Return the mean overhead of reads in the kernel beyond the server, else of writes; ``None`` if there are few."""
    disk = [int(each) for each in notes["synced_disk"].split()]
    for letter, (count, took_ms) in STATISTICS.items():
        counted = [int(row["response_ns"]) for row in rows if row["op"].startswith(letter)][: disk[count]]
        if len(counted) >= FEWEST_REQUESTS:
            return (1e6 * disk[took_ms] / guest.dilation - sum(counted)) / 1e3 / len(counted)
    return None
