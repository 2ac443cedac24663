"""Devices whose mechanism is one's own."""

from typing import ClassVar

from sledsim.devices.device import Device

__all__ = ["OwnDevice"]


class OwnDevice(Device):
    """A device whose mechanism is one's own, made as a :class:`Device` is: ``Device("my_module:MyDevice")``."""

    MECHANISMS: ClassVar[tuple[str, ...]] = ("own",)
    KIND: ClassVar[str] = "a device of one's own"
    HEADING: ClassVar[str] = "device of one's own"
    ORDER: ClassVar[int] = 4

    def key_figures(self) -> list[tuple[str, float | None]]:
        """List the few figures by which devices of a kind are compared: label with unit, value."""
        return [("capacity (GB)", self.capacity_bytes / 1e9)]
