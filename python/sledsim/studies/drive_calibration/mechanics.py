"""The layout and the seek curve of a drive, from the angles of its sectors and the latencies of random accesses."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.frames import install_command
from sledsim.studies.drive_calibration.geometry import Accesses, Columns, ZoneMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DiskLayout",
    "Moves",
    "SeekFit",
    "find_moves",
    "fit_seeks",
    "fit_time",
    "layout_of",
    "misfit_ms",
    "positions",
    "seek_curve",
]

#: Most surfaces of a drive.
MOST_SURFACES = 32


@dataclass(frozen=True)
class DiskLayout:
    """The layout of a drive.

    Parameters
    ----------
    zones
        The zones.
    ends
        LBN after the last sector of each zone.
    surfaces
        Number of surfaces.
    group
        Number of cylinders of a group, in a seek-first layout; ``None`` in layouts by cylinder.
    """

    zones: list[ZoneMap]
    ends: list[int]
    surfaces: int
    group: int | None

    def cylinders(self) -> list[int]:
        """Return the number of cylinders of each zone."""
        return [
            max(-(-(end - zone.first) // (zone.sectors_per_track * self.surfaces)), 1)
            for zone, end in zip(self.zones, self.ends, strict=True)
        ]

    def keys(self) -> dict[str, Any]:
        """Return the keys of a device."""
        zones, first = [], 0
        for zone, cylinders in zip(self.zones, self.cylinders(), strict=True):
            sectors = zone.sectors_per_track
            skew, change = (zone.skew % 1.0) * sectors, ((zone.skew + zone.extra) % 1.0) * sectors
            zones.append(
                {
                    "first_cylinder": first,
                    "last_cylinder": first + cylinders - 1,
                    "sectors_per_track": sectors,
                    "first_sector_offset": round((zone.angle % 1.0) * sectors, 4),
                    "track_skew_sectors": round(skew, 4),
                    "cylinder_skew_sectors": round(change, 4),
                }
            )
            first += cylinders
        keys: dict[str, Any] = {"surfaces": self.surfaces, "cylinders": first, "zones": zones, "mapping": "cylinder"}
        if self.group:
            keys |= {"mapping": "seek-first-serpentine", "mapping_group_cylinders": self.group}
        return keys


def fit_seeks(
    distance: "NDArray[np.int64]", positioned_ms: "NDArray[np.float64]", period_ms: float, knots: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return seek times at distances, from times of command, seek and rotation together.

    A wait for a sector takes less than a revolution. The time *t* of an access over a distance *d* therefore has
    ``t - period < seek(d) <= t``. The curve is the piecewise linear, non-decreasing one that breaks these bounds least
    (sum of the excesses, a linear program).

    Parameters
    ----------
    distance
        Distance of each access.
    positioned_ms
        Time until its first sector was under the head.
    period_ms
        The rotational period.
    knots
        Distances of the points of the curve, rising.
    """
    import numpy as np

    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, eye_array, hstack, vstack
    except ImportError:
        message = f"this needs SciPy: {install_command('reliability', 'scipy')}"
        raise make_error(SledsimError, "unsupported", message, value="scipy") from None

    index = np.clip(np.searchsorted(knots, distance, side="right") - 1, 0, len(knots) - 2)
    share = np.clip((distance - knots[index]) / (knots[index + 1] - knots[index]), 0.0, 1.0)
    rows, number = np.arange(len(distance)), len(distance)
    hats = csr_matrix(
        (np.concatenate([1 - share, share]), (np.tile(rows, 2), np.concatenate([index, index + 1]))),
        shape=(number, len(knots)),
    )
    rise = csr_matrix(-np.diff(np.eye(len(knots)), axis=0))
    unit, none = eye_array(number), csr_matrix((number, number))
    limits: Any = vstack(
        [
            hstack([hats, -unit, none]),
            hstack([-hats, none, -unit]),
            hstack([rise, csr_matrix((len(knots) - 1, 2 * number))]),
        ]
    )
    right = np.concatenate([positioned_ms, period_ms - positioned_ms, np.zeros(len(knots) - 1)])
    cost = np.concatenate([np.full(len(knots), 1e-9), np.ones(2 * number)])
    found: Any = linprog(cost, A_ub=limits.tocsr(), b_ub=right, bounds=(0, None), method="highs")
    return np.asarray(found.x[: len(knots)], dtype=np.float64)


