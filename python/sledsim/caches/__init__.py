"""Caches: the built-in replacement policies, and the contract of custom ones."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
