"""The mean rebuild time: given, or computed from the device."""

from functools import lru_cache
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.reliability.description import ReliabilityError
from sledsim.reliability.reading import DescriptionLike, load
from sledsim.show.faults import convert_error, make_error

__all__ = ["mean_rebuild_h"]

#: Smallest share of a device's bandwidth that a load may leave for a rebuild.
LEAST_LEFT = 0.01


def mean_rebuild_h(description: DescriptionLike) -> float:
    """Return the mean time to rebuild a whole device onto one spare, in hours.

    Without ``rebuild.time`` it is the capacity of the device divided by its streaming bandwidth and by the share of the
    bandwidth for the rebuild: ``rebuild.bandwidth_share``, or the share of time in which the device does not serve the
    requests of the scenario ``rebuild.load``. The scenario is simulated on ``device.name`` in place of its own device.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Raises
    ------
    ReliabilityError
        If the device or the scenario is invalid, or leaves no bandwidth for the rebuild.

    Examples
    --------
    >>> description = Description.load({
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h", "name": "g2"},
    ...     "rebuild": {"bandwidth_share": 0.05},
    ... })
    >>> 0.2 < mean_rebuild_h(description) < 0.3
    True
    """
    description = load(description)
    rebuild = description.rebuild
    if rebuild.time is not None:
        return rebuild.time.h
    name = description.device.name or ""
    if rebuild.bandwidth_share is not None:
        return _copying_h(name) / rebuild.bandwidth_share
    path = Path(rebuild.load or "")
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError as error:
        message = f"rebuild.load: {error.strerror}"
        raise make_error(
            ReliabilityError, "unreadable", message, path="rebuild.load", value=str(path), file=path
        ) from None
    left = _share_left(str(path), changed_ns, name)
    if left < LEAST_LEFT:
        message = (
            f"rebuild.load: {path} keeps {name} busy {100 * (1 - left):.1f} % of the time, which leaves too little "
            "bandwidth for a rebuild; use a lighter load or give rebuild.time"
        )
        raise make_error(ReliabilityError, "conflict", message, path="rebuild.load", value=str(path))
    return _copying_h(name) / left


@lru_cache(maxsize=64)
def _copying_h(name: str) -> float:
    """Return the time to stream the whole device, in hours."""
    from sledsim.devices.disk import DiskDrive
    from sledsim.devices.entries import device_of
    from sledsim.devices.mems import MemsStorage

    try:
        device = device_of("device.name", name)
    except SledsimError as error:
        raise convert_error(ReliabilityError, error) from None
    if not isinstance(device, DiskDrive | MemsStorage):
        message = f"device.name: {name} is {device.KIND}, which has no bandwidth; give rebuild.time"
        raise make_error(ReliabilityError, "unsupported", message, path="device.name", value=name)
    return device.capacity_bytes / (device.streaming_bandwidth_mb_s * 1e6) / 3600


@lru_cache(maxsize=64)
def _share_left(path: str, changed_ns: int, name: str) -> float:
    """Return the share of time in which a device does not serve the requests of a scenario.

    ``changed_ns`` is the modification time of the scenario file, a part of the cache key.
    """
    from sledsim import run

    try:
        result = run(Path(path), overrides={"system.device": name})
    except SledsimError as error:
        raise convert_error(ReliabilityError, error, "rebuild.load") from None
    return 1.0 - float(result["utilisation"]["fraction"])
