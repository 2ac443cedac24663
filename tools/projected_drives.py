"""Write the drives of the catalogue that nobody has measured: projected from drives that somebody has.

They follow from what papers print of them and from the catalogue entries of the drives they start from;
docs/reference/devices.md tells how.

    python tools/projected_drives.py            write the files
    python tools/projected_drives.py --check    exit with 1 where a file is out of date
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from drive_catalogue import Entry, Fact, catalogued, disk_keys, write

if TYPE_CHECKING:
    from collections.abc import Callable

SECTOR_BYTES = 512
# Blocks of a drive that is sold as one of 73.4 GB.
BLOCKS_73_GB = 143_374_744


def borrowed(facts: dict[str, Fact], note: str, *, but: set[str]) -> dict[str, Fact]:
    """Return the values of another drive as assumptions, without some and without those that go without saying."""
    defaults = {key: node.get("default") for key, node in disk_keys().items()}
    return {
        key: Fact(fact.value, fact.source, fact.where, "assumed", note)
        for key, fact in facts.items()
        if key not in but and fact.value != defaults.get(key)
    }


@dataclass(frozen=True)
class Band:
    """Neighbouring cylinders with as many sectors on every track, and their skews as parts of a revolution."""

    cylinders: int
    sectors: int
    track_skew: float
    cylinder_skew: float


def bands(facts: dict[str, Fact]) -> list[Band]:
    """Return the zones of a drive, neighbours of one density taken together."""
    found: list[Band] = []
    for zone in facts["zones"].value:
        cylinders, sectors = zone["last_cylinder"] - zone["first_cylinder"] + 1, zone["sectors_per_track"]
        if found and found[-1].sectors == sectors:
            last = found.pop()
            found.append(Band(last.cylinders + cylinders, sectors, last.track_skew, last.cylinder_skew))
        else:
            skews = zone["track_skew_sectors"] / sectors, zone["cylinder_skew_sectors"] / sectors
            found.append(Band(cylinders, sectors, *skews))
    return found


def stretched(
    profile: list[Band], cylinders: int, density: float, skews: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """Return zones in the proportions of a profile, over so many cylinders and with so many times the sectors.

    Skews are the profile's, or `skews`, all as parts of a revolution, rounded up to whole sectors.
    """
    total = sum(band.cylinders for band in profile)
    zones = []
    first, passed = 0, 0
    for band in profile:
        passed += band.cylinders
        end = round(passed * cylinders / total)
        sectors = round(band.sectors * density)
        track_skew, cylinder_skew = skews or (band.track_skew, band.cylinder_skew)
        zones.append(
            {
                "first_cylinder": first,
                "last_cylinder": end - 1,
                "sectors_per_track": sectors,
                "track_skew_sectors": float(math.ceil(track_skew * sectors)),
                "cylinder_skew_sectors": float(math.ceil(cylinder_skew * sectors)),
            }
        )
        first = end
    return zones


def blocks(zones: list[dict[str, Any]], surfaces: int) -> int:
    """Return how many blocks zones hold."""
    tracks = ((zone["last_cylinder"] - zone["first_cylinder"] + 1) * surfaces for zone in zones)
    return sum(count * zone["sectors_per_track"] for count, zone in zip(tracks, zones, strict=True))


def holding(profile: list[Band], cylinders: int, surfaces: int, capacity: int) -> list[dict[str, Any]]:
    """Return zones in the proportions of a profile that hold a capacity, with the least density that does."""
    low, high = 0.0, 1e6
    # Halving narrows a density down to far less than a sector on any track.
    for _ in range(60):
        middle = (low + high) / 2
        if blocks(stretched(profile, cylinders, middle), surfaces) >= capacity:
            high = middle
        else:
            low = middle
    return stretched(profile, cylinders, high)


def sectors_at(mb_per_s: float, rpm: float) -> int:
    """Return how many sectors pass in a revolution at a rate."""
    return round(mb_per_s * 1e6 * 60 / rpm / SECTOR_BYTES)


def mean_seek_ms(points: list[list[float]], cylinders: int) -> float:
    """Return the mean time of seeks between different cylinders, all pairs alike, of a curve through points."""
    total = 0.0
    behind = iter(pairwise(points))
    (near, near_ms), (far, far_ms) = next(behind)
    for distance in range(1, cylinders):
        while distance > far:
            following = next(behind, None)
            if following is None:
                break
            (near, near_ms), (far, far_ms) = following
        total += (cylinders - distance) * (near_ms + (distance - near) / (far - near) * (far_ms - near_ms))
    return total * 2 / (cylinders * (cylinders - 1))


def fact(value: Any, source: str, where: str, kind: str, note: str = "") -> Fact:
    """Return a value with what it rests on."""
    return Fact(value, source, where, kind, note)


def atlas10k_50mb() -> Entry:
    """Return the Atlas 10K as Hong et al. 2006 have it."""
    base = catalogued("atlas10k")
    profile, rpm = bands(base), base["rotation_rpm"].value
    density = sectors_at(50, rpm) / profile[0].sectors
    cylinders = round(base["cylinders"].value / density)
    zones = stretched(profile, cylinders, density)
    points = [[round(distance / density, 3), ms] for distance, ms in base["seek"].value["points"]]
    section = "Section 4.2"
    changed = {
        "cylinders": fact(
            cylinders, "hong2006", section, "derived",
            f"the drive's {base['cylinders'].value}, fewer by as much as tracks hold more: the capacity stays 8.6 "
            "GB (of 2^30 bytes)",
        ),
        "zones": fact(
            zones, "hong2006", section, "derived",
            f"the drive's zones with {density:.4f} times the sectors on each track, so that the outermost track "
            "passes at 50 MB/s; without spares and defects; skews are the same angles",
        ),
        "sparing": fact("none", "hong2006", section, "assumed", "the zones hold hardly more than the drive offers"),
        "seek": fact(
            {"curve": "table", "points": points}, "hong2006", section, "derived",
            f"the drive's curve with distances shorter by {density:.4f}: a seek over the same part of the stroke "
            "takes as long, and the mean stays the 5.7 ms that the paper prints",
        ),
        "bus_ms_per_block": fact(
            0.0032, "hong2006", section, "assumed",
            "160 MB/s, the fastest bus that the drive was sold with; the 0.099 ms of its validation set, 5.2 "
            "MB/s, would undo the change",
        ),
    }  # fmt: skip
    facts = {key: changed.get(key, fact) for key, fact in base.items()}
    return Entry(
        "Atlas 10K with a media rate of 50 MB/s, as Hong et al. 2006 use it",
        """
