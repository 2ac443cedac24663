"""Calibration from the logs of jobs: geometry, mechanics, and then queue and write cache against the simulator."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.studies.drive_calibration.geometry import (
    Accesses,
    ZoneMap,
    chained,
    find_boundaries,
    find_period,
    find_zones,
    join_zones,
    refit_zones,
    streams_of,
)
from sledsim.studies.drive_calibration.jobs import SMALL, Job
from sledsim.studies.drive_calibration.mechanics import (
    MOST_SURFACES,
    DiskLayout,
    SeekFit,
    find_moves,
    fit_time,
    layout_of,
    misfit_ms,
    positions,
    seek_curve,
)
from sledsim.studies.drive_calibration.serving import Log, serve_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NOT_IDENTIFIABLE", "Parameter", "accesses_of", "fit_behaviour", "fit_mechanics", "flush_times_ms"]

#: The interval of a parameter that the data do not show.
NOT_IDENTIFIABLE = "not identifiable from this data"
#: Least share of probes whose ends a layout must explain.
LEAST_SHARE = 0.5
#: Numbers of surfaces that are tried.
CANDIDATES = 6
#: Windows that are tried for the command queue and the write cache; None chooses among all.
WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, None)
#: Sequential reads that test the head switch.
STREAM_READS = 4000
#: Reductions of the head switch that are tried, ms: those of its interval.
SWITCHES = (0.0, 0.1, 0.2, 0.3)
#: Capacities of the write cache that are tried, blocks.
BLOCKS = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288)
#: Changes of the settling time of writes that are tried, as shares of half its interval.
SETTLES = (0.0, -0.5, 0.5, -1.0, 1.0)
#: Penalty of a change by half an interval (settling) or by 0.1 ms (head switch), added to the squared relative error.
CHANGE_PENALTY = 0.0002
#: Numbers of extents that are tried for the write cache.
EXTENTS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the fitted drive.

    Parameters
    ----------
    name, value, unit
        The key of the device, its value and unit.
    interval
        Half its 95 % interval (``±``; for skews from jobs the standard error), the range of tried values that fit about
        as well as the best one (``to``), for corrections of a passive trace the standard error, or the reason why there
        is none of them.
    """

    name: str
    value: str
    unit: str
    interval: str


@dataclass
class Fit:
    """A drive in the making.

    Parameters
    ----------
    device
        The keys of the device.
    parameters
        The fitted parameters.
    """

    device: dict[str, Any]
    parameters: list[Parameter] = field(default_factory=list)


def accesses_of(log: Log) -> Accesses:
    """Return the accesses of a log of one access at a time."""
    end = chained(log.stamps_ms, log.latency_ms)
    return Accesses(log.lbns, log.sectors, log.reads, end - log.latency_ms, end)


