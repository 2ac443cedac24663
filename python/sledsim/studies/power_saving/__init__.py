"""Power saving: comparison of strategies and of spin-down policies."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
