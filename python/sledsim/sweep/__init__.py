"""Sweeps: many runs of a scenario along axes, into a store that DuckDB reads."""

from sledsim.sweep.axes import Range, Sample
from sledsim.sweep.description import Sweep
from sledsim.sweep.evaluation import Evaluated, Evaluation
from sledsim.sweep.paired import PairedComparison, compare_axis, compare_sweeps
from sledsim.sweep.recording import Progress
from sledsim.sweep.results import Estimate, Results, results
from sledsim.sweep.running import SweepReport, run
from sledsim.sweep.store import Definition, Store, StoreError

__all__ = [
    "Definition",
    "Estimate",
    "Evaluated",
    "Evaluation",
    "PairedComparison",
    "Progress",
    "Range",
    "Results",
    "Sample",
    "Store",
    "StoreError",
    "Sweep",
    "SweepReport",
    "compare_axis",
    "compare_sweeps",
    "results",
    "run",
]