def fit_mechanics(logs: "Mapping[str, Log]", capacity: int) -> Fit:
    """Fit rotation, layout, seek curve, overhead and link.

    Parameters
    ----------
    logs
        The logs of the jobs ``rotation``, ``probes``, ``streams`` and ``hits``.
    capacity
        Number of sectors of the drive.

    Raises
    ------
    SledsimError
        If the logs show no rotation or no tracks.
    """
    import numpy as np

    rotation, probes = accesses_of(logs["rotation"]), accesses_of(logs["probes"])
    period, coherence = find_period(rotation.lbns, rotation.end_ms)
    if coherence < LEAST_SHARE:
        message = f"no rotational period: angles agree by {coherence:.2f} of 1. Is it a disk, and otherwise idle?"
        raise make_error(SledsimError, "misfit", message, path="rotation", value=round(coherence, 3))
    streams = streams_of(accesses_of(logs["streams"]), period)
    last = probes.lbns + probes.sectors - 1
    found = find_zones(streams, last, probes.end_ms / period)
    overhead, bus = _overhead(logs["hits"])
    if not found:
        message = (
            f"track ends are not visible in the streams: the link ({0.512 / bus if bus else 0:.0f} MB/s) or the host "
            "is slower than the medium, or the host pauses; measure again on an idle machine, with a faster link or a "
            "larger --scale"
        )
        raise make_error(SledsimError, "misfit", message, path="streams", value=len(streams))
    layout = _layout(found, probes, period, capacity)
    for _ in range(2):
        residual = find_moves(probes, layout, period)[2]
        near = np.abs(residual) < 0.1
        period = float(1 / (1 / period - np.polyfit(probes.end_ms[near], residual[near], 1)[0]))
        layout = replace(layout, zones=refit_zones(layout.zones, last, probes.end_ms / period))
    moves, share, residual = find_moves(probes, layout, period)
    if share < LEAST_SHARE:
        message = (
            f"the layout explains only {100 * share:.0f} % of the random reads: measure again on an idle machine, "
            "with a larger --scale"
        )
        raise make_error(SledsimError, "misfit", message, path="probes", value=round(share, 3))
    cylinders = sum(layout.cylinders())
    base = overhead + bus * SMALL
    seeks = seek_curve(moves.rows(moves.reads), cylinders, period, base)
    device: dict[str, Any] = {
        "mechanism": "disk",
        "block_bytes": 512,
        "capacity_blocks": capacity,
        **layout.keys(),
        "rotation_rpm": 60_000 / period,
        "seek": {
            "curve": "table",
            "points": [
                [float(distance), round(max(float(time) - base, 0.0), 4)]
                for distance, time in zip(seeks.distances, seeks.times_ms, strict=True)
            ],
        },
        "head_switch_ms": round(max(seeks.head_switch_ms[0] - base, 0.0), 4) if seeks.head_switch_ms else 0.0,
        "bus_ms_per_block": round(bus, 7),
        "request_overhead_ms": round(overhead, 5),
        "hold_bus_reading": True,
        "read_ahead": "segment",
        "stop_read_ahead_in_sector": True,
        "transfer_partial_hits": True,
        "almost_read_hits": True,
        "buffer_segments": 16,
        "segment_blocks": 8192,
    }
    if seeks.same_ms:
        device["least_read_seek_ms"] = round(max(seeks.same_ms[0] - base, 0.0), 4)
    span = float(np.ptp(probes.end_ms))
    spread = float(np.std(residual[np.abs(residual) < 0.1])) * period
    period_half = 1.96 * spread * np.sqrt(12 / len(residual)) / span * period
    zones = layout.zones
    rates = [zone.sectors_per_track * 512 / period / 1e3 for zone in (zones[0], zones[-1])]
    parameters = [
        Parameter("rotation_rpm", f"{60_000 / period:.5f}", "rpm", f"±{60_000 / period * period_half / period:.1g}"),
        Parameter("zones", str(len(zones)), "", f"{100 * share:.1f} % of reads end as the layout says"),
        Parameter(
            "sectors_per_track", f"{zones[0].sectors_per_track} to {zones[-1].sectors_per_track}", "", "whole numbers"
        ),
        Parameter("media rate", f"{rates[0]:.1f} to {rates[1]:.1f}", "MB/s", ""),
        Parameter("mapping", str(device["mapping"]), "", "order of heads: " + NOT_IDENTIFIABLE),
        Parameter("surfaces", str(layout.surfaces), "", "" if len(zones) > 2 else NOT_IDENTIFIABLE),
        Parameter("cylinders", f"{cylinders:,}", "", ""),
        Parameter(
            "track skew", f"{(zones[0].skew % 1) * period:.3f}", "ms", f"±{spread / np.sqrt(zones[0].reads or 1):.1g}"
        ),
        Parameter(
            "cylinder skew",
            f"{((zones[0].skew + zones[0].extra) % 1) * period:.3f}",
            "ms",
            f"±{spread:.1g}" if zones[0].tracks_per_change else NOT_IDENTIFIABLE,
        ),
        *_seek_parameters(seeks, base),
        Parameter("request_overhead_ms", f"{overhead:.4f}", "ms", "with the host's own time"),
        Parameter("bus_ms_per_block", f"{bus:.6f}", "ms", ""),
        *(Parameter(name, str(device[name]), "", NOT_IDENTIFIABLE) for name in ("buffer_segments", "segment_blocks")),
    ]
    return Fit(device, parameters)


