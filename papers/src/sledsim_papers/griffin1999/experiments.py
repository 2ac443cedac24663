"""Griffin et al. 1999: Table 2, the times of the default device under the random workload."""

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.runs import batched_interval
from sledsim_papers.griffin1999 import contradictions, disk, geometry, scheduling, sensitivity, traces
from sledsim_papers.griffin1999.workload import DEVICE, poisson, random
from sledsim_papers.harness.finding import Finding, Interval, Probe
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sledsim.runs import Result

__all__ = [
    "TRANSFER",
    "contradictions",
    "disk",
    "figure_ms",
    "geometry",
    "scheduling",
    "sensitivity",
    "table_2",
    "traces",
]

#: As many as the paper's.
REQUESTS = 100_000
TABLE_2 = random(poisson(100.0), REQUESTS)
RUN = "100,000 requests of the random workload, Poisson 100/s, first come first served"

#: What a request transfers by the bits alone: phases of a service after its first positioning.
TRANSFER = ("servo_ns", "transfer_ns", "turnaround_ns")

#: A sled that accelerates more slowly along X. Its longest seek is the one that the paper prints.
SLOWER_X: dict[str, Any] = {"acceleration_x_m_s2": 100.0}


def table_2(study: Study) -> "Result":
    """Return the run behind Table 2 and Figure 5(b), with its log."""
    return study.run(TABLE_2, log=True)


def _column_ms(study: Study, *names: str, **changes: Any) -> "NDArray[np.float64]":
    """Return a time of every request of that run, or of one on a changed device: the sum of the phases named, ms."""
    log = study.run(random(poisson(100.0), REQUESTS, **changes), log=True).log
    total: NDArray[np.float64] = np.sum([log[name].astype(np.float64) for name in names], axis=0)
    return total / 1e6


def figure_ms(study: Study, figure: str, *names: str, **changes: Any) -> float:
    """Return a figure of a time of the requests of Table 2; the longest is the mean of those of each seed.

    Parameters
    ----------
    study
        Where they are run.
    figure
        ``"mean"``, ``"std"`` or ``"max"``.
    *names
        Phases, as columns of a log are called: the time is their sum.
    **changes
        Values that replace those of the device.
    """
    if figure == "max":
        return over_seeds(study, lambda each: (float(_column_ms(each, *names, **changes).max()),))[0][0]
    return float(methodcaller(figure)(_column_ms(study, *names, **changes)))


def _figure_of(study: Study, figure: str, how: str, *names: str, **more: Any) -> Finding:
    """Return a figure of a time of every request, the mean, the deviation or the maximum, which has no interval."""
    intervals: tuple[Interval, ...] = ()
    if figure != "max":
        intervals = (batched_interval(_column_ms(study, *names), methodcaller(figure)).ends,)
    return Finding(figure_ms(study, figure, *names), how, intervals=intervals, scenarios=(TABLE_2,), **more)


def _reversal_ms(study: Study) -> float:
    """Return the time of one reversal of the default device, ms."""
    return float(study.sled(DEVICE).seek_y_ms(0.0, 0.0, 1, -1).item())


@experiment("griffin1999.settle-time")
def settle_time(study: Study) -> Finding:
    """Settling constants over 2 pi times the resonance."""
    return Finding(study.sled(DEVICE).settle_ms, "The formula (equation 3) with the values of Table 1.")


@experiment("griffin1999.turnaround-time")
def turnaround_time(study: Study) -> Finding:
    """Reverse at the same place."""
    return Finding(_reversal_ms(study), "A seek along Y back to the place it started from, the other way.")


SEEKS = f"{RUN}; positioning before the first pass."
SEEK_CAUSE = (
    "The longest seek printed can't come from the values printed: equation 2 with Table 1 ends before it. "
    "With 100 m/s² along X, which no table has, longest, mean and deviation are all near those printed; a longer "
    "travel along X would do the same."
)


@experiment("griffin1999.seek-mean", "mean")
@experiment("griffin1999.seek-std", "std")
@experiment("griffin1999.seek-max", "max")
def seek(study: Study, figure: str) -> Finding:
    """Positioning before the first pass."""
    run = study.run(random(poisson(100.0), REQUESTS, **SLOWER_X))
    probe = Probe("100 m/s² along X in place of 114.8", float(run["seek"][f"{figure}_ms"]))
    return _figure_of(study, figure, SEEKS, "seek_ns", cause=SEEK_CAUSE, probes=(probe,))


TRANSFERS = f"{RUN}; servo bursts, data and positioning between passes."
TRANSFER_CAUSE = (
    "Here a request passes over whole rows: each costs the time of a servo burst and of a whole tip sector, however "
    "few of its blocks are wanted, and the sled turns round from row to row. The printed mean is less than one tip "
    "sector takes, so the paper's bits pass at the rate of many tips, without rows, and only tracks are turned at."
)


#: Data that pass as a stream, by how many tips.
FLUID: dict[str, dict[str, Any]] = {
    "the 1280 tips of Table 1": {"transfer": "fluid"},
    "640 tips, half of those": {"transfer": "fluid", "active_tips": 640},
}


