"""Write the drives of the catalogue whose powers are known, from data sheets and from what papers print of them.

What no source at hand tells is assumed and says so; docs/reference/devices.md tells how.

    python tools/data_sheet_drives.py            write the files
    python tools/data_sheet_drives.py --check    exit with 1 where a file is out of date
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from drive_catalogue import Entry, Fact, catalogued, write
from projected_drives import SECTOR_BYTES, bands, blocks, fact, mean_seek_ms, sectors_at, stretched

if TYPE_CHECKING:
    from collections.abc import Callable

# Sectors that a Travelstar DARA-212000 reports to hosts.
BLOCKS_12_GB = 23_579_136
# Sectors of a SCSI drive that is sold as one of 36.7 GB.
BLOCKS_36_GB = 71_687_340

# The modes of Schlosser et al. 2000; travelstar_power_note() tells where each figure comes from.
TRAVELSTAR_POWER = {
    "active_read_w": 2.5,
    "active_write_w": 2.7,
    "idle_modes": [
        {"name": "performance idle", "power_w": 2.0},
        {"name": "fast idle", "power_w": 1.3, "after_s": 1.0, "wake_ms": 40.0, "wake_w": 2.2},
        {"name": "low-power idle", "power_w": 0.85, "after_s": 4.0, "wake_ms": 400.0, "wake_w": 2.2},
        {"name": "standby", "power_w": 0.2, "after_s": 12.0, "wake_ms": 2000.0, "wake_w": 2.2},
    ],
}


def even_zones(sectors: list[int], cylinders: int, skews_ms: tuple[float, float], rpm: float) -> list[dict[str, Any]]:
    """Return zones of equal width with those sectors on a track, and skews that cover those times."""
    zones = []
    for index, count in enumerate(sectors):
        track, cylinder = (float(math.ceil(ms * rpm / 60_000 * count)) for ms in skews_ms)
        zones.append(
            {
                "first_cylinder": index * cylinders // len(sectors),
                "last_cylinder": (index + 1) * cylinders // len(sectors) - 1,
                "sectors_per_track": count,
                "track_skew_sectors": track,
                "cylinder_skew_sectors": cylinder,
            }
        )
    return zones


def travelstar() -> Entry:
    """Return the Travelstar 12GN with the powers of Schlosser et al. 2000."""
    sheet, seeks, surfaces, rpm = "ibm1999", "Section 3.3", 4, 4200.0
    single_ms, settle_ms = 2.5, 2.0
    mean_sectors, count, spread = 292, 12, 1.9
    inner = 2 * mean_sectors / (1 + spread)
    sectors = [round(inner * (spread - index * (spread - 1) / (count - 1))) for index in range(count)]
    cylinders = math.ceil(BLOCKS_12_GB / surfaces / (sum(sectors) / count))
    skews_ms = (single_ms + settle_ms, single_ms + settle_ms)
    zones = even_zones(sectors, cylinders, skews_ms, rpm)
    if blocks(zones, surfaces) < BLOCKS_12_GB:
        message = "the zones hold less than the drive offers"
        raise ValueError(message)
    model = "model DARA-212000"
    facts = {
        "block_bytes": fact(SECTOR_BYTES, sheet, "Section 1, general", "published"),
        "capacity_blocks": fact(
            BLOCKS_12_GB, sheet, f"Section 1, general, {model}", "assumed",
            "12.07 GB: the sectors that drives of this model report to hosts, for one of 12 GB",
        ),
        "surfaces": fact(surfaces, "box86", f"Table of hard disks, {model}", "published"),
        "cylinders": fact(
            cylinders, "box86", f"Table of hard disks, {model}", "derived",
            f"what {mean_sectors} sectors on the average track of {surfaces} surfaces leave for the capacity",
        ),
        "zones": fact(
            zones, "box86", f"Table of hard disks, {model}", "assumed",
            f"{count} zones with {mean_sectors} sectors on the average track are printed; that they are of equal "
            f"width, and that sectors fall evenly from {spread} times those of the innermost, is assumed: the 10 GB "
            "model of the same maker's Travelstar 15GN passes 105 to 199 Mbit/s. Skews just cover a seek of one "
            "cylinder and the settling of a write",
        ),
        "mapping": fact("cylinder", sheet, model, "assumed", "not known"),
        "rotation_rpm": fact(rpm, sheet, "Section 1, general", "published"),
        "seek": fact(
            {"curve": "lee", "single_ms": single_ms, "average_ms": 12.0, "full_ms": 23.0},
            sheet, f"{seeks}.2, average seek; {seeks}.3, single track seek", "derived",
            "typical times of reads; that of the full stroke is the one of the DBCA-2xxxxx, the same maker's drives "
            "of the year before with the same single track seek (section 3.3.4 of their specification)",
        ),
        "head_switch_ms": fact(
            single_ms, sheet, f"{seeks}.3, single track seek", "assumed", "as long as a seek to the next track"
        ),
        "write_settle_ms": Fact(
            settle_ms, sheet, f"{seeks}.2, average seek", "derived",
            "14 ms of a write less 12 ms of a read; single tracks differ by less, but random requests seek farther",
            ({"value": 0.5, "source": sheet, "where": f"{seeks}.3, single track seek: 3.0 ms less 2.5 ms"},),
        ),
        **travelstar_electronics(sheet, model),
    }  # fmt: skip
    return Entry(
        "IBM Travelstar 12GN (DARA-212000), with the power modes of Schlosser et al. 2000",
        """
