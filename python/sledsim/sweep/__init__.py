"""Sweeps: many runs of a scenario along axes, into a store that DuckDB reads."""

from sledsim.sweep.axes import Range, Sample
from sledsim.sweep.description import Sweep
from sledsim.sweep.recording import Progress
from sledsim.sweep.running import SweepReport, run
from sledsim.sweep.store import Definition, Store, StoreError

__all__ = ["Definition", "Progress", "Range", "Sample", "Store", "StoreError", "Sweep", "SweepReport", "run"]
