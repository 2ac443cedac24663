"""Schlosser et al. 2000, Table 4: joules of a mobile disk and of a MEMS device under three applications.

The applications' traces are not at hand. Each energy of the table over the power of its mode is the time spent in it;
the times of the disk's modes add up to the length of the run, and in a run of that length the MEMS device is inactive
for all that it does not access data or start up.
"""

from dataclasses import dataclass, replace
from typing import Any

from sledsim.devices import DiskDrive
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

__all__ = [
    "ACCESS_W",
    "APPLICATIONS",
    "INACTIVE_W",
    "SLED_W",
    "Application",
    "Spent",
    "run_s",
    "spent",
    "travelstar",
]


@dataclass(frozen=True)
class Application:
    """A pair of columns of Table 4, J.

    Parameters
    ----------
    name
        The application.
    disk_active_j
        Accessing data.
    disk_idle_j
        Performance idle, fast idle, low-power idle, standby.
    disk_return_j
        Returns from fast and low-power idle, and from standby.
    mems_active_j, mems_startup_j, mems_inactive_j
        Accessing data, starting up, inactive.
    """

    name: str
    disk_active_j: float
    disk_idle_j: tuple[float, float, float, float]
    disk_return_j: tuple[float, float]
    mems_active_j: float
    mems_startup_j: float
    mems_inactive_j: float

    @property
    def disk_j(self) -> float:
        """Of the disk in all."""
        return self.disk_active_j + sum(self.disk_idle_j) + sum(self.disk_return_j)

    @property
    def mems_j(self) -> float:
        """Of the MEMS device in all, as printed."""
        return self.mems_active_j + self.mems_startup_j + self.mems_inactive_j


APPLICATIONS = {
    "andrew": Application("Andrew", 14.026, (13.025, 2.4, 2.722, 0.0), (0.88, 0.0), 1.4, 0.615, 0.744),
    "postmark": Application("PostMark", 1378.162, (1003.969, 0.0, 0.0, 0.0), (0.0, 0.0), 188.859, 86.933, 32.517),
    "netscape": Application(
        "Netscape", 321.211, (1924.1, 1799.885, 1000.467, 308.885), (513.48, 228.8), 32.121, 1.288, 1318.763
    ),
}

#: The most that the paper's MEMS device draws: the sled and 1000 tips. Its start-ups are at that power, too: at the
#: sled's alone those of PostMark would last for 869 s of a run that takes the disk 1032 s.
ACCESS_W = 1.1
#: Power while inactive (section 4.3).
INACTIVE_W = 0.05
#: Power of moving the sled.
SLED_W = 0.1
#: Half of the disk's accesses are taken to be reads.
READS = 0.5


@dataclass(frozen=True)
class Spent:
    """Energies of an application on both devices.

    Parameters
    ----------
    length_s
        How long the disk's modes last.
    active_j, startup_j, inactive_j
        Of the MEMS device in a run of that length.
    startups
        How often it starts.
    scenario
        The run that start-ups and inactive time are from.
    """

    length_s: float
    active_j: float
    startup_j: float
    inactive_j: float
    startups: int
    scenario: dict[str, Any]

    @property
    def mems_j(self) -> float:
        """Of the MEMS device in all."""
        return self.active_j + self.startup_j + self.inactive_j


def travelstar() -> tuple[float, list[float], float]:
    """Return the powers of the mobile disk, W: accessing data, in each idle mode, and while it returns from one."""
    power = DiskDrive("travelstar").parameters["power"]
    active_w = READS * power["active_read_w"] + (1 - READS) * power["active_write_w"]
    return active_w, [mode["power_w"] for mode in power["idle_modes"]], power["idle_modes"][1]["wake_w"]


def run_s(application: Application) -> float:
    """Return how long an application runs on the disk by the table's energies, each over the power of its mode, s.

    Parameters
    ----------
    application
        A pair of columns.
    """
    active_w, modes_w, return_w = travelstar()
    idle_s = sum(idle_j / power_w for idle_j, power_w in zip(application.disk_idle_j, modes_w, strict=True))
    return application.disk_active_j / active_w + idle_s + sum(application.disk_return_j) / return_w


def _idle_periods(count: int, idle_s: float) -> dict[str, Any]:
    """Return a run in which accesses follow each other after an idle time, the device stopping at once after each."""
    think = {"kind": "fixed", "value": idle_s * 1e3}
    return {
        "workload": {"arrival": {"kind": "closed", "outstanding": 1, "think_ms": think}},
        "system": {
            "device": {"name": "g2-paper", "startup_mw": ACCESS_W * 1e3},
            "spin_down": "immediate",
        },
        "run": {"requests": count},
    }


def spent(study: Study, application: Application) -> Spent:
    """Return what an application takes: accesses are the table's, start-ups and inactive time those of a run.

    Parameters
    ----------
    study
        Where it is run.
    application
        A pair of columns.
    """
    length_s = run_s(application)
    one = study.run(_idle_periods(1, 0.0))
    startups = round(application.mems_startup_j / one.energy.startup_j)
    startup_s = startups * one.state_time.startup_s
    inactive_s = length_s - application.mems_active_j / ACCESS_W - startup_s
    scenario = _idle_periods(startups, inactive_s / startups)
    energy = study.run(scenario).energy
    return Spent(length_s, application.mems_active_j, energy.startup_j, energy.inactive_j, startups, scenario)


