"""Hit ratios of caches of several sizes and replacement policies for a trace."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
