"""A first model of a drive from a passive trace alone: rotation, layout by cylinder, seeks and overheads.

An access to the medium ends when its last sector has passed under the head. In a zone, the angle of a sector is a
linear function of its LBN plus two sawtooth functions: the skews of tracks and of cylinders.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from sledsim._core import TraceError
from sledsim.show.faults import make_error
from sledsim.show.naming import with_count
from sledsim.studies.drive_calibration.fitting import Parameter
from sledsim.studies.drive_calibration.geometry import LEAST_RPM, MOST_RPM, Columns
from sledsim.studies.drive_calibration.mechanics import MOST_SURFACES, Moves, SeekFit, fit_time, seek_curve
from sledsim.studies.validation.drive import demerit_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["ASSUMPTIONS", "UNCHANGED", "PassiveAccesses", "PassiveModel", "model_of_trace"]

#: Resolution of times in the search of the period, time over which speeds may drift, and most time of a transform, ms.
TIME_BIN_MS, STEADY_MS, MOST_SPAN_MS = 0.2, 20_000.0, 300_000.0
#: Largest distances of LBNs of two accesses whose angles differ little, and most such successors of an access.
NEAR_SECTORS, SUCCESSORS = (8, 24, 100), 15
#: Rates of angles that are tried for these distances, revolutions a sector.
NEAR_RATES = (0.0, 1 / 800, 1 / 300, 1 / 150, 1 / 80)
#: Log-likelihood above that of the best of all frequencies by chance: one false period in 1,000 traces without one.
PERIOD_EVIDENCE = 7.0
#: Log-likelihood above that of all other numbers of surfaces, from which the number counts as identified.
CLEAR_MARGIN = 7.0
#: Least service time of an access to the medium, ms.
LEAST_SERVICE_MS = 1.0
#: Accesses of a window, in the order of LBNs, that shows the mean rate of angles.
WINDOW = 60
#: Fewest and most sectors of a track.
LEAST_SECTORS, MOST_SECTORS = 20, 8000
#: Relative difference between rates of windows of one zone.
SAME_RATE = 0.006
#: Steps that alternate between delays and segments.
DELAY_STEPS = 3
#: Largest residual angle of an access that shows a delay, and residual from which its weight falls, revolutions.
MOST_DELAYED, LEAST_RESIDUAL = 0.3, 0.02
#: Shares of the first range of values in which an origin and skews are searched one after the other, and tried values.
REFINEMENTS, REFINED = (1.0, 0.3, 0.1), 13
#: Harmonics and phases of the sawtooth functions.
HARMONICS, PHASES = 4, 24
#: Most spare sectors of a cylinder that are tried.
MOST_SPARES = 12
#: Consecutive accesses for a search of skews, and most such searches in a zone, and those of which the best is chosen.
SEARCHED, MOST_PARTS, STARTS = 80, 8, 3
#: Slipped tracks that are tried beyond the known ones, and the log-likelihood that a slip costs.
MOST_NEW_SLIPS, SLIP_COST = 3, 6.0
#: Coherence by which a zone with one more slip must be better, summed over its accesses.
COHERENCE_COST = 1.5
#: Largest cost of one access (1 less the cosine of its residual angle), and the least and largest variance of residual
#: angles, rad²: accesses of the buffer raise the variance that the coherence shows.
MOST_COST, LEAST_VARIANCE, MOST_VARIANCE = 0.5, 0.04, 0.2
#: Cost of a first track that differs from the known one: only among equally good sequences.
TIE_COST = 1e-3
#: Largest residual angle of an access that agrees, revolutions.
AGREES = 0.1
#: Simulations that adapt times.
TUNING_STEPS = 10
#: Shares of a read in the buffer before its transfer that are tried.
WATERMARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Largest settling time of a write as a share of the skew between tracks.
MOST_SETTLING = 0.9
#: Printed times.
TIMES = (
    "write_settle_ms",
    "read_miss_after_read_ms",
    "write_miss_after_read_ms",
    "write_miss_after_write_ms",
    "read_completion_ms",
    "write_completion_ms",
)
#: What no trace shows.
ASSUMPTIONS = (
    "the model assumes blocks of 512 bytes, no write cache, a buffer of 2 segments of 256 blocks with read-ahead of a "
    "segment, and the same order of heads in all cylinders"
)
#: Remarks on parameters.
UNCHANGED, NOT_DECIDED = "not identifiable from this trace", "not identifiable: another number fits about as well"
#: Sectors by which the boundary of a cylinder may be wrong.
BOUNDARY_ERROR = 3
#: Least share of accesses that end as the layout says.
LEAST_AGREEING = 0.4
#: Least number of random accesses to the medium, and of random reads that end as the layout says.
LEAST_RANDOM = 200
#: Log-likelihood by which layouts with spares, which have more parameters, must be better.
SPARE_PENALTY = 3.0


@dataclass(frozen=True)
class PassiveAccesses(Columns):
    """Accesses of a trace, one at a time, in order of time.

    Parameters
    ----------
    lbns, sectors
        First sector and number of sectors.
    reads
        True for reads.
    service_ms, end_ms
        Service time, and time of the end.
    alone
        True if the access began after the end of the one before.
    """

    lbns: "Integers"
    sectors: "Integers"
    reads: "NDArray[np.bool_]"
    service_ms: "Floats"
    end_ms: "Floats"
    alone: "NDArray[np.bool_]"

    @property
    def ends(self) -> "Integers":
        """LBN after the last sector."""
        return self.lbns + self.sectors


class _Segment(NamedTuple):
    """Consecutive accesses, in the order of LBNs, with one mean rate of angles (revolutions a sector)."""

    first: int
    end: int
    rate: float


@dataclass(frozen=True)
class _Zone:
    """A zone: cylinder boundaries are at ``origin`` plus multiples of ``cylinder`` sectors.

    Parameters
    ----------
    origin
        LBN of a cylinder boundary.
    sectors, surfaces, spares
        Sectors of a track, surfaces, spare sectors of a cylinder.
    skew
        Skew between tracks, revolutions.
    advance
        Angle between the beginnings of two cylinders, revolutions.
    angle
        Angle of the sector at the origin, revolutions.
    coherence
        Mean resultant length of the residual angles.
    slips
        LBNs before which the drive skips a (defective) track.
    """

    origin: float
    sectors: int
    surfaces: int
    spares: int
    skew: float
    advance: float
    angle: float = 0.0
    coherence: float = 0.0
    slips: tuple[int, ...] = ()

    @property
    def cylinder(self) -> int:
        """Number of LBNs of a cylinder."""
        return self.sectors * self.surfaces - self.spares

    def physical(self, lbns: "Integers | int") -> "Floats":
        """Return numbers of sectors from the origin, with those of skipped tracks."""
        import numpy as np

        return np.asarray(lbns - self.origin + self.sectors * np.searchsorted(self.slips, lbns, side="right"))

    def place(self, lbns: "Integers") -> "tuple[Integers, Integers, Floats]":
        """Return cylinders from the origin, tracks and angles of the beginnings of sectors, revolutions."""
        import numpy as np

        sectors = self.physical(lbns)
        cylinders = np.floor_divide(sectors, self.cylinder).astype(np.int64)
        within = sectors - cylinders * self.cylinder
        tracks = np.minimum(within // self.sectors, self.surfaces - 1).astype(np.int64)
        angles = self.angle + within / self.sectors + self.skew * tracks + self.advance * cylinders
        return cylinders, tracks, angles

    def residuals(self, ends: "Integers", angles: "Floats") -> "Floats":
        """Return measured less modelled angles of the ends of accesses, from -0.5 to 0.5 revolutions."""
        found = self.place(ends - 1)[2] + 1 / self.sectors
        return (angles - found + 0.5) % 1.0 - 0.5


@dataclass(frozen=True)
class PassiveModel:
    """A model of a drive, and the evidence for it.

    Parameters
    ----------
    device
        The keys of the device.
    zones, seeks
        The layout and the seek curve.
    residual
        Measured less modelled angles of the ends of random accesses, revolutions.
    random
        These accesses.
    margin
        Log-likelihood of the number of surfaces above the next one.
    assumed
        Reasons why the trace does not show the values of some keys.
    """

    device: dict[str, Any]
    zones: list[_Zone]
    seeks: SeekFit
    residual: "Floats"
    random: PassiveAccesses
    margin: float
    assumed: dict[str, str]

    def parameters(self, device: "Mapping[str, Any]") -> list[Parameter]:
        """Return the parameters of this device, of which corrections may have changed times, with their intervals."""
        import numpy as np

        def remark(key: str) -> str:
            added = device[key] - self.device[key]
            return f"corrected by {added:+.3f} at the end" if round(added, 3) else self.assumed.get(key, "")

        near, period = np.abs(self.residual) < AGREES, 60_000 / device["rotation_rpm"]
        spread, span_ms = float(np.std(self.residual[near])) * period, float(np.ptp(self.random.end_ms))
        rpm_half = 1.96 * spread * np.sqrt(12 / near.sum()) / span_ms * device["rotation_rpm"]
        skew_half = 1.96 * spread / np.sqrt(near.sum() / len(self.zones)) * np.sqrt(12)
        # The last step of the search limits the accuracy of skews, too.
        skew_step = REFINEMENTS[-1] / self.zones[0].surfaces / (REFINED - 1) * period
        first, last = self.zones[0], self.zones[-1]
        skews = [device["zones"][0][f"{name}_skew_sectors"] / first.sectors * period for name in ("track", "cylinder")]
        halves = (skew_half / first.surfaces + skew_step, skew_half + skew_step * (first.surfaces - 1))
        condition = "if the beginnings of cylinders are right"
        tracks = [each.sectors for each in self.zones]
        rates = [each.sectors * 512 / period / 1e3 for each in (first, last)]
        surfaces, is_certain = device["surfaces"], self.margin > CLEAR_MARGIN
        low, high = int(self.random.lbns.min()), int(self.random.ends.max()) - 1
        agree = f"{100 * near.mean():.1f} % of random accesses end as the layout says"
        digits = int(np.clip(np.ceil(-np.log10(rpm_half)), 4, 8))
        rows = [
            Parameter("random accesses, LBNs", f"{low:,} to {high:,}", "", "the layout outside is extrapolated"),
            Parameter("rotation_rpm", f"{device['rotation_rpm']:.{digits}f}", "rpm", f"±{rpm_half:.1g}"),
            Parameter("zones", str(len(self.zones)), "", agree),
            Parameter("sectors_per_track", f"{max(tracks)} to {min(tracks)}", "", "whole numbers"),
            Parameter("media rate", f"{rates[0]:.2f} to {rates[1]:.2f}", "MB/s", ""),
            Parameter("surfaces", str(surfaces), "", f"2 to {MOST_SURFACES} tried" if is_certain else NOT_DECIDED),
            Parameter(
                "cylinders", f"{device['cylinders']:,}", "", "up to the last access" if is_certain else NOT_DECIDED
            ),
            Parameter("spare sectors of a cylinder", str(first.spares), "", f"0 to {MOST_SPARES} tried"),
            Parameter("skipped tracks", str(sum(len(each.slips) for each in self.zones)), "", "at least"),
            Parameter("track skew", f"{skews[0]:.3f}", "ms", f"±{halves[0]:.1g} {condition}"),
            Parameter("cylinder skew", f"{skews[1]:.3f}", "ms", f"±{halves[1]:.1g} {condition}"),
        ]
        points, distances = device["seek"]["points"], self.seeks.distances
        for share in (0.0, 1 / 3, 1.0):
            at = int(np.argmin(np.abs(distances - share * distances[-1])))
            distance, time = points[at]
            half = self.seeks.halves_ms[at]
            # Without three accesses at this distance the interval exceeds a revolution.
            interval = f"±{half:.2g}" if half <= min(time, period) else UNCHANGED
            name = f"seek, {with_count(round(distance), 'cylinder')}"
            rows.append(Parameter(name, f"{time:.3f}", "ms", interval))
        rows += [
            Parameter("head_switch_ms", f"{device['head_switch_ms']:.3f}", "ms", "skew less settling, assumed"),
            *(Parameter(key, f"{device[key]:.3f}", "ms", remark(key)) for key in TIMES),
            Parameter("bus_ms_per_block", f"{device['bus_ms_per_block']:.4f}", "ms", remark("bus_ms_per_block")),
            Parameter("read_watermark", f"{device['read_watermark']:.2f}", "", "0, 0.25, 0.5, 0.75 and 1 tried"),
        ]
        return rows


def model_of_trace(
    accesses: PassiveAccesses,
    capacity: int,
    source: str,
    serve: "Callable[[dict[str, Any]], Floats]",
    report: "Callable[[float, str], None]",
) -> PassiveModel:
    """Return the model of a device that a trace shows.

    Parameters
    ----------
    accesses
        The accesses.
    capacity
        Number of sectors that the device must have.
    source
        The name of the trace.
    serve
        Returns modelled service times of the accesses on a device, ms.
    report
        Takes the completed share and the name of each step that begins.

    Raises
    ------
    TraceError
        If the trace does not show the rotation or the layout.
    """
    import numpy as np

    follows = np.zeros(len(accesses.lbns), dtype=np.bool_)
    follows[1:] = accesses.lbns[1:] == accesses.ends[:-1]
    # Sequential accesses and the fastest ones are those of the buffer.
    rows = np.flatnonzero(~follows & accesses.alone & (accesses.service_ms > LEAST_SERVICE_MS))
    if len(rows) < LEAST_RANDOM:
        requests, overlapping = len(accesses.lbns), int((~accesses.alone).sum())
        reason = f"only {len(rows)} random accesses of its first half take more than {LEAST_SERVICE_MS:g} ms"
        if 2 * overlapping > requests:
            reason = f"{overlapping:,} of {requests:,} requests of its first half overlap the one before"
        raise _not_shown(source, f"the rotation: {reason}")
    order = rows[np.argsort(accesses.ends[rows], kind="stable")]
    random = accesses.rows(order)
    report(0.0, "rotation")
    period = _find_period(random)
    if period is None:
        reason = (
            f"few of the {len(rows):,} random accesses of its first half end near each other, or not at the same angle"
        )
        raise _not_shown(source, f"the rotation: {reason}")
    report(0.05, "zones")
    segments = _segments(random.ends, random.end_ms / period)
    for step in range(DELAY_STEPS):
        if not segments:
            raise _not_shown(source, "tracks")
        report(0.05 + 0.75 * (step + 1) / (DELAY_STEPS + 1), "zones")
        period, angles = _without_delays(random, period, segments)
        segments = _segments(random.ends, angles)
    report(0.8, "surfaces and skews")
    zones, margin = _fit_zones(random.ends, angles, segments)
    zones, bounds = _bounds(_in_phase(zones), segments, random.ends, angles, capacity)
    residual = _all_residuals(zones, bounds, random.ends, angles)
    near = np.abs(residual) < AGREES
    share = float(near.mean())
    if share < LEAST_AGREEING:
        raise _not_shown(source, f"the layout: only {100 * share:.0f} % of accesses agree with the best one")
    if (near & random.reads).sum() < LEAST_RANDOM:
        raise _not_shown(
            source, f"seeks: fewer than {LEAST_RANDOM} random reads of its first half end as the layout says"
        )
    period, residual = _refitted_period(period, residual, random.end_ms)
    report(0.95, "times")
    return _device(accesses, order, follows, zones, bounds, residual, period, margin, serve)


def _not_shown(source: str, text: str) -> TraceError:
    message = (
        f"{source} does not show {text}; add --from SPECS, a model of this drive or of a similar one (sledsim list)"
    )
    return make_error(TraceError, "misfit", message, path="trace", value=source)


def _refitted_period(period: float, residual: "Floats", end_ms: "Floats") -> tuple[float, "Floats"]:
    """Return the period that accesses which end as the layout says show, and the residual angles with it."""
    import numpy as np

    near, times = np.abs(residual) < AGREES, end_ms - end_ms.mean()
    slope = float(np.polyfit(times[near], residual[near], 1)[0])
    return 1 / (1 / period - slope), residual - slope * times


def _find_period(random: PassiveAccesses) -> float | None:
    """Return the rotational period in ms, from accesses with nearby ends; ``None`` if they do not show it."""
    import numpy as np

    best, found = PERIOD_EVIDENCE, None
    whole_ms = float(np.ptp(random.end_ms)) + 1
    for near in NEAR_SECTORS:
        pairs = [
            (random.ends[later:] - random.ends[:-later], random.end_ms[later:] - random.end_ms[:-later])
            for later in range(1, SUCCESSORS + 1)
        ]
        apart, times = (np.concatenate(each) for each in zip(*pairs, strict=True))
        apart, times = apart[pairs_near := apart <= near], times[pairs_near]
        for span in (STEADY_MS, min(whole_ms, MOST_SPAN_MS)):
            chosen = np.abs(times) < span
            if (number := int(chosen.sum())) < 8:
                continue
            length = 1 << (int(np.ceil(np.log2(span / TIME_BIN_MS))) + 1)
            low, high = (int(rpm / 60e3 * length * TIME_BIN_MS) for rpm in (LEAST_RPM, MOST_RPM))
            bins = np.rint(np.abs(times[chosen]) / TIME_BIN_MS).astype(np.int64)
            turned = 2 * np.pi * apart[chosen] * np.sign(times[chosen])
            for rate in NEAR_RATES:
                # The real part of the transform is the sum of the cosines of the differences of angles.
                sums = np.fft.rfft(np.bincount(bins, np.cos(turned * rate), length)).real
                if rate:
                    sums -= np.fft.rfft(np.bincount(bins, np.sin(turned * rate), length)).imag
                at = low + int(np.argmax(sums[low:high]))
                evidence = max(sums[at], 0) ** 2 / number - np.log(high - low)
                if evidence > best:
                    best, found = float(evidence), (length * TIME_BIN_MS / at, span, times, apart * rate)
    if found is None:
        return None
    return _sharpened(*found, whole_ms) if whole_ms > MOST_SPAN_MS else found[0]


def _sharpened(period: float, span: float, times: "Floats", turned: "Floats", whole_ms: float) -> float:
    """Return a period that was found from times up to a span, refined with all times."""
    import numpy as np

    tried = 1 / period + np.arange(-1 / span, 1 / span, 1 / (8 * whole_ms))
    return 1 / float(max(tried, key=lambda each: np.cos(2 * np.pi * (times * each - turned)).sum()))


def _coherence(turns: "Floats") -> float:
    import numpy as np

    return float(np.abs(np.exp(2j * np.pi * turns).mean()))


def _polished(positions: "Floats | Integers", angles: "Floats", rate: float) -> float:
    """Refine the rate of angles over positions by at most one revolution over all of them."""
    import numpy as np

    span = float(np.ptp(positions)) or 1.0
    for width, number in ((1.0, 41), (0.06, 25)):
        tried = rate + np.linspace(-width, width, number) / span
        rate = float(max(tried, key=lambda each: _coherence(angles - each * (positions - positions[0]))))
    return rate


def _window_rate(lbns: "Integers", angles: "Floats") -> tuple[float, float]:
    """Return the mean rate of angles in a window and its coherence: the strongest line of the periodogram."""
    import numpy as np

    scale = max(int(np.ptp(lbns)) >> 18, 1)
    length = 1 << (int(np.ceil(np.log2(int(np.ptp(lbns)) // scale + 2))) + 2)
    real, imaginary = (
        np.bincount((lbns - lbns[0]) // scale, part, length)
        for part in (np.cos(2 * np.pi * angles), np.sin(2 * np.pi * angles))
    )
    power = np.abs(np.fft.fft(real + 1j * imaginary))
    low, high = max(length * scale // MOST_SECTORS, 1), min(length * scale // LEAST_SECTORS, length)
    at = low + int(np.argmax(power[low:high]))
    return at / length / scale, float(power[at]) / len(lbns)


def _segments(lbns: "Integers", angles: "Floats") -> list[_Segment]:
    """Return the parts of a drive in which angles have one mean rate."""
    import numpy as np

    starts = np.arange(0, len(lbns) - WINDOW + 1, WINDOW // 4)
    windows = [_window_rate(lbns[start : start + WINDOW], angles[start : start + WINDOW]) for start in starts]
    groups: list[list[int]] = []
    for i, (rate, _) in enumerate(windows):
        if groups and abs(windows[groups[-1][0]][0] / rate - 1) < SAME_RATE:
            groups[-1].append(i)
        else:
            groups.append([i])
    found: list[_Segment] = []
    for group in groups:
        if len(group) < 2:
            continue
        best = max(group, key=lambda i: windows[i][1])
        rate, low, high = windows[best][0], int(starts[best]), int(starts[best]) + WINDOW
        first, end = int(starts[group[0]]), int(starts[group[-1]]) + WINDOW
        while True:
            rate = _polished(lbns[low:high], angles[low:high], rate)
            if low <= first and high >= end:
                break
            width = (high - low) // 3
            low, high = max(first, low - width), min(end, high + width)
        if found and abs(found[-1].rate / rate - 1) < SAME_RATE / 3:
            whole = slice(found[-1].first, end)
            found[-1] = _Segment(whole.start, end, _polished(lbns[whole], angles[whole], found[-1].rate))
        else:
            found.append(_Segment(first, end, rate))
    # Windows at the ends of a segment are partly in its neighbours.
    inner = [
        _Segment(
            each.first + (WINDOW // 2 if i else 0), each.end - (WINDOW // 2 if i < len(found) - 1 else 0), each.rate
        )
        for i, each in enumerate(found)
    ]
    return [each for each in inner if each.end - each.first >= WINDOW // 2]


def _linear_residuals(lbns: "Integers", angles: "Floats", segment: _Segment) -> "Floats":
    """Return angles less a linear function of LBNs, from -0.5 to 0.5 revolutions."""
    import numpy as np

    rows = slice(segment.first, segment.end)
    turns = np.exp(2j * np.pi * (angles[rows] - segment.rate * (lbns[rows] - lbns[segment.first])))
    residual = np.angle(turns * np.exp(-1j * np.angle(turns.mean()))) / (2 * np.pi)
    return np.asarray(residual, dtype=np.float64)


def _without_delays(random: PassiveAccesses, period: float, segments: list[_Segment]) -> tuple[float, "Floats"]:
    """Return a better period, and angles less the mean delays of reads and writes, which grow with sizes."""
    import numpy as np

    angles, delays = random.end_ms / period, np.zeros(len(random.ends))
    residual = np.full(len(angles), np.nan)
    drift = 0.0
    for _ in range(3):
        for segment in segments:
            residual[segment.first : segment.end] = _linear_residuals(random.ends, angles - delays, segment)
        for kind in (random.reads, ~random.reads):
            rows = kind & (np.abs(residual) < MOST_DELAYED)
            if rows.sum() < WINDOW:
                continue
            terms = np.stack([np.ones(len(angles)), random.sectors, random.end_ms - random.end_ms.mean()], axis=1)
            weights = np.ones(int(rows.sum()))
            for _ in range(4):
                weighted = terms[rows] * weights[:, None]
                fitted = np.linalg.lstsq(weighted, residual[rows] * weights, rcond=None)[0]
                weights = 1 / np.sqrt(np.maximum(np.abs(residual[rows] - terms[rows] @ fitted), LEAST_RESIDUAL))
            delays[kind] += terms[kind, :2] @ fitted[:2]
            drift += float(fitted[2] * kind.mean())
        angles, drift, period = random.end_ms * (1 / period - drift), 0.0, 1 / (1 / period - drift)
    return period, angles - delays


class _Sawteeth(NamedTuple):
    """The strength of a sawtooth function of LBNs, by frequency: about a normal variable for accesses without one."""

    strength: "Floats"
    length: float

    def at(self, periods: "Floats | Integers") -> "Floats":
        """Return the strength at periods in sectors."""
        import numpy as np

        rows = np.rint(self.length / np.asarray(periods)).astype(np.int64)
        return np.asarray(self.strength[np.minimum(rows, len(self.strength) - 1)], dtype=np.float64)


def _without_tracks(sectors: "Integers", residual: "Floats", period: int) -> "Floats":
    """Return residual angles less the sawtooth function of the skew between tracks."""
    import numpy as np

    phases = np.arange(period)
    saw = (sectors[:, None] - phases) % period / period - 0.5
    slopes = residual @ saw / (saw**2).sum(axis=0)
    at = int(np.argmax(np.abs(slopes)))
    return np.asarray(residual - slopes[at] * saw[:, at], dtype=np.float64)


def _sawteeth(lbns: "Integers", angles: "Floats", segment: _Segment, tracks: int | None = None) -> _Sawteeth:
    """Return the strengths of sawtooth functions, without that of the skew between tracks if their length is given."""
    import numpy as np

    residual = _linear_residuals(lbns, angles, segment)
    residual = np.where(np.abs(residual) < 0.4, residual, 0.0)
    sectors = lbns[segment.first : segment.end] - lbns[segment.first]
    if tracks:
        residual = _without_tracks(sectors, residual, tracks)
    scale = max(int(1 / segment.rate / (6 * HARMONICS)), 1)
    length = 1 << int(np.ceil(np.log2(8 * (sectors[-1] / scale + 1))))
    lines = np.fft.rfft(np.bincount(sectors // scale, residual, length))
    rows = np.arange(int(2.1 * segment.rate * length * scale))
    phases = np.arange(PHASES) / PHASES
    strength = np.zeros((len(rows), PHASES))
    for harmonic in range(1, HARMONICS + 1):
        line = lines[np.minimum(rows * harmonic, len(lines) - 1)]
        strength += np.imag(line[:, None] * np.exp(2j * np.pi * harmonic * phases)) / (np.pi * harmonic)
    deviation = np.sqrt(len(residual) * residual.var() / 12) + 1e-12
    return _Sawteeth(np.abs(strength).max(axis=1) / deviation, float(length * scale))


def _fit_zones(lbns: "Integers", angles: "Floats", segments: list[_Segment]) -> tuple[list[_Zone], float]:
    """Return the zones with the numbers of surfaces and of spare sectors that fit all of them best.

    The second value is the log-likelihood of that number of surfaces above the next one.
    """
    import numpy as np

    tables = [_sawteeth(lbns, angles, segment) for segment in segments]
    # The strongest mean rate contains a skew of -0.5 to 0.5 revolutions a track.
    lengths = [np.arange(int(np.ceil(0.5 / each.rate)), int(1.5 / each.rate) + 1) for each in segments]
    longest = [int(each[np.argmax(table.at(each))]) for each, table in zip(lengths, tables, strict=True)]
    # The sawtooth of the tracks also has the period of several tracks.
    without = [_sawteeth(lbns, angles, *each) for each in zip(segments, longest, strict=True)]
    every: list[tuple[float, int, int, list[int]]] = []
    for surfaces in range(2, MOST_SURFACES + 1):
        for spares in range(MOST_SPARES + 1):
            likely, tracks = -SPARE_PENALTY * (spares > 0), []
            for sectors, table, rest in zip(lengths, tables, without, strict=True):
                cylinders = sectors * surfaces - spares
                found = (rest.at(cylinders) ** 2 + table.at(cylinders / surfaces) ** 2) / 2
                likely += float(found.max())
                tracks.append(int(sectors[np.argmax(found)]))
            every.append((likely, surfaces, spares, tracks))
    likely, surfaces, spares, tracks = max(every)
    margin = likely - max(each[0] for each in every if each[1] != surfaces)
    zones = [
        _fit_zone(
            lbns[segment.first : segment.end],
            angles[segment.first : segment.end],
            _Zone(0.0, sectors, surfaces, spares, 0.0, segment.rate * (sectors * surfaces - spares)),
        )
        for segment, sectors in zip(segments, tracks, strict=True)
    ]
    return zones, margin


def _fit_zone(lbns: "Integers", angles: "Floats", zone: _Zone) -> _Zone:
    """Find cylinder boundaries and skews of a zone."""
    import numpy as np

    heads = np.arange(zone.surfaces)
    skews = np.arange(0.0, 1.0, 1 / (6 * zone.surfaces))
    turned = np.exp(-2j * np.pi * np.outer(skews, heads))
    starts = []
    # Consecutive accesses: skipped tracks turn the sectors after them.
    for part in np.array_split(np.arange(len(lbns)), max(len(lbns) // SEARCHED, 1))[:MOST_PARTS]:
        some, turns = lbns[part], np.exp(2j * np.pi * angles[part])
        rate = _polished(some, angles[part], zone.advance / zone.cylinder)
        best = (0.0, zone)
        for shift in np.arange(0.0, zone.cylinder, zone.sectors / 6):
            shifted = replace(zone, origin=float(some[0]) - shift, advance=rate * zone.cylinder)
            _, tracks, found = shifted.place(some - 1)
            rest = turns * np.exp(-2j * np.pi * found)
            sums = np.bincount(tracks, rest.real, zone.surfaces) + 1j * np.bincount(tracks, rest.imag, zone.surfaces)
            agreement = np.abs(turned @ sums) / len(some)
            at = int(np.argmax(agreement))
            if agreement[at] > best[0]:
                best = (float(agreement[at]), replace(shifted, skew=float(skews[at])))
        starts.append((*best, int(part[0]), int(part[-1]) + 1))
    starts.sort(key=lambda each: -each[0])
    grown = [_grown(start, first, end, lbns, angles) for _, start, first, end in starts[:STARTS]]
    fitted = max(grown, key=lambda each: each.coherence - COHERENCE_COST * len(each.slips) / len(lbns))
    # If the two skews are similar, the beginning of a cylinder may be that of another track.
    others = [
        _refined(replace(fitted, origin=fitted.origin + track * fitted.sectors), lbns, angles)
        for track in range(1, fitted.surfaces)
    ]
    return max([fitted, *others], key=lambda each: each.coherence)


def _grown(zone: _Zone, first: int, end: int, lbns: "Integers", angles: "Floats") -> _Zone:
    """Extend a zone that was fitted to some of its accesses to all of them."""
    while True:
        zone = _refined(zone, lbns[first:end], angles[first:end])
        if first == 0 and end == len(lbns):
            return zone
        width = (end - first) // 3
        first, end = max(first - width, 0), min(end + width, len(lbns))
        if not zone.spares:
            zone = _with_slips(zone, lbns[first:end], angles[first:end])


def _refined(zone: _Zone, lbns: "Integers", angles: "Floats") -> _Zone:
    import numpy as np

    cylinders = max(float(np.ptp(lbns)) / zone.cylinder, 1.0)
    widths = {"skew": 0.5 / zone.surfaces, "advance": 0.5 / cylinders, "origin": zone.sectors / 4}
    for part in REFINEMENTS:
        for name, width in widths.items():
            tried = [
                replace(zone, **{name: getattr(zone, name) + each})
                for each in part * np.linspace(-width, width, REFINED)
            ]
            zone = max(tried, key=lambda each: _coherence(each.residuals(lbns, angles)))
    mean = np.exp(2j * np.pi * zone.residuals(lbns, angles)).mean()
    turned = float(np.angle(mean)) / (2 * np.pi)
    return replace(zone, angle=zone.angle + turned, coherence=float(np.abs(mean)))


def _with_slips(zone: _Zone, lbns: "Integers", angles: "Floats") -> _Zone:
    """Return a zone with the slipped tracks that its accesses show: the most likely sequence of their numbers."""
    import numpy as np

    known = np.searchsorted(zone.slips, lbns, side="right")
    numbers = np.arange(-MOST_NEW_SLIPS, len(zone.slips) + MOST_NEW_SLIPS + 1)
    plain = replace(zone, slips=())
    cost = np.stack(
        [
            1 - np.cos(2 * np.pi * replace(plain, origin=zone.origin - number * zone.sectors).residuals(lbns, angles))
            for number in numbers
        ],
        axis=1,
    )
    # Accesses of the buffer end at any angle.
    cost = np.minimum(cost, MOST_COST) / np.clip(2 * (1 - zone.coherence), LEAST_VARIANCE, MOST_VARIANCE)
    total = cost[0] + TIE_COST * np.abs(numbers - known[0])
    origins = np.zeros(cost.shape, dtype=np.int64)
    places = np.arange(len(numbers))
    for i in range(1, len(lbns)):
        step = total.copy()
        origins[i] = places
        before = np.concatenate([[np.inf], total[:-1]]) + SLIP_COST
        better = before < step
        step[better], origins[i][better] = before[better], places[better] - 1
        total = step + cost[i]
    at = int(np.argmin(total))
    path = [at]
    for i in range(len(lbns) - 1, 0, -1):
        at = int(origins[i][at])
        path.append(at)
    found = numbers[path[::-1]]
    origin = zone.origin - int(found[0]) * zone.sectors
    slips: list[int] = []
    for row in np.flatnonzero(np.diff(found)):
        # A track boundary between the two accesses.
        middle = (lbns[row] + lbns[row + 1]) / 2
        begin = origin + round((middle - origin) / zone.sectors) * zone.sectors
        slips.append(int(np.clip(round(begin), lbns[row], lbns[row + 1] - 1)))
    return replace(zone, origin=origin, slips=tuple(slips))


def _in_phase(zones: list[_Zone]) -> list[_Zone]:
    """Return zones of which the first begins with a cylinder and the others have similar skews.

    With two surfaces, boundaries of tracks and of cylinders alternate, and the skews of a zone may be exchanged.
    """
    if zones[0].surfaces != 2 or zones[0].spares:
        return zones
    found: list[_Zone] = []
    for zone in zones:
        skew = zone.advance - zone.skew
        exchanged = replace(zone, origin=zone.origin + zone.sectors, skew=skew, angle=zone.angle + zone.skew)
        if found:
            differences = [abs((each.skew - found[-1].skew + 0.5) % 1.0 - 0.5) for each in (zone, exchanged)]
            is_exchanged = differences[1] < differences[0]
        else:
            is_exchanged = round(float(zone.physical(0)) % zone.cylinder / zone.sectors) == 1
        found.append(exchanged if is_exchanged else zone)
    return found


def _bounds(
    zones: list[_Zone], segments: list[_Segment], lbns: "Integers", angles: "Floats", capacity: int
) -> tuple[list[_Zone], list[int]]:
    """Return the zones, each with its origin in its first cylinder, and the LBNs at which they begin, and the end."""
    import numpy as np

    bounds = [0]
    for (zone, after), (segment, following) in zip(pairwise(zones), pairwise(segments), strict=True):
        rows = slice((segment.first + segment.end) // 2, (following.first + following.end) // 2)
        before, later = (np.cos(2 * np.pi * each.residuals(lbns[rows], angles[rows])) for each in (zone, after))
        gain = np.concatenate([[0.0], np.cumsum(before - later)])
        cut = int(np.argmax(gain))
        middle = float(np.mean(lbns[rows][max(cut - 1, 0) : cut + 1]))
        # A zone has whole cylinders.
        start = np.floor((float(zone.physical(bounds[-1])) + BOUNDARY_ERROR) / zone.cylinder)
        cylinders = max(round(float(zone.physical(round(middle))) / zone.cylinder - start), 1)
        skipped = int(np.searchsorted(zone.slips, middle, side="right")) * zone.sectors
        bounds.append(round(float(zone.origin + (start + cylinders) * zone.cylinder - skipped)))
    bounds.append(capacity)
    placed = []
    for zone, first, end in zip(zones, bounds[:-1], bounds[1:], strict=True):
        origin = zone.origin - sum(slip <= first for slip in zone.slips) * zone.sectors
        # A zone that begins next to a cylinder boundary begins with a cylinder.
        origin += int((first + BOUNDARY_ERROR - origin) // zone.cylinder) * zone.cylinder
        origin = float(first if abs(origin - first) <= BOUNDARY_ERROR else round(origin))
        slips = tuple(slip for slip in zone.slips if first < slip < end)
        shifted = replace(zone, origin=origin, angle=0.0, slips=slips)
        inside = (lbns > first) & (lbns <= end)
        turns = np.exp(2j * np.pi * shifted.residuals(lbns[inside], angles[inside])).mean() if inside.any() else 1.0
        placed.append(replace(shifted, angle=float(np.angle(turns)) / (2 * np.pi)))
    return placed, bounds


def _zone_rows(bounds: list[int], lbns: "Integers") -> "Integers":
    import numpy as np

    return np.clip(np.searchsorted(bounds, lbns, side="right") - 1, 0, len(bounds) - 2)


def _all_residuals(zones: list[_Zone], bounds: list[int], ends: "Integers", angles: "Floats") -> "Floats":
    import numpy as np

    rows = _zone_rows(bounds, ends - 1)
    found = np.zeros(len(ends))
    for i, zone in enumerate(zones):
        found[rows == i] = zone.residuals(ends[rows == i], angles[rows == i])
    return found


def _cylinders(zones: list[_Zone], bounds: list[int]) -> list[int]:
    """Return the number of cylinders of each zone."""
    import numpy as np

    return [
        max(
            int(
                np.ceil(
                    (float(zone.physical(end - 1)) + 1 - (BOUNDARY_ERROR if end < bounds[-1] else 0)) / zone.cylinder
                )
            ),
            1,
        )
        for zone, end in zip(zones, bounds[1:], strict=True)
    ]


def _positions(zones: list[_Zone], bounds: list[int], lbns: "Integers") -> "tuple[Integers, Integers, Floats]":
    """Return cylinders, heads and angles of sectors."""
    import numpy as np

    rows, before = _zone_rows(bounds, lbns), 0
    found = np.zeros(len(lbns), dtype=np.int64), np.zeros(len(lbns), dtype=np.int64), np.zeros(len(lbns))
    for i, (zone, cylinders) in enumerate(zip(zones, _cylinders(zones, bounds), strict=True)):
        for values, value in zip(found, zone.place(lbns[rows == i]), strict=True):
            values[rows == i] = value
        found[0][rows == i] += before
        before += cylinders
    return found


def _overhead(accesses: PassiveAccesses, follows: "NDArray[np.bool_]", period: float) -> tuple[float, float] | None:
    """Return the overhead of a read hit and the time of a sector on the bus, ms, from fast sequential reads."""
    import numpy as np

    rows = follows & accesses.reads & accesses.alone & (accesses.service_ms < period / 2)
    if rows.sum() < WINDOW:
        return None
    sizes, times = accesses.sectors[rows].astype(np.float64), accesses.service_ms[rows]
    terms = np.stack([np.ones(len(sizes)), sizes], axis=1)
    fitted = np.array([float(times.min()), 0.0])
    # Least absolute deviations: some of these reads wait for the medium.
    for _ in range(30):
        weights = 1 / np.sqrt(np.maximum(np.abs(times - terms @ fitted), 0.01))
        fitted = np.linalg.lstsq(terms * weights[:, None], times * weights, rcond=None)[0]
    return max(float(fitted[0]), 0.0), max(float(fitted[1]), 0.0)


class _Positioning:
    """Positioning times of the accesses that end as a layout says, from measured or modelled service times.

    Parameters
    ----------
    accesses
        All accesses, in order of time.
    zones, bounds
        The layout.
    agreeing
        True for accesses that end as the layout says.
    period, base_ms
        Rotational period, and time of a read from the buffer, ms.
    """

    def __init__(
        self,
        accesses: PassiveAccesses,
        zones: list[_Zone],
        bounds: list[int],
        agreeing: "NDArray[np.bool_]",
        period: float,
        base_ms: float,
    ) -> None:
        import numpy as np

        first, last = _positions(zones, bounds, accesses.lbns), _positions(zones, bounds, accesses.ends - 1)
        sectors = np.array([zone.sectors for zone in zones])[_zone_rows(bounds, accesses.ends - 1)]
        self.accesses, self.period, self.base_ms = accesses, period, base_ms
        self.cylinders = sum(_cylinders(zones, bounds))
        self.transfer = (last[2] + 1 / sectors - first[2]) % 1.0 * period
        self.rows = np.flatnonzero(agreeing & (accesses.service_ms > self.transfer))
        self.rows = self.rows[self.rows > 0]
        self.distance = np.abs(first[0][self.rows] - last[0][self.rows - 1])
        self.head_changes = first[1][self.rows] != last[1][self.rows - 1]
        sequential = np.zeros(len(sectors), dtype=np.bool_)
        sequential[1:] = (
            (accesses.lbns[1:] == accesses.ends[:-1]) & accesses.alone[1:] & ~accesses.reads[1:] & ~accesses.reads[:-1]
        )
        self.sequential_writes = np.flatnonzero(sequential)
        self.reads, self.after_read = accesses.reads[self.rows], accesses.reads[self.rows - 1]

    def seeks(self, service_ms: "Floats") -> tuple[SeekFit, list[float]]:
        """Return the times of reads by distance, and the additional times of writes after reads and after writes."""
        import numpy as np

        positioned = (service_ms - self.transfer)[self.rows]
        moves = Moves(self.distance, self.head_changes, positioned, self.reads)
        found = seek_curve(moves.rows(self.reads), self.cylinders, self.period, self.base_ms)
        added = []
        for before in (self.after_read, ~self.after_read):
            writes = moves.rows(~self.reads & (self.distance > 0) & before)
            curve = np.interp(writes.distance, found.distances, found.times_ms)
            enough = len(writes.distance) >= WINDOW
            added.append(fit_time(writes.positioned_ms - curve, self.period)[0] if enough else 0.0)
        return found, added

    def sequential_write_ms(self, service_ms: "Floats") -> float:
        """Return the time from a command to the first sector of a write that continues the write before."""
        rows = self.sequential_writes
        return fit_time((service_ms - self.transfer)[rows], self.period)[0] if len(rows) >= WINDOW else 0.0

    def missing(self) -> dict[str, str]:
        """Return the keys that too few writes show, with a remark."""
        writes, moved = ~self.reads, self.distance > 0
        few = {
            "write_miss_after_read_ms": (writes & moved & self.after_read).sum(),
            "write_settle_ms": (writes & moved & ~self.after_read).sum(),
            "write_miss_after_write_ms": len(self.sequential_writes),
        }
        after_other = min((writes & self.after_read).sum(), (self.reads & ~self.after_read).sum())
        few |= dict.fromkeys(("read_completion_ms", "write_completion_ms"), after_other)
        return {key: f"assumed: too few writes show it ({number})" for key, number in few.items() if number < WINDOW}

    def slope_of_reads(self, error_ms: "Floats") -> float:
        """Return by how much the measured end of a read comes later than the modelled one, ms a sector."""
        import numpy as np

        rows = self.rows[self.reads]
        left = (error_ms[rows] / self.period + 0.5) % 1.0 - 0.5
        centre = np.angle(np.exp(2j * np.pi * left).mean()) / (2 * np.pi)
        left = (left - centre + 0.5) % 1.0 - 0.5
        return float(np.polyfit(self.accesses.sectors[rows], left * self.period, 1)[0])

    def later_writes_ms(self, error_ms: "Floats") -> float:
        """Return by how much writes end later than reads, from measured less modelled times: half a difference.

        A write after a read shows the difference of the ends, and a read after a write its negative.
        """
        import numpy as np

        turns = np.exp(2j * np.pi * error_ms[self.rows] / self.period)
        means = []
        for reads, after_read in ((False, True), (True, False)):
            rows = (self.reads == reads) & (self.after_read == after_read)
            if rows.sum() < WINDOW:
                return 0.0
            centre = float(np.angle(turns[rows].mean()))
            left = np.angle(turns[rows] * np.exp(-1j * centre))
            means.append((centre + float(np.median(left))) * self.period / (2 * np.pi))
        return (means[0] - means[1]) / 2


def _overheads(reads_ms: float, writes_after_reads_ms: float, writes_ms: float) -> dict[str, float]:
    """Return the keys of the overheads of commands."""
    times = {
        "read_{}_after_read_ms": reads_ms,
        "read_{}_after_write_ms": reads_ms,
        "write_{}_after_read_ms": writes_after_reads_ms,
        "write_{}_after_write_ms": writes_ms,
    }
    return {key.format(outcome): round(time, 4) for key, time in times.items() for outcome in ("hit", "miss")}


def _within_skews(device: dict[str, Any], period: float) -> dict[str, Any]:
    """Return a device that crosses tracks and cylinders without losing a revolution, as drives do."""
    import numpy as np

    track, cylinder = (
        float(
            min((zone[f"{name}_skew_sectors"] - 0.5) / zone["sectors_per_track"] for zone in device["zones"]) * period
        )
        for name in ("track", "cylinder")
    )
    settle = float(np.clip(device["write_settle_ms"], 0.0, MOST_SETTLING * max(track, 0.0)))
    first, *others = device["seek"]["points"]
    return {
        **device,
        "head_switch_ms": round(max(track - settle, 0.0), 4),
        "write_settle_ms": round(settle, 4),
        "seek": {
            "curve": "table",
            "points": [[first[0], round(min(first[1], max(cylinder - settle, 0.0)), 4)], *others],
        },
    }


def _tuned(
    device: dict[str, Any], positioning: _Positioning, serve: "Callable[[dict[str, Any]], Floats]"
) -> dict[str, Any]:
    """Return a device with times for which the estimates from modelled times are those from measured ones."""
    import numpy as np

    measured = positioning.accesses.service_ms
    wanted, wanted_writes = positioning.seeks(measured)

    def slope(watermark: float) -> float:
        return abs(positioning.slope_of_reads(measured - serve({**device, "read_watermark": watermark})))

    device = {**device, "read_watermark": min(WATERMARKS, key=slope)}
    tried: list[tuple[float, dict[str, Any]]] = []
    for step in range(TUNING_STEPS + 1):
        modelled = serve(device)
        tried.append((_error_ms(positioning.accesses, modelled), device))
        if step == TUNING_STEPS:
            break
        found, writes = positioning.seeks(modelled)
        points = np.array(device["seek"]["points"])
        more = np.interp(points[:, 0], wanted.distances, wanted.times_ms)
        more -= np.interp(points[:, 0], found.distances, found.times_ms)
        device = dict(device)
        times = np.maximum.accumulate(np.maximum(points[:, 1] + (more if step < 2 else more / 2), 0.0))
        device["seek"] = {
            "curve": "table",
            "points": [[d, round(t, 4)] for d, t in zip(points[:, 0].tolist(), times.tolist(), strict=True)],
        }
        after_reads, after_writes = (each - other for each, other in zip(wanted_writes, writes, strict=True))
        later = positioning.later_writes_ms(measured - modelled)
        later += device["write_completion_ms"] - device["read_completion_ms"]
        sequential = positioning.sequential_write_ms(measured) - positioning.sequential_write_ms(modelled)
        after_writes -= sequential
        # A settling time is not negative.
        more_settle = max(after_writes, -device["write_settle_ms"])
        device["write_settle_ms"] += more_settle
        device |= _overheads(
            max(positioning.base_ms + min(later, 0.0), 0.0),
            max(device["write_miss_after_read_ms"] + after_reads - more_settle, 0.0),
            max(device["write_miss_after_write_ms"] + sequential, 0.0),
        )
        device["write_completion_ms"], device["read_completion_ms"] = (
            round(max(0.0, later), 4),
            round(max(0.0, -later), 4),
        )
        device = _within_skews(device, positioning.period)
    return min(tried, key=lambda each: each[0])[1]


def _error_ms(accesses: PassiveAccesses, modelled: "Floats") -> float:
    """Return the demerits of reads and writes, weighted by their numbers."""
    import numpy as np

    kinds = [rows for rows in (accesses.reads, ~accesses.reads) if rows.any()]
    return sum(float(np.mean(rows)) * demerit_ms(accesses.service_ms[rows], modelled[rows]) for rows in kinds)


def _device(
    accesses: PassiveAccesses,
    order: "Integers",
    follows: "NDArray[np.bool_]",
    zones: list[_Zone],
    bounds: list[int],
    residual: "Floats",
    period: float,
    margin: float,
    serve: "Callable[[dict[str, Any]], Floats]",
) -> PassiveModel:
    """Return the model of the device with these zones."""
    import numpy as np

    cylinders = _cylinders(zones, bounds)
    near = np.abs(residual) < AGREES
    agreeing = np.zeros(len(accesses.lbns), dtype=np.bool_)
    agreeing[order[near]] = True
    overhead = _overhead(accesses, follows, period)
    base, bus = overhead or (0.0, 0.0)
    positioning = _Positioning(accesses, zones, bounds, agreeing, period, base)
    seeks, _ = positioning.seeks(accesses.service_ms)
    curve = [
        [float(distance), round(max(float(time) - base, 0.0), 4)]
        for distance, time in zip(seeks.distances, seeks.times_ms, strict=True)
    ]
    keys, start = [], 0
    for zone, number, begin in zip(zones, cylinders, bounds[:-1], strict=True):
        change = zone.advance - (zone.surfaces - 1) * zone.skew
        keys.append(
            {
                "first_cylinder": start,
                "last_cylinder": start + number - 1,
                "sectors_per_track": zone.sectors,
                "first_sector_offset": round(zone.angle % 1.0 * zone.sectors, 4),
                "track_skew_sectors": round(float(zone.skew % 1.0 * zone.sectors), 4),
                "cylinder_skew_sectors": round(float(change % 1.0 * zone.sectors), 4),
                "empty_sectors": int(begin - zone.origin),
                "spares": zone.spares,
                "slips": [round((at - zone.origin) / zone.sectors) + i for i, at in enumerate(zone.slips)],
            }
        )
        start += number
    device: dict[str, Any] = {
        "name": "fitted",
        "mechanism": "disk",
        "block_bytes": 512,
        "surfaces": zones[0].surfaces,
        "cylinders": start,
        "zones": keys,
        "mapping": "cylinder",
        "sparing": "sectors-per-cylinder" if zones[0].spares else "tracks-per-zone",
        "rotation_rpm": 60_000 / period,
        "seek": {"curve": "table", "points": curve},
        "head_switch_ms": 0.0,
        "write_settle_ms": 0.0,
        **_overheads(base, base, base),
        "bus_ms_per_block": round(bus, 7),
        "read_completion_ms": 0.0,
        "write_completion_ms": 0.0,
        "buffer_segments": 2,
        "segment_blocks": 256,
        "read_ahead": "segment",
        "stop_read_ahead_in_sector": True,
        "transfer_partial_hits": True,
        "almost_read_hits": True,
    }
    device = _tuned(_within_skews(device, period), positioning, serve)
    assumed = positioning.missing()
    if overhead is None:
        reason = f"assumed: fewer than {WINDOW} sequential reads of the buffer"
        assumed |= dict.fromkeys(("read_miss_after_read_ms", "bus_ms_per_block"), reason)
    return PassiveModel(device, zones, seeks, residual, accesses.rows(order), margin, assumed)
