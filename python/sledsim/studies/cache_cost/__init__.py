"""Caches that cost the same: MEMS against NVRAM."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
