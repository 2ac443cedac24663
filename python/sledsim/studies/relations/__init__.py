"""Layouts of database relations on devices, with times of scans and fetches."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
