"""Block traces on disk: their formats, what is in them."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
