"""Tables of the statistics of a trace: totals, and histograms of request sizes and interarrival times."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sledsim.show.tables import Table, duration, number

__all__ = ["info_tables"]

#: Keys that are not rows of the first table.
ELSEWHERE = {"sizes", "gaps", "device_list", "lists_objects"}
#: Keys without a meaning for a list of objects, whose offsets are numbers of objects.
OF_DEVICES = {
    "sector_bytes",
    "min_offset_bytes",
    "max_offset_bytes",
    "end_offset_bytes",
    "sequential_read_share",
    "sequential_write_share",
    "devices",
    "flushes",
    "resets",
    "durable_writes",
}
#: Labels of figures whose keys do not explain them.
LABELS = {
    "format_detected_by": "format recognised by",
    "interarrival_scv": "interarrival scv (var/mean²)",
    "skipped": "bad records skipped",
    "suspect": "suspect records",
    "other": "other records",
}
#: Length of the longest bar of a histogram, characters.
BAR = 32
#: Maximum number of devices, or runs of consecutive numbers, that are listed.
NAMED = 12


def info_tables(
    path: Path, info: Mapping[str, Any], fits: Sequence[tuple[str, int]] = (), sleds: Collection[str] = ()
) -> list[Table]:
    """Return tables of the statistics of a trace.

    Parameters
    ----------
    path
        The trace.
    info
        The result of :meth:`sledsim.Trace.info`.
    fits
        Devices for a replay, with their capacities in bytes.
    sleds
        The names of those devices that are MEMS storage.
    """
    left_out = ELSEWHERE | OF_DEVICES if info["lists_objects"] else ELSEWHERE
    # Without times the core reports a duration of 0.
    known = {**info, "duration_s": info["duration_s"] if info["has_times"] else None}
    rows = [[_label(key), _format_value(value)] for key, value in known.items() if key not in left_out]
    if info["lists_objects"]:
        rows.append(["use", "objects of a cache without addresses on a device: compute hit ratios"])
    else:
        at = next(place for place, (label, _) in enumerate(rows) if label == "devices")
        rows[at][1] = _devices(info)
        rows += _fitting(info["end_offset_bytes"], fits, sleds)
    tables = [Table(["figure", "value"], rows, title=f"trace {path.name or path}", left=frozenset({1}))]
    if info["sizes"]:
        tables.append(_sizes(info))
    if info["gaps"]:
        tables.append(_gaps(info["gaps"]))
    return tables


def _devices(info: Mapping[str, Any]) -> str:
    """Return the devices of a trace in one line, with runs of consecutive numbers as ranges."""
    numbers, count = list(info["device_list"]), info["devices"]
    if not numbers:
        return number(count)
    starts = [0, *(place + 1 for place, (one, other) in enumerate(pairwise(numbers)) if other != one + 1), len(numbers)]
    runs = [numbers[start:end] for start, end in pairwise(starts)]
    ranges = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    shown, more = ranges[:NAMED], len(ranges) > NAMED or count > len(numbers)
    merged = "; a replay merges them into one, or selects some with --devices" if count > 1 else ""
    return f"{number(count)}: {', '.join(shown)}{' and so on' if more else ''}{merged}"


def _fitting(end_bytes: int, fits: Sequence[tuple[str, int]], sleds: Collection[str]) -> list[list[str]]:
    """Return rows with the devices on which a trace fits unchanged, and those that are too small."""
    if not fits:
        return []
    small = [f"{name} ({number(capacity / 1e9)} GB)" for name, capacity in fits if capacity < end_bytes]
    found = [["needed capacity (GB)", number(end_bytes / 1e9)]]
    for label, is_sled in (("fits MEMS storage", True), ("fits other devices", False)):
        room = [name for name, capacity in fits if capacity >= end_bytes and (name in sleds) == is_sled]
        found.append([label, ", ".join(room) or "none"])
    if small:
        found.append(["does not fit", f"{', '.join(small)}: replay there with --fit scale, --fit wrap or --devices"])
    return found


def _sizes(info: Mapping[str, Any]) -> Table:
    bins, records = info["sizes"], info["reads"] + info["writes"]
    most = max(each["reads"] + each["writes"] for each in bins)
    rows = []
    for each in bins:
        count = each["reads"] + each["writes"]
        reads = f"{100 * each['reads'] / count:.1f}" if count else "–"
        rows.append([_bytes(each["to_bytes"]), number(count), f"{100 * count / records:.1f}", reads, _bar(count, most)])
    return Table(["size, up to", "requests", "%", "reads (%)", ""], rows, left=frozenset({4}))


def _gaps(bins: Sequence[Mapping[str, Any]]) -> Table:
    total, most = sum(each["gaps"] for each in bins), max(each["gaps"] for each in bins)
    rows = [
        [
            duration(each["to_s"]),
            number(each["gaps"]),
            f"{100 * each['gaps'] / total:.1f}",
            _bar(each["gaps"], most),
        ]
        for each in bins
    ]
    return Table(["time between arrivals, up to", "times", "%", ""], rows, left=frozenset({3}))


def _bar(count: int, most: int) -> str:
    """Draw a bar in eighths of a character; a count above zero has at least one eighth."""
    eighths = max(round(8 * BAR * count / most), 1) if count else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _bytes(size: int) -> str:
    for unit, of in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= of:
            return f"{size / of:g} {unit}"
    return f"{size} B"


def _label(key: str) -> str:
    """Return the label of a key, with the unit at the end of the key in brackets."""
    if key in LABELS:
        return LABELS[key]
    name, _, unit = key.replace("_", " ").rpartition(" ")
    if unit == "bytes":
        return f"{name} (B)" if name.endswith(("offset", "total", "read")) else f"{name} size (B)"
    return f"{name} (s)" if unit == "s" else f"{name} {unit}".strip()


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = number(value, 6)
        # Drop trailing zeros, as in 24,576.0 or 0.00800000.
        return text.rstrip("0").removesuffix(".") if "." in text and "e" not in text else text
    if isinstance(value, int):
        return number(value)
    return "–" if value is None else str(value)