def fit_time(positioned_ms: "NDArray[np.float64]", period_ms: float) -> tuple[float, float]:
    """Return one positioning time of many accesses, and half its 95 % interval, as :func:`fit_seeks` finds a curve.

    Parameters
    ----------
    positioned_ms
        Time of each access until its first sector was under the head.
    period_ms
        The rotational period.
    """
    import numpy as np

    # The sum of the excesses is least where as many accesses are too short as are too long.
    bounds = np.sort(np.concatenate([positioned_ms, positioned_ms - period_ms]))
    middle = len(positioned_ms)
    return float((bounds[middle - 1] + bounds[middle]) / 2), 3.7 * period_ms / max(len(positioned_ms), 1)


def layout_of(device: "Mapping[str, Any]") -> DiskLayout:
    """Return the layout of a device that :meth:`DiskLayout.keys` described."""
    zones, ends, first = [], [], 0
    surfaces = device["surfaces"]
    group = device["mapping_group_cylinders"] if device["mapping"] == "seek-first-serpentine" else None
    for zone in device["zones"]:
        sectors = zone["sectors_per_track"]
        skew, change = zone["track_skew_sectors"] / sectors, zone["cylinder_skew_sectors"] / sectors
        period = group or surfaces
        zones.append(
            ZoneMap(first, sectors, period, skew, change - skew, zone.get("first_sector_offset", 0.0) / sectors)
        )
        first += (zone["last_cylinder"] - zone["first_cylinder"] + 1) * surfaces * sectors
        ends.append(first)
    return DiskLayout(zones, ends, surfaces, group)


@dataclass(frozen=True)
class Moves(Columns):
    """Accesses to the medium with their predecessors.

    Parameters
    ----------
    distance
        Distance of the seek, cylinders.
    head_changes
        True if the access is on another surface than the one before.
    positioned_ms
        Time from the command until the first sector was under the head.
    reads
        True for reads.
    """

    distance: "NDArray[np.int64]"
    head_changes: "NDArray[np.bool_]"
    positioned_ms: "NDArray[np.float64]"
    reads: "NDArray[np.bool_]"


