"""The geometry of a drive from the times at which accesses end: rotational period, tracks, zones.

A read from the medium ends when its last sector has passed under the head, however long the seek took. Ends of accesses
one at a time therefore give angles. A sequential stream shows where tracks end, as the head then waits for the skew.
"""

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.studies.drive_calibration.jobs import SMALL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Accesses",
    "Columns",
    "Stream",
    "ZoneMap",
    "chained",
    "find_boundaries",
    "find_period",
    "find_zones",
    "join_zones",
    "refit_zones",
    "streams_of",
]

#: Range of rotational speeds, revolutions per minute.
LEAST_RPM, MOST_RPM = 2400, 20000


@dataclass(frozen=True)
class Columns:
    """Base class of dataclasses whose fields are arrays with an element for each access."""

    def rows(self, chosen: "NDArray[np.generic] | slice") -> Self:
        """Return some of the accesses."""
        return type(self)(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Accesses(Columns):
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

    Streams give the numbers of sectors per track, and reads the skews. Streams that reads contradict are left out: they
    lie in two zones, or the host paused.

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
    # Commands may limit the streams of one size; with groups by size, random reads can reject those.
    sizes = {stream.size for stream in streams}
    groups = [group for size in sizes for group in _same_zone([each for each in streams if each.size == size])]
    groups.sort(key=lambda group: group[0].first)
    while True:
        found = [_zone_of(group, lbns, angles) for group in groups]
        kept: list[list[Stream]] = []
        sectors = 0
        for i, (group, each) in enumerate(zip(groups, found, strict=True)):
            before = next((other for other in reversed(found[:i]) if other), None)
            after = next((other for other in found[i + 1 :] if other), None)
            if each is None or any(_explains(other, each, lbns, angles) for other in (before, after) if other):
                continue
            # Without the streams between them, two groups may be of the same zone.
            if each.zone.sectors_per_track == sectors:
                kept[-1].extend(group)
            else:
                kept.append(list(group))
            sectors = each.zone.sectors_per_track
        if len(kept) == len(groups):
            break
        groups = kept
    known = [each for each in found if each]
    reads = [(lbns[each.reads], angles[each.reads]) for each in known]
    zones = _with_changes([each.zone for each in known], reads)
    ranges = []
    for group, (inside, _) in zip(groups, reads, strict=True):
        # The outermost reads may agree by chance.
        first, end = inside[min(2, len(inside) - 1)], inside[max(len(inside) - 3, 0)]
        ranges.append((min(group[0].first, int(first)), max(group[-1].end, int(end) + 1)))
    return [(zone, first, end) for zone, (first, end) in zip(zones, ranges, strict=True)]


def find_boundaries(
    found: list[tuple[ZoneMap, int, int]], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]"
) -> "list[tuple[NDArray[np.int64], NDArray[np.float64]]]":
    """Return the LBNs at which each zone may begin, with the number of reads that contradict each.

    Parameters
    ----------
    found
        The zones, from :func:`find_zones`.
    lbns, angles
        As for :func:`find_zones`.

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
    return choices


def join_zones(
    zones: list[ZoneMap],
    boundaries: "list[tuple[NDArray[np.int64], NDArray[np.float64]]]",
    lbns: "NDArray[np.int64]",
    angles: "NDArray[np.float64]",
    surfaces: int = 1,
) -> tuple[list[ZoneMap], float]:
    """Return the zones with their first sectors, and the logarithm of the likelihood of a number of surfaces.

    Parameters
    ----------
    zones
        The zones, from :func:`find_zones`.
    boundaries
        Their possible first sectors, from :func:`find_boundaries`.
    lbns, angles
        As for :func:`find_zones`.
    surfaces
        Number of surfaces: the number of tracks of a zone is a multiple of it.
    """
    firsts, likely = _consistent(zones, boundaries, surfaces)
    placed = [replace(zone, first=first) for zone, first in zip(zones, firsts, strict=True)]
    return refit_zones(placed, lbns, angles), likely


def refit_zones(zones: list[ZoneMap], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> list[ZoneMap]:
    """Return zones with refined skews and angles.

    Parameters
    ----------
    zones
        The zones, of which each ends where the next one begins.
    lbns, angles
        As for :func:`find_zones`.
    """
    import numpy as np

    order = np.argsort(lbns)
    lbns, angles = lbns[order], angles[order]
    bounds = np.searchsorted(lbns, [*(zone.first for zone in zones), 1 << 62])
    return [
        _with_angle(zone, lbns[first:end], angles[first:end])
        for zone, first, end in zip(zones, bounds[:-1], bounds[1:], strict=True)
    ]


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


def _tracks_of(streams: list[Stream]) -> tuple[int, int, int] | None:
    """Return the number of sectors per track and the beginning of a track that fit the most steps of streams.

    The third value is the number of sectors by which the first one may be wrong.
    """
    import numpy as np

    rough = _median([stream.sectors_per_track for stream in streams])
    # The smaller the reads, the more precise are their ends; but the smallest may be slower than the medium.
    for size in sorted({stream.size for stream in streams}):
        at = np.concatenate([stream.steps_at for stream in streams if stream.size == size])
        best = (0.0, 0, 0)
        for sectors in range(round(rough * 0.998) - 2, round(rough * 1.002) + 3):
            phases = np.sort(at % sectors)
            twice = np.concatenate([phases, phases + sectors])
            within = np.searchsorted(twice, phases + size) - np.arange(len(phases))
            most = int(np.argmax(within))
            best = max(best, (float(within[most]) / len(phases), sectors, int(phases[most])))
        share, sectors, boundary = best
        # The boundary is after the beginning of each late step, and before its end.
        after = (at - boundary) % sectors
        fits = after < size
        if share >= 0.5 and fits.sum() >= 8:
            # A track that begins inside the streams, not near LBN 0: its place does not depend on a wrong number.
            begin = boundary + int(np.quantile(after[fits], 0.97)) + int(at[len(at) // 2]) // sectors * sectors
            return sectors, begin, min(size * sectors // (int(np.ptp(at)) or 1), MOST_SLACK)
    return None


#: Most sectors by which streams leave the number of sectors per track open.
MOST_SLACK = 24
#: Reads around a stream that show the skew of its zone.
AROUND = 80
#: Least number of pairs of reads that show a skew.
LEAST_READS = 12
#: Least number of reads of a zone times the square of their coherence. Reads of another zone exceed it by chance with a
#: probability of exp(-30) for each skew that is tried.
LEAST_EVIDENCE = 30.0
#: Largest residual angle of a read without the skews at changes, revolutions.
MOST_TURN = 0.1


@dataclass(frozen=True)
class _Found:
    """A zone, and which reads, in the order of LBNs, are in it."""

    zone: ZoneMap
    reads: slice


def _zone_of(streams: list[Stream], lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> _Found | None:
    """Return the zone of some streams, without changes; ``None`` if reads contradict it."""
    import numpy as np

    tracks = _tracks_of(streams)
    if tracks is None:
        return None
    sectors, begin, slack = tracks
    zone = ZoneMap(begin, sectors, None, 0.0, 0.0)
    first, end = np.searchsorted(lbns, [streams[0].first, streams[-1].end]).tolist()
    if end - first < AROUND:
        # Few reads are among the streams: those around them that agree with the nearest ones are in the zone, too.
        middle = (first + end) // 2
        for number in (AROUND, AROUND // 2):
            nearest = slice(max(middle - number // 2, 0), middle + number // 2)
            near = _with_skew(zone, lbns[nearest], angles[nearest])
            if near.coherence >= LEAST_COHERENCE:
                break
        gain = np.cos(2 * np.pi * _residuals(near, lbns, angles)) - LEAST_COHERENCE
        first = middle - int(np.argmax(np.concatenate([[0.0], np.cumsum(gain[:middle][::-1])])))
        end = middle + int(np.argmax(np.concatenate([[0.0], np.cumsum(gain[middle:])])))
    reads = slice(first, end)
    if end - first < LEAST_EVIDENCE:
        return None
    zone = _with_skew(zone, lbns[reads], angles[reads])
    if zone.coherence < LEAST_COHERENCE or zone.reads * zone.coherence**2 < LEAST_EVIDENCE:
        return None
    if not slack:
        return _Found(_with_boundary(zone, lbns[reads], angles[reads]), reads)
    tried = []
    for other in range(sectors - slack, sectors + slack + 1):
        # The angle between sectors far apart stays the same. Skews are known up to whole revolutions.
        for turns in (0, 1, 2):
            skew = (turns + zone.skew) * other / sectors - turns
            each = replace(zone, sectors_per_track=other, skew=skew)
            tried.append(_with_boundary(each, lbns[reads], angles[reads]))
    return _Found(max(tried, key=lambda each: each.coherence), reads)


def _residuals(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the angles of the ends of sectors less those of a zone, from -0.5 to 0.5 revolutions."""
    return (_base(zone, lbns, angles) - zone.angle + 0.5) % 1.0 - 0.5


