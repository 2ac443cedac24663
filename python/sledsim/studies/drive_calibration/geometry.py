"""The geometry of a drive from the times at which accesses end: rotational period, tracks, zones.

A read from the medium ends when its last sector has passed under the head, however long the seek took. Ends of accesses
one at a time therefore give angles. A sequential stream shows where tracks end, as the head then waits for the skew.
"""

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Accesses", "Stream", "ZoneMap", "chained", "find_period", "find_zones", "join_zones", "streams_of"]

#: Range of rotational speeds, revolutions per minute.
LEAST_RPM, MOST_RPM = 2400, 20000


@dataclass(frozen=True)
class Accesses:
    """Accesses one at a time, with the times at which they began and ended.

    Parameters
    ----------
    lbns, sectors
        First sector and number of sectors of 512 bytes.
    reads
        True for reads.
    begin_ms, end_ms
        When the access was issued and when it was complete.
    """

    lbns: "NDArray[np.int64]"
    sectors: "NDArray[np.int64]"
    reads: "NDArray[np.bool_]"
    begin_ms: "NDArray[np.float64]"
    end_ms: "NDArray[np.float64]"

    @property
    def latency_ms(self) -> "NDArray[np.float64]":
        """The latency of each access."""
        return self.end_ms - self.begin_ms

    def rows(self, chosen: "NDArray[np.generic] | slice") -> "Accesses":
        """Return some of the accesses."""
        return Accesses(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def chained(
    stamps_ms: "NDArray[np.float64]", latencies_ms: "NDArray[np.float64]", knot: int = 4096
) -> "NDArray[np.float64]":
    """Return the end times of accesses one at a time, from latencies and stamps in whole milliseconds.

    An access is issued shortly after the one before ends. Sums of latencies therefore give the times, apart from the
    gaps of the host, which are those that the stamps show in the mean of many accesses.

    Parameters
    ----------
    stamps_ms
        End time of each access, rounded down to milliseconds.
    latencies_ms
        Latency of each access.
    knot
        Number of accesses over which the gaps are constant.
    """
    import numpy as np

    sums = np.cumsum(latencies_ms)
    rows = np.arange(len(sums))
    late = stamps_ms + 0.5 - sums
    pieces = max(len(sums) // knot, 1)
    if len(sums) < 2:
        return sums + late
    knots = np.linspace(0, len(sums) - 1, pieces + 1)
    # Least squares over hat functions: a continuous, piecewise linear correction.
    place = np.clip(rows / (len(sums) - 1) * pieces, 0, pieces - 1e-9)
    left, share = place.astype(int), place - place.astype(int)
    normal, right = np.zeros((pieces + 1, pieces + 1)), np.zeros(pieces + 1)
    np.add.at(normal, (left, left), (1 - share) ** 2)
    np.add.at(normal, (left + 1, left + 1), share**2)
    np.add.at(normal, (left, left + 1), share * (1 - share))
    np.add.at(normal, (left + 1, left), share * (1 - share))
    np.add.at(right, left, (1 - share) * late)
    np.add.at(right, left + 1, share * late)
    shift = np.interp(rows, knots, np.linalg.solve(normal, right))
    if knot > 512 and (np.abs(late - shift) > 0.8).mean() > 0.001:
        # The gaps vary.
        return chained(stamps_ms, latencies_ms, knot // 2)
    return np.asarray(sums + shift, dtype=np.float64)


def find_period(lbns: "NDArray[np.int64]", end_ms: "NDArray[np.float64]") -> tuple[float, float]:
    """Return the rotational period in ms, and the concentration of angles at that period, from 0 to 1.

    Parameters
    ----------
    lbns, end_ms
        Sector and end time of reads that visit the same sectors several times.
    """
    import numpy as np

    order = np.lexsort((end_ms, lbns))
    same = lbns[order][1:] == lbns[order][:-1]
    before, after = end_ms[order][:-1][same], end_ms[order][1:][same]
    apart = after - before
    by_gap = np.argsort(apart)
    apart = apart[by_gap]

    def score(frequency: "NDArray[np.float64]", gaps: "NDArray[np.float64]") -> "NDArray[np.float64]":
        parts = np.array_split(frequency, max(len(frequency) * len(gaps) // 2_000_000, 1))
        return np.concatenate([np.cos(2 * np.pi * np.outer(each, gaps)).mean(axis=1) for each in parts])

    low, high = LEAST_RPM / 60e3, MOST_RPM / 60e3
    gaps = apart[: max(256, len(apart) // 16)]
    grid = np.arange(low, high, 0.1 / gaps[-1])
    found = score(grid, gaps)
    # A multiple of the frequency is as coherent: take the lowest.
    best = grid[np.flatnonzero(found > 0.8 * found.max())[0]]
    near = grid[(grid >= best) & (grid < best + 3 / gaps[-1])]
    best = near[np.argmax(found[(grid >= best) & (grid < best + 3 / gaps[-1])])]
    for number in np.geomspace(len(gaps), len(apart), 8).astype(int):
        fine = best + np.linspace(-0.4, 0.4, 161) / apart[number - 1]
        best = fine[np.argmax(score(fine, apart[:number]))]
    fine = best + np.linspace(-0.02, 0.02, 81) / apart[-1]
    best = fine[np.argmax(score(fine, apart))]
    return 1 / best, float(score(np.array([best]), apart)[0])


@dataclass(frozen=True)
class Stream:
    """A part of a sequential stream, within one zone.

    Parameters
    ----------
    first, end
        Range of LBNs.
    sectors_per_track
        Estimated number of sectors of a track.
    steps_at, steps
        LBN at which each step from one end of a read to the next begins, and its duration in revolutions.
    size
        Size of a read, sectors.
    """

    first: int
    end: int
    sectors_per_track: float
    steps_at: "NDArray[np.int64]"
    steps: "NDArray[np.float64]"
    size: int


#: Least mean resultant length of the angles of a zone that is understood.
LEAST_COHERENCE = 0.8
#: Largest error of the position of a track boundary, sectors.
MOST_OFF = 40
#: Number of sectors of a stream that are looked at together.
CHUNK = 1 << 17
#: Least contrast between the boundaries of tracks and the rest of a stream, revolutions: below it, the medium does not
#: limit the stream.
LEAST_CONTRAST = 0.02


def streams_of(accesses: Accesses, period_ms: float) -> list[Stream]:
    """Return the tracks that sequential streams show.

    Parameters
    ----------
    accesses
        Reads, in one or more streams.
    period_ms
        The rotational period.
    """
    import numpy as np

    ends = accesses.lbns + accesses.sectors
    cuts = np.flatnonzero(accesses.lbns[1:] != ends[:-1]) + 1
    found = []
    for rows in np.split(np.arange(len(ends)), cuts):
        # The first reads of a stream are part of a seek, or outrun the medium.
        for chunk in np.array_split(rows[16:], max(round(int(accesses.sectors[rows].sum()) / CHUNK), 1)):
            if len(chunk) >= 64 and (stream := _stream(ends[chunk], accesses.end_ms[chunk] / period_ms)):
                found.append(stream)
    return found


def _stream(ends: "NDArray[np.int64]", turns: "NDArray[np.float64]") -> Stream | None:
    import numpy as np

    steps, size = np.diff(turns), int(ends[1] - ends[0])
    # Most steps lie within a track: the mean of the shortest interval with half of them.
    ordered, half = np.sort(steps), len(steps) // 2
    start = int(np.argmin(ordered[half:] - ordered[: len(steps) - half]))
    usual = float(np.mean(ordered[start : start + half]))
    if usual <= 0:
        return None
    rough = size / usual
    marks = (ends[:-1] - ends[0]).astype(np.float64)
    span = marks[-1]
    if span < 4 * rough or rough < 1.5 * size:
        return None
    pulse = np.clip(steps - usual, 0, 1.0)
    pulse[pulse < 0.4 * np.quantile(pulse, 1 - 0.3 * size / rough)] = 0
    if pulse.max() < LEAST_CONTRAST:
        return None
    late = pulse > 0
    padded = 1 << (int(np.ceil(np.log2(len(late)))) + 5)
    spectrum = np.abs(np.fft.rfft(late - late.mean(), padded))
    candidates = np.arange(rough * 0.93, rough * 1.07, max(0.02 * rough**2 / span, 0.05))
    # Frequencies are multiples of 1 / (padded * size) per sector.
    power = sum(
        np.interp(harmonic * padded * size / candidates, np.arange(len(spectrum)), spectrum)
        for harmonic in range(1, 4)
        if rough / harmonic > 2 * size or harmonic == 1
    )
    best = float(candidates[np.argmax(power)])
    return Stream(int(ends[0]), int(ends[-1]), best, ends[:-1][late], steps[late] - size / best, size)


@dataclass(frozen=True)
class ZoneMap:
    """A zone: the angle of each of its sectors.

    Sector *j* of the zone is on track *k* = *j* // ``sectors_per_track``, after *c* = *k* // ``tracks_per_change``
    changes of cylinder (or of surface, in seek-first layouts). Its angle in revolutions is
    ``angle + j / sectors_per_track + skew * k + extra * c``.

    Parameters
    ----------
    first
        LBN of the first sector, which begins a track and follows a change.
    sectors_per_track
        Sectors of a track.
    tracks_per_change
        Tracks between changes; ``None`` if there are none, or none is visible.
    skew
        Skew between tracks, revolutions.
    extra
        Additional skew at a change, revolutions.
    angle
        Angle of the first sector, revolutions.
    coherence
        Mean resultant length of the residual angles of reads, from 0 to 1.
    reads
        Number of those reads.
    """

    first: int
    sectors_per_track: int
    tracks_per_change: int | None
    skew: float
    extra: float
    angle: float = 0.0
    coherence: float = 0.0
    reads: int = 0

    def relative(self, lbns: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """Return the angles of the beginnings of sectors relative to that of the first, revolutions."""
        import numpy as np

        sectors = lbns - self.first
        tracks = sectors // self.sectors_per_track
        changes = tracks // self.tracks_per_change if self.tracks_per_change else 0
        return sectors / self.sectors_per_track + self.skew * tracks + self.extra * np.asarray(changes)


def find_zones(
    streams: list[Stream], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]"
) -> list[tuple[ZoneMap, int, int]]:
    """Return the zones of a drive, each with the range of LBNs that streams show; beginnings of zones are arbitrary.

    Parameters
    ----------
    streams
        The streams.
    lbns, angles
        Last sector of random reads, and the angle at its end, revolutions.
    """
    import numpy as np

    order = np.argsort(lbns)
    lbns, angles = lbns[order], angles[order]
    found = []
    for part in _same_zone(streams):
        zone = _zone(part, lbns, angles)
        if zone is not None:
            found.append((zone, part[0].first, part[-1].end))
    reads = [(lbns >= first) & (lbns < end) for _, first, end in found]
    zones = _common_changes([zone for zone, _, _ in found], [(lbns[each], angles[each]) for each in reads])
    return [(zone, first, end) for zone, (_, first, end) in zip(zones, found, strict=True)]


def join_zones(
    found: list[tuple[ZoneMap, int, int]], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]", surfaces: int = 1
) -> list[ZoneMap]:
    """Find the first sector of each zone, where the angles of reads change from one zone's to the next one's.

    Parameters
    ----------
    found
        The zones, from :func:`find_zones`.
    lbns, angles
        As for :func:`find_zones`.
    surfaces
        Number of surfaces: a zone has a multiple of as many tracks.

    Raises
    ------
    SledsimError
        If there are no reads in two neighbouring zones, so that nothing shows where the second begins.
    """
    import numpy as np

    order = np.argsort(lbns)
    lbns, angles = lbns[order], angles[order]
    choices = [(np.array([0]), np.array([0.0]))]
    for (before, first, earliest), (zone, latest, end) in itertools.pairwise(found):
        known = (lbns >= first) & (lbns < end)
        if not known.any():
            message = (
                f"no random reads between sectors {first} and {end}, where tracks have {before.sectors_per_track} and "
                f"then {zone.sectors_per_track} sectors: measure again on an idle machine, with a larger --scale"
            )
            raise make_error(SledsimError, "misfit", message, path="probes", value=first)
        choices.append(_boundaries(before, zone, lbns[known], angles[known], (earliest, latest)))
    zones = [zone for zone, _, _ in found]
    firsts = _consistent(zones, choices, surfaces)
    placed = []
    for zone, first, end in zip(zones, firsts, [*firsts[1:], 1 << 62], strict=True):
        inside = (lbns >= first) & (lbns < end)
        is_known = zone.coherence >= LEAST_COHERENCE
        placed.append(_with_angle(replace(zone, first=first), lbns[inside], angles[inside], skew_is_known=is_known))
    return placed


def _same_zone(streams: list[Stream]) -> list[list[Stream]]:
    """Group streams of the same zone: consecutive ones with about the same number of sectors a track."""
    groups: list[list[Stream]] = []
    streams = sorted(streams, key=lambda stream: stream.first)
    for stream in streams:
        usual = _median([each.sectors_per_track for each in groups[-1]]) if groups else 0.0
        if abs(usual / stream.sectors_per_track - 1) < 0.004:
            groups[-1].append(stream)
        else:
            groups.append([stream])
    return groups


def _median(values: list[float]) -> float:
    import numpy as np

    return float(np.median(values))


def _zone(streams: list[Stream], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> ZoneMap | None:
    """Return the zone of some streams; its first sector is arbitrary but begins a track, and follows a change."""
    import numpy as np

    at = np.concatenate([stream.steps_at for stream in streams])
    jumps = np.concatenate([stream.steps for stream in streams])
    size, rough = streams[0].size, _median([stream.sectors_per_track for stream in streams])
    best = (0.0, 0, 0)
    for sectors in range(round(rough * 0.998) - 2, round(rough * 1.002) + 3):
        phases = np.sort(at % sectors)
        twice = np.concatenate([phases, phases + sectors])
        within = np.searchsorted(twice, phases + size) - np.arange(len(phases))
        most = int(np.argmax(within))
        # The boundary is after the beginning of each late step, and before its end.
        best = max(best, (float(within[most]) / len(phases), sectors, int(phases[most] + within[most] * 0)))
    share, sectors, boundary = best
    fits = (at - boundary) % sectors < size
    if share < 0.5 or fits.sum() < 8:
        return None
    at, jumps = at[fits], jumps[fits] % 1.0
    boundary += int(np.quantile((at - boundary) % sectors, 0.97))
    tracks = np.round((at - boundary) / sectors).astype(np.int64) + 1
    skew, extra, period, first = _changes(tracks, jumps)
    zone = ZoneMap(int(boundary + (first - 1) * sectors), sectors, period, skew, extra)
    inside = (lbns >= streams[0].first) & (lbns < streams[-1].end)
    return _with_angle(zone, lbns[inside], angles[inside])


def _changes(tracks: "NDArray[np.int64]", jumps: "NDArray[np.float64]") -> tuple[float, float, int | None, int]:
    """Return the skew, the additional skew at changes, the tracks between changes, and the first track after one."""
    import numpy as np

    beyond = (jumps - np.median(jumps) + 0.05) % 1.0
    tracks, jumps = tracks[beyond < 0.5], jumps[beyond < 0.5]
    ordered = np.sort(jumps)
    # Two kinds of jumps: the split with the largest variance between them.
    number = np.arange(1, len(ordered))
    sums = np.cumsum(ordered)
    apart = (sums[-1] - sums[:-1]) / (len(ordered) - number) - sums[:-1] / number
    between = number * (len(ordered) - number) * apart**2
    between[-1:] = 0.0
    split = int(np.argmax(between)) + 1 if len(ordered) > 4 else 0
    low, high = ordered[:split], ordered[split:]
    noise = np.median(np.abs(low - np.median(low))) if split else 0.0
    if split < 2 or np.median(high) - np.median(low) < max(0.015, 5 * noise):
        return float(np.median(jumps)), 0.0, None, int(tracks[0])
    # Outliers are not periodic: the period is that which most changes keep.
    limit = (np.median(low) + np.median(high)) / 2
    late = np.unique(tracks[jumps > limit])
    skew = float(np.median(low))
    extra = float(np.median(jumps[jumps > limit])) - skew
    if len(late) < 2:
        return skew, 0.0, None, int(tracks[0])
    apart = np.diff(late)
    best = (0.0, 1, int(late[0]))
    seen, times = np.unique(apart, return_counts=True)
    usual = len(np.unique(tracks)) / len(late)
    for period in np.sort(seen[np.argsort(times)[-20:]]):
        if not usual / 1.6 < period < 1.6 * usual:
            continue
        phases, counts = np.unique(late % period, return_counts=True)
        share = counts.max() / len(late)
        if share > best[0] + 0.05 or (share > best[0] - 0.05 and period > best[1] and share > 0.6):
            best = (float(share), int(period), int(phases[np.argmax(counts)]))
    share, period, phase = best
    return (skew, extra, period, phase) if share > 0.6 else (skew, 0.0, None, int(tracks[0]))


def _with_angle(
    zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]", *, skew_is_known: bool = False
) -> ZoneMap:
    """Refine the skew of a zone, and set its angle, so that reads agree best."""
    import numpy as np

    if len(lbns) < 4:
        return zone
    tracks = (lbns - zone.first) // zone.sectors_per_track
    base = angles - zone.relative(lbns) - 1 / zone.sectors_per_track
    reach = float(np.ptp(tracks)) or 1.0

    def coherence(change: "NDArray[np.float64]") -> "NDArray[np.float64]":
        turned = np.exp(2j * np.pi * (base[None, :] - change[:, None] * tracks[None, :]))
        return np.asarray(np.abs(turned.mean(axis=1)), dtype=np.float64)

    best = 0.0
    for widest in (0.6 / reach,) if skew_is_known else (2.5 / zone.sectors_per_track, 10 / zone.sectors_per_track):
        changes = np.arange(-widest, widest, 0.15 / reach)
        parts = np.array_split(changes, max(len(changes) * len(lbns) // 2_000_000, 1))
        found = np.concatenate([coherence(part) for part in parts])
        best = float(changes[np.argmax(found)])
        if found.max() >= LEAST_COHERENCE:
            break
    fine = best + np.linspace(-0.2, 0.2, 11 if skew_is_known else 81) / reach
    best = fine[np.argmax(coherence(fine))]
    residual = np.exp(2j * np.pi * (base - best * tracks)).mean()
    if np.abs(residual) < LEAST_COHERENCE:
        best = 0.0
    return replace(
        zone,
        skew=zone.skew + float(best),
        angle=float(np.angle(residual) / (2 * np.pi)) % 1.0,
        coherence=float(np.abs(residual)),
        reads=len(lbns),
    )


def _common_changes(
    zones: list[ZoneMap], reads: "list[tuple[NDArray[np.int64], NDArray[np.float64]]]"
) -> list[ZoneMap]:
    """Give all zones the same number of tracks between changes: that of most of them."""
    import numpy as np

    periods = [zone.tracks_per_change for zone in zones if zone.tracks_per_change]
    if not periods:
        return zones
    values, counts = np.unique(periods, return_counts=True)
    period = int(values[np.argmax(counts)])
    extra = float(np.median([zone.extra for zone in zones if zone.tracks_per_change == period]))
    found = []
    for zone, (lbns, angles) in zip(zones, reads, strict=True):
        if zone.tracks_per_change == period:
            found.append(zone)
            continue
        seen = zone.extra / zone.tracks_per_change if zone.tracks_per_change else 0.0
        base = replace(zone, tracks_per_change=period, extra=extra, skew=zone.skew + seen - extra / period)
        is_known = zone.coherence >= LEAST_COHERENCE
        some = slice(None, None, max(len(lbns) // 400, 1))
        coarse = _best_phase(base, range(period), lbns[some], angles[some], skew_is_known=is_known)
        fine = _best_phase(coarse, range(-6, 7), lbns, angles, skew_is_known=True)
        found.append(_with_angle(fine, lbns, angles, skew_is_known=True))
    return found


def _best_phase(
    zone: ZoneMap,
    steps: "Iterable[int]",
    lbns: "NDArray[np.int64]",
    angles: "NDArray[np.float64]",
    *,
    skew_is_known: bool,
) -> ZoneMap:
    """Return a zone that begins some tracks earlier, such that reads agree best."""
    moved = (replace(zone, first=zone.first - step * zone.sectors_per_track) for step in steps)
    fits = (_with_angle(each, lbns, angles, skew_is_known=skew_is_known) for each in moved)
    return max(fits, key=lambda each: each.coherence)


def _boundaries(
    before: ZoneMap,
    zone: ZoneMap,
    lbns: "NDArray[np.int64]",
    angles: "NDArray[np.float64]",
    between: tuple[int, int],
) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """Return LBNs at which a zone may begin, and the number of reads that contradict each."""
    import numpy as np

    earliest, latest = between
    known = _at(zone, lbns, angles, lbns >= latest)
    agreement = np.cos(2 * np.pi * (angles - known.relative(lbns) - known.angle - 1 / known.sectors_per_track))
    # The angles of the zone before need not agree up to its end: its last group of cylinders may be narrower.
    gain = np.concatenate([np.cumsum((agreement - LEAST_COHERENCE)[::-1])[::-1], [0.0]])
    # The outermost parts of the streams may lie in both zones.
    gain[: np.searchsorted(lbns, earliest - CHUNK)] = -np.inf
    gain[np.searchsorted(lbns, latest + CHUNK, side="right") + 1 :] = -np.inf
    cut = int(np.argmax(gain))
    low = int(lbns[max(cut - 5, 0)]) if cut else earliest
    high = int(lbns[min(cut + 4, len(lbns) - 1)])
    lattice = zone.sectors_per_track * (zone.tracks_per_change or 1)
    candidates = np.arange((low - zone.first) // lattice, (high - zone.first) // lattice + 2) * lattice + zone.first
    # The first track after a change may be found wrong by one.
    shift = np.tile([0, -1, 1, -2, 2] if zone.tracks_per_change else [0], len(candidates))
    candidates = np.repeat(candidates, len(shift) // len(candidates)) + shift * zone.sectors_per_track
    passed = np.searchsorted(lbns, candidates) - cut
    return candidates, np.abs(passed) + 0.5 * np.abs(shift)


#: Cost of a zone that is not a whole number of cylinders, as a number of reads that contradict its end.
ODD_COST = 8.0
#: Pairs of beginnings of neighbouring zones that are compared at once; bounds the memory.
MOST_PAIRS = 1 << 22


def _consistent(
    zones: list[ZoneMap], choices: "list[tuple[NDArray[np.int64], NDArray[np.float64]]]", surfaces: int
) -> list[int]:
    """Choose the beginnings of all zones so that reads contradict least, and zones have whole cylinders."""
    import numpy as np

    costs, origins = choices[0][1], []
    for zone, (before, _), (after, own) in zip(zones, choices, choices[1:], strict=False):
        unit = zone.sectors_per_track * surfaces
        origin, least = np.empty(len(after), dtype=np.int64), np.empty(len(after))
        width = max(MOST_PAIRS // len(before), 1)
        for rows in (slice(start, start + width) for start in range(0, len(after), width)):
            apart = after[None, rows] - before[:, None]
            off = np.abs((apart + unit // 2) % unit - unit // 2)
            total = costs[:, None] + np.where(off <= MOST_OFF, off / (4 * MOST_OFF), ODD_COST) + own[None, rows]
            total[apart <= 0] = np.inf
            origin[rows], least[rows] = np.argmin(total, axis=0), np.min(total, axis=0)
        origins.append(origin)
        costs = least
    at = int(np.argmin(costs))
    chosen = [at]
    for origin in reversed(origins):
        chosen.append(int(origin[chosen[-1]]))
    firsts = [int(candidates[index]) for (candidates, _), index in zip(choices, reversed(chosen), strict=True)]
    # The positions of track boundaries within a stream are less precise than whole cylinders.
    for i, zone in enumerate(zones[:-1]):
        unit = zone.sectors_per_track * surfaces
        firsts[i + 1] = firsts[i] + max(round((firsts[i + 1] - firsts[i]) / unit), 1) * unit
    return firsts


def _at(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]", rows: "NDArray[np.bool_]") -> ZoneMap:
    """Set the angle of a zone so that it agrees with some reads."""
    import numpy as np

    residual = angles[rows] - zone.relative(lbns[rows]) - 1 / zone.sectors_per_track
    mean = np.exp(2j * np.pi * residual).mean() if len(residual) else 1.0
    return replace(zone, angle=float(np.angle(mean) / (2 * np.pi)) % 1.0)
