"""Seek times of MEMS storage: by distance, and over the X-Y plane."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sledsim.devices.mems import MemsStorage

__all__ = ["curve_table", "seek_curve", "seek_surface", "surface_table"]

#: Number of starting positions for each distance.
STARTS = 41


def seek_curve(device: "MemsStorage", points: int) -> "dict[str, NDArray[np.generic]]":
    """Return seek times by distance; see :meth:`sledsim.MemsStorage.seek_curve`.

    Along X the sled moves from rest to rest and settles. Along Y it leaves at access speed, upward or downward, and
    arrives at access speed in the faster direction.
    """
    columns: dict[str, list[NDArray[np.generic]]] = {}
    for axis in ("X", "Y"):
        travel_um = float(device.parameters[f"{axis.lower()}_range_um"])
        # The first distance above 0 is one cylinder, the shortest move along X with settling.
        step_um = device.parameters["bit_nm"] / 1e3
        distance = np.append(0.0, np.linspace(step_um, travel_um, points - 1))
        # Starting positions from which the move stays within the travel.
        start = -travel_um / 2 + np.linspace(0.0, 1.0, STARTS) * (travel_um - distance)[:, None]
        # Rounding must not exceed the travel.
        end = np.minimum(start + distance[:, None], travel_um / 2)
        pairs = ((start, end), (end, start))
        if axis == "X":
            times = [device.seek_x_ms(begin, end) for begin, end in pairs]
        else:
            times = [device.seek_y_ms(begin, end, direction) for begin, end in pairs for direction in (1, -1)]
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


def seek_surface(device: "MemsStorage", points: int) -> "dict[str, NDArray[np.generic]]":
    """Return seek times from rest at the centre; see :meth:`sledsim.MemsStorage.seek_surface`."""
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


#: Rows and columns of the tables.
TABLE_LINES = 11


def curve_table(device: "MemsStorage", columns: "Mapping[str, NDArray[np.generic]]") -> Table:
    """Return a table of a seek curve.

    Parameters
    ----------
    device
        The device.
    columns
        The result of :meth:`sledsim.MemsStorage.seek_curve`.
    """
    rows = []
    along = {axis: _where(columns, columns["axis"] == axis) for axis in ("X", "Y")}
    count = len(along["X"]["distance_um"])
    picked = sorted({0, 1, *np.linspace(0, count - 1, TABLE_LINES).round().astype(int).tolist()})
    for i in picked:
        cells = [number(part[name][i].item()) for part in along.values() for name in ("mean_ms", "min_ms", "max_ms")]
        rows.append([number(along["X"]["distance_um"][i].item()), *cells])
    headers = ["distance (µm)", *(f"{axis} {what} (ms)" for axis in "XY" for what in ("mean", "min", "max"))]
    return Table(headers, rows, title=_title(device, "X with settling; Y at access speed at both ends"))


def surface_table(device: "MemsStorage", columns: "Mapping[str, NDArray[np.generic]]") -> Table:
    """Return a table of a seek surface, with X in columns and Y in rows.

    Parameters
    ----------
    device
        The device.
    columns
        The result of :meth:`sledsim.MemsStorage.seek_surface`.
    """
    x, y = np.unique(columns["x_um"]), np.unique(columns["y_um"])
    times = columns["seek_ms"].reshape(len(y), len(x))
    across = np.linspace(0, len(x) - 1, TABLE_LINES).round().astype(int)
    down = np.linspace(len(y) - 1, 0, TABLE_LINES).round().astype(int)
    rows = [[number(y[j].item(), 3), *(number(times[j, i].item(), 3) for i in across)] for j in down]
    headers = ["Y\\X (µm)", *(number(x[i].item(), 3) for i in across)]
    return Table(headers, rows, title=_title(device, "from rest at the centre, in ms"))


def _where(columns: "Mapping[str, NDArray[np.generic]]", rows: Any) -> "dict[str, NDArray[np.generic]]":
    return {name: column[rows] for name, column in columns.items()}


def _title(device: "MemsStorage", what: str) -> str:
    return f"Seek times of {device.label}, {device.parameters['seek_model']} model: {what}"
