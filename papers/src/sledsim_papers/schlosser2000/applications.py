"""Schlosser et al. 2000: applications on whole machines, and the replay of their recorded block traces.

Section 4.2 runs five applications on a machine of 1 GHz with 128 MB. Section 4.3 takes the energies of Table 4 from
block traces of Linux. Here each application runs once on a machine with a G2. Its block trace is recorded, and the
claims replay it on every device: each request arrives the recorded time after the completion of the earlier ones, which
is the processor time of the program.

`make applications` repeats the runs in ``out/machine/applications``; ``ARGS=--record`` puts them into the package.
"""

import csv
import hashlib
import io
import json
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sledsim import machine
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.devices import DISKS

__all__ = [
    "APPLICATIONS",
    "CHECKED",
    "EVERY",
    "MOBILE_DISK",
    "RECORDED_ON",
    "RUNS",
    "SLEDS",
    "Run",
    "Times",
    "device",
    "make",
    "measured",
    "origin_of_runs",
    "record",
    "recorded",
    "replay",
    "small",
    "times",
    "trace",
]

SLEDS = ("g1", "g2", "g3")
EVERY = (*SLEDS, *DISKS)
#: The paper's disks have no write-back: what section 4.2 says of PostMark needs that.
NO_WRITE_BACK: Mapping[str, Any] = {"fast_write": "none"}
#: The device of the recorded runs, and the mobile disk of section 4.3.
RECORDED_ON, MOBILE_DISK = "g2", "travelstar"
#: Size of the file system, MiB: the same on every device, and no larger than a G1.
FILE_SYSTEM_MIB = 2048
#: The machine of section 3.2. Digital UNIX wrote metadata synchronously, as ext2 does with ``dirsync``.
PAPERS_MACHINE: Mapping[str, Any] = {
    "memory_mib": 128,
    "cpu": 1.0,
    "file_system": "ext2",
    "mount": "dirsync",
    "file_system_mib": FILE_SYSTEM_MIB,
}
#: The Linux of Table 4 writes metadata later.
MOBILE_MACHINE: Mapping[str, Any] = {**PAPERS_MACHINE, "mount": "defaults"}
#: The applications of section 4.2.
APPLICATIONS = ("andrew", "postmark", "gnuld", "tpcd-q4", "tpcd-q6")


@dataclass(frozen=True)
class Run:
    """A run of a program on a machine.

    Parameters
    ----------
    program
        Name of the program of ``sledsim machine``.
    sizes
        Sizes of its work.
    device
        A generation, a disk of the paper, or an entry of the catalogue.
    guest
        Options of the machine.
    has_trace
        True if the package contains its block trace.
    """

    program: str
    sizes: Mapping[str, int]
    device: str = RECORDED_ON
    guest: Mapping[str, Any] = field(default_factory=lambda: PAPERS_MACHINE)
    has_trace: bool = True


#: Programs and their sizes.
PROGRAMS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "andrew": ("andrew", {"copies": 11}),
    "postmark": ("postmark", {"files": 500, "transactions": 20_000, "folders": 10}),
    "gnuld": ("link", {"objects": 2000}),
    "tpcd-q4": ("tpch", {"first": 4, "last": 4, "scale_percent": 10}),
    "tpcd-q6": ("tpch", {"first": 6, "last": 6, "scale_percent": 10}),
}
#: Sizes of the runs on every device.
SMALL_PROGRAMS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "andrew": ("andrew", {"copies": 1}),
    "postmark": ("postmark", {"files": 500, "transactions": 500, "folders": 10}),
    "gnuld": ("link", {"objects": 1500}),
    "tpcd-q4": ("tpch", {"first": 4, "last": 4}),
    "tpcd-q6": ("tpch", {"first": 6, "last": 6}),
}


def small(application: str, on: str) -> str:
    """Return the name of the run of a smaller program on a device.

    Parameters
    ----------
    application
        One of :data:`APPLICATIONS`.
    on
        One of :data:`EVERY`.
    """
    return f"small-{application}-{on}"


#: Runs on other devices that check the replays, and the run whose trace is replayed.
CHECKED: Mapping[str, str] = {"tpcd-q6-atlas10k": "tpcd-q6", "gnuld-atlas10k": "gnuld"}

