"""Pictures of results and devices, in Altair: one definition for HTML, PNG and SVG.

Charts hold bins and curves, never the rows of a log, so that they stay small however long the run was.
"""

from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.naming import did_you_mean
from sledsim.plots.save import save

if TYPE_CHECKING:
    import altair

    from sledsim.break_even import BreakEven
    from sledsim.cache_cost import CostPerformance
    from sledsim.comparison import Comparison
    from sledsim.mechanisms import Device
    from sledsim.objective_tests import ObjectiveTest
    from sledsim.power import PowerComparison
    from sledsim.relation_access import TableTimes
    from sledsim.reliability.cost import CostCurve
    from sledsim.reliability.curves import SurvivalCurves
    from sledsim.reliability.failures import FailureCounts
    from sledsim.reliability.maintenance import MttfByMaintenance
    from sledsim.result import Result
    from sledsim.validation import DriveValidation

__all__ = [
    "break_even_chart",
    "comparison_chart",
    "cost_chart",
    "cost_performance_chart",
    "device_chart",
    "failure_chart",
    "maintenance_chart",
    "objective_chart",
    "power_chart",
    "result_chart",
    "save",
    "survival_chart",
    "table_chart",
    "validation_chart",
]

RESULT_PLOTS = ("response", "wait", "service", "phases", "energy", "timeline")


def result_chart(result: "Result", kind: str = "response") -> "altair.TopLevelMixin":
    """Draw a run.

    Parameters
    ----------
    result
        The run.
    kind
        ``"response"``, ``"wait"``, ``"service"``, ``"phases"``, ``"energy"`` or ``"timeline"``.
    """
    if kind in ("response", "wait", "service"):
        from sledsim.plots.distribution import distribution_chart

        return distribution_chart(result, kind)
    from sledsim.plots import parts

    if kind == "phases":
        return parts.phase_chart(result)
    if kind == "energy":
        return parts.energy_chart(result)
    if kind == "timeline":
        from sledsim.plots.timeline import timeline_chart

        return timeline_chart(result)
    raise SledsimError(f"no plot {kind!r} of a result{did_you_mean(kind, RESULT_PLOTS)}")


def device_chart(device: "Device", kind: str = "curve") -> "altair.TopLevelMixin":
    """Draw a device.

    Parameters
    ----------
    device
        The device.
    kind
        One of those that its kind of device has: ``"curve"``, ``"surface"`` or ``"zones"``.
    """
    from sledsim.mechanisms import DiskDrive, MemsStorage
    from sledsim.plots import disks, seeks

    match device, kind:
        case MemsStorage(), "curve":
            return seeks.curve_chart(device)
        case MemsStorage(), "surface":
            return seeks.surface_chart(device)
        case DiskDrive(), "curve":
            return disks.seek_chart(device)
        case DiskDrive(), "zones":
            return disks.zone_chart(device)
    raise SledsimError(f"no plot {kind!r} of {device.KIND}{did_you_mean(kind, device.PLOTS)}")


def validation_chart(validation: "DriveValidation") -> "altair.TopLevelMixin":
    """Draw measured and modelled service times.

    Parameters
    ----------
    validation
        The comparison.
    """
    from sledsim.plots.measured import validation_curves

    return validation_curves(validation)


def comparison_chart(comparison: "Comparison", key: str = "response.mean_ms") -> "altair.TopLevelMixin":
    """Draw one of the metrics of several runs as bars.

    Parameters
    ----------
    comparison
        The runs.
    key
        The metric's key in the summary.
    """
    from sledsim.plots.bars import comparison_bars

    return comparison_bars(comparison, key)


def power_chart(comparison: "PowerComparison") -> "altair.TopLevelMixin":
    """Draw the energy of runs by state, their response times and their throughput.

    Parameters
    ----------
    comparison
        The runs.
    """
    from sledsim.plots.power import power_bars

    return power_bars(comparison)


def break_even_chart(found: "BreakEven") -> "altair.TopLevelMixin":
    """Draw the energy of an idle period in each mode of a device against its length.

    Parameters
    ----------
    found
        The break-even times.
    """
    from sledsim.plots.power import break_even_lines

    return break_even_lines(found)


def survival_chart(found: "SurvivalCurves") -> "altair.TopLevelMixin":
    """Draw the survival of enclosures, and their loss of data on a logarithmic axis, along time.

    Parameters
    ----------
    found
        The curves.
    """
    from sledsim.plots.reliability import survival_lines

    return survival_lines(found)


def maintenance_chart(found: "MttfByMaintenance") -> "altair.TopLevelMixin":
    """Draw the MTTF of an enclosure under both strategies of repair.

    Parameters
    ----------
    found
        The MTTFs.
    """
    from sledsim.plots.reliability import maintenance_lines

    return maintenance_lines(found)


def failure_chart(found: "FailureCounts") -> "altair.TopLevelMixin":
    """Draw the probability that no more than so many devices of an enclosure fail, along time.

    Parameters
    ----------
    found
        The probabilities.
    """
    from sledsim.plots.reliability import failure_lines

    return failure_lines(found)


def cost_chart(found: "CostCurve") -> "altair.TopLevelMixin":
    """Draw what each design of an enclosure costs against how likely it loses data.

    Parameters
    ----------
    found
        The designs.
    """
    from sledsim.plots.cost import cost_lines

    return cost_lines(found)


def cost_performance_chart(found: "CostPerformance") -> "altair.TopLevelMixin":
    """Draw how NVRAM caches respond in comparison with a MEMS cache for the same money.

    Parameters
    ----------
    found
        The caches.
    """
    from sledsim.plots.cache_cost import cache_cost_lines

    return cache_cost_lines(found)


def table_chart(times: "TableTimes") -> "altair.TopLevelMixin":
    """Draw how long scans of a relation and fetches of its rows take, by layout.

    Parameters
    ----------
    times
        What they took.
    """
    from sledsim.plots.layouts import table_bars

    return table_bars(times)


def objective_chart(found: "ObjectiveTest") -> "altair.TopLevelMixin":
    """Draw the gains that an objective test found, against its rule.

    Parameters
    ----------
    found
        The test.
    """
    from sledsim.plots.gains import gain_chart

    return gain_chart(found)
