"""The device that follows from the drawing of a sled: materials, bits, actuators and springs."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
