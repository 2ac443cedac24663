"""Disk drives: zones, locations of blocks, seeks and rotation."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sledsim import _core
from sledsim.devices.device import MOST_POINTS, Device, in_shape
from sledsim.scenario.reading import Sets
from sledsim.show.arguments import require_flags, require_integers, require_single, require_single_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import altair
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.show.tables import Table

__all__ = ["DiskDrive", "Place"]


class Place(NamedTuple):
    """The physical location of a block on a disk.

    Parameters
    ----------
    cylinder, head, sector
        Numbers from 0; sectors count from the first sector of the track in the drive's mapping.
    angle
        Angle from the index mark to the start of the sector, in revolutions.
    """

    cylinder: int
    head: int
    sector: int
    angle: float


class DiskDrive(Device):
    """A disk drive; its parameters are those of :class:`Device`.

    If actuators are tied to ranges of LBNs (``actuator_ranges``), cylinders, places, seeks and services are those of
    the first actuator and its range, and the capacity, the surfaces and the bandwidth those of the drive.

    Attributes
    ----------
    surfaces : int
        Number of data surfaces.
    rotation_ms : float
        Duration of a revolution, speed error included.
    mean_seek_ms, longest_seek_ms : float
        Seek times of reads: mean over all pairs of cylinders, and full stroke.
    bus_mb_s : float or None
        Transfer rate of the bus for reads; ``None`` if the transfer takes no time.
    streaming_bandwidth_mb_s : float
        Bandwidth of a sequential read of the whole medium, with head switches and cylinder switches, without bus,
        buffer and command overhead.
    """

    MECHANISMS: ClassVar[tuple[str, ...]] = ("disk",)
    KIND: ClassVar[str] = "a disk drive"
    HEADING: ClassVar[str] = "disk drive"
    ORDER: ClassVar[int] = 2

    surfaces: int
    rotation_ms: float
    mean_seek_ms: float
    longest_seek_ms: float
    bus_mb_s: float | None
    streaming_bandwidth_mb_s: float

    def __init__(self, name: str, /, *, overrides: Sets = (), **keys: Any) -> None:
        super().__init__(name, overrides=overrides, **keys)
        self._disk = _core.Disk(self._core)
        self.capacity_blocks *= self.parameters["actuator_ranges"]
        self.capacity_bytes *= self.parameters["actuator_ranges"]
        self.surfaces = self.parameters["surfaces"]
        self.rotation_ms = self._disk.rotation_ms
        self.mean_seek_ms = self._disk.mean_seek_ms
        self.longest_seek_ms = float(self.seek_ms(self.cylinders - 1))
        bus_ms = self.parameters["bus_ms_per_block"]
        self.bus_mb_s = self.block_bytes / bus_ms / 1e3 if bus_ms > 0 else None
        self.streaming_bandwidth_mb_s = self._disk.streaming_bandwidth_mb_s

    def place(self, lbn: int) -> Place:
        """Return the physical location of a block.

        Parameters
        ----------
        lbn
            Logical block number.
        """
        return Place(*self._disk.place(require_single_integer("lbn", lbn, 0, self._core.capacity_blocks - 1)))

    def zones(self) -> "dict[str, NDArray[np.generic]]":
        """Return the zones, from the outermost in.

        Returns
        -------
        dict
            NumPy columns ``first_cylinder``, ``last_cylinder``, ``sectors_per_track``, ``first_lbn``, ``blocks``,
            ``media_mb_s`` (data rate under a head) and ``streaming_mb_s`` (rate of a sequential read, with head
            switches and seeks).
        """
        return self._disk.zones()

    def seek_ms(self, distance_cylinders: Any, *, read: bool = True) -> Any:
        """Return the times of seeks to another cylinder with the same head; a number for a single distance.

        Parameters
        ----------
        distance_cylinders
            Distances in cylinders, below :attr:`cylinders`.
        read
            True for reads, false for writes, which settle longer.
        """
        import numpy as np

        distance = require_integers("distance_cylinders", distance_cylinders, 0, self.cylinders - 1).astype(np.uint32)
        is_read = require_single("read", require_flags("read", read))
        return in_shape(self._disk.seek_ms(distance.ravel(), is_read), distance.shape)

    def seek_curve(self, points: int = 201) -> "dict[str, NDArray[np.generic]]":
        """Return seek times by distance, for reads and writes.

        Parameters
        ----------
        points
            Number of evenly spaced distances, at most 10,000. Short distances and those of the parameters are added.

        Returns
        -------
        dict
            NumPy columns ``op`` (``"read"`` or ``"write"``), ``distance_cylinders``, ``seek_ms`` and ``in_table``,
            which is true if the parameters give the time of this distance.
        """
        import numpy as np

        longest = self.cylinders - 1
        spread = np.linspace(0, longest, require_single_integer("points", points, 1, MOST_POINTS)).round()
        tabled = self._tabled_distances()
        distance = np.unique(np.concatenate([spread, np.arange(0, min(SHORT, longest) + 1), tabled])).astype(np.uint32)
        rows = len(distance)
        return {
            "op": np.repeat(["read", "write"], rows),
            "distance_cylinders": np.tile(distance, 2),
            "seek_ms": np.concatenate([self.seek_ms(distance), self.seek_ms(distance, read=False)]),
            # Writes add settling to the times of the table, so that only reads are points of it.
            "in_table": np.concatenate([np.isin(distance, tabled), np.zeros(rows, dtype=np.bool_)]),
        }

    def _tabled_distances(self) -> "NDArray[np.float64]":
        """Return the distances with times in the parameters."""
        import numpy as np

        seek = self.parameters["seek"]
        distances = [distance for distance, _ in seek.get("points", ())]
        distances += range(1, len(seek.get("first_ms", ())) + 1)
        return np.array([each for each in distances if 0 < each < self.cylinders], dtype=np.float64)

    def seek_table(self) -> "Table":
        """Return a table of seek times by distance."""
        from sledsim.devices.disk_tables import seek_table

        return seek_table(self)

    def zone_table(self) -> "Table":
        """Return a table of the zones."""
        from sledsim.devices.disk_tables import zone_table

        return zone_table(self)

    def key_figures(self) -> list[tuple[str, float | None]]:
        """Return the figures of the catalogue table: label with unit, value."""
        rpm: float = self.parameters["rotation_rpm"]
        return [
            ("capacity (GB)", self.capacity_bytes / 1e9),
            ("speed (rpm)", int(rpm) if rpm == int(rpm) else rpm),
            ("zones", len(self.parameters["zones"])),
            ("mean seek (ms)", self.mean_seek_ms),
            ("medium (MB/s)", self.streaming_bandwidth_mb_s),
            ("bus (MB/s)", self.bus_mb_s),
        ]

    def facts(self) -> list[tuple[str, float | None, str]]:
        """Return figures derived from the parameters: label, value, unit."""
        media, ranges = self.zones()["media_mb_s"], self.parameters["actuator_ranges"]
        return [
            ("capacity", self.capacity_bytes / 1e9, "GB"),
            ("blocks", self.capacity_blocks, ""),
            *([("actuators, each with an equal share of the surfaces", ranges, "")] if ranges > 1 else []),
            ("cylinders", self.cylinders, ""),
            ("surfaces", self.surfaces, ""),
            ("zones", len(media), ""),
            ("revolution", self.rotation_ms, "ms"),
            ("seek, one cylinder", float(self.seek_ms(min(1, self.cylinders - 1))), "ms"),
            ("seek, mean over all pairs of cylinders", self.mean_seek_ms, "ms"),
            ("seek, full stroke", self.longest_seek_ms, "ms"),
            ("media rate, fastest zone", float(media.max()), "MB/s"),
            ("media rate, slowest zone", float(media.min()), "MB/s"),
            ("sequential read of the medium", self.streaming_bandwidth_mb_s, "MB/s"),
            ("bus", self.bus_mb_s, "MB/s"),
        ]

    def _charts(self) -> "Mapping[str, Callable[[Any], altair.TopLevelMixin]]":
        """Return the functions that draw its charts, by kind."""
        from sledsim.devices.disk_charts import seek_chart, zone_chart

        return {"curve": seek_chart, "zones": zone_chart}


#: A seek curve has every distance up to this one, as it is steepest there.
SHORT = 40
