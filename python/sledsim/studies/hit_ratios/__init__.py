"""How often a trace would hit caches of several sizes and replacement policies."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
