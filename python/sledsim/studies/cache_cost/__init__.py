"""MEMS and NVRAM caches of equal cost."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