#: Misfit of positioning times that lowers the likelihood of a layout by a factor of e, ms.
MISFIT_SCALE_MS = 0.5
#: Log-odds against a layout for each read that ends at another angle.
ODD_READ_PENALTY = 2.0
#: Log-odds against groups of at most MOST_SURFACES cylinders; known groups have hundreds.
SMALL_GROUP_PENALTY = 10.0


def _layout(found: list[tuple[ZoneMap, int, int]], probes: Accesses, period: float, capacity: int) -> DiskLayout:
    """Return the most likely layout of zones.

    Zones of whole cylinders, angles of reads, and positioning times that depend only on distance and surface all make a
    number of surfaces likely.
    """
    last, angles = probes.lbns + probes.sectors - 1, probes.end_ms / period
    boundaries = find_boundaries(found, last, angles)
    zones = [zone for zone, _, _ in found]
    changes = zones[0].tracks_per_change

    def joined(surfaces: int) -> tuple[float, list[ZoneMap]]:
        placed, likely = join_zones(zones, boundaries, last, angles, surfaces)
        return likely, placed

    every = {surfaces: joined(surfaces) for surfaces in range(1, MOST_SURFACES + 1)}
    chosen = sorted(every, key=lambda surfaces: -every[surfaces][0])[:CANDIDATES]
    tried = []
    if changes is not None and changes in every:
        chosen.append(changes)
    for surfaces in {*chosen, 1}:
        likely, placed = every[surfaces]
        ends = [zone.first for zone in placed[1:]] + [capacity]
        # The tracks between changes are those of a cylinder, or of a group on one surface.
        for group in {None if surfaces == changes else changes, changes}:
            if surfaces == 1 and group and group <= MOST_SURFACES:
                # Skews that repeat after so few tracks are those of several surfaces.
                continue
            layout = DiskLayout(placed, ends, surfaces, group)
            moves, share, _ = find_moves(probes, layout, period)
            contradicted = misfit_ms(moves.rows(moves.reads), period) / MISFIT_SCALE_MS + ODD_READ_PENALTY * (1 - share)
            penalty = SMALL_GROUP_PENALTY if group and group <= MOST_SURFACES else 0.0
            tried.append((likely - penalty - len(probes.lbns) * contradicted, layout))
    return max(tried, key=lambda each: each[0])[1]


def _seek_parameters(seeks: SeekFit, base: float) -> list[Parameter]:
    found = []
    for share in (0.0, 1 / 3, 1.0):
        at = int(abs(seeks.distances - share * seeks.distances[-1]).argmin())
        name = f"seek, {seeks.distances[at]:,.0f} cylinders"
        found.append(Parameter(name, f"{seeks.times_ms[at] - base:.3f}", "ms", f"±{seeks.halves_ms[at]:.2g}"))
    switch, same = seeks.head_switch_ms, seeks.same_ms
    for name, time in (("head_switch_ms", switch), ("least_read_seek_ms", same)):
        value = f"{max(time[0] - base, 0.0):.3f}" if time else "0"
        found.append(Parameter(name, value, "ms", f"±{time[1]:.2g}" if time else NOT_IDENTIFIABLE))
    return found


def _overhead(hits: Log) -> tuple[float, float]:
    """Return the overhead of a command and the time of a block on the link, ms, from reads that are repeated."""
    import numpy as np

    second = np.arange(len(hits.lbns)) % 2 == 1
    sizes, times = hits.sectors[second], hits.latency_ms[second]
    every = np.unique(sizes)
    bus, overhead = np.polyfit(every, [np.median(times[sizes == size]) for size in every], 1)
    return max(float(overhead), 0.0), max(float(bus), 0.0)


def flush_times_ms(log: Log, writes: int) -> float:
    """Return the mean time of the flushes after groups of writes: the time between the writes of two groups.

    Parameters
    ----------
    log
        The log, without the flushes.
    writes
        Writes of a group.
    """
    import numpy as np

    # The first flush also writes what earlier jobs left in the cache.
    return float(np.mean(flush_durations_ms(log, writes)[1:]))