def _fluid_probes(study: Study, figure: str, *names: str) -> tuple[Probe, ...]:
    """Return a figure of times, the sum of the phases named, on sleds whose data pass as a stream."""
    probes = []
    for which, changes in FLUID.items():
        change = f"bits at the rate of {which}, without rows; a reversal where a track ends"
        probes.append(Probe(change, figure_ms(study, figure, *names, **changes)))
    return tuple(probes)


@experiment("griffin1999.transfer-mean", "mean")
@experiment("griffin1999.transfer-std", "std")
@experiment("griffin1999.transfer-max", "max")
def transfer(study: Study, figure: str) -> Finding:
    """Everything after the first positioning: servo bursts, data, and the ways from pass to pass."""
    probes = _fluid_probes(study, figure, *TRANSFER)
    if figure == "mean":
        between = _column_ms(study, *TRANSFER, transfer="fluid", active_tips=880)
        probes = (*probes, Probe("bits at the rate of 880 tips, without rows", float(between.mean())))
    cause = TRANSFER_CAUSE
    if figure == "max":
        cause += (
            " The mean goes with the rate of 880 tips, the longest with one of fewer than 640: no one rate gives both."
        )
    return _figure_of(study, figure, TRANSFERS, *TRANSFER, cause=cause, probes=probes)


SERVICES = f"{RUN}; services: positioning and everything after it."
SERVICE_CAUSE = (
    "A service is a seek and a transfer, and both differ, in opposite directions: seeks are shorter than the paper's "
    "(see seek-max), transfers longer (see transfer-mean)."
)


def _both(study: Study, figure: str) -> Probe:
    """Return a figure of services with longer seeks along X and half of the tips, without rows."""
    half = FLUID["640 tips, half of those"]
    ours = figure_ms(study, figure, "seek_ns", *TRANSFER, **SLOWER_X, **half)
    return Probe("100 m/s² along X, and bits at the rate of 640 tips, without rows", ours)


@experiment("griffin1999.service-mean", "mean")
@experiment("griffin1999.service-std", "std")
@experiment("griffin1999.service-max", "max")
def service(study: Study, figure: str) -> Finding:
    """Seek and transfer together."""
    both = () if figure == "max" else (_both(study, figure),)
    probes = (*_fluid_probes(study, figure, "seek_ns", *TRANSFER), *both)
    return _figure_of(study, figure, SERVICES, "seek_ns", *TRANSFER, cause=SERVICE_CAUSE, probes=probes)


@experiment("griffin1999.under-2-ms")
def under_2_ms(study: Study) -> Finding:
    """Find the mean service again, against the bound of the abstract."""
    probes = _fluid_probes(study, "mean", "seek_ns", *TRANSFER)
    return _figure_of(study, "mean", SERVICES, "seek_ns", *TRANSFER, cause=TRANSFER_CAUSE, probes=probes)


@experiment("griffin1999.seek-axis-maxima")
def seek_axis_maxima(study: Study) -> Finding:
    """Longest seeks along either axis over the ends of the curves of Figure 5(a)."""
    sled = study.sled(DEVICE)
    end_um = sled.parameters["x_range_um"] / 2
    mean_reversal_ms = float(_column_ms(study, "seek_turnaround_ns").mean())
    x_ms = sled.seek_x_ms(-end_um, end_um).item()
    y_ms = sled.seek_y_ms(-end_um, end_um, 1, 1).item()
    longest = [figure_ms(study, "max", f"seek_{axis}_ns") for axis in "xy"]
    return Finding(
        (longest[0] / x_ms, longest[1] / (y_ms + mean_reversal_ms)),
        f"{RUN}; over a full stroke by equation 2, settling included, and by equation 4 with the reversals of a mean "
        "request, as Figure 5(a) draws it.",
        scenarios=(TABLE_2,),
        cause="Along Y the longest seek has two reversals, one when it starts and one when it ends; the curve of the "
        "figure has the mean of a request, which is less than one.",
        probes=(
            Probe(
                "the curve along Y with two reversals",
                (longest[0] / x_ms, longest[1] / (y_ms + 2 * _reversal_ms(study))),
            ),
        ),
    )


@experiment("griffin1999.turnarounds-per-seek")
def turnarounds_per_seek(study: Study) -> Finding:
    """Reversals within seeks, by their time."""
    reversals = _column_ms(study, "seek_turnaround_ns") / _reversal_ms(study)
    how = f"{RUN}; time of reversals in a seek over that of one, whether or not the seek along X hides it."
    return Finding(float(reversals.mean()), how, intervals=(batched_interval(reversals).ends,), scenarios=(TABLE_2,))


@experiment("griffin1999.turnaround-mean-per-request")
def turnaround_mean(study: Study) -> Finding:
    """Reversals within seeks."""
    how = f"{RUN}; reversals in the seek before the first pass, whether or not the seek along X hides them."
    return _figure_of(study, "mean", how, "seek_turnaround_ns")


@experiment("griffin1999.x-dominates-y")
def x_dominates_y(study: Study) -> Finding:
    """Seeks whose way along X takes longer."""
    longer = _column_ms(study, "seek_x_ns") > _column_ms(study, "seek_y_ns")
    share = longer.astype(float)
    return Finding(
        float(share.mean()), f"{RUN}; by request.", intervals=(batched_interval(share).ends,), scenarios=(TABLE_2,)
    )
