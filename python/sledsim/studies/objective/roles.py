"""Roles that MEMS storage may have, and policies for it: how each is run with and without."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError, error_of
from sledsim.devices.device import Device
from sledsim.devices.entries import device_of
from sledsim.runs.confidence import BATCHES
from sledsim.runs.result import Result
from sledsim.runs.running import run_resolved
from sledsim.runs.summary_tables import METRICS, metric_rows
from sledsim.scenario.reading import Resolved, ScenarioLike, Sets, Written, resolve
from sledsim.scenario.system_tree import drive_of, drives_in, with_drives
from sledsim.show.faults import Sentence, by_arguments, make_error
from sledsim.show.naming import label_of
from sledsim.show.progress import ProgressBar
from sledsim.studies.calibration.fitted_disk import mean_access_ms
from sledsim.studies.objective.naming import is_layout, is_scheduler, require_layout, wrongly_named
from sledsim.studies.relations.access import FETCHES, fetch_times_s, scan_relation
from sledsim.studies.relations.layouts import Relation, layout_named, layouts_of

if TYPE_CHECKING:
    from sledsim.studies.objective.role_test import RoleTest

__all__ = ["LESS_IS_BETTER", "RESPONSE", "LayoutRole", "Role", "ScenarioRole", "policy_scenario", "role_named"]

#: Makes a device into another: what it is given and what it returns are whole devices.
Change = Callable[[dict[str, Any]], dict[str, Any]]

#: The workload in which schedulers are compared: random reads of 8 KB, as in section 5.4 of schlosser2004, at a rate at
#: which first come, first served keeps the device busy for this share of the time.
POLICY_BYTES, POLICY_LOAD, POLICY_REQUESTS = 8192, 0.95, 20_000
#: What schedulers are compared with: one that knows no more than block numbers.
USUAL_SCHEDULER = "clook"
#: What is measured unless something else is requested, and all of which less is better, with labels.
RESPONSE = "response.mean_ms"
LESS_IS_BETTER = {
    path: label for label, path in METRICS if path.split(".")[-1].endswith(("_ms", "_j", "_mj", "_w", "mean", "max"))
}
#: What only MEMS storage does, switched off for a disk without powers.
NOT_ON_A_DISK: dict[str, Any] = {"subsector": False, "spin_down": None, "delayed_startup": None}


class Role(ABC):
    """A role or policy, which can be run with and without.

    Parameters
    ----------
    title
        What it is called.
    baseline
        What there is without it; ``None`` if not given to compare with.
    """

    def __init__(self, title: str, baseline: str | None) -> None:
        self.title, self.baseline = title, baseline

    @abstractmethod
    def mems_devices(self) -> list[dict[str, Any]]:
        """Return the MEMS devices that have the role, whole, each once."""

    def title_on(self, device: Mapping[str, Any]) -> str:
        """Return the scenario in which a device has the role.

        Parameters
        ----------
        device
            The whole device.
        """
        return self.title

    @abstractmethod
    def samples(
        self, sampling: "RoleTest", change: Change | None = None, *, role: bool = True, progress: bool = False
    ) -> list[float]:
        """Measure it: a figure for each replication, the same random numbers for the same place in the list.

        Parameters
        ----------
        sampling
            How often.
        change
            What becomes of each MEMS device; it stays if not given.
        role
            With the role; without it otherwise.
        progress
            Show a progress bar on a terminal.
        """

    @abstractmethod
    def sampled_by(self, sampling: "RoleTest") -> str:
        """Return the kind and number of samples, such as ``10 seeds``."""

    @abstractmethod
    def measure(self, sampling: "RoleTest") -> str:
        """Return the label of the metric, with its unit."""


class ScenarioRole(Role):
    """A role that a scenario describes.

    Parameters
    ----------
    title
        What it is called.
    with_role
        The scenario, with MEMS storage in its system.
    baseline, without
        Name and scenario of what there is without the role, if that is known.
    load
        What requests come, where the title does not say.
    """

    def __init__(
        self,
        title: str,
        with_role: Resolved,
        baseline: str | None = None,
        without: Resolved | None = None,
        *,
        load: str = "",
    ) -> None:
        super().__init__(title, baseline)
        self._load = load
        self._with, self._without = with_role, without
        if not self.mems_devices():
            drives = drives_in(with_role.values["system"])
            names = ", ".join(sorted({label_of(each["device"]["name"]) for each in drives}))
            says = f"role {title}: its system has no MEMS storage but {names}; give one of its drives a g2"
            raise make_error(SledsimError, "unsupported", says, path="role", value=title)

    def mems_devices(self) -> list[dict[str, Any]]:
        """Return the MEMS devices that have the role, whole, each once."""
        found: list[dict[str, Any]] = []
        for drive in drives_in(self._with.values["system"]):
            device = drive["device"]
            if device["mechanism"] == "mems" and device not in found:
                found.append(device)
        return found

    def samples(
        self, sampling: "RoleTest", change: Change | None = None, *, role: bool = True, progress: bool = False
    ) -> list[float]:
        """Measure mean responses, ms; see :meth:`Role.samples`."""
        chosen = self._with if role else self._without
        if chosen is None:
            says: Sentence = [f"role {self.title}: what is there without it? Name a scenario with ", ("without",)]
            raise make_error(SledsimError, "missing", says, path="without")
        values = dict(chosen.values)
        if change is not None:
            values["system"] = with_drives(values["system"], lambda drive: _changed(drive, change))
        if sampling.requests is not None:
            values["run"] = _shortened(values["run"], sampling.requests)
        if _replays(values["workload"]):
            if sampling.metric != RESPONSE:
                says = f"metric {sampling.metric}: of the stretches of a trace only {RESPONSE} is known"
                raise make_error(
                    SledsimError, "unsupported", says, path="metric", value=sampling.metric, allowed=[RESPONSE]
                )
            return _stretches(_run(values, self.title, progress=progress, log=True))
        label = self.title if role else str(self.baseline)
        means = []
        for seed in range(sampling.seed, sampling.seed + sampling.replications):
            result = _run({**values, "seed": seed}, f"{label}, seed {seed}", progress=progress)
            means.append(_value(result, sampling.metric, label))
        return means

    def sampled_by(self, sampling: "RoleTest") -> str:
        """Return the kind and number of samples."""
        if _replays(self._with.values["workload"]):
            return f"{BATCHES} stretches of the trace"
        requests = sampling.requests or self._with.values["run"]["requests"]
        parts = [f"{sampling.replications} seeds", f"{requests:,} requests each" if requests else "", self._load]
        return ", ".join(part for part in parts if part)

    def measure(self, sampling: "RoleTest") -> str:
        """Return the label of the metric, with its unit."""
        return LESS_IS_BETTER[sampling.metric]


class LayoutRole(Role):
    """A layout of the relation of schlosser2004, section 6.1.1, instead of one by pages.

    What is measured is the geometric mean of a scan of all attributes, one scan of each of them, and the fetch of a
    random row: a layout gains by what it does for both directions. Where a device can't have the layout, the better one
    by pages takes its place.

    Parameters
    ----------
    layout
        Name of the layout.
    device
        The MEMS device.
    baseline
        Layout without it; the better of row-major and column-major if not given.
    """

    def __init__(self, layout: str, device: Device, baseline: str | None = None) -> None:
        super().__init__(layout, baseline or "pages")
        self._device, self._relation = device, Relation()
        self._paged = [layout_named(baseline).NAME] if baseline else ["row-major", "column-major"]
        self._layout = layout_named(layout).NAME

    def mems_devices(self) -> list[dict[str, Any]]:
        """Return the device."""
        return [self._device.parameters]

    def title_on(self, device: Mapping[str, Any]) -> str:
        """Return the layout, or what takes its place on a device that can't have it."""
        return self.title if self._layout in layouts_of(Device(device)) else f"pages (no {self.title})"

    def samples(
        self, sampling: "RoleTest", change: Change | None = None, *, role: bool = True, progress: bool = False
    ) -> list[float]:
        """Measure geometric means of scan, scans and fetch, ms, for 30 batches of fetches; see :meth:`Role.samples`."""
        device = Device(change(dict(self._device.parameters))) if change else self._device
        wanted = [self._layout] if role and self._layout in layouts_of(device) else self._paged
        found = [self._of(name, device, sampling) for name in wanted if name in layouts_of(device)]
        return min(found, key=sum)

    def sampled_by(self, sampling: "RoleTest") -> str:
        """Return the kind and number of samples."""
        return f"{BATCHES} batches of {sampling.requests or FETCHES} fetches in all"

    def measure(self, sampling: "RoleTest") -> str:
        """Return the label of the metric, with its unit."""
        if sampling.metric != RESPONSE:
            says = f"metric {sampling.metric}: layouts are measured by their scans and fetches alone"
            raise make_error(SledsimError, "unsupported", says, path="metric", value=sampling.metric)
        return "scan, scans and fetch (ms)"

    def _of(self, name: str, device: Device, sampling: "RoleTest") -> list[float]:
        layout = layout_named(name)(self._relation, device)
        full_s = scan_relation(layout).time_s
        single_s = sum(scan_relation(layout, i).time_s for i in range(len(self._relation.attributes)))
        fetches = fetch_times_s(layout, sampling.requests or FETCHES, sampling.seed)
        return [1e3 * (full_s * single_s * fetch_s) ** (1 / 3) for fetch_s in _batch_means(fetches)]


