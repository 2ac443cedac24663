"""Random disk drives, of layouts by cylinder and of seek-first layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["random_drive"]


def random_drive(seed: int) -> dict[str, Any]:
    """Return a random drive: seek-first with queue and write cache for even seeds, by cylinder for odd ones."""
    random = np.random.default_rng(seed)
    is_new = seed % 2 == 0
    rpm = float(random.choice([5400, 5900, 7200] if is_new else [5400, 7200, 10025, 10000, 15000]))
    rpm *= 1 + random.normal(0, 1e-4)
    period = 60_000 / rpm
    surfaces = int(random.integers(1, 19) if is_new else random.integers(2, 17))
    number = int(random.integers(10, 26) if is_new else random.integers(4, 20))
    cylinders = int(random.integers(60_000, 400_000) if is_new else random.integers(4_000, 40_000))
    outer = int(random.integers(2500, 5000) if is_new else random.integers(250, 1200))
    inner = outer * random.uniform(0.45, 0.65)
    tracks = np.round(np.linspace(outer, inner, number) + random.normal(0, 0.002 * outer, number)).astype(int)
    tracks = np.sort(tracks // 8 * 8 if is_new else tracks)[::-1]
    widths = random.uniform(0.6, 1.4, number)
    ends = np.round(np.cumsum(widths) / widths.sum() * cylinders).astype(int)
    ends[-1] = cylinders
    switch, single, settle = random.uniform(0.5, 1.6), random.uniform(0.5, 1.4), float(random.uniform(0, 0.4))
    average = random.uniform(6, 11) if rpm < 9000 else random.uniform(3.5, 6)
    # Skews cover a switch and the settling of a write.
    skew = (single if is_new else switch) + settle + random.uniform(0.05, 0.3)
    change = max(switch, single) + settle + random.uniform(0.15, 0.6)
    zones, first = [], 0
    for sectors, end in zip(tracks.tolist(), ends.tolist(), strict=True):
        zones.append(
            {
                "first_cylinder": first,
                "last_cylinder": end - 1,
                "sectors_per_track": sectors,
                "track_skew_sectors": float(round(skew / period * sectors)),
                "cylinder_skew_sectors": float(round(change / period * sectors)),
            }
        )
        first = end
    drive: dict[str, Any] = {
        "name": f"drive-{seed}",
        "mechanism": "disk",
        "block_bytes": 512,
        "surfaces": surfaces,
        "cylinders": cylinders,
        "zones": zones,
        "rotation_rpm": rpm,
        "seek": {
            "curve": "lee",
            "single_ms": float(single),
            "average_ms": float(average),
            "full_ms": float(average * random.uniform(1.8, 2.3)),
        },
        "head_switch_ms": float(switch),
        "write_settle_ms": settle,
        "bus_ms_per_block": float(0.512 / (random.uniform(400, 600) if is_new else random.uniform(160, 320))),
        "request_overhead_ms": float(random.uniform(0.02, 0.3)),
        "hold_bus_reading": True,
        "buffer_segments": int(random.integers(4, 32)),
        "segment_blocks": int(random.choice([512, 1024, 2048, 4096, 8192])),
        "read_ahead": "segment",
        "stop_read_ahead_in_sector": True,
        "transfer_partial_hits": True,
        "almost_read_hits": True,
    }
    if is_new:
        drive["mapping"] = "seek-first-serpentine"
        drive["mapping_group_cylinders"] = int(random.integers(50, 400))
        drive["command_queue"] = {"depth": 32, "window": int(random.choice([4, 8, 16, 32])), "turnaround_ms": 0.05}
        extents, window = int(random.choice([128, 256, 512])), int(random.choice([4, 8, 16, 64]))
        drive["write_cache"] = {"blocks": 65536, "extents": extents, "window": window}
    else:
        drive["mapping"] = str(random.choice(["cylinder", "serpentine", "serpentine-by-zone"]))
        if random.random() < 0.5:
            blocks, window = int(random.choice([2048, 8192])), int(random.choice([4, 8, 16]))
            drive["write_cache"] = {"blocks": blocks, "extents": 64, "window": window}
    return drive
