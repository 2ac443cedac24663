"""Public names of ``sledsim.runs``, each loaded on first use."""

from sledsim.runs.comparison import Comparison as Comparison
from sledsim.runs.comparison import compare as compare
from sledsim.runs.confidence import Interval as Interval
from sledsim.runs.confidence import batched_interval as batched_interval
from sledsim.runs.confidence import jackknife_interval as jackknife_interval
from sledsim.runs.confidence import mean_interval as mean_interval
from sledsim.runs.labels import label_of_run as label_of_run
from sledsim.runs.load_limit import LoadLimit as LoadLimit
from sledsim.runs.load_limit import LoadLimits as LoadLimits
from sledsim.runs.load_limit import find_limit as find_limit
from sledsim.runs.phases import state_word as state_word
from sledsim.runs.policy_check import PolicyCheck as PolicyCheck
from sledsim.runs.policy_check import check_policy as check_policy
from sledsim.runs.replaying import replay as replay
from sledsim.runs.result import Result as Result
from sledsim.runs.running import ProgressCallback as ProgressCallback
from sledsim.runs.running import run as run
from sledsim.runs.running import run_resolved as run_resolved
from sledsim.runs.serving import Served as Served
from sledsim.runs.serving import serve as serve
from sledsim.runs.session import Session as Session
from sledsim.runs.threads import Pool as Pool
from sledsim.runs.threads import in_threads as in_threads
from sledsim.runs.threads import threads_of as threads_of
from sledsim.runs.timeline import Timeline as Timeline
from sledsim.runs.trace_comparison import TraceComparison as TraceComparison
from sledsim.show.style import state_colours as state_colours

__all__: list[str]
