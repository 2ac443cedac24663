"""The objective tests: whether something is specific to MEMS storage, and whether it has merit."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