The paper takes the Quantum Atlas 10K and changes its maximal throughput to 50 MB/s, without saying how. Here its tracks
hold more sectors and its zones have fewer cylinders, in the same proportion, so that capacity, rotation, seek times and
the share of the stroke that each zone has stay as they were. The 50 MB/s are those of the outermost track as it passes.
""",
        facts,
    )


def superdisk() -> Entry:
    """Return the SuperDisk of Schlosser et al. 2000."""
    base = catalogued("atlas10k")
    profile, rpm, average_ms, full_ms, settle_ms = bands(base), 20_000.0, 3.12, 8.50, 0.46
    density = sectors_at(125, rpm) / profile[0].sectors
    # The mean of a straight line over all pairs of cylinders is its value at a third of the stroke.
    single_ms = round((3 * average_ms - full_ms) / 2, 3)
    revolution_ms = 60_000 / rpm
    head_switch_ms = base["head_switch_ms"].value
    skews = (head_switch_ms + settle_ms) / revolution_ms, (single_ms + settle_ms) / revolution_ms
    table, text = "Table 3", "Section 3.1"
    own = {
        "surfaces": fact(12, "schlosser2000", table, "published"),
        "zones": fact(
            stretched(profile, base["cylinders"].value, density, skews), "schlosser2000", table, "derived",
            f"the zones of the Atlas 10K with {density:.4f} times the sectors on each track: 125 MB/s under the "
            "head on the outermost; skews just cover a head switch or a seek of one cylinder, and the settling of "
            "a write",
        ),
        "rotation_rpm": fact(
            rpm, "schlosser2000", table, "published",
            "half a revolution is 1.5 ms; the 1.36 ms that the table gives as average rotational latency must "
            "come from a run, as the 2.21 ms of the Atlas 10K, whose half revolution is 2.99 ms",
        ),
        "seek": fact(
            {"curve": "linear", "single_ms": single_ms, "full_ms": full_ms}, "schlosser2000", table, "derived",
            "the straight line through the average of 3.12 ms and the full stroke of 8.50 ms for reads; a curve "
            "that bends as those of drives do cannot have both",
        ),
        "write_settle_ms": fact(
            settle_ms, "schlosser2000", table, "derived", "3.58 ms less 3.12 ms, and 8.96 ms less 8.50 ms"
        ),
        "bus_ms_per_block": fact(
            0.0032, "schlosser2000", text, "assumed", "160 MB/s: a bus that a bandwidth of 125 MB/s fits through"
        ),
        "sparing": fact("none", "schlosser2000", table, "assumed", "the paper names no spares"),
    }  # fmt: skip
    note = "as the Atlas 10K, from which the paper extrapolates; it prints no figure"
    rest = borrowed(base, note, but={*own, "capacity_blocks", "rotation_error_percent"})
    return Entry(
        "SuperDisk: a disk of the year 2005 as projected in 2000",
        """
