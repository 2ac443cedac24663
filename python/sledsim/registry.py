"""What can be named in a scenario: the devices of the catalogue, and the schedulers."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import ScenarioError
from sledsim.naming import did_you_mean
from sledsim.scenario import Sets, catalog_folders, resolve
from sledsim.tables import Table, number

if TYPE_CHECKING:
    import altair
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CatalogValue",
    "Device",
    "DeviceEntry",
    "device",
    "device_entry",
    "device_tables",
    "devices",
    "devices_table",
    "schedulers",
    "schedulers_table",
]


# A scenario has a workload, even where only its device is looked at.
NO_WORKLOAD = {"arrival": {"kind": "closed", "outstanding": 1}}


@dataclass(frozen=True)
class CatalogValue:
    """A value of a catalogue entry, with its source.

    Parameters
    ----------
    value
        The value.
    unit
        Its unit; empty where it has none.
    source
        Key of the citation.
    where
        Table, figure or section of the source.
    kind
        ``"published"``, ``"derived"`` or ``"assumed"``.
    note
        What one must know about it.
    alternatives
        What other sources say.
    """

    value: Any
    unit: str
    source: str
    where: str
    kind: str
    note: str
    alternatives: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class DeviceEntry:
    """A device of the catalogue: its values, each with unit and source.

    Parameters
    ----------
    name
        What scenarios call it.
    title
        One line.
    mechanism
        The kind of device.
    description
        What it is.
    citations
        Keys of the works it is taken from.
    values
        Its values by name.
    """

    name: str
    title: str
    mechanism: str
    description: str
    citations: tuple[str, ...]
    values: Mapping[str, CatalogValue]

    def table(self) -> Table:
        """Return every value with its unit, source, place, kind and note."""
        rows = []
        for name, entry in self.values.items():
            rows.append([name, _plain(entry.value), entry.unit, entry.source, entry.where, entry.kind, entry.note])
            for other in entry.alternatives:
                where, note = other.get("where", ""), other.get("note", "")
                rows.append(["  elsewhere", _plain(other["value"]), entry.unit, other["source"], where, "", note])
        headers = ["value of " + self.name, "", "unit", "source", "where", "kind", "note"]
        return Table(headers, rows, title=f"{self.name}: {self.title}", left=frozenset({2, 3, 4, 5, 6}))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _plain(value: Any) -> str:
    """Write a catalogue value as its file does."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def devices() -> dict[str, DeviceEntry]:
    """Return the devices of the catalogue by name."""
    found = {}
    for folder in catalog_folders():
        for path in sorted(Path(folder, "devices").glob("*.toml")):
            found[path.stem] = _entry(path)
    return found


def device_entry(name: str) -> DeviceEntry:
    """Return a device of the catalogue, or say which name is nearest.

    Parameters
    ----------
    name
        Its name.
    """
    found = devices()
    if name not in found:
        raise ScenarioError(f"device {name!r} is not in the catalogue{did_you_mean(name, found)}")
    return found[name]


def devices_table() -> Table:
    """Return the devices of the catalogue and what they can do, as a table."""
    rows = []
    for name, entry in devices().items():
        made = Device(name)
        rows.append(
            [
                name,
                number(made.capacity_bytes / 1e9),
                number(made.streaming_bandwidth_mb_s),
                number(1e3 * made.access_speed_m_s),
                number(made.settle_ms),
                entry.title,
            ]
        )
    headers = ["device", "capacity (GB)", "streaming (MB/s)", "access (mm/s)", "settling (ms)", ""]
    return Table(headers, rows, left=frozenset({5}))


def device_tables(entry: DeviceEntry) -> list[Table]:
    """Return every value of a device with its source, and what follows from them, as tables.

    Parameters
    ----------
    entry
        The device.
    """
    made = Device(entry.name)
    facts = (
        ("capacity", made.capacity_bytes / 1e9, "GB"),
        ("capacity, servo bits counted as data", made.raw_capacity_bytes / 1e9, "GB"),
        ("blocks", made.capacity_blocks, ""),
        ("cylinders", made.cylinders, ""),
        ("tracks per cylinder", made.tracks, ""),
        ("rows per track", made.rows, ""),
        ("blocks per row", made.blocks_per_row, ""),
        ("access speed", 1e3 * made.access_speed_m_s, "mm/s"),
        ("settling", made.settle_ms, "ms"),
        ("streaming bandwidth", made.streaming_bandwidth_mb_s, "MB/s"),
        ("peak bandwidth, servo bits counted as data", made.peak_bandwidth_mb_s, "MB/s"),
    )
    rows = [[label, number(value), unit] for label, value, unit in facts]
    return [entry.table(), Table(["what follows", "", "unit"], rows, left=frozenset({2}))]


