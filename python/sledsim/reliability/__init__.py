"""How likely an enclosure of devices loses data, and when to repair it.

- :func:`report` says what ``sledsim reliability`` prints, :func:`compare` puts enclosures side by side.
- Chains: :class:`MarkovModel`, where the chain is drawn, or :func:`mttf_h` alone; :class:`Chain` for your own.
- Equation 1 of hong2006: :func:`failures_at_most`, :func:`more_repairs_than`.
- Monte Carlo, for what chains cannot say: :func:`simulate`.
- Figures 3, 4 and 5 of hong2006: :func:`survival_by_spares`, :func:`mttf_by_maintenance`, :func:`failure_counts`.
- Spares or repairs, by their prices: :func:`cost_curve`.

Each takes a file, a text, a dictionary or a :class:`Description` of the enclosure. Everything is loaded on first use,
so that importing the package stays quick.
"""

from typing import TYPE_CHECKING

from sledsim._loading import on_first_use

if TYPE_CHECKING:
    from sledsim.reliability.analysis import ReliabilityReport, analyse
    from sledsim.reliability.beyond_chains import needs_simulation
    from sledsim.reliability.chain import LOSS, Chain
    from sledsim.reliability.comparison import ReliabilityComparison, compare
    from sledsim.reliability.cost import CostCurve, Design, VisitPrice, cost_curve, priced
    from sledsim.reliability.curves import Curve, SurvivalCurves, survival_by_spares
    from sledsim.reliability.description import (
        Cost,
        Description,
        Device,
        Enclosure,
        Rebuild,
        ReliabilityError,
        Repair,
    )
    from sledsim.reliability.device_life import Batches, InfantMortality, LatentErrors, Lifetime, Tips
    from sledsim.reliability.durability import (
        failures_at_most,
        failures_tolerated,
        more_repairs_than,
        unrepaired_survival,
    )
    from sledsim.reliability.duration import YEAR_H, Duration
    from sledsim.reliability.failures import FailureCounts, failure_counts
    from sledsim.reliability.maintenance import MttfByMaintenance, mttf_by_maintenance
    from sledsim.reliability.models import (
        LongRun,
        MarkovModel,
        State,
        enclosure_chain,
        mttf_h,
    )
    from sledsim.reliability.monte_carlo import MonteCarlo, simulate
    from sledsim.reliability.reading import load
    from sledsim.reliability.rebuild import mean_rebuild_h
    from sledsim.reliability.reporting import SimulatedReport, report
    from sledsim.reliability.solve import Transient, mean_time_to_loss_h, stationary, times_in_states_h

__all__ = [
    "LOSS",
    "YEAR_H",
    "Batches",
    "Chain",
    "Cost",
    "CostCurve",
    "Curve",
    "Description",
    "Design",
    "Device",
    "Duration",
    "Enclosure",
    "FailureCounts",
    "InfantMortality",
    "LatentErrors",
    "Lifetime",
    "LongRun",
    "MarkovModel",
    "MonteCarlo",
    "MttfByMaintenance",
    "Rebuild",
    "ReliabilityComparison",
    "ReliabilityError",
    "ReliabilityReport",
    "Repair",
    "SimulatedReport",
    "State",
    "SurvivalCurves",
    "Tips",
    "Transient",
    "VisitPrice",
    "analyse",
    "compare",
    "cost_curve",
    "enclosure_chain",
    "failure_counts",
    "failures_at_most",
    "failures_tolerated",
    "load",
    "mean_rebuild_h",
    "mean_time_to_loss_h",
    "more_repairs_than",
    "mttf_by_maintenance",
    "mttf_h",
    "needs_simulation",
    "priced",
    "report",
    "simulate",
    "stationary",
    "survival_by_spares",
    "times_in_states_h",
    "unrepaired_survival",
]

# Where each public name lives (PEP 562).
_HOMES = {
    "YEAR_H": "duration",
    "Batches": "device_life",
    "Chain": "chain",
    "Cost": "description",
    "CostCurve": "cost",
    "Curve": "curves",
    "Description": "description",
    "Design": "cost",
    "Device": "description",
    "Duration": "duration",
    "Enclosure": "description",
    "FailureCounts": "failures",
    "InfantMortality": "device_life",
    "LOSS": "chain",
    "LatentErrors": "device_life",
    "Lifetime": "device_life",
    "LongRun": "models",
    "MarkovModel": "models",
    "MonteCarlo": "monte_carlo",
    "MttfByMaintenance": "maintenance",
    "Rebuild": "description",
    "ReliabilityComparison": "comparison",
    "ReliabilityError": "description",
    "ReliabilityReport": "analysis",
    "Repair": "description",
    "SimulatedReport": "reporting",
    "State": "models",
    "SurvivalCurves": "curves",
    "Tips": "device_life",
    "Transient": "solve",
    "VisitPrice": "cost",
    "analyse": "analysis",
    "compare": "comparison",
    "cost_curve": "cost",
    "enclosure_chain": "models",
    "failure_counts": "failures",
    "failures_at_most": "durability",
    "failures_tolerated": "durability",
    "load": "reading",
    "mean_rebuild_h": "rebuild",
    "mean_time_to_loss_h": "solve",
    "more_repairs_than": "durability",
    "mttf_by_maintenance": "maintenance",
    "mttf_h": "models",
    "needs_simulation": "beyond_chains",
    "priced": "cost",
    "report": "reporting",
    "simulate": "monte_carlo",
    "stationary": "solve",
    "survival_by_spares": "curves",
    "times_in_states_h": "solve",
    "unrepaired_survival": "durability",
}

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
