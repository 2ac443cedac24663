"""The geometry of a drive from the times at which accesses end: rotational period, tracks, zones.

A read from the medium ends when its last sector has passed under the head, however long the seek took. Ends of accesses
one at a time therefore give angles. A sequential stream shows where tracks end, as the head then waits for the skew.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Accesses", "Stream", "ZoneMap", "chained", "fit_zones", "find_period", "streams_of"]

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
    stamps_ms: "NDArray[np.float64]", latencies_ms: "NDArray[np.float64]", knot: int = 512
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
    return sums + np.interp(rows, knots, np.linalg.solve(normal, right))


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
        parts = [np.abs(np.exp(2j * np.pi * np.outer(each, gaps)).mean(axis=1)) for each in np.array_split(
            frequency, max(len(frequency) * len(gaps) // 2_000_000, 1))]
        return np.concatenate(parts)

    low, high = LEAST_RPM / 60e3, MOST_RPM / 60e3
    gaps = apart[: max(256, len(apart) // 16)]
    grid = np.arange(low, high, 0.1 / gaps[-1])
    found = score(grid, gaps)
    # A multiple of the frequency is as coherent: take the lowest.
    best = grid[np.flatnonzero(found > 0.8 * found.max())[0]]
    near = grid[(grid >= best) & (grid < best + 3 / gaps[-1])]
    best = near[np.argmax(found[(grid >= best) & (grid < best + 3 / gaps[-1])])]
    step = 0.1 / gaps[-1]
    for number in np.geomspace(len(gaps), len(apart), 8).astype(int):
        fine = best + np.linspace(-step, step, 41)
        best = fine[np.argmax(score(fine, apart[:number]))]
        step = min(step, 0.1 / apart[number - 1]) / 4
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


#: Number of sectors of a stream that are looked at together.
CHUNK = 1 << 17
#: Least contrast between the boundaries of tracks and the rest of a stream: below it, the medium does not limit the stream.
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
    usual = np.median(steps)
    within = steps[np.abs(steps - usual) < max(0.5 * usual, 0.02)]
    if usual <= 0 or len(within) < 32:
        return None
    rough = size / np.mean(within)
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

    Sector *j* of the zone is on track *k* = *j* // ``sectors_per_track``, after *c* = *k* // ``tracks_per_change`` changes
    of cylinder (or of surface, in seek-first layouts). Its angle is ``angle + j / sectors_per_track + skew * k + extra * c``
    revolutions.

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


def fit_zones(streams: list[Stream], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> list[ZoneMap]:
    """Return the zones of a drive.

    Parameters
    ----------
    streams
        The streams, in order of LBNs.
    lbns, angles
        Last sector of random reads, and the angle at its end, revolutions.
    """
    import numpy as np

    order = np.argsort(lbns)
    lbns, angles = lbns[order], angles[order]
    zones, starts = [], []
    for part in _same_zone(streams):
        made = _zone(part, lbns, angles)
        if made is not None:
            zones.append(made)
            starts.append((part[0].first, part[-1].end))
    return _joined(zones, starts, lbns, angles)


def _same_zone(streams: list[Stream]) -> list[list[Stream]]:
    """Group streams of the same zone: consecutive ones with about the same number of sectors a track."""
    groups: list[list[Stream]] = []
    streams = sorted(streams, key=lambda stream: stream.first)
    for stream in streams:
        near = groups and abs(_median([each.sectors_per_track for each in groups[-1]]) / stream.sectors_per_track - 1)
        if groups and near < 0.004:
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
    boundary += int(np.quantile((at - boundary) % sectors, 1.0))
    tracks = np.round((at - boundary) / sectors).astype(np.int64) + 1
    skew, extra, period, first = _changes(tracks, jumps)
    zone = ZoneMap(int(boundary + (first - 1) * sectors), sectors, period, skew, extra)
    inside = (lbns >= streams[0].first) & (lbns < streams[-1].end)
    return _with_angle(zone, lbns[inside], angles[inside])


def _changes(tracks: "NDArray[np.int64]", jumps: "NDArray[np.float64]") -> tuple[float, float, int | None, int]:
    """Return the skew, the additional skew at changes, the tracks between changes, and the first track after one."""
    import numpy as np

    ordered = np.sort(jumps)
    gaps = np.diff(ordered)
    split = int(np.argmax(gaps)) if len(gaps) else 0
    low = ordered[: split + 1]
    if len(gaps) == 0 or gaps[split] < 0.015 or len(low) < 4:
        return float(np.median(jumps)), 0.0, None, int(tracks[0])
    # Outliers are not periodic: the period is that which most changes keep.
    limit = (ordered[split] + ordered[split + 1]) / 2
    late = np.unique(tracks[jumps > limit])
    skew = float(np.median(low))
    extra = float(np.median(jumps[jumps > limit])) - skew
    if len(late) < 2:
        return skew, 0.0, None, int(tracks[0])
    apart = np.diff(late)
    best = (0.0, 1, int(late[0]))
    for period in np.unique(apart[apart <= 4 * apart.min()]):
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
        return np.abs(np.exp(2j * np.pi * (base[None, :] - change[:, None] * tracks[None, :])).mean(axis=1))

    widest = 0.6 / reach if skew_is_known else 2.5 / zone.sectors_per_track
    changes = np.arange(-widest, widest, 0.15 / reach)
    parts = np.array_split(changes, max(len(changes) * len(lbns) // 2_000_000, 1))
    found = np.concatenate([coherence(part) for part in parts])
    best = changes[np.argmax(found)]
    fine = best + np.linspace(-0.2, 0.2, 11 if skew_is_known else 81) / reach
    best = fine[np.argmax(coherence(fine))]
    residual = np.exp(2j * np.pi * (base - best * tracks)).mean()
    return replace(
        zone,
        skew=zone.skew + float(best),
        angle=float(np.angle(residual) / (2 * np.pi)) % 1.0,
        coherence=float(np.abs(residual)),
        reads=len(lbns),
    )


def _joined(
    zones: list[ZoneMap], ranges: list[tuple[int, int]], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]"
) -> list[ZoneMap]:
    """Find the first sector of each zone, where the angles of reads change from one zone's to the next one's."""
    if not zones:
        return []
    rows = [(lbns >= first) & (lbns < end) for first, end in ranges]
    zones = _common_changes(zones, [(lbns[each], angles[each]) for each in rows])
    zones[0] = replace(zones[0], first=0)
    for i in range(1, len(zones)):
        before, zone = zones[i - 1], zones[i]
        known = (lbns >= ranges[i - 1][0]) & (lbns < ranges[i][1])
        first = _boundary(before, zone, lbns[known], angles[known], ranges[i - 1][1], ranges[i][0])
        zones[i] = replace(zone, first=first)
    ends = [zone.first for zone in zones[1:]] + [1 << 62]
    found = []
    for zone, end in zip(zones, ends, strict=True):
        inside = (lbns >= zone.first) & (lbns < end)
        found.append(_with_angle(zone, lbns[inside], angles[inside]))
    return found


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
        skew = zone.skew + seen - extra / period
        tries = (
            replace(
                zone,
                first=zone.first - step * zone.sectors_per_track,
                tracks_per_change=period,
                extra=extra,
                skew=skew,
            )
            for step in range(period)
        )
        found.append(max((_with_angle(each, lbns, angles, skew_is_known=True) for each in tries), key=lambda each: each.coherence))
    return found


def _boundary(
    before: ZoneMap,
    zone: ZoneMap,
    lbns: "NDArray[np.int64]",
    angles: "NDArray[np.float64]",
    earliest: int,
    latest: int,
) -> int:
    """Return the first sector of a zone: a whole number of tracks after that of the zone before it."""
    import numpy as np

    known = _at(zone, lbns, angles, lbns >= latest)
    agreement = np.cos(2 * np.pi * (angles - known.relative(lbns) - known.angle - 1 / known.sectors_per_track))
    # The angles of the zone before need not agree up to its end: its last group of cylinders may be narrower.
    gain = np.concatenate([np.cumsum((agreement - 0.5)[::-1])[::-1], [0.0]])
    gain[: np.searchsorted(lbns, earliest)] = -np.inf
    gain[np.searchsorted(lbns, latest, side="right") + 1 :] = -np.inf
    cut = int(np.argmax(gain))
    low = int(lbns[max(cut - 2, 0)]) if cut else earliest
    high = int(lbns[min(cut + 1, len(lbns) - 1)])
    lattice = zone.sectors_per_track * (zone.tracks_per_change or 1)
    candidates = np.arange((low - zone.first) // lattice, (high - zone.first) // lattice + 2) * lattice + zone.first
    phase = (candidates - before.first + before.sectors_per_track // 2) % before.sectors_per_track
    off = np.abs(phase - before.sectors_per_track // 2)
    chosen = int(candidates[np.argmin(off)])
    return before.first + round((chosen - before.first) / before.sectors_per_track) * before.sectors_per_track


def _at(
    zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]", rows: "NDArray[np.bool_]"
) -> ZoneMap:
    """Set the angle of a zone so that it agrees with some reads."""
    import numpy as np

    residual = angles[rows] - zone.relative(lbns[rows]) - 1 / zone.sectors_per_track
    mean = np.exp(2j * np.pi * residual).mean() if len(residual) else 1.0
    return replace(zone, angle=float(np.angle(mean) / (2 * np.pi)) % 1.0)