def role_named(
    role: ScenarioLike | Written,
    without: ScenarioLike | Written | None = None,
    *,
    device: str | None = None,
    rate_per_s: float | None = None,
    sets: Sets = (),
) -> Role:
    """Return the role that a name, a file or a scenario stands for.

    Parameters
    ----------
    role
        A scheduler or a layout by name, a class (``my_module:MyPolicy``), or a scenario.
    without
        What there is without it: a scheduler or layout for a policy, a scenario for a role.
    device, rate_per_s
        For a policy: the MEMS device (g2), and for a scheduler the arrivals in a second; such that first come, first
        served keeps the device 95 % busy if not given.
    sets
        Values that replace those of the scenarios.

    Raises
    ------
    SledsimError
        Where there is none of that name, or an option has no meaning for it.
    """
    found = wrongly_named(role, without, device=device, rate_per_s=rate_per_s)
    if found:
        raise error_of(SledsimError, found)
    sets = sets if isinstance(sets, Mapping | str) else list(sets)
    if is_scheduler(role):
        return _scheduler_role(str(role), without, device or "g2", rate_per_s, sets)
    if is_layout(role):
        chosen = device_of("device", device or "g2", overrides=sets)
        require_layout(str(role), chosen)
        return LayoutRole(str(role), chosen, None if without is None else str(without))
    baseline = None if without is None else resolve(without, sets)
    return ScenarioRole(_title(role), resolve(role, sets), None if without is None else _title(without), baseline)


