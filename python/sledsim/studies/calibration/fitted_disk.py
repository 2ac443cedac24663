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

#: Requests by which a mean access time is told: it is then known to about 0.5 % with a confidence of 95 %.
REQUESTS = 20_000
#: How near the means have to come: what the sample leaves open.
TOLERANCE = 0.002
#: Factors on the times of the disk between which the fit looks.
LEAST, MOST = 0.06, 100.0
#: The longest reads by which a disk is fitted.
MOST_BYTES = 1 << 24
#: Halvings of that range, in logarithms, after which a fit that has not come near enough never will.
HALVINGS = 40


@dataclass(frozen=True)
class FittedDisk:
    """A disk of the same mean random access time as a MEMS device.

    Parameters
    ----------
    device
        Every value of the disk, as a scenario takes it.
    like, base
        Names of the MEMS device, and of the disk that it was made from.
    factor
        On the times of that disk's seeks, head switches and revolutions.
    size_bytes
        Of the random reads, one at a time, that were compared.
    mems_ms, disk_ms
        Their mean times on both, without command overhead.
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
    seeks stay as long beside a revolution as they were, and skews go on to cover a head switch. The bus stays. Only the
    first blocks of the disk are used, as many as the MEMS device has.

    Parameters
    ----------
    device
        The MEMS device: a name, or every value.
    base
        The disk to start from.
    size_bytes
        Of the reads.
    overrides
        Values that replace those of the MEMS device.

    Raises
    ------
    SledsimError
        Where the device is no MEMS storage, the other no disk, too small or of other blocks; or where no factor makes
        it fast enough.

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
        whole = _scaled(disk.parameters, factor)
        return {**whole, "name": f"{disk.label} like {mems.label}", "capacity_blocks": mems.capacity_blocks}

    low, high = LEAST, MOST
    for _ in range(HALVINGS):
        factor: float = (low * high) ** 0.5
        made = scaled(factor)
        found_ms = mean_access_ms(made, size_bytes)
        if abs(found_ms / target_ms - 1) <= TOLERANCE:
            return FittedDisk(made, mems.label, disk.label, factor, size_bytes, target_ms, found_ms)
        low, high = (low, factor) if found_ms > target_ms else (factor, high)
    says = (
        f"{disk.label} can't be made as fast as {mems.label}: reads of {size_bytes:,} bytes take {target_ms:.4g} ms on "
        f"{mems.label}, and {found_ms:.4g} ms on {disk.label} with seeks and revolutions scaled by {factor:.3g}; the "
        "rest is bus and commands: choose another disk"
    )
    raise make_error(SledsimError, "unsupported", says, path="base", value=disk.label)


def require_size(path: str, size_bytes: object) -> None:
    """Raise if the reads to compare are so large that the transfer hides the seek.

    Parameters
    ----------
    path
        What it is.
    size_bytes
        The size.
    """
    # Multiples of a block, and units, are left to the workload that has them.
    if isinstance(size_bytes, int) and size_bytes > MOST_BYTES:
        says = f" = {size_bytes}: expected at most {MOST_BYTES:,}: longer reads are nearly all transfer"
        raise make_error(
            SledsimError, "out-of-range", [(path,), says], path=path, value=size_bytes, allowed={"most": MOST_BYTES}
        )


def mean_access_ms(device: Mapping[str, Any], size_bytes: int) -> float:
    """Return the mean time of random reads, one at a time, from dispatch to completion.

    Parameters
    ----------
    device
        Every value of the device.
    size_bytes
        Of the reads.
    """
    arrival = {"kind": "closed", "outstanding": 1}
    workload = {"arrival": arrival, "size_bytes": {"kind": "fixed", "value": size_bytes}}
    scenario = {"seed": 1, "workload": workload, "system": {"device": dict(device)}, "run": {"requests": REQUESTS}}
    found: float = run_resolved(resolve(scenario))["service"]["mean_ms"]
    return found


def _require(mems: Device, disk: Device) -> None:
    """Raise for devices of different block sizes or too small a capacity."""
    if mems.parameters["mechanism"] != "mems":
        says = f"{mems.label} is {mems.KIND}: give MEMS storage, such as g2"
        raise make_error(SledsimError, "unsupported", says, path="device", value=mems.label)
    if disk.parameters["mechanism"] != "disk":
        says = f"{disk.label} is {disk.KIND}: give a disk to fit, such as uberdisk"
        raise make_error(SledsimError, "unsupported", says, path="base", value=disk.label)
    if mems.block_bytes != disk.block_bytes:
        says = (
            f"{mems.label} has blocks of {mems.block_bytes} bytes and {disk.label} of {disk.block_bytes}: "
            "they must be equal"
        )
        raise make_error(
            SledsimError, "misfit", says, path="base", value=disk.block_bytes, allowed=str(mems.block_bytes)
        )
    if mems.capacity_blocks > disk.capacity_blocks:
        says = (
            f"{disk.label} has {disk.capacity_bytes / 1e9:.4g} GB, and {mems.label} "
            f"{mems.capacity_bytes / 1e9:.4g} GB: fit a disk at least as large"
        )
        raise make_error(
            SledsimError,
            "misfit",
            says,
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