#: All recorded runs by name, those that most claims need first.
RUNS: Mapping[str, Run] = {
    **{name: Run(*PROGRAMS[name]) for name in APPLICATIONS},
    "mobile-andrew": Run("andrew", {"copies": 5}, MOBILE_DISK, MOBILE_MACHINE),
    "mobile-postmark": Run(
        "postmark", {"files": 20_000, "transactions": 20_000, "folders": 100}, MOBILE_DISK, MOBILE_MACHINE
    ),
    "mobile-netscape": Run(
        "browse", {"pages": 200, "visits": 40, "cache_kib": 7680, "pause_ms": 26_000}, MOBILE_DISK, MOBILE_MACHINE
    ),
    **{name: Run(*PROGRAMS[of], "atlas10k", has_trace=False) for name, of in CHECKED.items()},
    **{
        small(name, on): Run(
            *SMALL_PROGRAMS[name], on, {key: PAPERS_MACHINE[key] for key in PAPERS_MACHINE if key != "file_system_mib"},
            has_trace=False,
        )
        for name in APPLICATIONS
        for on in EVERY
    },
}  # fmt: skip


def device(name: str, **changes: Any) -> dict[str, Any]:
    """Return the device table of a scenario.

    Parameters
    ----------
    name
        A generation, a disk of the paper, or an entry of the catalogue.
    **changes
        Values that replace those of the device.
    """
    if name in SLEDS:
        return {"name": f"{name}-paper", **changes}
    return {**DISKS[name], **NO_WRITE_BACK, **changes} if name in DISKS else {"name": name, **changes}


#: Folder of the recorded runs: their figures in ``runs.json``, and compressed traces.
RECORDS = Path(__file__).with_name("recorded")
#: Columns of a recorded trace.
COLUMNS = ("t_ns", "offset_bytes", "bytes", "op", "response_ns")
#: Recorded figures of a run.
FIGURES = (
    *("run_ms", "user_ms", "system_ms", "processor_ms", "waiting_ms", "kernel_ms", "sync_ms", "requests", "path_us"),
    *("starts_s", "ends_s"),
)


def trace(name: str) -> Path:
    """Return the path of the recorded block trace of a run.

    Parameters
    ----------
    name
        One of :data:`RUNS`.
    """
    return RECORDS / f"{name}.csv.xz"


@cache
def recorded() -> dict[str, Any]:
    """Return the recorded runs by name (``runs``), and the packages of their machines by date (``machines``)."""
    content: dict[str, Any] = json.loads((RECORDS / "runs.json").read_text(encoding="utf-8"))
    return content


def measured(name: str) -> dict[str, Any]:
    """Return the recorded figures of a run.

    Parameters
    ----------
    name
        One of :data:`RUNS`.
    """
    figures: dict[str, Any] = recorded()["runs"][name]
    return figures


def origin_of_runs() -> str:
    """Return the date of the recorded runs and the kernel of their machine."""
    made = measured(APPLICATIONS[0])["made"]
    packages = recorded()["machines"][made]
    [kernel] = [version for name, version in packages.items() if name.startswith("linux-image")]
    return f"Block traces recorded {made} with Linux {kernel}"


@dataclass(frozen=True)
class Times:
    """Times of an application on a device, ms.

    Parameters
    ----------
    run_ms
        Run time.
    processor_ms
        Processor time of the program and of the kernel on its behalf.
    """

    run_ms: float
    processor_ms: float

    @property
    def waiting_ms(self) -> float:
        """Time spent waiting for storage: run time without processor time."""
        return self.run_ms - self.processor_ms


def replay(name: str, storage: Mapping[str, Any], *, processor_time: float = 1.0) -> dict[str, Any]:
    """Return the scenario that replays the requests of a run on a device, with the processor time between them.

    Parameters
    ----------
    name
        One of :data:`RUNS` with a trace.
    storage
        The device table.
    processor_time
        Factor of the processor time: 2 for a processor of half the speed.
    """
    figures = measured(name)
    workload = {
        "kind": "trace",
        "path": str(trace(name)),
        "mode": "closed",
        "start_s": figures["starts_s"],
        "end_s": figures["ends_s"],
        "time_scale": processor_time,
    }
    return {"workload": workload, "system": {"device": dict(storage)}}


