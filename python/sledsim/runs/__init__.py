"""Runs: a scenario simulated, what came of it, and several side by side."""

from sledsim.runs.comparison import Comparison, compare
from sledsim.runs.confidence import Interval, batched_interval, jackknife_interval, mean_interval
from sledsim.runs.labels import label_of_run
from sledsim.runs.phases import state_word
from sledsim.runs.policy_check import PolicyCheck, check_policy
from sledsim.runs.replaying import replay
from sledsim.runs.result import Result
from sledsim.runs.running import ProgressCallback, run, run_resolved
from sledsim.runs.threads import Pool, in_threads, threads_of
from sledsim.runs.timeline import Timeline
from sledsim.show.style import state_colours

__all__ = [
    "Comparison",
    "Interval",
    "PolicyCheck",
    "Pool",
    "ProgressCallback",
    "Result",
    "Timeline",
    "batched_interval",
    "check_policy",
    "compare",
    "in_threads",
    "jackknife_interval",
    "label_of_run",
    "mean_interval",
    "replay",
    "run",
    "run_resolved",
    "state_colours",
    "state_word",
    "threads_of",
]
