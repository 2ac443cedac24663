"""Seek times of a device as columns: against distance, and over the plane."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sledsim.registry import Device

__all__ = ["seek_curve", "seek_surface"]

#: Places from which the moves of each distance start.
STARTS = 41


def seek_curve(device: "Device", points: int) -> "dict[str, NDArray[np.generic]]":
    """Return seek times against distance; see :meth:`sledsim.Device.seek_curve`.

    Along X the sled moves from rest to rest and settles. Along Y it leaves at access speed, upward or downward,
    and arrives at access speed in whichever direction is sooner.
    """
    columns: dict[str, list[NDArray[np.generic]]] = {}
    for axis in ("X", "Y"):
        travel_um = float(device.parameters[f"{axis.lower()}_range_um"])
        distance = np.linspace(0.0, travel_um, points)
        # Every start from which the move stays within the travel, in both directions.
        start = -travel_um / 2 + np.linspace(0.0, 1.0, STARTS) * (travel_um - distance)[:, None]
        pairs = ((start, start + distance[:, None]), (start + distance[:, None], start))
        if axis == "X":
            times = [device.seek_x_ms(*pair) for pair in pairs]
        else:
            times = [device.seek_y_ms(*pair, from_direction=way) for pair in pairs for way in (1, -1)]
        together = np.concatenate(times, axis=1)
        rows: dict[str, NDArray[np.generic]] = {
            "axis": np.full(points, axis),
            "distance_um": distance,
            "mean_ms": together.mean(axis=1),
            "min_ms": together.min(axis=1),
            "max_ms": together.max(axis=1),
        }
        for name, column in rows.items():
            columns.setdefault(name, []).append(column)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def seek_surface(device: "Device", points: int) -> "dict[str, NDArray[np.generic]]":
    """Return seek times from rest at the centre; see :meth:`sledsim.Device.seek_surface`."""
    half_x, half_y = device.parameters["x_range_um"] / 2, device.parameters["y_range_um"] / 2
    x, y = np.linspace(-half_x, half_x, points), np.linspace(-half_y, half_y, points)
    along_x = device.seek_x_ms(0.0, x)
    along_y = device.seek_y_ms(0.0, y, from_direction=0)
    grid_x, grid_y = np.meshgrid(x, y)
    time_x, time_y = np.meshgrid(along_x, along_y)
    return {
        "x_um": grid_x.ravel(),
        "y_um": grid_y.ravel(),
        "seek_ms": np.maximum(time_x, time_y).ravel(),
        "seek_x_ms": time_x.ravel(),
        "seek_y_ms": time_y.ravel(),
    }
