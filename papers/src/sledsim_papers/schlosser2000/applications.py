"""Schlosser et al. 2000, section 4.2: applications on a machine of 1 GHz with 128 MB, and the runs that claims rest on.

A run boots a whole machine and takes a quarter of a minute of a processor or more; so each is made once, by
`make applications`, and kept beside what `make machine` has assembled. Each is known by its content: storage, program,
machine, and packages. What was found once is recorded here, for those who have made none: see :func:`found`.
"""

import csv
import hashlib
import io
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from sledsim import machine
from sledsim.devices import catalog
from sledsim.runs import in_threads, threads_of
from sledsim.scenario import resolve
from sledsim_papers.harness.motion import TIME_OPTIMAL, table_of
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import MissingRunsError
from sledsim_papers.schlosser2000.devices import DISKS

__all__ = [
    "APPLICATIONS",
    "EVERY",
    "SLED",
    "SLEDS",
    "TWO_WAY",
    "VARIATIONS",
    "WRITTEN_LATER",
    "Run",
    "Runs",
    "all_runs",
    "found",
    "machines_of",
    "make",
    "origin_of_runs",
    "record",
]

#: The generations as the paper prints them, and the disks, without write-back: what it says of PostMark needs that.
SLEDS = ("g1", "g2", "g3")
EVERY = (*SLEDS, *DISKS)
SLED: dict[str, Any] = {"seek_model": "decomposed"}
DISK: dict[str, Any] = {"fast_write": "none"}

#: Programs and their sizes.
APPLICATIONS: dict[str, tuple[str, dict[str, int]]] = {
    "andrew": ("andrew", {"copies": 1}),
    "postmark": ("postmark", {"files": 500, "transactions": 500, "folders": 10}),
    "gnuld": ("link", {"objects": 1500}),
    "tpcd-q4": ("tpch", {"first": 4, "last": 4}),
    "tpcd-q6": ("tpch", {"first": 6, "last": 6}),
}
#: Machines with one property changed that differs from the paper's machine or is unknown.
VARIATIONS: dict[str, dict[str, Any]] = {
    "half the memory": {"memory_mib": 64},
    "twice the memory": {"memory_mib": 256},
    "ext4": {"file_system": "ext4"},
    "half the processor": {"cpu": 0.5},
    "twice the processor": {"cpu": 2.0},
    "a tenth of the processor": {"cpu": 0.1},
}
#: Digital UNIX wrote metadata at once: `dirsync` has ext2 do that.
GUEST = {"memory_mib": 128, "cpu": 1.0, "file_system": "ext2", "mount": "dirsync"}


def machines_of(application: str) -> dict[str, dict[str, Any]]:
    """Return what an application runs on: the machine as the paper's, and those on which something is another.

    Half the memory is not enough for the linker, which the kernel kills: it has twice as much instead. A tenth of the
    processor is for the query that the paper says is bound by it.

    Parameters
    ----------
    application
        Which one.
    """
    left_out = {"half the memory" if application == "gnuld" else "twice the memory"}
    if application != "tpcd-q6":
        left_out.add("a tenth of the processor")
    return {"as the paper's": {}, **{name: guest for name, guest in VARIATIONS.items() if name not in left_out}}


