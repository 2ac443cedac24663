"""Calibration from the logs of jobs: a drive's parameters, one group after the other, then against the simulator."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sledsim.studies.drive_calibration.geometry import (
    Accesses,
    ZoneMap,
    chained,
    find_period,
    fit_zones,
    streams_of,
)
from sledsim.studies.drive_calibration.mechanics import DiskLayout, find_layout, find_moves, seek_curve, fit_time
from sledsim.studies.drive_calibration.serving import Log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def accesses_of(log: Log) -> Accesses:
    """Return the accesses of a log of one access at a time."""
    end = chained(log.stamps_ms, log.latency_ms)
    return Accesses(log.lbns, log.sectors, log.reads, end - log.latency_ms, end)


def fit_mechanics(logs: dict[str, Log], capacity: int) -> Any:
    import numpy as np

    rotation, probes = accesses_of(logs["rotation"]), accesses_of(logs["probes"])
    period, coherence = find_period(rotation.lbns, rotation.end_ms)
    streams = streams_of(accesses_of(logs["streams"]), period)
    for _ in range(2):
        zones = fit_zones(streams, probes.lbns + probes.sectors - 1, probes.end_ms / period)
        layout = find_layout(zones, capacity)
        moves, share, residual = find_moves(probes, layout, period)
        near = np.abs(residual) < 0.1
        slope = np.polyfit(probes.end_ms[near], residual[near], 1)[0]
        period = 1 / (1 / period - slope)
    moves, share, residual = find_moves(probes, layout, period)
    seeks = seek_curve(moves, sum(layout.cylinders()), period)
    hits = logs["hits"]
    second = np.arange(len(hits.lbns)) % 2 == 1
    sizes, times = hits.sectors[second], hits.latency_ms[second]
    least = np.array([[size, np.median(times[sizes == size])] for size in np.unique(sizes)])
    bus, overhead = np.polyfit(least[:, 0], least[:, 1], 1)
    bus, overhead = max(float(bus), 0.0), max(float(overhead), 0.0)
    base = overhead + bus * 8
    device = {
        "name": "calibrated",
        "mechanism": "disk",
        "block_bytes": 512,
        "capacity_blocks": capacity,
        **layout.keys(),
        "rotation_rpm": 60_000 / period,
        "seek": {"curve": "table", "points": [[float(d), max(float(t) - base, 0.0)] for d, t in zip(seeks.distances, seeks.times_ms)]},
        "head_switch_ms": max(seeks.head_switch_ms[0] - base, 0.0) if seeks.head_switch_ms else 0.0,
        "bus_ms_per_block": bus,
        "request_overhead_ms": overhead,
        "hold_bus_reading": True,
        "read_ahead": "segment",
        "stop_read_ahead_in_sector": True,
        "transfer_partial_hits": True,
        "almost_read_hits": True,
        "buffer_segments": 16,
        "segment_blocks": 8192,
    }
    if seeks.same_ms:
        device["least_read_seek_ms"] = max(seeks.same_ms[0] - base, 0.0)
    return device, period, coherence, share, seeks
