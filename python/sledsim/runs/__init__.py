"""Runs: a scenario simulated, what came of it, and several side by side."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
