"""MEMS storage: geometry and motion of a sled."""

from typing import TYPE_CHECKING, Any, ClassVar

from sledsim import _core
from sledsim.devices.device import MOST_POINTS, Device, in_shape
from sledsim.scenario.reading import Sets
from sledsim.show.arguments import argument_error, broadcast_together, require_numbers, require_single_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import altair
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.show.tables import Table

__all__ = ["MemsStorage"]

#: Maximum number of points of a surface along each axis.
MOST_PLACES = 2_000


class MemsStorage(Device):
    """One sled of a MEMS device; its parameters are those of :class:`Device`.

    Attributes
    ----------
    tracks, rows, blocks_per_row : int
        Geometry: tracks per cylinder, rows per track, blocks per row.
    raw_capacity_bytes : float
        Capacity with the servo bits counted as data.
    readable_bytes : int
        Readable capacity, without blocks in which more tips failed than spare tips and error correction can replace.
    settle_ms : float
        Settling time after a move along X.
    access_speed_m_s : float
        Speed of the sled while it reads or writes.
    access_speed_limit_m_s : float or None
        The greatest speed from which the sled stops within ``finger_gap_um``; ``None`` without that key.
    peak_bandwidth_mb_s, streaming_bandwidth_mb_s : float
        Bandwidth with the servo bits counted as data, and bandwidth of a long sequential read.
    """

    MECHANISMS: ClassVar[tuple[str, ...]] = ("mems",)
    KIND: ClassVar[str] = "MEMS storage"
    HEADING: ClassVar[str] = "MEMS storage"
    ORDER: ClassVar[int] = 1

    tracks: int
    rows: int
    blocks_per_row: int
    raw_capacity_bytes: float
    readable_bytes: int
    settle_ms: float
    access_speed_m_s: float
    access_speed_limit_m_s: float | None
    peak_bandwidth_mb_s: float
    streaming_bandwidth_mb_s: float

    def __init__(self, name: str = "g2", /, *, overrides: Sets = (), **keys: Any) -> None:
        super().__init__(name, overrides=overrides, **keys)
        self._sled = _core.Sled(self._core)
        self.tracks = self._sled.tracks
        self.rows = self._sled.rows
        self.blocks_per_row = self._sled.blocks_per_row
        self.raw_capacity_bytes = self._sled.raw_capacity_bytes
        self.readable_bytes = self._sled.readable_bytes
        self.settle_ms = self._sled.settle_ms
        self.access_speed_m_s = self._sled.access_speed_m_s
        self.access_speed_limit_m_s = self._sled.access_speed_limit_m_s
        self.peak_bandwidth_mb_s = self._sled.peak_bandwidth_mb_s
        self.streaming_bandwidth_mb_s = self._sled.streaming_bandwidth_mb_s

    def place(self, lbn: int) -> tuple[int, int, int, int]:
        """Return the physical location of a block: cylinder, track, row, and index within the row.

        Parameters
        ----------
        lbn
            Logical block number.
        """
        return self._sled.place(require_single_integer("lbn", lbn, 0, self.capacity_blocks - 1))

    def equivalent(self, lbn: int) -> "NDArray[np.uint64]":
        """Return the equivalent blocks of a block, which can be read together (Schlosser and Ganger 2004, section 6).

        Parameters
        ----------
        lbn
            Logical block number.
        """
        return self._sled.equivalent(require_single_integer("lbn", lbn, 0, self.capacity_blocks - 1))

    def seek_x_ms(self, from_um: Any, to_um: Any) -> Any:
        """Return the times of moves along X from rest to rest, settling included; a number for single positions.

        Parameters
        ----------
        from_um, to_um
            Positions, micrometres from the centre.
        """
        start, end = self._moves("x", from_um, to_um)
        return in_shape(self._sled.seek_x_ms(start.ravel(), end.ravel()), start.shape)

    def seek_y_ms(self, from_um: Any, to_um: Any, from_direction: int = 1, to_direction: int | None = None) -> Any:
        """Return the times of moves along Y, with arrival at access speed; a number for single positions.

        Parameters
        ----------
        from_um, to_um
            Positions, micrometres from the centre.
        from_direction
            Initial motion: at access speed upward (1) or downward (-1), or at rest (0).
        to_direction
            Direction of arrival: upward (1) or downward (-1); by default, the faster of those the device supports.
        """
        import numpy as np

        start, end = self._moves("y", from_um, to_um)
        either = [1, -1] if self.parameters["bidirectional"] else [1]
        arrivals = either if to_direction is None else [require_single_integer("to_direction", to_direction, -1, 1)]
        if 0 in arrivals:
            raise argument_error("to_direction", 0, "1 or -1: a move along Y ends at access speed")
        leaving = np.full(start.size, require_single_integer("from_direction", from_direction, -1, 1), dtype=np.int64)
        times = [
            self._sled.seek_y_ms(start.ravel(), leaving, end.ravel(), np.full(start.size, arrival, dtype=np.int64))
            for arrival in arrivals
        ]
        least: NDArray[np.float64] = np.minimum.reduce(times)
        return in_shape(least, start.shape)

    def _moves(self, axis: str, from_um: Any, to_um: Any) -> "list[NDArray[np.float64]]":
        """Return the start and end positions of moves along an axis, and raise if one is out of range."""
        half_um = self.parameters[f"{axis}_range_um"] / 2
        ends = {
            name: require_numbers(name, um, -half_um, half_um, "um")
            for name, um in (("from_um", from_um), ("to_um", to_um))
        }
        return broadcast_together(**ends)

    def seek_curve(self, points: int = 101) -> "dict[str, NDArray[np.generic]]":
        """Return seek times by distance: mean, minimum and maximum over the starting positions.

        Parameters
        ----------
        points
            Number of distances, from 0 to the whole travel; from 2 to 10,000.

        Returns
        -------
        dict
            NumPy columns ``axis`` (``"X"`` or ``"Y"``), ``distance_um``, ``mean_ms``, ``min_ms``, ``max_ms``.
        """
        from sledsim.devices.motion import seek_curve

        return seek_curve(self, require_single_integer("points", points, 2, MOST_POINTS))

    def seek_surface(self, points: int = 61) -> "dict[str, NDArray[np.generic]]":
        """Return seek times from rest at the centre to a grid of positions in a tip's region.

        Parameters
        ----------
        points
            Number of positions along each axis; at most 2,000.

        Returns
        -------
        dict
            NumPy columns ``x_um``, ``y_um``, ``seek_ms``, ``seek_x_ms``, ``seek_y_ms``.
        """
        from sledsim.devices.motion import seek_surface

        return seek_surface(self, require_single_integer("points", points, 1, MOST_PLACES))

    def seek_table(self) -> "Table":
        """Return a table of seek times by distance."""
        from sledsim.devices.motion import curve_table

        return curve_table(self, self.seek_curve())

    def surface_table(self) -> "Table":
        """Return a table of seek times from rest at the centre."""
        from sledsim.devices.motion import surface_table

        return surface_table(self, self.seek_surface())

    def key_figures(self) -> list[tuple[str, float | None]]:
        """Return the figures of the catalogue table: label with unit, value."""
        return [
            ("capacity (GB)", self.capacity_bytes / 1e9),
            ("streaming (MB/s)", self.streaming_bandwidth_mb_s),
            ("access (mm/s)", 1e3 * self.access_speed_m_s),
            ("settling (ms)", self.settle_ms),
        ]

    def _has_losses(self) -> bool:
        """Return true if blocks are unreadable because of failed tips."""
        return self.readable_bytes < self.capacity_bytes

    def facts(self) -> list[tuple[str, float | None, str]]:
        """Return figures derived from the parameters: label, value, unit."""
        sleds = self.parameters["sleds"]
        return [
            *([("sleds, each with the figures below", sleds, "")] if sleds > 1 else []),
            ("capacity", self.capacity_bytes / 1e9, "GB"),
            *([("of which can be read", self.readable_bytes / 1e9, "GB")] if self._has_losses() else []),
            ("capacity, servo bits counted as data", self.raw_capacity_bytes / 1e9, "GB"),
            ("blocks", self.capacity_blocks, ""),
            ("cylinders", self.cylinders, ""),
            ("tracks per cylinder", self.tracks, ""),
            ("rows per track", self.rows, ""),
            ("blocks per row", self.blocks_per_row, ""),
            ("access speed", 1e3 * self.access_speed_m_s, "mm/s"),
            *([("greatest access speed", 1e3 * limit, "mm/s")] if (limit := self.access_speed_limit_m_s) else []),
            ("settling", self.settle_ms, "ms"),
            ("streaming bandwidth", self.streaming_bandwidth_mb_s, "MB/s"),
            ("peak bandwidth, servo bits counted as data", self.peak_bandwidth_mb_s, "MB/s"),
        ]

    def _charts(self) -> "Mapping[str, Callable[[Any], altair.TopLevelMixin]]":
        """Return the functions that draw its charts, by kind."""
        from sledsim.devices.mems_charts import curve_chart, surface_chart

        return {"curve": curve_chart, "surface": surface_chart}