@dataclass(frozen=True)
class Run:
    """An application on a device.

    Parameters
    ----------
    application
        Which one.
    device
        The generation or the disk.
    changes
        Values of the device that are others.
    guest
        What of the machine is another.
    laid
        The whole device, where a reader has changed it.
    """

    application: str
    device: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    guest: Mapping[str, Any] = field(default_factory=dict)
    laid: Mapping[str, Any] | None = None

    @property
    def system(self) -> dict[str, Any]:
        """The storage."""
        if self.laid is not None:
            return {"device": dict(self.laid)}
        own = {"name": f"{self.device}-paper", **SLED} if self.device in SLEDS else {**DISKS[self.device], **DISK}
        return {"device": {**own, **self.changes}}

    def key(self, packages: Mapping[str, str] | None = None) -> str:
        """Return the hash of its content, after its name.

        Parameters
        ----------
        packages
            What the machine is assembled from; left out where the same run of any machine is meant.
        """
        device = self.system["device"]
        entry = catalog().get(device["name"])
        # Without defaults of the core, so that a further key of a device leaves the names of recorded runs.
        given = {key: each.value for key, each in entry.values.items()} if entry else {}
        content = [{**given, **device}, APPLICATIONS[self.application], {**GUEST, **self.guest}]
        text = json.dumps([*content, packages] if packages else content, sort_keys=True, default=str)
        return f"{self.application}-{self.device}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Runs:
    """The runs in which sleds move by one model.

    Parameters
    ----------
    motion
        That of the sleds; the paper's, unless said otherwise.
    settings
        What a reader has changed of the devices: such runs are made as they are asked for.
    """

    motion: str = SLED["seek_model"]
    settings: Settings | None = None

    def of(
        self,
        application: str,
        device: str,
        changes: Mapping[str, Any] | None = None,
        guest: Mapping[str, Any] | None = None,
    ) -> Run:
        """Return a run; parameters as for :class:`Run`."""
        moved = {} if device in DISKS or self.motion == SLED["seek_model"] else {"seek_model": self.motion}
        run = Run(application, device, {**moved, **(changes or {})}, guest or {})
        return replace(run, laid=table_of(self.settings.device(run.system["device"]))) if self.settings else run

    def found(self, run: Run) -> dict[str, Any]:
        """Return what a run found; as :func:`found`, and with settings :func:`made_now`.

        Parameters
        ----------
        run
            Which one.
        """
        return made_now(run) if self.settings else found(run)

    def on_each(self, application: str, devices: Sequence[str] = EVERY, **guest: Any) -> dict[str, dict[str, Any]]:
        """Return what an application found on each device.

        Parameters
        ----------
        application
            Which one.
        devices
            Which ones.
        **guest
            What of the machine is another.

        Raises
        ------
        MissingRunsError
            Where the runs were not made here.
        """
        runs = [self.of(application, device, {}, guest) for device in devices]
        outcomes = dict(in_threads(self.found, runs, threads_of(None) if self.settings else 1))
        return {device: outcomes[place].result() for place, device in enumerate(devices)}

    def figures(self, application: str, key: str, devices: Sequence[str] = EVERY, **guest: Any) -> dict[str, float]:
        """Return one figure of what an application found on each device; parameters and errors as for :meth:`on_each`.

        Parameters
        ----------
        application
            Which one.
        key
            Which figure.
        devices
            Which ones.
        **guest
            What of the machine is another.
        """
        return {device: float(each[key]) for device, each in self.on_each(application, devices, **guest).items()}


def folder() -> Path:
    """Return where runs made here are kept."""
    return machine.folder() / "applications"


#: Recorded measurements, and the traces that are replayed.
RECORDS = Path(__file__).with_name("recorded")
#: Ending of a recorded trace: a compressed table of requests and their responses. The gaps are processor time, which a
#: replay with ``mode = "closed"`` keeps.
TRACE = ".csv.xz"
#: Columns of such a table.
COLUMNS = ("t_ns", "offset_bytes", "bytes", "op", "response_ns")
#: Recorded keys of a run.
FIGURES = (
    *("run_ms", "user_ms", "system_ms", "processor_ms", "waiting_ms", "kernel_ms", "sync_ms", "requests", "path_us"),
    *("starts_s", "ends_s"),
)


@cache
def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((RECORDS / "runs.json").read_text(encoding="utf-8"))
    return recorded


def are_made_here() -> bool:
    """Return true if runs were made here; the recorded ones are then left out."""
    return machine.is_there() and any(folder().glob("*.json"))


def origin_of_runs() -> str:
    """Return the origin of the runs: made here, or recorded, with the date and the kernel."""
    if are_made_here():
        return "Runs made here"
    packages = _recorded()["packages"].items()
    [kernel] = [version for name, version in packages if name.startswith("linux-image")]
    return f"Runs as recorded {_recorded()['made']} with Linux {kernel}; `make machine applications` makes them here"


def found(run: Run) -> dict[str, Any]:
    """Return the times of a run, and the path of its ``trace`` if that is kept.

    If any run was made here, the result is of a run made here; otherwise of the recorded run with the same storage,
    program and machine. The two are not mixed, because another build of the server sends requests at other times.

    Parameters
    ----------
    run
        Which one.

    Raises
    ------
    MissingRunsError
        Where it was not made here though others were, or none is recorded.
    """
    if are_made_here():
        path = folder() / f"{run.key(machine.packages())}.json"
        if not path.exists():
            raise MissingRunsError
        return _read(path)
    name = run.key()
    if name not in _recorded()["runs"]:
        raise MissingRunsError
    return {**_recorded()["runs"][name], "trace": str(RECORDS / f"{name}{TRACE}")}


