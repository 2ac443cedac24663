"""Griffin et al. 1999: the default device and its times (Tables 1 and 2), and the disk Cheetah 4LP."""

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.devices import MemsStorage
from sledsim.runs import batched_interval
from sledsim.studies.validation import DriveValidation, validate_drive
from sledsim_papers.griffin1999 import scheduling, sensitivity, traces  # noqa: F401  register claims
from sledsim_papers.griffin1999.workload import DEVICE, DISK, closed, mean_ms, poisson, random
from sledsim_papers.harness.finding import Finding, Interval, Probe
from sledsim_papers.harness.intervals import of_mean, of_ratio, over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sledsim.runs import Result

__all__ = ["TABLE_2", "TRANSFER", "figure_ms", "table_2", "validation"]

#: Sample size of the paper.
REQUESTS = 100_000
TABLE_2 = random(poisson(100.0), REQUESTS)
RUN = "100,000 requests of the random workload, Poisson 100/s, first come first served"

#: Phases of a service after its first positioning.
TRANSFER = ("servo_ns", "transfer_ns", "turnaround_ns")

#: A sled with lower acceleration along X; its longest seek is the printed one.
SLOWER_X: dict[str, Any] = {"acceleration_x_m_s2": 100.0}


def table_2(study: Study) -> "Result":
    """Return the run behind Table 2 and Figure 5(b), with its log."""
    return study.run(TABLE_2, log=True)


def _column_ms(study: Study, *names: str, **changes: Any) -> "NDArray[np.float64]":
    """Return the sum of the named phases for every request of that run, or of one on a changed device, ms."""
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


def _reversal_ms(sled: MemsStorage) -> float:
    """Return the time of one reversal in the middle of the travel, ms."""
    return float(sled.seek_y_ms(0.0, 0.0, 1, -1).item())


@experiment("griffin1999.settle-time")
def settle_time(study: Study) -> Finding:
    """Settling constants over 2 pi times the resonance."""
    return Finding(study.sled(DEVICE).settle_ms, "The formula (equation 3) with the values of Table 1.")


@experiment("griffin1999.turnaround-time")
def turnaround_time(study: Study) -> Finding:
    """Reverse at the same place."""
    return Finding(_reversal_ms(study.sled(DEVICE)), "A seek along Y back to the place it started from, the other way.")


SEEKS = f"{RUN}; positioning before the first pass."
SEEK_CAUSE = (
    "With 100 m/s² along X, which no table has, the longest seek, the mean and the deviation are near the printed ones."
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
    "Each row takes the time of a servo burst and of a whole tip sector, which is longer than the "
    "printed mean transfer."
)


#: Devices whose data pass without rows, by the number of tips.
FLUID: dict[str, dict[str, Any]] = {
    "the 1280 tips of Table 1": {"transfer": "fluid"},
    "640 tips, half of those": {"transfer": "fluid", "active_tips": 640},
    "640 tips without servo bits, as Table 2's mean of 0.16 ms": {
        "transfer": "fluid",
        "active_tips": 640,
        "servo_bits": 0,
    },
}


def _fluid_probes(study: Study, figure: str, *names: str) -> tuple[Probe, ...]:
    """Return a statistic of the sum of the named phases on sleds without rows."""
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
        cause = "The printed mean fits the rate of 880 tips, but the longest transfer that of fewer than 640."
    return _figure_of(study, figure, TRANSFERS, *TRANSFER, cause=cause, probes=probes)


SERVICES = f"{RUN}; services: positioning and everything after it."
SERVICE_CAUSE = "Seeks are shorter (see seek-max) and transfers longer (see transfer-mean) than in Table 2."


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
    """Compare the mean service with the bound of the abstract."""
    probes = _fluid_probes(study, "mean", "seek_ns", *TRANSFER)
    return _figure_of(study, "mean", SERVICES, "seek_ns", *TRANSFER, cause=TRANSFER_CAUSE, probes=probes)


@experiment("griffin1999.seek-dominates")
def seek_dominates(study: Study) -> Finding:
    """Mean seek over mean service."""
    seek_ms, service_ms = (figure_ms(study, "mean", *names) for names in (("seek_ns",), ("seek_ns", *TRANSFER)))
    how = f"{RUN}: mean seek {seek_ms:.3f} ms, mean service {service_ms:.3f} ms."
    return Finding(seek_ms / service_ms, how, scenarios=(TABLE_2,))


