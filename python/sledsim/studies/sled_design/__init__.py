"""Devices computed from drawings of sleds: materials, bits, actuators and springs."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
