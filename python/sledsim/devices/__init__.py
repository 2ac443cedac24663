"""Devices without a workload: the catalogue, geometry, motion and service times."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
