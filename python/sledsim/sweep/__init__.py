"""Sweeps: many runs of a scenario along axes, into a store that DuckDB reads."""

from sledsim.sweep.axes import Range, Sample
from sledsim.sweep.description import Sweep
from sledsim.sweep.evaluation import Evaluated, Evaluation
from sledsim.sweep.optimisation import optimise
from sledsim.sweep.outcome import SearchOutcome, Trial
from sledsim.sweep.paired import PairedComparison, compare
from sledsim.sweep.parts import StoreError
from sledsim.sweep.recording import Progress
from sledsim.sweep.results import Estimate, Results, results
from sledsim.sweep.running import SweepReport, run
from sledsim.sweep.search import Constraint, Objective, Search
from sledsim.sweep.store import Store
from sledsim.sweep.sweep_status import SweepStatus, status
from sledsim.sweep.tables import Definition

__all__ = [
    "Constraint",
    "Definition",
    "Estimate",
    "Evaluated",
    "Evaluation",
    "Objective",
    "PairedComparison",
    "Progress",
    "Range",
    "Results",
    "Sample",
    "Search",
    "SearchOutcome",
    "Store",
    "StoreError",
    "Sweep",
    "SweepReport",
    "SweepStatus",
    "Trial",
    "compare",
    "optimise",
    "results",
    "run",
    "status",
]