def flush_durations_ms(log: Log, writes: int) -> "NDArray[np.float64]":
    """Return the times of all flushes but the last one: see :func:`flush_times_ms`."""
    groups = len(log.stamps_ms) // writes
    last = log.stamps_ms[writes - 1 :: writes][: groups - 1]
    first = log.stamps_ms[writes::writes][: groups - 1] - log.latency_ms[writes::writes][: groups - 1]
    return first - last


def fit_behaviour(
    fit: Fit, logs: "Mapping[str, Log]", jobs: "Mapping[str, Job]", step: "Callable[[str], None]"
) -> None:
    """Fit the command queue, the settling of writes and the write cache by simulation of the jobs.

    Parameters
    ----------
    fit
        The drive, which is completed.
    logs, jobs
        The measured logs and their jobs. Groups of parameters without logs are left out.
    step
        Called with the name of each group.
    """
    device = fit.device

    def served(name: str, **keys: Any) -> Log:
        return serve_model({**device, **keys}, name, jobs)

    _fit_switch(fit, logs["streams"], jobs)
    _fit_groups(fit, logs, jobs, step, served)
    _update_rows(fit)


def _update_rows(fit: Fit) -> None:
    """Give the rows of the head switch and of seeks the values of the device, which streams may have shortened."""
    points = {f"seek, {distance:,.0f} cylinders": time for distance, time in fit.device["seek"]["points"]}
    values = {"head_switch_ms": fit.device["head_switch_ms"], **points}
    for row, each in enumerate(fit.parameters):
        less = float(each.value) - values[each.name] if each.name in values else 0.0
        if less > 0.001:
            note = f"{each.interval}; {less:.1f} ms shorter for the streams"
            fit.parameters[row] = replace(each, value=f"{values[each.name]:.3f}", interval=note)


def _fit_groups(
    fit: Fit,
    logs: "Mapping[str, Log]",
    jobs: "Mapping[str, Job]",
    step: "Callable[[str], None]",
    served: "Callable[..., Log]",
) -> None:
    """Fit each group of parameters that has logs."""
    import numpy as np

    device = fit.device
    queues = [name for name in logs if name.startswith("queue-")]
    if queues:
        step("command queue")
        rates = {name: len(logs[name].stamps_ms) / logs[name].stamps_ms.max() for name in queues}

        def queue_error(window: int | None) -> float:
            queue = {"depth": 32, "window": window, "turnaround_ms": 0.05}
            found = (served(name, command_queue=queue) for name in queues)
            return float(
                sum(
                    np.log(len(log.stamps_ms) / log.stamps_ms.max() / rates[name]) ** 2
                    for name, log in zip(queues, found, strict=True)
                )
            )

        errors = {window: queue_error(window) for window in WINDOWS}
        best = min(errors, key=errors.__getitem__)
        near = [window for window in WINDOWS if errors[window] < errors[best] + 0.001 * len(queues)]
        if best != 1:
            device["command_queue"] = {"depth": 32, "turnaround_ms": 0.05} | ({"window": best} if best else {})
        text = {window: "all" if window is None else str(window) for window in WINDOWS}
        fit.parameters.append(Parameter("command_queue.window", text[best], "", f"{text[near[0]]} to {text[near[-1]]}"))
        fit.parameters.append(Parameter("command_queue.depth", "32", "", NOT_IDENTIFIABLE))
    if "writes" not in logs:
        fit.parameters.append(Parameter("write_settle_ms, write_cache", "none", "", NOT_IDENTIFIABLE))
        return
    writes = logs["writes"]
    period = 60_000 / device["rotation_rpm"]
    if np.median(writes.latency_ms[:64]) > 0.3 * period:
        step("settling of writes")
        _fit_write_through(fit, logs, period, served)
        return
    step("write cache")
    _fit_write_cache(fit, logs, jobs, served)