@experiment("schlosser2000.energy-andrew", "andrew")
@experiment("schlosser2000.energy-postmark", "postmark")
def by_application(study: Study, key: str) -> Finding:
    """Joules of the disk over those of the MEMS device, by application."""
    application = APPLICATIONS[key]
    found = spent(study, application)
    how = (
        "Times in each mode from the energies of Table 4 over the powers of travelstar and of the paper: the disk "
        f"takes {application.disk_j:,.1f} J in {found.length_s:,.1f} s; in that time the MEMS device (g2-paper, "
        f"stopped as soon as nothing waits) {found.active_j:,.1f} J accessing, {found.startup_j:,.3f} J in "
        f"{found.startups:,} start-ups, {found.inactive_j:,.3f} J inactive."
    )
    table_s = (
        application.mems_active_j + application.mems_startup_j
    ) / ACCESS_W + application.mems_inactive_j / INACTIVE_W
    rows = [
        {
            "length of the run from": label,
            "length, s": length,
            "MEMS, J": joules,
            "disk over MEMS": application.disk_j / joules,
        }
        for label, length, joules in (
            ("the disk's modes", found.length_s, found.mems_j),
            ("the MEMS device's modes, as printed", table_s, application.mems_j),
        )
    ]
    return Finding(
        application.disk_j / found.mems_j,
        how,
        decimals=2,
        scenarios=(found.scenario,),
        curve=tuple(rows),
    )


@experiment("schlosser2000.energy-andrew-totals", "andrew")
@experiment("schlosser2000.energy-postmark-totals", "postmark")
@experiment("schlosser2000.energy-netscape-totals", "netscape")
def totals(study: Study, key: str) -> Finding:
    """Joules of both, by application."""
    application, found = APPLICATIONS[key], spent(study, APPLICATIONS[key])
    return replace(by_application(study, key), ours=(application.disk_j, found.mems_j), **_two_runs(key, totals=True))


def _two_runs(key: str, *, totals: bool = False) -> dict[str, Any]:
    """Return why the columns of an application can't be of one run, and what the table's own standby energy gives."""
    table = APPLICATIONS[key]
    standby_s, length_s = table.mems_inactive_j / INACTIVE_W, run_s(table)
    cause = (
        f"The table's {table.mems_inactive_j:,.0f} J of standby at 50 mW last {standby_s:,.0f} s, "
        f"{standby_s / length_s:.1f} times as long as all modes of the disk together: the two columns are not of the "
        "same run."
    )
    ours: Any = (table.disk_j, table.mems_j) if totals else table.disk_j / table.mems_j
    return {
        "cause": cause,
        "probes": (Probe("the table's own standby energy instead of that of the disk's time", ours),),
    }


@experiment("schlosser2000.energy-range")
def energy_range(study: Study) -> Finding:
    """Joules of the disk over those of the MEMS device: all three."""
    printed = tuple(each.disk_j / each.mems_j for each in APPLICATIONS.values())
    return Finding(
        tuple(each.disk_j / spent(study, each).mems_j for each in APPLICATIONS.values()),
        "As energy-andrew, energy-postmark and energy-netscape.",
        decimals=2,
        scenarios=tuple(spent(study, each).scenario for each in APPLICATIONS.values()),
        cause="Table 4 itself has twelve times for Andrew, which is outside; and its two columns for Netscape are not "
        "of the same run (see energy-netscape).",
        probes=(Probe("the joules printed", printed),),
    )


@experiment("schlosser2000.energy-active-share")
def energy_active_share(study: Study) -> Finding:
    """Joules saved in accessing data over all that are saved: Andrew, PostMark."""
    chosen = [APPLICATIONS[key] for key in ("andrew", "postmark")]

    def share(application: Application) -> float:
        mems = spent(study, application)
        return (application.disk_active_j - mems.active_j) / (application.disk_j - mems.mems_j)

    def with_idle(application: Application) -> float:
        mems = spent(study, application)
        accessing_j = application.disk_active_j + application.disk_idle_j[0]
        return (accessing_j - mems.active_j) / (application.disk_j - mems.mems_j)

    return Finding(
        tuple(map(share, chosen)),
        "Joules of accessing data on the disk less those on the MEMS device, over all joules saved.",
        scenarios=tuple(spent(study, each).scenario for each in chosen),
        cause="Under Andrew the disk's performance idle costs nearly as much as its accesses.",
        probes=(Probe("performance idle counted as accessing", tuple(map(with_idle, chosen))),),
    )


@experiment("schlosser2000.energy-netscape-standby-share")
def energy_netscape_standby_share(study: Study) -> Finding:
    """Joules saved under Netscape other than in accessing data over all that are saved."""
    application = APPLICATIONS["netscape"]
    found = spent(study, application)

    def share(mems_j: float) -> float:
        return 1 - (application.disk_active_j - application.mems_active_j) / (application.disk_j - mems_j)

    return Finding(
        share(found.mems_j),
        "As energy-netscape: 1 less the joules saved in accessing data over all joules saved. With the printed total "
        f"of the MEMS device {share(application.mems_j):.3f}.",
        scenarios=(found.scenario,),
    )


@experiment("schlosser2000.energy-netscape")
def energy_netscape(study: Study) -> Finding:
    """Joules of the disk over those of the MEMS device: Netscape."""
    return replace(by_application(study, "netscape"), **_two_runs("netscape"))