A disk that Schlosser et al. 2000 extrapolate from the trends of their day, to set against MEMS storage: 20,000
revolutions per minute, 12 surfaces, 125 MB/s, seeks of 3.12 ms on average. What the paper does not print is that of the
Atlas 10K, the number of cylinders among it; capacity 40 GB.
""",
        {key: own[key] if key in own else rest[key] for key in [*base, *own] if key in own or key in rest},
    )


def uberdisk() -> Entry:
    """Return the Überdisk of Schlosser and Ganger 2004."""
    profile = bands(catalogued("atlas10k"))
    rpm, cylinders, surfaces, single_ms, full_ms, head_switch_ms = 55_000.0, 39_511, 2, 0.1, 2.0, 0.01
    capacity = round(41.6e9 / SECTOR_BYTES)
    revolution_ms = 60_000 / rpm
    skews = head_switch_ms / revolution_ms, single_ms / revolution_ms
    profile = [Band(band.cylinders, band.sectors, *skews) for band in profile]
    # The line of the long seeks leaves the square root of the short ones without a step and without a kink.
    border = round(cylinders * 383 / 1962)
    slope = (full_ms - single_ms) / (cylinders - 1 + border - 2 * math.sqrt(border))
    root = 2 * slope * math.sqrt(border)
    seek = {
        "curve": "hpl",
        "short_below": float(border),
        "short_constant_ms": round(single_ms - root, 9),
        "short_sqrt_ms": round(root, 9),
        "long_constant_ms": round(single_ms - root + slope * border, 9),
        "long_linear_ms": round(slope, 12),
    }
    table = "Table 2"
    facts = {
        "block_bytes": fact(SECTOR_BYTES, "schlosser2004", "Section 3", "published"),
        "capacity_blocks": fact(capacity, "schlosser2004", table, "derived", "41.6 GB"),
        "surfaces": fact(surfaces, "schlosser2004", table, "published"),
        "cylinders": fact(cylinders, "schlosser2004", table, "published"),
        "zones": fact(
            holding(profile, cylinders, surfaces, capacity), "schlosser2004", f"{table} and Section 5.2", "derived",
            "the zones of the Atlas 10K over the cylinders of the table, with just the sectors that its capacity "
            "needs; skews just cover a head switch or a seek of one cylinder. The paper extrapolates linear "
            "densities and prints none",
        ),
        "mapping": fact("cylinder", "schlosser2004", "Section 3.1", "published"),
        "rotation_rpm": fact(rpm, "schlosser2004", table, "published"),
        "seek": fact(
            seek, "schlosser2004", f"{table} and Section 5.2", "derived",
            "the formula of Ruemmler and Wilkes 1994 that the paper names, through 0.1 ms and 2.0 ms, without "
            "step or kink; the border between its parts lies at the same share of the stroke as on the HP 97560 "
            "there, 383 of 1962",
        ),
        "head_switch_ms": fact(head_switch_ms, "schlosser2004", table, "published"),
        "write_settle_ms": fact(0.0, "schlosser2004", table, "assumed", "the table names none"),
        "bus_ms_per_block": fact(
            0.00512, "schlosser2004", table, "derived",
            "100 MB/s: at 55,000 rpm 41.6 GB on 79,022 tracks pass at 482 MB/s, so the bus must be what limits "
            "streaming",
        ),
        "buffer_caching": fact(False, "schlosser2004", "Section 5.2", "published"),
        "buffer_segments": fact(1, "schlosser2004", "Section 5.2", "assumed", "one will do for one request at a time"),
        "segment_blocks": fact(
            8192, "schlosser2004", "Section 5.2", "assumed",
            "4 MB, several tracks, so that the medium never has to wait for long for the bus in a large request",
        ),
    }  # fmt: skip
    return Entry(
        "Überdisk: a disk as fast as a MEMS device",
        """
