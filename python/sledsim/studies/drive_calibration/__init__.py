"""Calibration of drive models with fio."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
