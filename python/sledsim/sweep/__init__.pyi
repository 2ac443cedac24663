"""Public names of ``sledsim.sweep``, each loaded on first use."""

from sledsim.sweep.axes import Range as Range
from sledsim.sweep.axes import Sample as Sample
from sledsim.sweep.description import Sweep as Sweep
from sledsim.sweep.evaluation import Evaluated as Evaluated
from sledsim.sweep.evaluation import Evaluation as Evaluation
from sledsim.sweep.optimisation import optimise as optimise
from sledsim.sweep.outcome import SearchOutcome as SearchOutcome
from sledsim.sweep.outcome import Trial as Trial
from sledsim.sweep.paired import PairedComparison as PairedComparison
from sledsim.sweep.paired import compare_pairs as compare_pairs
from sledsim.sweep.parts import StoreError as StoreError
from sledsim.sweep.recording import Progress as Progress
from sledsim.sweep.result_set import Estimate as Estimate
from sledsim.sweep.result_set import Results as Results
from sledsim.sweep.result_set import results as results
from sledsim.sweep.running import SweepReport as SweepReport
from sledsim.sweep.running import run as run
from sledsim.sweep.search import Constraint as Constraint
from sledsim.sweep.search import Objective as Objective
from sledsim.sweep.search import Search as Search
from sledsim.sweep.store import Store as Store
from sledsim.sweep.sweep_status import SweepStatus as SweepStatus
from sledsim.sweep.sweep_status import status as status
from sledsim.sweep.tables import Definition as Definition

__all__: list[str]