@experiment("griffin1999.seek-axis-maxima")
def seek_axis_maxima(study: Study) -> Finding:
    """Longest seeks along either axis over the ends of the curves of Figure 5(a)."""
    sled = study.sled(DEVICE)
    end_um = sled.parameters["x_range_um"] / 2
    x_ms = sled.seek_x_ms(-end_um, end_um).item()
    y_ms = sled.seek_y_ms(-end_um, end_um, 1, 1).item()
    mean_reversal_ms = float(_column_ms(study, "seek_turnaround_ns").mean())
    longest = [figure_ms(study, "max", f"seek_{axis}_ns") for axis in "xy"]
    return Finding(
        (longest[0] / x_ms, longest[1] / (y_ms + 2 * _reversal_ms(sled))),
        f"{RUN}; over a full stroke by equation 2 with settling, and by equation 4 with two turnarounds.",
        scenarios=(TABLE_2,),
        probes=(
            Probe(
                "equation 4 with the mean time of turnarounds in a seek, as Figure 5(a) draws it",
                (longest[0] / x_ms, longest[1] / (y_ms + mean_reversal_ms)),
            ),
        ),
    )


@experiment("griffin1999.turnarounds-per-seek")
def turnarounds_per_seek(study: Study) -> Finding:
    """Reversals within seeks, by their time."""
    reversals = _column_ms(study, "seek_turnaround_ns") / _reversal_ms(study.sled(DEVICE))
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


#: Values that switch the drive's buffer off.
NO_BUFFER: dict[str, Any] = {"buffer_caching": False, "read_ahead": "none", "fast_write": "none"}

ALONE = "Random workload, one request at a time"


def _alone(study: Study, device: str, **changes: Any) -> dict[str, Any]:
    return random(closed(), study.requests(100_000, 20_000), device=device, **changes)


def _rows(study: Study) -> "dict[str, Result]":
    """Return runs of the disk, its buffer off and on, and of the device."""
    cases = {"off": _alone(study, DISK, **NO_BUFFER), "on": _alone(study, DISK), "device": _alone(study, DEVICE)}
    return dict(zip(cases, study.runs(cases.values()), strict=True))


@experiment("griffin1999.cheetah-access")
def cheetah_access(study: Study) -> Finding:
    """Mean access of the disk."""
    runs = _rows(study)
    off, parts = runs["off"], ("seek", "rotation", "transfer")
    said = ", ".join(f"{part} {off[part]['mean_ms']:.2f}" for part in parts)
    return Finding(
        mean_ms(off),
        f"{ALONE} on `{DISK}`, its buffer off: {said} ms.",
        decimals=2,
        intervals=of_mean(off["response"]),
        scenarios=(_alone(study, DISK, **NO_BUFFER),),
        cause="DiskSim's parameters of this drive give seeks of "
        f"{study.disk(DISK).mean_seek_ms:.1f} ms on average over its whole stroke, to which half a turn, the transfer "
        "and the controller are added. The paper does not say what its 12.2 ms are measured with.",
        probes=(
            Probe("without the controller's overheads: seek, rotation and transfer alone", _mechanical_ms(off)),
            Probe("the drive's buffer on", mean_ms(runs["on"])),
        ),
    )


def _mechanical_ms(run: "Result") -> float:
    return float(sum(run[part]["mean_ms"] for part in ("seek", "rotation", "transfer")))


@experiment("griffin1999.factor-of-five")
def factor_of_five(study: Study) -> Finding:
    """Mean access of the disk over that of the device."""
    runs = _rows(study)
    disk, device = runs["off"]["response"], runs["device"]["response"]
    return Finding(
        disk["mean_ms"] / device["mean_ms"],
        f"{ALONE}: {disk['mean_ms']:.2f} ms on `{DISK}`, its buffer off, {device['mean_ms']:.2f} ms on `{DEVICE}`.",
        decimals=2,
        intervals=of_ratio(disk, device),
        scenarios=(_alone(study, DISK, **NO_BUFFER), _alone(study, DEVICE)),
        cause="Both means differ: see cheetah-access and service-mean.",
        probes=(Probe("the drive's buffer on", mean_ms(runs["on"]) / device["mean_ms"]),),
    )


def validation(study: Study) -> DriveValidation:
    """Compare the disk's model with DiskSim's parameters and trace of the drive."""
    folder = study.trace("cheetah4LP")
    return study.once(
        "griffin1999 validation", lambda _: validate_drive(folder / "cheetah4LP.parv", folder / "cheetah4LP.trace")
    )


