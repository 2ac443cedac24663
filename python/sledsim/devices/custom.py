"""Devices with a custom mechanism."""

from typing import ClassVar

from sledsim.devices.device import Device

__all__ = ["PluginDevice"]


class PluginDevice(Device):
    """A device with a custom mechanism, such as ``Device("my_module:MyDevice")``."""

    MECHANISMS: ClassVar[tuple[str, ...]] = ("custom",)
    KIND: ClassVar[str] = "a custom device"
    HEADING: ClassVar[str] = "custom device"
    ORDER: ClassVar[int] = 4

    def key_figures(self) -> list[tuple[str, float | None]]:
        """Return the figures of the catalogue table: label with unit, value."""
        return [("capacity (GB)", self.capacity_bytes / 1e9)]