def _scheduler_role(
    name: str, without: ScenarioLike | Written | None, device: str, rate_per_s: float | None, sets: Sets
) -> ScenarioRole:
    """Return a scheduler's role: random reads, with it and with another."""
    other = USUAL_SCHEDULER if without is None else without

    def scenario(scheduler: str, argument: str, rate_per_s: float) -> Resolved:
        of_policy = dict.fromkeys([f"system.scheduler{key}" for key in ("", ".name", ".python")], argument)
        with by_arguments({**of_policy, "system.device.name": "device", "workload.arrival.rate_per_s": "rate_per_s"}):
            return policy_scenario(scheduler, device, rate_per_s, sets)

    if rate_per_s is None:
        chosen = drive_of(scenario(name, "role", 1.0).values["system"])["device"]
        rate_per_s = 1e3 * POLICY_LOAD / mean_access_ms(chosen, POLICY_BYTES)
    tested, rival = scenario(name, "role", rate_per_s), scenario(str(other), "without", rate_per_s)
    load = f"random reads of {POLICY_BYTES:,} bytes at {rate_per_s:,.4g}/s"
    return ScenarioRole(name, tested, str(other), rival, load=load)


def policy_scenario(scheduler: str, device: str, rate_per_s: float, sets: Sets) -> Resolved:
    """Return the scenario in which a scheduler is tested: random reads.

    Parameters
    ----------
    scheduler
        The scheduler.
    device
        The MEMS device.
    rate_per_s
        Arrivals in a second.
    sets
        Values that replace those of the scenario.

    Raises
    ------
    ScenarioError
        Where any of them is wrong.
    """
    workload = {
        "arrival": {"kind": "poisson", "rate_per_s": rate_per_s},
        "size_bytes": {"kind": "fixed", "value": POLICY_BYTES},
    }
    run = {"requests": POLICY_REQUESTS, "warmup_requests": POLICY_REQUESTS // 10}
    return resolve({"workload": workload, "system": {"device": device, "scheduler": scheduler}, "run": run}, sets)


def _title(scenario: ScenarioLike | Written) -> str:
    """Return what a scenario is called: its file."""
    if isinstance(scenario, Written):
        return Path(scenario.name).name
    if isinstance(scenario, str) and scenario == "-":
        return "standard input"
    named = isinstance(scenario, Path) or (isinstance(scenario, str) and "\n" not in scenario)
    return Path(str(scenario)).name if named else "scenario"


def _changed(drive: dict[str, Any], change: Change) -> dict[str, Any]:
    """Return a drive with another device, if it has a MEMS device."""
    if drive["device"]["mechanism"] != "mems":
        return drive
    device = change(dict(drive["device"]))
    off = NOT_ON_A_DISK if device["mechanism"] == "disk" else {}
    return {**drive, "device": device, **off}


def _shortened(run: Mapping[str, Any], requests: int) -> dict[str, Any]:
    """Return run keys with a number of requests; the warm-up stays the same share of them."""
    before = run["requests"]
    warmup = run["warmup_requests"] * requests // before if before else run["warmup_requests"]
    return {**run, "requests": requests, "warmup_requests": warmup}


def _replays(workload: Mapping[str, Any]) -> bool:
    """Return true if a workload is a trace, in which nothing is left to chance."""
    return bool(workload["kind"] == "trace")


def _run(values: Mapping[str, Any], label: str, *, progress: bool, log: bool = False) -> Result:
    """Run a scenario that has been changed, which is checked anew."""
    resolved = resolve(values)
    if progress:
        with ProgressBar(label) as bar:
            result = run_resolved(resolved, log=log, progress=bar)
    else:
        result = run_resolved(resolved, log=log)
    if not result.complete:
        raise KeyboardInterrupt
    if result["response"] is None:
        raise make_error(
            SledsimError, "missing", f"{label}: no request was measured, so there is no mean response to compare"
        )
    return result


def _value(result: Result, metric: str, label: str) -> float:
    """Return a figure of a run."""
    value = {path: found for _, path, found in metric_rows(result.summary)}[metric]
    if value is None:
        says = f"{label}: no {metric} was found; energies need devices whose powers are known"
        raise make_error(SledsimError, "missing", says, path="metric", value=metric)
    return value


def _stretches(result: Result) -> list[float]:
    """Return the mean responses of stretches of a trace, ms, in the order of its requests."""
    import numpy as np

    log = result.log
    in_order = log["response_ns"][np.argsort(log["id"], kind="stable")]
    return _batch_means((in_order.astype(np.float64) * 1e-6).tolist())


def _batch_means(values: list[float]) -> list[float]:
    length = len(values) // BATCHES
    if length < 1:
        says = f"{len(values)} requests are too few to tell anything: it takes at least {BATCHES}"
        raise make_error(SledsimError, "out-of-range", says, value=len(values), allowed={"least": BATCHES})
    return [sum(values[i * length : (i + 1) * length]) / length for i in range(BATCHES)]