@experiment("griffin1999.cheetah-demerit", "demerit_ms")
@experiment("griffin1999.cheetah-demerit-share", "demerit_percent", 0.01)
def demerit_of(study: Study, figure: str, scale: float = 1.0) -> Finding:
    """Return a figure of all service times, and those of reads and of writes."""
    found = validation(study)
    figures = {name: scale * float(getattr(group, figure)) for name, group in found.groups.items()}
    measured = {name: group.measured_mean_ms for name, group in found.groups.items()}
    rows = tuple({"service times": name, **vars(group)} for name, group in found.groups.items())
    return Finding(
        figures["all"],
        f"{found.agreement.requests:,} requests measured on the drive, replayed one after the other on the model made "
        "from DiskSim's parameters of the drive; root mean square horizontal distance of the distributions of service "
        "times. The paper's own measurement of its drive is not at hand, only this one of DiskSim's.",
        decimals=4,
        curve=rows,
        cause=f"DiskSim's measurement has a mean of {measured['all']:.1f} ms instead of 12.2 ms, and its writes end "
        f"in the drive's cache after {measured['writes']:.1f} ms.",
        probes=(
            Probe("reads alone", figures["reads"]),
            Probe("writes alone, nearly all of which the cache takes", figures["writes"]),
        ),
    )


@experiment("griffin1999.capacity")
def capacity(study: Study) -> Finding:
    """Bits under all tips."""
    how = "Bits under all tips, encoded bits over 10, servo bits counted as data."
    return Finding(study.sled(DEVICE).raw_capacity_bytes * 1e-9, how)


@experiment("griffin1999.tip-rate")
def tip_rate(study: Study) -> Finding:
    """Speed over width."""
    sled = study.sled(DEVICE)
    # m/s over nm are bits per ns.
    rate_kbit_s = sled.access_speed_m_s / sled.parameters["bit_nm"] * 1e6
    how = "Access velocity over the width of a bit."
    return Finding(rate_kbit_s, how, decimals=1)


def _switch_ms(sled: MemsStorage, blocks: int) -> float:
    """Return the time between two passes, ms; the first ends after this many blocks in LBN order."""
    row = sled.blocks_per_row
    served = sled.serve([blocks - row], [2 * row])
    return float(served["turnaround_ns"][0]) * 1e-6


def _per_track(sled: MemsStorage) -> int:
    return sled.rows * sled.blocks_per_row


@experiment("griffin1999.track-switch")
def track_switch(study: Study) -> Finding:
    """Turn round at the end of a track."""
    sled = study.sled(DEVICE)
    bare = study.sled(DEVICE, servo_bits=0)
    last_um = float(sled.parameters["y_range_um"]) / 2
    return Finding(
        float(sled.seek_y_ms(last_um, last_um, 1, -1).item()),
        "A turnaround at the end of a track. In runs the sled also passes over the servo burst of the last row, which "
        f"makes {_switch_ms(sled, _per_track(sled)):.3f} ms; on a device without servo bursts a switch takes "
        f"{_switch_ms(bare, _per_track(bare)):.3f} ms.",
    )


@experiment("griffin1999.cylinder-switch")
def cylinder_switch(study: Study) -> Finding:
    """From the last row of a cylinder to the first of the next."""

    def switch_ms(**changes: Any) -> float:
        sled = study.sled(DEVICE, **changes)
        return _switch_ms(sled, sled.tracks * _per_track(sled))

    bending = {"tip_deflection_nm": study.sled(DEVICE).parameters["bit_nm"]}
    return Finding(
        switch_ms(servo_bits=0, **bending),
        "A request for the last row of a cylinder and the first of the next one, on a device without servo bursts "
        "whose tips bend by one column: time between its two passes. No other claim uses bending tips.",
        probes=(
            Probe("tips that do not bend: a seek of one cylinder that settles", switch_ms(servo_bits=0)),
            Probe("with the pass over a servo burst", switch_ms(**bending)),
        ),
    )


@experiment("griffin1999.tip-switch-hidden")
def tip_switch_hidden(study: Study) -> Finding:
    """Subtract a reversal from a track switch."""
    sled = study.sled(DEVICE)
    within_ms = _switch_ms(sled, sled.blocks_per_row * (sled.rows // 2))
    there_ms = _switch_ms(sled, _per_track(sled))
    bare = study.sled(DEVICE, servo_bits=0)
    how = (
        "The track switch of a device without servo bursts, which takes other tips, less a reversal with the same "
        f"tips. With servo bursts the switch takes {there_ms:.3f} ms, going on to the next row of a track "
        f"{within_ms:.3f} ms."
    )
    added_ms = _switch_ms(bare, _per_track(bare)) - _reversal_ms(bare)
    # Services are whole nanoseconds, closed forms are not.
    return Finding(abs(round(added_ms, 6)), how, decimals=4)
