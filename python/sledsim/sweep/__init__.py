"""Sweeps: many runs of a scenario along axes, into a store that DuckDB reads."""

from sledsim._loading import attach

__getattr__, __dir__, __all__ = attach(__name__)
