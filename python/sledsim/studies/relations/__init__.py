"""Relations of a database laid out on devices: how long scans and fetches take."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