def positions(layout: DiskLayout, lbns: "NDArray[np.int64]") -> "dict[str, NDArray[Any]]":
    """Return the angle of the beginning of sectors in revolutions (not modulo 1), their cylinder and head, and zone."""
    import numpy as np

    firsts = np.array([zone.first for zone in layout.zones])
    index = np.clip(np.searchsorted(firsts, lbns, side="right") - 1, 0, None)
    angle = np.zeros(len(lbns))
    cylinder, head = np.zeros(len(lbns), dtype=np.int64), np.zeros(len(lbns), dtype=np.int64)
    before = 0
    for i, (zone, count) in enumerate(zip(layout.zones, layout.cylinders(), strict=True)):
        rows = index == i
        angle[rows] = zone.relative(lbns[rows]) + zone.angle
        track = (lbns[rows] - zone.first) // zone.sectors_per_track
        if layout.group:
            group = track // (layout.group * layout.surfaces)
            width = np.minimum(layout.group, count - group * layout.group)
            within = track - group * layout.group * layout.surfaces
            surface, step = within // width, within % width
            changes = group * layout.surfaces + surface
            angle[rows] += zone.extra * (changes - track // layout.group)
            cylinder[rows] = before + group * layout.group + np.where(surface % 2 == 0, step, width - 1 - step)
            head[rows] = surface
        else:
            cylinder[rows], head[rows] = before + track // layout.surfaces, track % layout.surfaces
        before += count
    sectors = np.array([zone.sectors_per_track for zone in layout.zones])[index]
    return {"angle": angle, "cylinder": cylinder, "head": head, "sectors_per_track": sectors}


#: Largest residual of the angle of an access to the medium, revolutions; that of a hit in the buffer is arbitrary.
MOST_RESIDUAL = 0.04


def find_moves(accesses: Accesses, layout: DiskLayout, period_ms: float) -> tuple[Moves, float, "NDArray[Any]"]:
    """Return the moves of accesses to the medium, and the share of accesses that the layout explains.

    Parameters
    ----------
    accesses
        Accesses one at a time.
    layout, period_ms
        The layout and the rotational period.

    Returns
    -------
    Moves, float, array
        The moves, the share of accesses that end when their last sector has passed, and the residual angles of all.
    """
    import numpy as np

    first, last = positions(layout, accesses.lbns), positions(layout, accesses.lbns + accesses.sectors - 1)
    end = last["angle"] + 1 / last["sectors_per_track"]
    residual = accesses.end_ms / period_ms - end
    turned = np.exp(2j * np.pi * residual)
    # The mean of those that agree: hits would shift that of all.
    center = np.angle(turned.mean())
    for _ in range(3):
        near = np.abs(np.angle(turned * np.exp(-1j * center))) < 2 * np.pi * MOST_RESIDUAL
        center = np.angle(turned[near].mean()) if near.any() else center
    residual = np.angle(turned * np.exp(-1j * center)) / (2 * np.pi)
    good = np.abs(residual) < MOST_RESIDUAL
    share = float(good.mean())
    good[0] = False
    # A sector that was read ahead is not under the head again within its transfer.
    transfer = (end - first["angle"]) % 1.0 * period_ms
    good &= accesses.latency_ms > transfer
    moves = Moves(
        np.abs(np.diff(first["cylinder"], prepend=0)),
        np.diff(first["head"], prepend=0) != 0,
        accesses.latency_ms - transfer,
        accesses.reads,
    )
    return moves.rows(good), share, residual


def misfit_ms(moves: Moves, period_ms: float) -> float:
    """Return by how much positioning times contradict a function of distance and surface, ms an access.

    In a wrong layout accesses with the same distance have different times.

    Parameters
    ----------
    moves
        Reads, by the layout.
    period_ms
        The rotational period.
    """
    import numpy as np

    kinds = np.where(moves.distance > 0, np.round(np.log2(np.maximum(moves.distance, 1)) * 2).astype(int) + 1, 0)
    kinds = 2 * kinds + moves.head_changes
    total = 0.0
    for kind in np.unique(kinds):
        times = moves.positioned_ms[kinds == kind]
        time = fit_time(times, period_ms)[0]
        total += float(np.maximum(time - times, 0).sum() + np.maximum(times - period_ms - time, 0).sum())
    return total / max(len(kinds), 1)


@dataclass(frozen=True)
class SeekFit:
    """The times of a drive's moves, each from the command to the first sector under the head.

    Parameters
    ----------
    distances, times_ms
        Points of the seek curve, cylinders and ms.
    halves_ms
        Half the 95 % interval of each point.
    same_ms
        Time of a read on the same track; ``None`` if no read shows it.
    head_switch_ms
        Time of a change of surface; ``None`` if the data do not show it.
    """

    distances: "NDArray[np.float64]"
    times_ms: "NDArray[np.float64]"
    halves_ms: "NDArray[np.float64]"
    same_ms: tuple[float, float] | None
    head_switch_ms: tuple[float, float] | None


def seek_curve(moves: Moves, cylinders: int, period_ms: float, base_ms: float) -> SeekFit:
    """Return the seek curve and the time of a head switch.

    Parameters
    ----------
    moves
        Reads.
    cylinders
        Number of cylinders of the drive.
    period_ms
        The rotational period.
    base_ms
        Time of a read from the buffer.
    """
    import numpy as np

    farthest = float(max(cylinders - 1, 2))
    every = np.unique(np.round(np.geomspace(1, farthest, 40)))

    def fitted(chosen: Moves) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
        counts = np.histogram(chosen.distance, np.concatenate([every, [farthest + 1]]))[0]
        # A point needs accesses on its sides.
        kept = [0]
        for i in range(1, len(every)):
            if counts[kept[-1] : i].sum() >= 12:
                kept.append(i)
        kept = (
            kept
            if kept[-1] == len(every) - 1
            else [*kept[:-1], len(every) - 1]
            if len(kept) > 1
            else [0, len(every) - 1]
        )
        knots = every[kept]
        near = np.add.reduceat(counts, kept) + 1.0
        return knots, fit_seeks(chosen.distance, chosen.positioned_ms, period_ms, knots), 3.7 * period_ms / near

    moved = moves.rows(moves.distance > 0)
    same_head = moved.rows(~moved.head_changes)
    switching = moves.rows(moves.head_changes)
    same = moves.rows(~moves.head_changes & (moves.distance == 0))
    # The sectors after those of a read may be in the buffer.
    same_ms = _settling(same.positioned_ms[same.positioned_ms > 2 * base_ms + 0.05], period_ms)
    if len(same_head.distance) < 200:
        knots, times, halves = fitted(moved)
        switching = moves.rows(moves.head_changes & (moves.distance == 0))
        switch = fit_time(switching.positioned_ms, period_ms) if len(switching.distance) >= 30 else None
        return SeekFit(knots, times, halves, same_ms, switch)
    switch = None
    knots, times, halves = fitted(same_head)
    for _ in range(2):
        switch = _switch(switching, knots, times, period_ms)
        # A seek with a change of surface takes the longer of the two.
        by_seek = moved.head_changes & (np.interp(moved.distance, knots, times) > (switch[0] if switch else 2.0) + 0.3)
        knots, times, halves = fitted(moved.rows(~moved.head_changes | by_seek))
    return SeekFit(knots, times, halves, same_ms, switch)


#: Longest head switch, with the command, ms.
MOST_SWITCH_MS = 5.0


def _switch(
    moves: Moves, knots: "NDArray[np.float64]", times: "NDArray[np.float64]", period_ms: float
) -> tuple[float, float] | None:
    """Return the time of a head switch, and half its 95 % interval, from accesses that change the surface.

    Each takes the longer of the switch and of its seek, of which `knots` and `times` are the curve.
    """
    import numpy as np

    seeks = np.where(moves.distance > 0, np.interp(moves.distance, knots, times), 0.0)
    tried = np.arange(0.0, MOST_SWITCH_MS, 0.01)
    excess = np.empty(len(tried))
    for i, switch in enumerate(tried):
        expected = np.maximum(seeks, switch)
        early, late = expected - moves.positioned_ms, moves.positioned_ms - period_ms - expected
        excess[i] = np.maximum(early, 0).sum() + np.maximum(late, 0).sum()
    best = float(np.mean(tried[excess <= excess.min() + 1e-9]))
    number = int((seeks < best).sum())
    return (best, 3.7 * period_ms / number) if number >= 30 else None


def _settling(positioned_ms: "NDArray[np.float64]", period_ms: float) -> tuple[float, float] | None:
    """Return the positioning time that contradicts the fewest accesses, and half the range of equally good times."""
    import numpy as np

    if len(positioned_ms) < 30:
        return None
    tried = np.sort(np.concatenate([positioned_ms, positioned_ms - period_ms]))
    tried = tried[(tried > 0) & (tried < period_ms)]
    tried = (tried[1:] + tried[:-1]) / 2
    ordered = np.sort(positioned_ms)
    early = np.searchsorted(ordered, tried)
    late = len(ordered) - np.searchsorted(ordered, tried + period_ms)
    best = tried[early + late <= (early + late).min() + 1]
    return float((best[0] + best[-1]) / 2), float((best[-1] - best[0]) / 2)
