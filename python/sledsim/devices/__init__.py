"""Devices by themselves, without a workload: the catalogue, and geometry, motion and service times."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
