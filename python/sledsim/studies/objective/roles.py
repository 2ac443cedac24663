"""Roles and policies of MEMS storage, which run with the role and with a baseline."""

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

#: A function that replaces the parameters of a device by those of another.
Change = Callable[[dict[str, Any]], dict[str, Any]]

#: The workload for schedulers: random reads of 8 KB, as in section 5.4 of schlosser2004, at a rate at which FCFS keeps
#: the device busy for this share of the time.
POLICY_BYTES, POLICY_LOAD, POLICY_REQUESTS = 8192, 0.95, 20_000
#: The default baseline of schedulers, which uses only block numbers.
USUAL_SCHEDULER = "clook"
#: The default metric, and labels of all metrics for which smaller is better.
RESPONSE = "response.mean_ms"
LESS_IS_BETTER = {
    path: label for label, path in METRICS if path.split(".")[-1].endswith(("_ms", "_j", "_mj", "_w", "mean", "max"))
}
#: Keys of a drive that apply only to MEMS storage, with the values that switch them off.
NOT_ON_A_DISK: dict[str, Any] = {"subsector": False, "spin_down": None, "delayed_startup": None}


class Role(ABC):
    """A role or policy that can run with and without the role.

    Parameters
    ----------
    title
        Name of the role.
    baseline
        Name of the baseline; ``None`` for none.
    """

    def __init__(self, title: str, baseline: str | None) -> None:
        self.title, self.baseline = title, baseline

    @abstractmethod
    def mems_devices(self) -> list[dict[str, Any]]:
        """Return the parameters of the MEMS devices of the role, without duplicates."""

    def title_on(self, device: Mapping[str, Any]) -> str:
        """Return the title of the role on a device.

        Parameters
        ----------
        device
            All parameters of the device.
        """
        return self.title

    @abstractmethod
    def samples(
        self, sampling: "RoleTest", change: Change | None = None, *, role: bool = True, progress: bool = False
    ) -> list[float]:
        """Return the metric for each replication; replications use common random numbers.

        Parameters
        ----------
        sampling
            The options of the test.
        change
            Replaces each MEMS device; by default devices are unchanged.
        role
            True to run with the role, false for the baseline.
        progress
            True for a progress bar on a terminal.
        """

    @abstractmethod
    def sampled_by(self, sampling: "RoleTest") -> str:
        """Return the kind and number of samples, such as ``10 seeds``."""

    @abstractmethod
    def measure(self, sampling: "RoleTest") -> str:
        """Return the label of the metric, with its unit."""


