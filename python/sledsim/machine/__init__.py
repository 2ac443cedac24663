"""Linux machines in virtual time with simulated storage, which run programs."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