def record(made: str) -> int:
    """Record the runs that were made here, with their requests; return how many.

    Parameters
    ----------
    made
        The day.
    """
    packages, runs = machine.packages(), {}
    RECORDS.mkdir(exist_ok=True)
    for run in all_runs():
        path = folder() / f"{run.key(packages)}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            runs[run.key()] = {name: found[name] for name in FIGURES}
            (RECORDS / f"{run.key()}{TRACE}").write_bytes(compressed(path.with_suffix(".csv").read_text("utf-8")))
    text = json.dumps({"made": made, "packages": packages, "runs": runs}, indent=1)
    (RECORDS / "runs.json").write_text(text + "\n", encoding="utf-8")
    return len(runs)


def compressed(trace: str) -> bytes:
    """Return the recorded form of a machine's trace.

    Parameters
    ----------
    trace
        A table with :data:`COLUMNS` and others, which are left out.
    """
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(csv.DictReader(io.StringIO(trace)))
    return lzma.compress(text.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME)


def make(run: Run, kept: Path | None = None) -> bool:
    """Make a run, unless it was made; tell whether it had to be.

    Parameters
    ----------
    run
        Which one.
    kept
        The folder in which it is kept; that of the runs that claims rest on if left out.
    """
    kept, key = kept or folder(), run.key(machine.packages())
    kept.mkdir(parents=True, exist_ok=True)
    if (kept / f"{key}.json").exists():
        return False
    program, sizes = APPLICATIONS[run.application]
    made = machine.run(run.system, program, sizes=sizes, guest=machine.Guest(**{**GUEST, **run.guest}))
    if made.status:
        raise RuntimeError(f"{run.application} on {run.device} ended with {made.status}: {made.errors}")
    made.save_trace(kept / f"{key}.csv")
    # Renamed when it is whole: a run that was killed is not there.
    part = kept / f"{key}.part"
    part.write_text(json.dumps({**made.to_dict(), "run": asdict(run)}), encoding="utf-8")
    part.rename(kept / f"{key}.json")
    return True


def made_now(run: Run) -> dict[str, Any]:
    """Return what a run with other values found, which is made if it was not yet; beside those that claims rest on.

    Parameters
    ----------
    run
        Which one.

    Raises
    ------
    MissingRunsError
        Where there is no machine to make it on.
    """
    if not machine.is_there():
        raise MissingRunsError
    changed = folder() / "changed"
    make(run, changed)
    return _read(changed / f"{run.key(machine.packages())}.json")


def _read(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {**made, "trace": str(path.with_suffix(".csv"))}


#: Buffer settings for early completion of writes, from none to more.
WRITE_BACK: tuple[dict[str, Any], ...] = (
    {},
    {"fast_write": "full", "buffer_segments": 2},
    {"fast_write": "full", "buffer_segments": 10},
)
#: The machine whose file system writes metadata back later.
WRITTEN_LATER = {"mount": "defaults"}
#: Values of a G1 that accesses in both directions.
TWO_WAY = {"bidirectional": True}
#: The SuperDisk's zones from this one on: its data then lie that far inward.
INWARD = (0, 6, 11)


def inner(first_zone: int) -> dict[str, Any]:
    """Return changes that leave a disk the zones from one on, so that what is written first lies there.

    Parameters
    ----------
    first_zone
        The outermost that is left.
    """
    if first_zone == 0:
        return {}
    zones = resolve({"workload": {"kind": "session"}, "system": {"device": "superdisk"}}).values["system"]["device"]
    return {"zones": zones["zones"][first_zone:]}


def all_runs() -> Iterator[Run]:
    """Yield all runs that claims rest on, those first without which there is no verdict."""
    runs = Runs()
    yield from (runs.of(application, device) for application in APPLICATIONS for device in EVERY)
    yield from (runs.of(application, "g1", TWO_WAY) for application in ("andrew", "tpcd-q4"))
    yield runs.of("andrew", "g1", TWO_WAY, VARIATIONS["ext4"])
    yield from (runs.of("postmark", "atlas10k", each) for each in WRITE_BACK[1:])
    yield from (runs.of("postmark", device, {}, WRITTEN_LATER) for device in (*SLEDS, "atlas10k"))
    yield from (runs.of("tpcd-q4", "superdisk", inner(each)) for each in INWARD[1:])
    yield from (
        runs.of(application, device, {}, guest)
        for application in APPLICATIONS
        for guest in list(machines_of(application).values())[1:]
        for device in EVERY
    )
    # The figures that stand beside those by the paper's motion.
    beside = Runs(TIME_OPTIMAL)
    yield from (beside.of(application, device) for application in APPLICATIONS for device in SLEDS)
    yield beside.of("andrew", "g1", TWO_WAY)