def _fit_switch(fit: Fit, streams: Log, jobs: "Mapping[str, Job]") -> None:
    """Shorten the head switch and the shortest seeks, within their intervals, until streams keep up with the skews."""
    import numpy as np

    measured = float(np.mean(streams.latency_ms[:STREAM_READS]))
    switch, points = fit.device["head_switch_ms"], fit.device["seek"]["points"]
    for less in SWITCHES:
        short = [[d, max(t - less, 0.0) if d <= 2 else t] for d, t in points]
        keys = {"head_switch_ms": round(max(switch - less, 0.0), 4), "seek": {"curve": "table", "points": short}}
        found = serve_model({**fit.device, **keys}, "streams", jobs, STREAM_READS).latency_ms
        if abs(np.mean(found) / measured - 1) < 0.02:
            fit.device.update(keys)
            return


def _fit_write_through(fit: Fit, logs: "Mapping[str, Log]", period: float, served: "Callable[..., Log]") -> None:
    """Fit the settling of writes of a drive without write cache."""
    import numpy as np

    layout = layout_of(fit.device)
    moves, share, _ = find_moves(accesses_of(logs["writes"]), layout, period)
    points = np.array(fit.device["seek"]["points"])
    base = fit.device["request_overhead_ms"] + fit.device["bus_ms_per_block"] * SMALL
    moved = moves.rows(moves.distance > 0)
    seeks = np.maximum(
        np.interp(moved.distance, points[:, 0], points[:, 1]), moved.head_changes * fit.device["head_switch_ms"]
    )
    if share < LEAST_SHARE or len(moved.distance) < 30:
        fit.parameters.append(Parameter("write_settle_ms", "0", "ms", NOT_IDENTIFIABLE))
        return
    settle, half = fit_time(moved.positioned_ms - seeks - base, period)
    settle = _fit_to_stream(fit, logs, served, settle, half or 0.1)
    fit.parameters.append(Parameter("write_settle_ms", f"{settle:.3f}", "ms", f"±{half:.2g}"))
    fit.parameters.append(Parameter("write_cache", "none", "", "writes wait for the medium"))


def _fit_to_stream(
    fit: Fit, logs: "Mapping[str, Log]", served: "Callable[..., Log]", settle: float, half: float, **keys: Any
) -> float:
    """Change the settling of writes and the head switch until a stream of writes keeps up with the skews.

    With a settling or a switch that is too long, the stream loses revolutions.

    Parameters
    ----------
    settle, half
        The settling time of writes, and half its interval, ms.
    keys
        Further keys of the simulated drive.

    Returns
    -------
    float
        The settling time, ms.
    """
    import numpy as np

    switch = fit.device["head_switch_ms"]
    if "write-stream" in logs:
        true = float(np.mean(logs["write-stream"].latency_ms))

        def error(times: tuple[float, float]) -> float:
            changed = {"write_settle_ms": times[0], "head_switch_ms": max(switch - times[1], 0.0)}
            found = float(np.mean(served("write-stream", **changed, **keys).latency_ms))
            changes = ((times[0] - settle) / half) ** 2 + (times[1] / 0.1) ** 2
            return float(np.log(found / true)) ** 2 + CHANGE_PENALTY * changes

        least = min(settle, 0.0)
        tried = [(max(settle + more * half, least), less) for more in SETTLES for less in SWITCHES]
        settle, less = min(tried, key=error)
        fit.device["head_switch_ms"] = round(max(switch - less, 0.0), 4)
    settle = round(settle, 4)
    fit.device["write_settle_ms"] = settle
    return settle