A mobile drive of 1999: 12.07 GB, 4,200 rpm, 4 surfaces. The five power modes are those that Schlosser et al. 2000
give "IBM's low-power Travelstar", without saying which and without its mechanics; these are from the maker's
specification of a drive of that time, as far as it was at hand.
""",
        facts,
    )


def travelstar_electronics(sheet: str, model: str) -> dict[str, Fact]:
    """Return what is not mechanics, from the specification with that key."""
    return {
        "bus_ms_per_block": fact(
            0.00768, sheet, model, "assumed",
            "66.7 MB/s: Ultra DMA mode 4, the fastest that drives of this model report",
        ),
        "read_miss_after_read_ms": fact(
            1.0, "ibm2001", "Section 4.5, command overhead", "assumed",
            "as the same maker's Travelstars of two years later",
        ),
        "read_miss_after_write_ms": fact(
            1.0, "ibm2001", "Section 4.5, command overhead", "assumed", "as after a read"
        ),
        "buffer_segments": fact(4, sheet, model, "assumed", "not known"),
        "segment_blocks": fact(
            209, sheet, model, "assumed", "a quarter of the 418 KiB of buffer that drives of this model report to hosts"
        ),
        "read_ahead": fact(
            "segment", sheet, "Section 3.3, performance characteristics", "assumed",
            "it looks ahead; how far is not known",
        ),
        "fast_write": fact(
            "full", sheet, "Section 3.3, performance characteristics", "assumed", "it has a write cache"
        ),
        "power": fact(TRAVELSTAR_POWER, "schlosser2000", "Section 4.3, Table 4", "derived", travelstar_power_note()),
    }  # fmt: skip


def travelstar_power_note() -> str:
    """Return what the powers of the Travelstar rest on."""
    return (
        "The powers of the modes and the times of their returns (40 to 400 ms, and 2 s) are printed. The power of a "
        "return is not: it follows from Table 4, where a return from low-power idle is 0.880 J = 0.4 s * 2.2 W, and "
        "228.8 J of spin-ups = 52 * 2 s * 2.2 W, and 513.48 J of other returns = 5835 * 0.04 s * 2.2 W. The text "
        "limits the time spent in each mode: 1 s, 3 s and 8 s, so that a mode is entered 1 s, 4 s and 12 s after "
        "the last activity; 12 s agrees with its 'at least 10 seconds before going into standby'. If they counted "
        "from the last activity (after_s = 1, 3, 8), standby would come after 8 s. Table 4 fits neither exactly: "
        "for Andrew a drive in low-power idle has spent 2.400 J / 1.3 W = 1.8 s in fast idle, less than the 3 s or "
        "2 s that come before; for Netscape the returns force at least 600 passages through fast idle, 3 s each "
        "would be 2340 J of the 1799.885 J printed, 2 s each 1560 J. As maxima the times agree with both: the drive "
        "may leave a mode sooner"
    )


# What the Ultrastar 36Z15 draws.
ULTRASTAR_POWER = {
    "active_read_w": 13.5,
    "active_write_w": 13.5,
    "idle_modes": [
        {"name": "idle", "power_w": 10.2},
        {"name": "standby", "power_w": 2.5, "wake_ms": 10_900.0, "wake_w": 12.39},
    ],
}


def ultrastar36z15() -> Entry:
    """Return the Ultrastar 36Z15."""
    base = catalogued("atlas10k")
    profile, rpm, surfaces, average_ms = bands(base), 15_000.0, 12, 4.2
    density = sectors_at(55, rpm) / profile[0].sectors
    points, measured = base["seek"].value["points"], base["cylinders"].value
    scale = average_ms / mean_seek_ms(points, measured)
    head_switch_ms, settle_ms = base["head_switch_ms"].value, base["write_settle_ms"].value
    single_ms = points[0][1] * scale
    skews = tuple((ms + settle_ms) * rpm / 60_000 for ms in (head_switch_ms, single_ms))
    cylinders = measured
    while blocks(stretched(profile, cylinders, density, skews), surfaces) < BLOCKS_36_GB:
        cylinders += 1
    longer = (cylinders - 1) / (measured - 1)
    behind = [[round(distance * longer, 1), round(ms * scale, 4)] for distance, ms in points[1:]]
    seek = {"curve": "table", "points": [[1.0, round(single_ms, 4)], *behind]}
    like = "as the Atlas 10K, the measured server drive nearest to it"
    facts = {
        "block_bytes": fact(SECTOR_BYTES, "ibm2001ultrastar", "Title", "assumed", "as all drives of its kind"),
        "capacity_blocks": fact(
            BLOCKS_36_GB, "ibm2001ultrastar", "Title", "assumed", "36.7 GB; what drives of this size offer"
        ),
        "surfaces": fact(
            surfaces, "ibm2001ultrastar", "Title", "assumed", "six platters; not checked against a data sheet"
        ),
        "cylinders": fact(
            cylinders, "disksim4", base["zones"].where, "derived", "as many as its capacity needs with these zones"
        ),
        "zones": fact(
            stretched(profile, cylinders, density, skews), "disksim4", base["zones"].where, "derived",
            f"the zones of the Atlas 10K with {density:.4f} times the sectors on each track, so that the outermost "
            "passes at the 55 MB/s that studies of its power take; skews just cover a head switch or a seek of one "
            "cylinder, and the settling of a write",
        ),
        "rotation_rpm": fact(rpm, "ibm2001ultrastar", "Title", "published"),
        "seek": fact(
            seek, "disksim4", base["seek"].where, "derived",
            f"the measured curve of the Atlas 10K over the stroke of this drive and {scale:.4f} times as long, for the "
            "average of 4.2 ms that is quoted for the drive",
        ),
        "head_switch_ms": fact(head_switch_ms, "disksim4", base["head_switch_ms"].where, "assumed", like),
        "write_settle_ms": fact(settle_ms, "disksim4", base["write_settle_ms"].where, "assumed", like),
        "bus_ms_per_block": fact(0.0032, "ibm2001ultrastar", "Title", "derived", "Ultra160 SCSI: 160 MB/s"),
        "buffer_segments": fact(16, "ibm2001ultrastar", "Title", "assumed", "of the 4 MB of its buffer"),
        "segment_blocks": fact(512, "ibm2001ultrastar", "Title", "assumed", "a sixteenth of 4 MB"),
        "read_ahead": fact("segment", "ibm2001ultrastar", "Title", "assumed", "it looks ahead; how far is not known"),
        "power": fact(
            ULTRASTAR_POWER, "prefetching2008", "Disk parameters of the IBM 36Z15, as simulators quote them",
            "published",
            "13.5 W active, 10.2 W idle, 2.5 W in standby (the same in deng2011), and 12.39 W for the 10.9 s of a "
            "spin-up: the 135 J of zhu2005, section 2.1. Its spin-down of 1.5 s at 8.67 W is not modelled: the "
            "drive stops at once, which is 9.3 J cheaper (1.5 s * (8.67 - 2.5) W). Of the four modes that li1994 "
            "tells apart these are ACTIVE, IDLE and SLEEP; a drive that is OFF serves nobody. A server drive does "
            "not stop by itself: a spin-down policy makes it",
        ),
    }  # fmt: skip
    return Entry(
        "IBM Ultrastar 36Z15",
        """
A server drive of 2001, the one by which studies of disk power go: 36.7 GB, 15,000 rpm, 13.5 W at work, 10.2 W idle,
2.5 W in standby, from which it takes 10.9 s to return. Its powers are printed; its mechanics are quoted figures joined
to the measured profile of the Atlas 10K.
""",
        facts,
    )


DRIVES: dict[str, Callable[[], Entry]] = {"travelstar": travelstar, "ultrastar36z15": ultrastar36z15}


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is out of date")
    return write(DRIVES, check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