class ScenarioRole(Role):
    """A role described by a scenario.

    Parameters
    ----------
    title
        Name of the role.
    with_role
        The scenario, with MEMS storage in its system.
    baseline, without
        Name and scenario of the baseline, if there is one.
    load
        Description of the workload, if the title does not include it.
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
            message = f"role {title}: its system has only {names}: expected MEMS storage, such as g2"
            raise make_error(SledsimError, "unsupported", message, path="role", value=title)

    def mems_devices(self) -> list[dict[str, Any]]:
        """Return the parameters of the MEMS devices of the role, without duplicates."""
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
            message: Sentence = [f"role {self.title} has no baseline; give its scenario as ", ("without",)]
            raise make_error(SledsimError, "missing", message, path="without")
        values = dict(chosen.values)
        if change is not None:
            values["system"] = with_drives(values["system"], lambda drive: _changed(drive, change))
        if sampling.requests is not None:
            values["run"] = _shortened(values["run"], sampling.requests)
        if _replays(values["workload"]):
            if sampling.metric != RESPONSE:
                message = (
                    f"metric {sampling.metric}: a trace is measured in batches, for which only {RESPONSE} is known"
                )
                raise make_error(
                    SledsimError, "unsupported", message, path="metric", value=sampling.metric, allowed=[RESPONSE]
                )
            return _trace_batches(_run(values, self.title, progress=progress, log=True))
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
    """A layout of the relation of schlosser2004, section 6.1.1, compared with a page layout.

    The metric is the geometric mean of the times of a scan of all attributes, of one scan of each attribute, and of the
    fetch of a random row, as a layout affects both directions of access. A device that does not support the layout uses
    the better page layout instead.

    Parameters
    ----------
    layout
        Name of the layout.
    device
        The MEMS device.
    baseline
        The baseline layout; by default, the better of row-major and column-major.
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
        """Return the name of the layout, or of the page layout on a device that does not support it."""
        return self.title if self._layout in layouts_of(Device(device)) else f"pages (no {self.title})"

    def samples(
        self, sampling: "RoleTest", change: Change | None = None, *, role: bool = True, progress: bool = False
    ) -> list[float]:
        """Measure geometric means of scan, scans and fetch, ms, for 30 batches of fetches; see :meth:`Role.samples`."""
        device = Device(change(dict(self._device.parameters))) if change else self._device
        names = [self._layout] if role and self._layout in layouts_of(device) else self._paged
        found = [self._of(name, device, sampling) for name in names if name in layouts_of(device)]
        return min(found, key=sum)

    def sampled_by(self, sampling: "RoleTest") -> str:
        """Return the kind and number of samples."""
        return f"{BATCHES} batches of {sampling.requests or FETCHES} fetches in all"

    def measure(self, sampling: "RoleTest") -> str:
        """Return the label of the metric, with its unit."""
        if sampling.metric != RESPONSE:
            message = f"metric {sampling.metric}: layouts are measured only by their scans and fetches; leave it out"
            raise make_error(SledsimError, "unsupported", message, path="metric", value=sampling.metric)
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
    """Return the role given by a name, a file or a scenario.

    Parameters
    ----------
    role
        A scheduler or a layout by name, a class (``my_module:MyPolicy``), or a scenario.
    without
        The baseline: a scheduler or layout for a policy, a scenario for a role.
    device, rate_per_s
        For a policy: the MEMS device (default g2), and for a scheduler the arrivals per second (by default such that
        FCFS keeps the device 95 % busy).
    sets
        Values that replace those of the scenarios.

    Raises
    ------
    SledsimError
        If the name is unknown, or an option does not apply to the role.
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
    """Return the role of a scheduler: random reads with the scheduler and with a baseline."""
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
    """Return the scenario for the test of a scheduler: random reads.

    Parameters
    ----------
    scheduler
        The scheduler.
    device
        The MEMS device.
    rate_per_s
        Arrivals per second.
    sets
        Values that replace those of the scenario.

    Raises
    ------
    ScenarioError
        If an argument is invalid.
    """
    workload = {
        "arrival": {"kind": "poisson", "rate_per_s": rate_per_s},
        "size_bytes": {"kind": "fixed", "value": POLICY_BYTES},
    }
    run = {"requests": POLICY_REQUESTS, "warmup_requests": POLICY_REQUESTS // 10}
    return resolve({"workload": workload, "system": {"device": device, "scheduler": scheduler}, "run": run}, sets)


def _title(scenario: ScenarioLike | Written) -> str:
    """Return the name of a scenario: its file name."""
    if isinstance(scenario, Written):
        return Path(scenario.name).name
    if isinstance(scenario, str) and scenario == "-":
        return "standard input"
    named = isinstance(scenario, Path) or (isinstance(scenario, str) and "\n" not in scenario)
    return Path(str(scenario)).name if named else "scenario"


def _changed(drive: dict[str, Any], change: Change) -> dict[str, Any]:
    """Return a drive with its device changed, if it is a MEMS device."""
    if drive["device"]["mechanism"] != "mems":
        return drive
    device = change(dict(drive["device"]))
    off = NOT_ON_A_DISK if device["mechanism"] == "disk" else {}
    return {**drive, "device": device, **off}


def _shortened(run: Mapping[str, Any], requests: int) -> dict[str, Any]:
    """Return the keys of ``run`` with another number of requests, and the warm-up scaled with it."""
    before = run["requests"]
    warmup = run["warmup_requests"] * requests // before if before else run["warmup_requests"]
    return {**run, "requests": requests, "warmup_requests": warmup}


def _replays(workload: Mapping[str, Any]) -> bool:
    """Return true if a workload is a trace, which has no randomness."""
    return bool(workload["kind"] == "trace")


def _run(values: Mapping[str, Any], label: str, *, progress: bool, log: bool = False) -> Result:
    """Resolve and run a changed scenario."""
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
    """Return a metric of a run, and raise if it has none."""
    value = {path: found for _, path, found in metric_rows(result.summary)}[metric]
    if value is None:
        message = f"{label}: no {metric} was found; energies need devices whose powers are known"
        raise make_error(SledsimError, "missing", message, path="metric", value=metric)
    return value


def _trace_batches(result: Result) -> list[float]:
    """Return the mean response times (ms) of consecutive batches of a trace's requests."""
    import numpy as np

    log = result.log
    in_order = log["response_ns"][np.argsort(log["id"], kind="stable")]
    return _batch_means((in_order.astype(np.float64) * 1e-6).tolist())


def _batch_means(values: list[float]) -> list[float]:
    length = len(values) // BATCHES
    if length < 1:
        message = f"{len(values)} requests are too few for a confidence interval: give at least {BATCHES}"
        raise make_error(SledsimError, "out-of-range", message, value=len(values), allowed={"least": BATCHES})
    return [sum(values[i * length : (i + 1) * length]) / length for i in range(BATCHES)]