The disk that Schlosser and Ganger 2004 imagine so as to tell what is peculiar to MEMS storage from what is merely fast.
Its table says neither how seeks and zones go between their ends nor where the 100 MB/s come from; the notes say what
was taken. Nothing is fitted to the mean access time: random reads of 4 KB in the first 3.46 GB take the 0.88 ms of the
paper all the same. With `capacity_blocks = 6750000` the disk offers those first 3.46 GB alone.
""",
        facts,
    )


def cheetah73() -> Entry:
    """Return the Cheetah 73."""
    base = catalogued("cheetah9LP")
    cylinders, surfaces, average_ms, manual = 14_100, 24, 5.85, "Section 4, drive characteristics"
    points, measured = base["seek"].value["points"], base["cylinders"].value
    scale = average_ms / mean_seek_ms(points, measured)
    settle_ms, rpm = 0.5, 10_000.0
    switch_ms, single_ms = base["head_switch_ms"].value + settle_ms, points[0][1] * scale + settle_ms
    skews = switch_ms * rpm / 60_000, single_ms * rpm / 60_000
    profile = [Band(band.cylinders, band.sectors, *skews) for band in bands(base)]
    unchecked = "as quoted for the drive; not checked against the manual"
    stretch = "the measured curve of the Cheetah 9LP"
    longer = (cylinders - 1) / (measured - 1)
    behind = [[round(distance * longer, 1), round(ms * scale, 4)] for distance, ms in points[1:]]
    seek = {"curve": "table", "points": [[1.0, round(points[0][1] * scale, 4)], *behind]}
    own = {
        "block_bytes": fact(SECTOR_BYTES, "seagate2001", manual, "assumed", unchecked),
        "capacity_blocks": fact(
            BLOCKS_73_GB, "seagate2001", manual, "assumed", "73.4 GB; what the maker's drives of this size offer"
        ),
        "surfaces": fact(surfaces, "seagate2001", manual, "assumed", unchecked),
        "cylinders": fact(cylinders, "seagate2001", manual, "assumed", unchecked),
        "zones": fact(
            holding(profile, cylinders, surfaces, BLOCKS_73_GB), "disksim4", base["zones"].where, "derived",
            "the zones of the Cheetah 9LP, the same maker's drive of two years before, over the cylinders of this one, "
            "with just the sectors that its capacity needs; skews just cover a head switch or a seek of one cylinder, "
            "and the settling of a write",
        ),
        "sparing": fact("none", "seagate2001", manual, "assumed", "the capacity counts no spares"),
        "rotation_rpm": fact(rpm, "seagate2001", manual, "assumed", unchecked),
        "seek": fact(
            seek, "disksim4", base["seek"].where, "derived",
            f"{stretch}, over the stroke of this drive and {scale:.4f} times as long, for an average of 5.85 ms "
            f"(reads), {unchecked}",
        ),
        "write_settle_ms": fact(
            settle_ms, "seagate2001", manual, "assumed", f"the mean of writes, 6.35 ms, less that of reads; {unchecked}"
        ),
        "bus_ms_per_block": fact(0.0032, "seagate2001", "Title", "derived", "Ultra160 SCSI: 160 MB/s"),
        "buffer_segments": fact(16, "seagate2001", manual, "assumed", "of the 4 MB of its buffer"),
        "segment_blocks": fact(512, "seagate2001", manual, "assumed", f"a sixteenth of 4 MB; {unchecked}"),
        "read_ahead_most_blocks": fact(512, "seagate2001", manual, "assumed", "as much as a segment holds"),
    }  # fmt: skip
    note = "as the Cheetah 9LP, the same maker's drive of two years before"
    rest = borrowed(base, note, but={*own, "rotation_error_percent"})
    return Entry(
        "Seagate Cheetah 73 (ST173404)",
        """
The drive of the disk array in Schlosser and Ganger 2004: 73.4 GB, 10,000 rpm, 12 discs. No parameters of it were ever
extracted: what is quoted of it is joined to the measured profile of the Cheetah 9LP of the same maker. The product
manual (83329478, Rev. F, January 2001) was not at hand when this entry was made: every figure that should be checked
against it is marked as assumed.
""",
        {key: own[key] if key in own else rest[key] for key in [*base, *own] if key in own or key in rest},
    )


PROJECTED: dict[str, Callable[[], Entry]] = {
    "atlas10k-50mb": atlas10k_50mb,
    "superdisk": superdisk,
    "uberdisk": uberdisk,
    "cheetah73": cheetah73,
}


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is out of date")
    return write(PROJECTED, check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
