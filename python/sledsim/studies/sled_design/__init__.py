"""From materials to numbers: what a drawing of a sled decides, and the device that comes of it."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
