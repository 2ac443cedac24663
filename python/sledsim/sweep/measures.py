"""Metrics of searches: metrics of a run, and capacity, bandwidth and cost of a design."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from sledsim._core import ScenarioError
from sledsim.devices.device import Device
from sledsim.devices.disk import DiskDrive
from sledsim.devices.mems import MemsStorage
from sledsim.scenario.reading import Resolved
from sledsim.scenario.system_tree import components_in
from sledsim.scenario.tables import Table
from sledsim.show.faults import make_error

__all__ = ["CONTROLLED", "NAMED", "WITHOUT_CONTROLS", "PriceList", "metric_function", "with_unit"]

#: Largest price; the cost of any system stays finite.
LARGEST_PRICE = 1e15
Amount = Annotated[float, Field(strict=True, ge=0, le=LARGEST_PRICE)]


class PriceList(Table):
    """Prices, in any one currency. Default: 0."""

    mems_per_gb: Amount = 0.0
    """Price of a GB of MEMS storage."""
    mems_per_sled: Amount = 0.0
    """Price of a sled."""
    mems_per_tip: Amount = 0.0
    """Price of a tip."""
    disk_per_gb: Amount = 0.0
    """Price of a GB of disk storage."""
    disk_per_drive: Amount = 0.0
    """Price of a disk drive."""
    ram_per_gb: Amount = 0.0
    """Price of a GB of a RAM cache."""


#: Named metrics: path in the summary or in :data:`_DESIGN`, and unit.
NAMED: dict[str, tuple[str, str]] = {
    "response": ("response.mean_ms", "ms"),
    "bandwidth": ("bandwidth.mb_per_s", "MB/s"),
    "energy": ("energy.per_request_mj", "mJ per request"),
    "power": ("energy.mean_power_w", "W"),
    "capacity": ("design.capacity_gb", "GB"),
    "streaming_bandwidth": ("design.streaming_mb_s", "MB/s"),
    "cost": ("design.cost", ""),
    "cost_per_gb": ("design.cost_per_gb", "per GB"),
}

#: The metric ``response`` of runs to a precision with control variates; the others reach their precision with the plain
#: mean.
CONTROLLED = "controlled_response.mean_ms"
#: The reason why runs have no such metric.
WITHOUT_CONTROLS = (
    ": control variates need Poisson arrivals at a single drive, 10,000 measured requests and independent batches; "
    "use response.mean_ms"
)

#: Maximum number of metrics of the summary in an error message, in addition to the named ones.
MOST_SUGGESTED = 12

GB = 1e9


def metric_function(metrics: Mapping[str, float], scenario: Resolved, prices: PriceList) -> Callable[[str], float]:
    """Return a function that returns a metric of a run by name.

    Parameters
    ----------
    metrics
        Metrics of the run's summary by path.
    scenario
        The scenario of the run.
    prices
        The prices.
    """

    def quantity(name: str) -> float:
        path = NAMED.get(name, (name, ""))[0]
        if name == "response" and scenario.values["run"].get("precision"):
            # The mean that has the precision.
            path = CONTROLLED if CONTROLLED in metrics else path
        design = _DESIGN.get(path)
        if design is not None:
            return design(scenario, prices)
        if path not in metrics:
            raise _unknown_metric(name, path, metrics)
        return metrics[path]

    return quantity


def with_unit(name: str) -> str:
    """Return the label of a metric in headings, with its unit if it is a named metric.

    Parameters
    ----------
    name
        The name, or the path in a summary, which ends in the unit.
    """
    unit = NAMED.get(name, (name, ""))[1]
    return f"{name} ({unit})" if unit else name


def _unknown_metric(name: str, path: str, metrics: Mapping[str, float]) -> ScenarioError:
    if path.startswith("energy."):
        message = f"metric {name!r}: the powers of the devices are not known, so there is no {path}"
        return make_error(ScenarioError, "missing", message, path="metric", value=name)
    if path.startswith("controlled_response."):
        message = f"no run has metric {name!r}{WITHOUT_CONTROLS}"
        return make_error(ScenarioError, "missing", message, path="metric", value=name)
    last = path.rpartition(".")[2]
    near = [each for each in metrics if last in each.rpartition(".")[2]][:MOST_SUGGESTED]
    message = f"metric {name!r} is not in the results of runs"
    return make_error(ScenarioError, "unknown-name", message, path="metric", value=path, known=[*NAMED, *near])


def _capacity_gb(scenario: Resolved, _: PriceList) -> float:
    """Return the capacity of the whole system."""
    tree = scenario.explain()
    return float(tree["capacity_blocks"] * tree["block_bytes"] / GB)


def _streaming_mb_s(scenario: Resolved, _: PriceList) -> float:
    """Return the streaming bandwidth of the device; for several devices, the sum."""
    return sum(_streaming(device, count) for device, count in _devices(scenario.values["system"]))


def _streaming(device: Device, count: int) -> float:
    if not isinstance(device, MemsStorage | DiskDrive):
        message = f"streaming_bandwidth: {device.label} is {device.KIND}, whose streaming bandwidth is unknown"
        raise make_error(ScenarioError, "unsupported", message, path="metric", value="streaming_bandwidth")
    return device.streaming_bandwidth_mb_s * count


def _cost(scenario: Resolved, prices: PriceList) -> float:
    """Return the price of all devices and caches."""
    total = 0.0
    for device, count in _devices(scenario.values["system"]):
        total += count * _device_cost(device, prices)
    cache_bytes = _cache_bytes(scenario.values["system"])
    return total + prices.ram_per_gb * cache_bytes / GB


def _device_cost(device: Device, prices: PriceList) -> float:
    capacity_gb = device.capacity_bytes / GB
    if isinstance(device, MemsStorage):
        sleds = int(device.parameters.get("sleds", 1))
        per_sled = prices.mems_per_sled + prices.mems_per_tip * float(device.parameters["tips"])
        return sleds * (per_sled + prices.mems_per_gb * capacity_gb)
    if isinstance(device, DiskDrive):
        return prices.disk_per_drive + prices.disk_per_gb * capacity_gb
    message = f"cost: {device.label} is {device.KIND}, which has no price"
    raise make_error(ScenarioError, "unsupported", message, path="metric", value="cost")


def _cost_per_gb(scenario: Resolved, prices: PriceList) -> float:
    return _cost(scenario, prices) / _capacity_gb(scenario, prices)


def _devices(system: Mapping[str, Any]) -> Iterator[tuple[Device, int]]:
    """Yield the devices of a system with their numbers; identical devices are combined."""
    for component, count in components_in(system):
        if component["kind"] == "drive":
            yield Device(component["device"]), count


def _cache_bytes(system: Mapping[str, Any]) -> int:
    """Return the total size of the RAM caches of a system."""
    caches = (each for each in components_in(system) if each[0]["kind"] == "ram-cache")
    return sum(int(cache["bytes"]) * count for cache, count in caches)


_DESIGN: dict[str, Callable[[Resolved, PriceList], float]] = {
    "design.capacity_gb": _capacity_gb,
    "design.streaming_mb_s": _streaming_mb_s,
    "design.cost": _cost,
    "design.cost_per_gb": _cost_per_gb,
}