def times(study: Study, name: str, storage: Mapping[str, Any], *, processor_time: float = 1.0) -> Times:
    """Return the times of an application on a device, from a replay of its requests.

    The processor time before the first request and after the last is added to the time of the replay.

    Parameters
    ----------
    study
        The study that replays them.
    name, storage, processor_time
        As for :func:`replay`.
    """
    figures = measured(name)
    replayed = study.run(replay(name, storage, processor_time=processor_time))
    run_ms = 1e3 * float(replayed.run.measured_s) + processor_time * figures["outside_ms"]
    return Times(run_ms, processor_time * figures["processor_ms"])


def folder() -> Path:
    """Return the folder of the runs made here."""
    return machine.folder() / "applications"


def key(run: Run, packages: Mapping[str, str]) -> str:
    """Return a hash of a run and of the packages of the machine.

    Parameters
    ----------
    run
        The run.
    packages
        Versions by name.
    """
    content = [asdict(run), device(run.device), dict(packages)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def make(name: str) -> bool:
    """Make a run on this computer if its result is missing; return true if it was made.

    Parameters
    ----------
    name
        One of :data:`RUNS`.
    """
    run = RUNS[name]
    result_path = folder() / f"{name}-{key(run, machine.packages())}.json"
    if result_path.exists():
        return False
    result_path.parent.mkdir(parents=True, exist_ok=True)
    system = {"device": device(run.device)}
    if run.device in SLEDS:
        system["device"]["seek_model"] = "decomposed"
    result = machine.run(system, run.program, sizes=run.sizes, guest=machine.Guest(**run.guest))
    if result.status:
        raise RuntimeError(f"{name} ended with status {result.status}: {result.errors}")
    result.save_trace(result_path.with_suffix(".csv"))
    # Renamed when complete, so that an interrupted run leaves no result.
    part = result_path.with_suffix(".part")
    part.write_text(json.dumps(result.to_dict()), encoding="utf-8")
    part.rename(result_path)
    return True


def record(made: str) -> list[str]:
    """Put the runs made here into the package; return their names.

    Parameters
    ----------
    made
        The date.
    """
    packages, content = machine.packages(), recorded()
    names = []
    for name, run in RUNS.items():
        path = folder() / f"{name}-{key(run, packages)}.json"
        if path.exists():
            result = json.loads(path.read_text(encoding="utf-8"))
            text = path.with_suffix(".csv").read_text(encoding="utf-8")
            figures = {figure: result[figure] for figure in FIGURES}
            content["runs"][name] = {"made": made, **figures, "outside_ms": outside_ms(text, figures)}
            if run.has_trace:
                trace(name).write_bytes(compressed(text))
            names.append(name)
    content["machines"][made] = dict(packages)
    used = {figures["made"] for figures in content["runs"].values()}
    content["machines"] = {date: versions for date, versions in content["machines"].items() if date in used}
    content["runs"] = {name: content["runs"][name] for name in RUNS if name in content["runs"]}
    (RECORDS / "runs.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return names


def outside_ms(text: str, figures: Mapping[str, Any]) -> float:
    """Return the part of a run before its first request arrives and after its last is complete, ms.

    Parameters
    ----------
    text
        Its trace.
    figures
        Its figures.
    """
    rows = [(int(row["t_ns"]), int(row["response_ns"])) for row in csv.DictReader(io.StringIO(text))]
    during = [(at, at + response) for at, response in rows if figures["starts_s"] <= at / 1e9 < figures["ends_s"]]
    span_ns = max(end for _, end in during) - during[0][0]
    return float(figures["run_ms"]) - span_ns / 1e6


def compressed(text: str) -> bytes:
    """Return the recorded form of a machine's trace.

    Parameters
    ----------
    text
        A table with :data:`COLUMNS` and others, which are left out.
    """
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(csv.DictReader(io.StringIO(text)))
    return lzma.compress(out.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME)
