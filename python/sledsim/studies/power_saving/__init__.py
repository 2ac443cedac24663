"""Power saving: strategies and spin-down policies, alone and together."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
