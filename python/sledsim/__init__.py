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

from typing import TYPE_CHECKING

from sledsim._loading import on_first_use, take_core

if TYPE_CHECKING:
    from sledsim import (
        caches,
        devices,
        machine,
        mirrors,
        reliability,
        report,
        runs,
        scenario,
        schedulers,
        show,
        spin_down,
        sqlite,
        studies,
        sweep,
        traces,
        workloads,
    )
    from sledsim._core import Fault, RunError, ScenarioError, SledsimError, TraceError, __version__
    from sledsim.devices.break_even import BreakEven
    from sledsim.devices.device import Device
    from sledsim.devices.disk import DiskDrive
    from sledsim.devices.entries import DeviceEntry, device
    from sledsim.devices.mems import MemsStorage
    from sledsim.devices.simple import SimpleDevice
    from sledsim.runs.comparison import Comparison, compare
    from sledsim.runs.policy_check import PolicyCheck, check_policy
    from sledsim.runs.replaying import replay
    from sledsim.runs.result import Result
    from sledsim.runs.running import run
    from sledsim.runs.serving import Served, serve
    from sledsim.runs.session import Session
    from sledsim.scenario.disksim import DiskSimImport, import_disksim
    from sledsim.scenario.explanation import Explanation, explain
    from sledsim.scenario.reading import Scenario
    from sledsim.studies.calibration.fitted_disk import FittedDisk, matched_disk
    from sledsim.studies.cost.comparison import CostComparison, cost
    from sledsim.studies.design.drawn import Design, design
    from sledsim.studies.hit_ratio.ratios import HitRatios, cache_policies, hit_ratio
    from sledsim.studies.objective.objective_tests import ObjectiveTest, merit, specificity
    from sledsim.studies.objective.roles import Sampling
    from sledsim.studies.power.strategies import PowerComparison, power
    from sledsim.studies.relation.access import RelationTimes, relation
    from sledsim.studies.relation.layouts import Relation
    from sledsim.studies.validation.drive import DriveValidation, validate_drive
    from sledsim.sweep.optimisation import optimise
    from sledsim.traces.trace import Trace, open_trace
    from sledsim.workloads.entries import WorkloadEntry

__all__ = [
    "BreakEven",
    "Comparison",
    "CostComparison",
    "Design",
    "Device",
    "DeviceEntry",
    "DiskDrive",
    "DiskSimImport",
    "DriveValidation",
    "Explanation",
    "Fault",
    "FittedDisk",
    "HitRatios",
    "MemsStorage",
    "ObjectiveTest",
    "PolicyCheck",
    "PowerComparison",
    "Relation",
    "RelationTimes",
    "Result",
    "RunError",
    "Sampling",
    "Scenario",
    "ScenarioError",
    "Served",
    "Session",
    "SimpleDevice",
    "SledsimError",
    "Trace",
    "TraceError",
    "WorkloadEntry",
    "__version__",
    "cache_policies",
    "caches",
    "check_policy",
    "compare",
    "cost",
    "design",
    "device",
    "devices",
    "explain",
    "hit_ratio",
    "import_disksim",
    "machine",
    "matched_disk",
    "merit",
    "mirrors",
    "open_trace",
    "optimise",
    "power",
    "relation",
    "reliability",
    "replay",
    "report",
    "run",
    "runs",
    "scenario",
    "schedulers",
    "serve",
    "show",
    "specificity",
    "spin_down",
    "sqlite",
    "studies",
    "sweep",
    "traces",
    "validate_drive",
    "workloads",
]

# Where each public name lives.
_HOMES = {
    "BreakEven": "devices.break_even",
    "Comparison": "runs.comparison",
    "CostComparison": "studies.cost.comparison",
    "Device": "devices.device",
    "DeviceEntry": "devices.entries",
    "DiskDrive": "devices.disk",
    "DiskSimImport": "scenario.disksim",
    "DriveValidation": "studies.validation.drive",
    "Explanation": "scenario.explanation",
    "Fault": "_core",
    "FittedDisk": "studies.calibration.fitted_disk",
    "HitRatios": "studies.hit_ratio.ratios",
    "MemsStorage": "devices.mems",
    "PolicyCheck": "runs.policy_check",
    "ObjectiveTest": "studies.objective.objective_tests",
    "PowerComparison": "studies.power.strategies",
    "Relation": "studies.relation.layouts",
    "Result": "runs.result",
    "RunError": "_core",
    "Sampling": "studies.objective.roles",
    "Scenario": "scenario.reading",
    "ScenarioError": "_core",
    "Served": "runs.serving",
    "Session": "runs.session",
    "SimpleDevice": "devices.simple",
    "SledsimError": "_core",
    "Design": "studies.design.drawn",
    "RelationTimes": "studies.relation.access",
    "Trace": "traces.trace",
    "TraceError": "_core",
    "WorkloadEntry": "workloads.entries",
    "__version__": "_core",
    "cache_policies": "studies.hit_ratio.ratios",
    "check_policy": "runs.policy_check",
    "compare": "runs.comparison",
    "cost": "studies.cost.comparison",
    "device": "devices.entries",
    "explain": "scenario.explanation",
    "hit_ratio": "studies.hit_ratio.ratios",
    "import_disksim": "scenario.disksim",
    "matched_disk": "studies.calibration.fitted_disk",
    "merit": "studies.objective.objective_tests",
    "open_trace": "traces.trace",
    "power": "studies.power.strategies",
    "run": "runs.running",
    "serve": "runs.serving",
    "replay": "runs.replaying",
    "optimise": "sweep.optimisation",
    "specificity": "studies.objective.objective_tests",
    "design": "studies.design.drawn",
    "relation": "studies.relation.access",
    "validate_drive": "studies.validation.drive",
}
_ROOMS = (
    "caches",
    "devices",
    "machine",
    "mirrors",
    "reliability",
    "report",
    "runs",
    "scenario",
    "schedulers",
    "show",
    "spin_down",
    "sqlite",
    "studies",
    "sweep",
    "traces",
    "workloads",
)

take_core()
__getattr__, __dir__ = on_first_use(__name__, _HOMES, _ROOMS)
