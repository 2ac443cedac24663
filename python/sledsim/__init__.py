"""Sledsim simulates storage that moves: MEMS sleds, and the systems built on them.

>>> import sledsim
>>> result = sledsim.run({
...     "workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}},
...     "system": {"device": "g2", "scheduler": "sptf"},
...     "run": {"requests": 1000},
... })
>>> result.requests.completed
1000

Everything is loaded on first use, so that importing the package stays quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sledsim._core import RunError, ScenarioError, SledsimError, TraceError, __version__
    from sledsim._run import run
    from sledsim.break_even import BreakEven
    from sledsim.cache_cost import CostPerformance, cost_performance
    from sledsim.comparison import Comparison, compare
    from sledsim.disksim import DiskSimImport, import_disksim
    from sledsim.explanation import Explanation, explain
    from sledsim.fitted_disk import FittedDisk, matched_disk
    from sledsim.layouts import Relation
    from sledsim.mechanisms import Device, DiskDrive, MemsStorage, SimpleDevice
    from sledsim.objective_tests import ObjectiveTest, merit, specificity
    from sledsim.power import PowerComparison, power_strategies, spin_down_policies
    from sledsim.registry import DeviceEntry, device, devices, schedulers
    from sledsim.relation_access import TableTimes, table_times
    from sledsim.replacement import HitRatios, cache_policies, hit_ratio
    from sledsim.result import Result
    from sledsim.roles import Sampling
    from sledsim.scenario import Scenario
    from sledsim.stand_ins import WorkloadEntry, workloads
    from sledsim.trace import Trace, open_trace
    from sledsim.validation import DriveValidation, validate_drive

__all__ = [
    "BreakEven",
    "Comparison",
    "CostPerformance",
    "Device",
    "DeviceEntry",
    "DiskDrive",
    "DiskSimImport",
    "DriveValidation",
    "Explanation",
    "FittedDisk",
    "HitRatios",
    "MemsStorage",
    "ObjectiveTest",
    "PowerComparison",
    "Relation",
    "Result",
    "RunError",
    "Sampling",
    "Scenario",
    "ScenarioError",
    "SimpleDevice",
    "SledsimError",
    "TableTimes",
    "Trace",
    "TraceError",
    "WorkloadEntry",
    "__version__",
    "cache_policies",
    "compare",
    "cost_performance",
    "device",
    "devices",
    "explain",
    "hit_ratio",
    "import_disksim",
    "matched_disk",
    "merit",
    "open_trace",
    "power_strategies",
    "run",
    "schedulers",
    "specificity",
    "spin_down_policies",
    "table_times",
    "validate_drive",
    "workloads",
]

# Where each public name lives (PEP 562).
_HOMES = {
    "BreakEven": "sledsim.break_even",
    "Comparison": "sledsim.comparison",
    "CostPerformance": "sledsim.cache_cost",
    "Device": "sledsim.mechanisms",
    "DeviceEntry": "sledsim.registry",
    "DiskDrive": "sledsim.mechanisms",
    "DiskSimImport": "sledsim.disksim",
    "DriveValidation": "sledsim.validation",
    "Explanation": "sledsim.explanation",
    "FittedDisk": "sledsim.fitted_disk",
    "HitRatios": "sledsim.replacement",
    "MemsStorage": "sledsim.mechanisms",
    "ObjectiveTest": "sledsim.objective_tests",
    "PowerComparison": "sledsim.power",
    "Relation": "sledsim.layouts",
    "Result": "sledsim.result",
    "RunError": "sledsim._core",
    "Sampling": "sledsim.roles",
    "Scenario": "sledsim.scenario",
    "ScenarioError": "sledsim._core",
    "SimpleDevice": "sledsim.mechanisms",
    "SledsimError": "sledsim._core",
    "TableTimes": "sledsim.relation_access",
    "Trace": "sledsim.trace",
    "TraceError": "sledsim._core",
    "WorkloadEntry": "sledsim.stand_ins",
    "__version__": "sledsim._core",
    "cache_policies": "sledsim.replacement",
    "compare": "sledsim.comparison",
    "cost_performance": "sledsim.cache_cost",
    "device": "sledsim.registry",
    "devices": "sledsim.registry",
    "explain": "sledsim.explanation",
    "hit_ratio": "sledsim.replacement",
    "import_disksim": "sledsim.disksim",
    "matched_disk": "sledsim.fitted_disk",
    "merit": "sledsim.objective_tests",
    "open_trace": "sledsim.trace",
    "power_strategies": "sledsim.power",
    "run": "sledsim._run",
    "schedulers": "sledsim.registry",
    "specificity": "sledsim.objective_tests",
    "spin_down_policies": "sledsim.power",
    "table_times": "sledsim.relation_access",
    "validate_drive": "sledsim.validation",
    "workloads": "sledsim.stand_ins",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sledsim' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
