"""A hypothetical disk with the access time of a MEMS device: the Überdisk with scaled times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sledsim._core import SledsimError
from sledsim.devices.device import Device
from sledsim.devices.entries import device_of
from sledsim.runs.running import run_resolved
from sledsim.scenario.reading import Sets, resolve
from sledsim.show.faults import by_arguments, make_error

__all__ = ["FittedDisk", "matched_disk", "mean_access_ms"]

#: Requests of a measurement of the mean access time, which gives a 95 % interval of about ±0.5 %.
REQUESTS = 20_000
#: Relative tolerance of the fitted mean, below the sampling error.
TOLERANCE = 0.002
#: Range of the factor on the times of the disk.
LEAST, MOST = 0.06, 100.0
#: The longest reads for a fit.
MOST_BYTES = 1 << 24
#: Maximum number of bisections of the logarithm of the factor.
HALVINGS = 40


@dataclass(frozen=True)
class FittedDisk:
    """A disk with the same mean random access time as a MEMS device.

    Parameters
    ----------
    device
        All parameters of the disk, in the form of a scenario.
    like, base
        Names of the MEMS device and of the original disk.
    factor
        Factor on the times of the disk's seeks, head switches and revolutions.
    size_bytes
        Size of the compared random reads, one at a time.
    mems_ms, disk_ms
        Mean times of these reads on both devices, without command overhead.
    """

    device: Mapping[str, Any]
    like: str
    base: str
    factor: float
    size_bytes: int
    mems_ms: float
    disk_ms: float

    def __str__(self) -> str:
        rpm = self.device["rotation_rpm"]
        return (
            f"{self.base} with {self.factor:.4f} times the time of seeks, head switches and revolutions ({rpm:,.0f} "
            f"rpm): random reads of {self.size_bytes:,} bytes, one at a time, take {self.disk_ms:.4g} ms there and "
            f"{self.mems_ms:.4g} ms on {self.like}, without command overhead"
        )


def matched_disk(
    device: str | Mapping[str, Any] = "g2",
    *,
    base: str = "uberdisk",
    size_bytes: int = 4096,
    overrides: Sets = (),
) -> FittedDisk:
    """Fit a disk to a MEMS device: equal mean time of random reads, one at a time.

    Schlosser and Ganger 2004, section 5.2. One factor scales the times of seeks, head switches and revolutions, so that
    the ratio of seeks to revolutions is unchanged, and skews still cover a head switch. The bus is unchanged. The disk
    is limited to the capacity of the MEMS device.

    Parameters
    ----------
    device
        The MEMS device: a name, or all its parameters.
    base
        The original disk.
    size_bytes
        Size of the reads.
    overrides
        Values that replace those of the MEMS device.

    Raises
    ------
    SledsimError
        If the device is not MEMS storage; if the base is not a disk, is too small or has another block size; or if no
        factor makes it fast enough.

    Examples
    --------
    >>> found = matched_disk("g2")
    >>> abs(found.disk_ms / found.mems_ms - 1) < 0.002
    True
    """
    mems, disk = device_of("device", device, overrides=overrides), device_of("base", base)
    _require(mems, disk)
    require_size("size_bytes", size_bytes)
    used = {**mems.parameters, "overhead_ms": 0.0}
    with by_arguments({"workload.size_bytes.value": "size_bytes"}):
        target_ms = mean_access_ms(used, size_bytes)

    def scaled(factor: float) -> dict[str, Any]:
        parameters = _scaled(disk.parameters, factor)
        return {**parameters, "name": f"{disk.label} like {mems.label}", "capacity_blocks": mems.capacity_blocks}

    low, high = LEAST, MOST
    for _ in range(HALVINGS):
        factor: float = (low * high) ** 0.5
        made = scaled(factor)
        found_ms = mean_access_ms(made, size_bytes)
        if abs(found_ms / target_ms - 1) <= TOLERANCE:
            return FittedDisk(made, mems.label, disk.label, factor, size_bytes, target_ms, found_ms)
        low, high = (low, factor) if found_ms > target_ms else (factor, high)
    message = (
        f"{disk.label} can't be made as fast as {mems.label}: reads of {size_bytes:,} bytes take {target_ms:.4g} ms on "
        f"{mems.label}, and {found_ms:.4g} ms on {disk.label} with seeks and revolutions scaled by {factor:.3g}; the "
        "rest is bus and commands: choose another disk"
    )
    raise make_error(SledsimError, "unsupported", message, path="base", value=disk.label)


def require_size(path: str, size_bytes: object) -> None:
    """Raise if the reads to compare are so large that the transfer hides the seek.

    Parameters
    ----------
    path
        The name of the argument.
    size_bytes
        The size.
    """
    # The workload checks units and multiples of the block size.
    if isinstance(size_bytes, int) and size_bytes > MOST_BYTES:
        message = f" = {size_bytes}: expected at most {MOST_BYTES:,}: longer reads are nearly all transfer"
        raise make_error(
            SledsimError, "out-of-range", [(path,), message], path=path, value=size_bytes, allowed={"most": MOST_BYTES}
        )


def mean_access_ms(device: Mapping[str, Any], size_bytes: int) -> float:
    """Return the mean time of random reads, one at a time, from dispatch to completion.

    Parameters
    ----------
    device
        All parameters of the device.
    size_bytes
        Size of the reads.
    """
    arrival = {"kind": "closed", "outstanding": 1}
    workload = {"arrival": arrival, "size_bytes": {"kind": "fixed", "value": size_bytes}}
    scenario = {"seed": 1, "workload": workload, "system": {"device": dict(device)}, "run": {"requests": REQUESTS}}
    found: float = run_resolved(resolve(scenario))["service"]["mean_ms"]
    return found


def _require(mems: Device, disk: Device) -> None:
    """Raise if the devices are not MEMS storage and a disk with the same block size and at least its capacity."""
    if mems.parameters["mechanism"] != "mems":
        message = f"{mems.label} is {mems.KIND}: give MEMS storage, such as g2"
        raise make_error(SledsimError, "unsupported", message, path="device", value=mems.label)
    if disk.parameters["mechanism"] != "disk":
        message = f"{disk.label} is {disk.KIND}: give a disk to fit, such as uberdisk"
        raise make_error(SledsimError, "unsupported", message, path="base", value=disk.label)
    if mems.block_bytes != disk.block_bytes:
        message = (
            f"{mems.label} has blocks of {mems.block_bytes} bytes and {disk.label} of {disk.block_bytes}: "
            "they must be equal"
        )
        raise make_error(
            SledsimError, "misfit", message, path="base", value=disk.block_bytes, allowed=str(mems.block_bytes)
        )
    if mems.capacity_blocks > disk.capacity_blocks:
        message = (
            f"{disk.label} has {disk.capacity_bytes / 1e9:.4g} GB, and {mems.label} "
            f"{mems.capacity_bytes / 1e9:.4g} GB: fit a disk at least as large"
        )
        raise make_error(
            SledsimError,
            "misfit",
            message,
            path="base",
            value=disk.capacity_bytes,
            allowed={"least": mems.capacity_bytes, "unit": "B"},
        )


def _scaled(disk: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a disk with its mechanical times scaled by a factor."""
    times = {key: disk[key] * factor for key in ("head_switch_ms", "write_settle_ms")}
    seek = {key: _scaled_time(key, value, factor) for key, value in disk["seek"].items()}
    return {**disk, **times, "seek": seek, "rotation_rpm": disk["rotation_rpm"] / factor}


def _scaled_time(key: str, value: Any, factor: float) -> Any:
    """Scale the value of a seek curve's key if it is a time."""
    if key == "points":
        return [[distance, time_ms * factor] for distance, time_ms in value]
    if key.endswith("_ms"):
        return [each * factor for each in value] if isinstance(value, list) else value * factor
    return value
