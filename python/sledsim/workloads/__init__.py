"""Workloads of the catalogue: stand-ins for traces that are not public."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
