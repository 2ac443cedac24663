"""Devices without a mechanism."""

from typing import ClassVar

from sledsim.devices.device import Device

__all__ = ["SimpleDevice"]


class SimpleDevice(Device):
    """A device with constant access times, or times linear in the distance between requests."""

    MECHANISMS: ClassVar[tuple[str, ...]] = ("simpledisk-constant", "simpledisk-linear")
    KIND: ClassVar[str] = "a simple device"
    HEADING: ClassVar[str] = "simple device"
    ORDER: ClassVar[int] = 3

    def key_figures(self) -> list[tuple[str, float | None]]:
        """Return the figures of the catalogue table: label with unit, value."""
        given = self.parameters
        ends = [given["access_ms"]] * 2 if "access_ms" in given else [given["nearest_ms"], given["farthest_ms"]]
        return [
            ("capacity (GB)", self.capacity_bytes / 1e9),
            ("shortest time (ms)", ends[0]),
            ("longest time (ms)", ends[1]),
        ]