def _with_boundary(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> ZoneMap:
    """Shift the track boundaries, which streams show only roughly, to fit the reads near them best."""
    import numpy as np

    most = min(zone.sectors_per_track // 8, 256) // SMALL * SMALL
    moves = np.arange(-most, most + 1, SMALL // 2)
    moved = [replace(zone, first=zone.first + move) for move in moves.tolist()]
    agreement = np.array([np.abs(np.exp(2j * np.pi * _base(each, lbns, angles)).mean()) for each in moved])
    # A read on the wrong side lowers the agreement by about (1 - cos(2 pi skew)) / reads.
    best = np.flatnonzero(agreement >= agreement.max() - 0.05 / len(lbns))
    return _with_angle(moved[int(best[len(best) // 2])], lbns, angles)


def _explains(other: _Found, found: _Found, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> bool:
    """Return true if a neighbouring zone with more reads explains the reads of a zone about as well as the zone itself.

    Over a few hundred tracks a wrong skew makes up for a slightly wrong number of sectors per track.
    """
    if other.zone.reads < found.zone.reads or other.zone.sectors_per_track == found.zone.sectors_per_track:
        return False
    explained = _with_angle(other.zone, lbns[found.reads], angles[found.reads]).coherence
    return explained > found.zone.coherence - 0.02


def _base(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the angles of the ends of sectors less those that a zone with the angle 0 has, revolutions."""
    return angles - zone.relative(lbns) - 1 / zone.sectors_per_track


def _with_skew(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> ZoneMap:
    """Find the skew of a zone from the angles of reads.

    Pairs of reads a few tracks apart show it roughly but without ambiguity; pairs farther apart refine it.
    """
    import numpy as np

    tracks = (lbns - zone.first) // zone.sectors_per_track
    base = _base(zone, lbns, angles)
    reach = int(np.ptp(tracks))
    width, last = 2, len(tracks) - 1
    centers, spread = np.array([0.0]), 0.5
    while True:
        # For each read those after it at up to this number of tracks, but not fewer than a third of it.
        near = np.searchsorted(tracks, tracks + max(width // 3, 1))
        far = np.searchsorted(tracks, tracks + width, side="right") - 1
        rows = np.flatnonzero((near <= far) & (far <= last))
        rows = np.concatenate([rows, rows])
        ends = np.concatenate([near[rows[: len(rows) // 2]], far[rows[: len(rows) // 2]]])
        rows, ends = np.unique(np.stack([rows, ends]), axis=1)
        if len(rows) > MOST_TURNS:
            chosen = np.linspace(0, len(rows) - 1, MOST_TURNS).astype(int)
            rows, ends = rows[chosen], ends[chosen]
        if len(rows) >= LEAST_READS:
            step = 0.1 / width
            number = int(np.ceil(spread / step))
            grid = (centers[:, None] + step * np.arange(-number, number + 1)[None, :]).ravel()
            apart, turned = tracks[ends] - tracks[rows], base[ends] - base[rows]
            score = np.cos(2 * np.pi * (turned[None, :] - grid[:, None] * apart[None, :])).mean(axis=1)
            ordered = np.argsort(-score)
            likely: list[float] = []
            for at in ordered[score[ordered] >= score[ordered[0]] - 0.2]:
                if all(abs(grid[at] - other) > 3 * step for other in likely):
                    likely.append(float(grid[at]))
            centers, spread = np.array(likely[:8]), 2 * step
        if width >= reach:
            break
        width = min(3 * width, reach)
    return max(
        (_with_angle(replace(zone, skew=zone.skew + center), lbns, angles) for center in centers.tolist()),
        key=lambda each: each.coherence,
    )


#: Most pairs of reads that are compared at each distance.
MOST_TURNS = 600


def _with_angle(zone: ZoneMap, lbns: "NDArray[np.int64]", angles: "NDArray[np.float64]") -> ZoneMap:
    """Refine the skew of a zone by less than a revolution over all its tracks, and set its angle."""
    import numpy as np

    if len(lbns) < 4:
        return zone
    tracks = (lbns - zone.first) // zone.sectors_per_track
    base = _base(zone, lbns, angles)
    reach = float(np.ptp(tracks)) or 1.0

    def coherence(change: "NDArray[np.float64]") -> "NDArray[np.float64]":
        turned = np.exp(2j * np.pi * (base[None, :] - change[:, None] * tracks[None, :]))
        return np.asarray(np.abs(turned.mean(axis=1)), dtype=np.float64)

    changes = np.arange(-0.6, 0.61, 0.15) / reach
    best = float(changes[np.argmax(coherence(changes))])
    fine = best + np.linspace(-0.2, 0.2, 21) / reach
    best = float(fine[np.argmax(coherence(fine))])
    residual = np.exp(2j * np.pi * (base - best * tracks)).mean()
    return replace(
        zone,
        skew=zone.skew + best,
        angle=float(np.angle(residual) / (2 * np.pi)) % 1.0,
        coherence=float(np.abs(residual)),
        reads=len(lbns),
    )


#: Most tracks between changes.
MOST_TRACKS = 1000
#: Sawtooth harmonics that show the number of tracks between changes.
HARMONICS = 4


def _with_changes(zones: list[ZoneMap], reads: "list[tuple[NDArray[np.int64], NDArray[np.float64]]]") -> list[ZoneMap]:
    """Find the number of tracks between changes, which zones have in common, and the skews at changes.

    The angles of reads, less a constant skew, are a sawtooth of the number of the track. Its period is that of the
    strongest harmonics.
    """
    import numpy as np

    periods = np.arange(2, MOST_TRACKS + 1)
    strength = np.zeros(len(periods))
    residuals = []
    for zone, (lbns, angles) in zip(zones, reads, strict=True):
        tracks = (lbns - zone.first) // zone.sectors_per_track
        left = _residuals(zone, lbns, angles)
        good = np.abs(left) < 2 * MOST_TURN
        tracks, left = tracks[good], left[good] - np.median(left[good]) if good.any() else left[good]
        residuals.append((tracks, left))
        if len(left) < LEAST_READS:
            continue
        turns = np.exp(-2j * np.pi * (tracks[None, :] / periods[:, None]))
        power = np.ones_like(turns)
        for harmonic in range(1, HARMONICS + 1):
            power *= turns
            # An odd number of half revolutions has no imaginary part, and twice the variance.
            scale = np.where(2 * harmonic % periods == 0, 0.5, 1.0)
            strength += scale * np.abs(power @ left) ** 2 / (len(left) * left.var() + 1e-12) / harmonic
    best = int(np.argmax(strength))
    # Of reads without changes, each zone and harmonic contributes an exponential variable of mean 1 / harmonic.
    if strength[best] < 2.1 * len(zones) + 8 * np.sqrt(len(zones)) + 15:
        return zones
    period = int(periods[best])
    fits = [_sawtooth(tracks, left, period) for tracks, left in residuals]
    # With two tracks between changes either may follow the change: the longer skew is taken as that of changes.
    sign = np.sign(sum(total for _, total, _ in fits)) if period > 2 else 1.0
    weights = np.array([max(weight, 1e-12) for _, _, weight in fits])
    common = float(np.average([abs(_extra(fit)) for fit in fits], weights=weights)) * sign
    changed = []
    for zone, fit, (lbns, angles), (_, left) in zip(zones, fits, reads, residuals, strict=True):
        phase = fit[0]
        extra = _extra(fit) if len(left) >= 8 * LEAST_READS else common
        if extra * sign < 0 and period == 2:
            phase, extra = 1 - phase, -extra
        placed = replace(
            zone,
            first=zone.first + phase * zone.sectors_per_track,
            tracks_per_change=period,
            skew=zone.skew - extra / period,
            extra=extra,
        )
        placed = _with_angle(placed, lbns, angles)
        tracks = (lbns - placed.first) // placed.sectors_per_track
        left = _residuals(placed, lbns, angles)
        good = np.abs(left) < MOST_TURN / 2
        if good.sum() >= 8 * LEAST_READS:
            # Without reads from the buffer, whose angles are arbitrary.
            saw = tracks[good] // period - tracks[good] / period
            more = float(np.cov(saw, left[good])[0, 1] / saw.var())
            placed = _with_angle(
                replace(placed, extra=placed.extra + more, skew=placed.skew - more / period), lbns, angles
            )
        changed.append(placed)
    return changed


def _extra(fit: tuple[int, float, float]) -> float:
    """Return the additional skew at changes of a fit of :func:`_sawtooth`."""
    return fit[1] / fit[2] if fit[2] else 0.0


def _sawtooth(tracks: "NDArray[np.int64]", residuals: "NDArray[np.float64]", period: int) -> tuple[int, float, float]:
    """Return the first track after a change, and the sums of products with the sawtooth and of its squares."""
    import numpy as np

    if len(tracks) < 2:
        return 0, 0.0, 0.0
    phases = np.arange(period)
    saw = (tracks[None, :] - phases[:, None]) // period - tracks[None, :] / period
    saw = saw - saw.mean(axis=1, keepdims=True)
    products, squares = saw @ residuals, (saw**2).sum(axis=1)
    best = int(np.argmax(products**2 / np.maximum(squares, 1e-12)))
    return int(phases[best]), float(products[best]), float(squares[best])


def _boundaries(
    before: ZoneMap,
    zone: ZoneMap,
    lbns: "NDArray[np.int64]",
    angles: "NDArray[np.float64]",
    between: tuple[int, int],
) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """Return LBNs at which a zone may begin, and the number of reads that contradict each."""
    import numpy as np

    # The ranges overlap if the outermost reads of a zone agree with the other one by chance.
    earliest, latest = min(between), max(between)
    agreement = np.cos(2 * np.pi * _residuals(zone, lbns, angles))
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
    shift, cost = _shifts(zone)
    number = len(candidates)
    candidates = np.repeat(candidates, len(shift)) + np.tile(shift, number) * zone.sectors_per_track
    passed = np.searchsorted(lbns, candidates) - cut
    contradicted = np.abs(passed) + np.tile(cost, number)
    # Where no changes are visible, a zone may begin with any track between two reads.
    best = np.sort(np.argsort(contradicted, kind="stable")[:MOST_CANDIDATES])
    return candidates[best], contradicted[best]


def _shifts(zone: ZoneMap) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """Return candidate offsets of the first track after a change, each with the number of contradicting reads."""
    import numpy as np

    if not zone.tracks_per_change:
        return np.array([0]), np.array([0.0])
    spread = np.sqrt(max(-2 * np.log(zone.coherence), 1e-9)) / (2 * np.pi)
    each = zone.reads / zone.tracks_per_change * min((zone.extra / spread) ** 2 / 2, 1.0)
    most = int(np.clip(np.ceil(3 / max(each, 1e-9)), 1, MOST_SHIFT))
    shift = np.arange(-most, most + 1)
    return shift, np.abs(shift) * each


#: Most beginnings of a zone that are tried, those that reads contradict least.
MOST_CANDIDATES = 300
#: Most tracks by which the first track after a change is found wrong.
MOST_SHIFT = 6
#: Cost of a zone that is not a whole number of cylinders, as a number of reads that contradict its end.
ODD_COST = 8.0
#: Pairs of beginnings of neighbouring zones that are compared at once; bounds the memory.
MOST_PAIRS = 1 << 22


def _consistent(
    zones: list[ZoneMap], choices: "list[tuple[NDArray[np.int64], NDArray[np.float64]]]", surfaces: int
) -> tuple[list[int], float]:
    """Choose the beginnings of all zones so that reads contradict least, and zones have whole cylinders.

    The second value is the logarithm of the likelihood of the number of surfaces, but for a constant.
    """
    import numpy as np

    costs, origins = choices[0][1], []
    likely = -costs
    for zone, (before, _), (after, own) in zip(zones, choices, choices[1:], strict=False):
        unit = zone.sectors_per_track * surfaces
        origin, least = np.empty(len(after), dtype=np.int64), np.empty(len(after))
        sums = np.empty(len(after))
        width = max(MOST_PAIRS // len(before), 1)
        for rows in (slice(start, start + width) for start in range(0, len(after), width)):
            apart = after[None, rows] - before[:, None]
            off = np.abs((apart + unit // 2) % unit - unit // 2)
            step = np.where(off <= MOST_OFF, off / (4 * MOST_OFF), ODD_COST) + own[None, rows]
            step[apart <= 0] = np.inf
            total = costs[:, None] + step
            origin[rows], least[rows] = np.argmin(total, axis=0), np.min(total, axis=0)
            # Each possible position is equally likely.
            step[off <= MOST_OFF] -= np.log(surfaces)
            sums[rows] = np.logaddexp.reduce(likely[:, None] - step, axis=0)
        origins.append(origin)
        costs, likely = least, sums
    at = int(np.argmin(costs))
    chosen = [at]
    for origin in reversed(origins):
        chosen.append(int(origin[chosen[-1]]))
    firsts = [int(candidates[index]) for (candidates, _), index in zip(choices, reversed(chosen), strict=True)]
    # The positions of track boundaries within a stream are less precise than whole cylinders.
    for i, zone in enumerate(zones[:-1]):
        unit = zone.sectors_per_track * surfaces
        firsts[i + 1] = firsts[i] + max(round((firsts[i + 1] - firsts[i]) / unit), 1) * unit
    return firsts, float(np.logaddexp.reduce(likely))