@cache
def _entry(path: Path) -> DeviceEntry:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        values = {
            name: CatalogValue(
                value=value["value"],
                unit=value.get("unit", ""),
                source=value["source"],
                where=value.get("where", ""),
                kind=value["kind"],
                note=value.get("note", ""),
                alternatives=tuple(value.get("alternatives", ())),
            )
            for name, value in content["values"].items()
        }
        return DeviceEntry(
            name=path.stem,
            title=content["title"],
            mechanism=content["mechanism"],
            description=content.get("description", ""),
            citations=tuple(content.get("citations", ())),
            values=values,
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ScenarioError(f"{path}: not a device of the catalogue: {error}") from None


def schedulers() -> list[dict[str, Any]]:
    """List the schedulers: name, title, description, source, parameters."""
    found: list[dict[str, Any]] = json.loads(_core.schedulers())
    return found


def schedulers_table() -> Table:
    """Return the schedulers, their parameters with defaults, and what they do, as a table."""
    rows = []
    for each in schedulers():
        parameters = ", ".join(f"{key} = {schema['default']:g}" for key, schema in each["parameters"].items())
        rows.append([each["name"], parameters, each["description"]])
    return Table(["scheduler", "parameters", "picks"], rows, left=frozenset({1, 2}))


def device(name: str = "g2", /, **overrides: Any) -> "Device":
    """Make a device that can be asked about its geometry and its motion; see :class:`Device`."""
    return Device(name, **overrides)


class Device:
    """A device by itself: geometry, motion and service times, without a workload.

    Parameters
    ----------
    name
        An entry of the catalogue, or the path of a device file.
    set
        Values that replace those of the entry, as on the command line: ``["device.settle_constants=0"]``.
    **overrides
        Values that replace those of the entry, such as ``settle_constants=0``.

    Attributes
    ----------
    name : str
        What it was made from.
    parameters : dict
        Every value, in the units of its name.
    capacity_blocks, block_bytes : int
        Logical blocks, and the size of one.
    cylinders, tracks, rows, blocks_per_row : int
        Geometry: tracks of a cylinder, rows of a track, blocks of a row.
    capacity_bytes, raw_capacity_bytes : int
        Room for data; the same with the servo bits counted as data.
    settle_ms : float
        Settling after a move along X.
    access_speed_m_s : float
        Speed of the sled while it reads or writes.
    peak_bandwidth_mb_s, streaming_bandwidth_mb_s : float
        With the servo bits counted as data; of a long sequential read.
    """

    def __init__(self, name: str = "g2", /, *, set: Sets = (), **overrides: Any) -> None:  # noqa: A002
        chosen = {"name": str(name), **overrides}
        resolved = resolve({"workload": NO_WORKLOAD, "system": {"device": chosen}}, set).values
        self.name = str(name)
        self.parameters: dict[str, Any] = resolved["system"]["device"]
        self._core = _core.Device(json.dumps(self.parameters))
        self.capacity_blocks = self._core.capacity_blocks
        self.block_bytes = self._core.block_bytes
        self.cylinders = self._core.cylinders
        self.tracks = self._core.tracks
        self.rows = self._core.rows
        self.blocks_per_row = self._core.blocks_per_row
        self.capacity_bytes = self._core.capacity_bytes
        self.raw_capacity_bytes = self._core.raw_capacity_bytes
        self.settle_ms = self._core.settle_ms
        self.access_speed_m_s = self._core.access_speed_m_s
        self.peak_bandwidth_mb_s = self._core.peak_bandwidth_mb_s
        self.streaming_bandwidth_mb_s = self._core.streaming_bandwidth_mb_s

    def place(self, lbn: int) -> tuple[int, int, int, int]:
        """Return where a block lies: cylinder, track, row, and place within the row.

        Parameters
        ----------
        lbn
            Logical block number.
        """
        return self._core.place(lbn)

    def equivalent(self, lbn: int) -> "NDArray[np.uint64]":
        """Return the blocks that can be read together with one (Schlosser and Ganger 2004, section 6).

        Parameters
        ----------
        lbn
            Logical block number.
        """
        return self._core.equivalent(lbn)

    def serve_batch(self, lbns: Any, blocks: Any = 1, *, read: bool = True) -> "dict[str, NDArray[np.generic]]":
        """Serve non-contiguous requests together, on a device that has done nothing yet.

        Parameters
        ----------
        lbns
            First block of each request.
        blocks
            Blocks of each request, or of all.
        read
            Whether they are read; written otherwise.

        Returns
        -------
        dict
            NumPy columns, a row per request: ``start_ns``, ``end_ns`` and the phases.
        """
        import numpy as np

        first = np.atleast_1d(np.asarray(lbns, dtype=np.uint64))
        lengths = np.ascontiguousarray(np.broadcast_to(np.asarray(blocks, dtype=np.uint32), first.shape))
        return self._core.serve_batch(first, lengths, read)

    def seek_x_ms(self, from_um: Any, to_um: Any) -> "NDArray[np.float64]":
        """Return times of moves along X, settling included, from rest to rest.

        Parameters
        ----------
        from_um, to_um
            Micrometres from the centre.
        """
        start, end = _pairs(from_um, to_um)
        return self._core.seek_x_ms(start.ravel(), end.ravel()).reshape(start.shape)

    def seek_y_ms(
        self, from_um: Any, to_um: Any, from_direction: int = 1, to_direction: int | None = None
    ) -> "NDArray[np.float64]":
        """Return times of moves along Y, arriving at access speed.

        Parameters
        ----------
        from_um, to_um
            Micrometres from the centre.
        from_direction
            Leaving at access speed upward (1) or downward (-1), or from rest (0).
        to_direction
            Arriving upward (1) or downward (-1); whichever the device can and is sooner when not given.
        """
        import numpy as np

        start, end = _pairs(from_um, to_um)
        either = [1, -1] if self.parameters["bidirectional"] else [1]
        arrivals = either if to_direction is None else [to_direction]
        leaving = np.full(start.size, from_direction, dtype=np.int64)
        times = [
            self._core.seek_y_ms(start.ravel(), leaving, end.ravel(), np.full(start.size, arrival, dtype=np.int64))
            for arrival in arrivals
        ]
        least: NDArray[np.float64] = np.minimum.reduce(times)
        return least.reshape(start.shape)

    def seek_curve(self, points: int = 101) -> "dict[str, NDArray[np.generic]]":
        """Return seek times against distance: mean, least and longest over the places to start from.

        Parameters
        ----------
        points
            Distances, from 0 to the whole travel.

        Returns
        -------
        dict
            NumPy columns ``axis`` (``"X"`` or ``"Y"``), ``distance_um``, ``mean_ms``, ``min_ms``, ``max_ms``.
        """
        from sledsim.motion import seek_curve

        return seek_curve(self, points)

    def seek_surface(self, points: int = 61) -> "dict[str, NDArray[np.generic]]":
        """Return seek times from rest at the centre to places all over a tip's region.

        Parameters
        ----------
        points
            Places along each axis.

        Returns
        -------
        dict
            NumPy columns ``x_um``, ``y_um``, ``seek_ms``, ``seek_x_ms``, ``seek_y_ms``.
        """
        from sledsim.motion import seek_surface

        return seek_surface(self, points)

    def plot(self, kind: str = "curve") -> "altair.TopLevelMixin":
        """Draw the device's motion.

        Parameters
        ----------
        kind
            ``"curve"`` (time against distance) or ``"surface"`` (time over the X-Y plane).
        """
        from sledsim.plots import device_chart

        return device_chart(self, kind)

    def save_plot(self, path: str | Path, kind: str = "curve") -> None:
        """Draw the device's motion into a file (``.html``, ``.png``, ``.svg`` or ``.json``)."""
        from sledsim.plots import save

        save(self.plot(kind), path)

    def __repr__(self) -> str:
        return f"<Device {self.name}: {self.capacity_bytes / 1e9:.3f} GB>"


def _pairs(first: Any, second: Any) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    import numpy as np

    start, end = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    return np.ascontiguousarray(start), np.ascontiguousarray(end)