def _settling_of_flushes(fit: Fit, logs: "Mapping[str, Log]", served: "Callable[..., Log]") -> tuple[float, float]:
    """Return the settling time of writes, and half its 95 % interval, from flushes after single writes.

    The settling is the measured value minus that of a simulation without settling.
    """
    import numpy as np

    found = positions(layout_of(fit.device), logs["flush-1"].lbns)
    distance = np.abs(np.diff(found["cylinder"]))
    points = np.array(fit.device["seek"]["points"])
    seeks = np.where(distance > 0, np.interp(distance, points[:, 0], points[:, 1]), 0.0)
    seeks = np.maximum(seeks, np.where(np.diff(found["head"]) != 0, fit.device["head_switch_ms"], 0.0))
    period = 60_000 / fit.device["rotation_rpm"]

    def positioning(log: Log) -> tuple[float, float]:
        # The first flushes also write what earlier jobs left in the cache.
        times = flush_durations_ms(log, 1)[1:]
        return fit_time(times - seeks[1 : 1 + len(times)], period)

    (measured, half), (without, _) = (
        positioning(log) for log in (logs["flush-1"], served("flush-1", write_cache={"blocks": 65536, "extents": 512}))
    )
    return max(measured - without, 0.0), float(np.sqrt(2) * half)


def _fit_write_cache(
    fit: Fit, logs: "Mapping[str, Log]", jobs: "Mapping[str, Job]", served: "Callable[..., Log]"
) -> None:
    """Fit the write cache."""
    import numpy as np

    groups = {f"flush-{number}": number for number in (1, 8, 64) if f"flush-{number}" in logs}
    measured = {name: flush_times_ms(logs[name], number) for name, number in groups.items()}

    settle, half = _settling_of_flushes(fit, logs, served) if "flush-1" in logs else (0.0, None)
    fit.device["write_settle_ms"] = round(settle, 4)

    def error(window: int | None) -> float:
        cache = {"blocks": 65536, "extents": 512, "window": window}
        total = 0.0
        for name in groups:
            if name != "flush-1":
                found = flush_times_ms(served(name, write_cache=cache), groups[name])
                total += float(np.log(max(found, 0.1) / max(measured[name], 0.1))) ** 2
        return total

    errors = {each: error(each) for each in WINDOWS}
    window = min(errors, key=errors.__getitem__)
    near = [each for each in WINDOWS if errors[each] < errors[window] + 0.002]
    chosen: dict[str, Any] = {"blocks": 65536} | ({"window": window} if window else {})
    mean = float(np.mean(logs["writes"].latency_ms))

    def write_error(extents: int) -> float:
        cache = {**chosen, "extents": extents}
        found = abs(float(np.log(np.mean(served("writes", write_cache=cache).latency_ms) / mean)))
        if "flush-64" not in groups:
            return found
        flushed = flush_times_ms(served("flush-64", write_cache=cache), 64)
        return found + abs(float(np.log(max(flushed, 0.1) / max(measured["flush-64"], 0.1))))

    by_extents = {extents: write_error(extents) for extents in EXTENTS}
    extents = min(by_extents, key=by_extents.__getitem__)
    alike = [each for each in EXTENTS if by_extents[each] < by_extents[extents] + 0.03]
    chosen["extents"] = extents
    settle = _fit_to_stream(fit, logs, served, settle, half or 0.1, write_cache=chosen)
    sizes = NOT_IDENTIFIABLE
    if "write-stream" in logs:
        # A stream of writes is fast until the cache is full.
        elapsed = np.cumsum(logs["write-stream"].latency_ms)
        by_blocks = {}
        for each in BLOCKS:
            log = served("write-stream", write_cache={**chosen, "blocks": each})
            by_blocks[each] = float(np.mean(np.abs(np.cumsum(log.latency_ms) - elapsed)))
        chosen["blocks"] = min(by_blocks, key=by_blocks.__getitem__)
        same = [each for each in BLOCKS if by_blocks[each] < 1.2 * by_blocks[chosen["blocks"]]]
        sizes = f"{min(same)} to {max(same)}"
    fit.device["write_cache"] = chosen
    text = {each: "all" if each is None else str(each) for each in WINDOWS}
    fit.parameters += [
        Parameter("write_settle_ms", f"{settle:.3f}", "ms", f"±{half:.2g}" if half else NOT_IDENTIFIABLE),
        Parameter("write_cache.window", text[window], "", f"{text[near[0]]} to {text[near[-1]]}"),
        Parameter("write_cache.extents", str(extents), "", f"{alike[0]} to {alike[-1]}"),
        Parameter("write_cache.blocks", str(chosen["blocks"]), "", sizes),
    ]
