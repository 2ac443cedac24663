"""Drawings: what a designer chooses of a MEMS device, and the relations that make the device of it."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
