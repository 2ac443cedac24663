"""What is in a trace, as tables: totals, and small histograms of lengths, of times between arrivals and of reads."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sledsim.show.tables import Table, duration, number

__all__ = ["info_tables"]

#: What has tables of its own.
ELSEWHERE = {"sizes", "gaps", "device_list", "lists_objects"}
#: Figures that a list of objects does not have: the offsets of its records are numbers of objects.
OF_DEVICES = {
    "sector_bytes",
    "min_offset_bytes",
    "max_offset_bytes",
    "end_offset_bytes",
    "sequential_read_share",
    "sequential_write_share",
    "devices",
    "flushes",
    "durable_writes",
}
#: The longest bar of a histogram.
BAR = 32
#: Devices of a trace that are named one by one; of more, runs of numbers and how many there are.
NAMED = 12


def info_tables(path: Path, info: Mapping[str, Any], fits: Sequence[tuple[str, int]] = ()) -> list[Table]:
    """Return what is in a trace, as tables.

    Parameters
    ----------
    path
        The trace.
    info
        What :meth:`sledsim.Trace.info` found.
    fits
        Devices that it might be replayed on, with the bytes that each has room for.
    """
    left_out = ELSEWHERE | OF_DEVICES if info["lists_objects"] else ELSEWHERE
    rows = [[_label(key), _format_value(value)] for key, value in info.items() if key not in left_out]
    if info["lists_objects"]:
        rows.append(["use", "objects of a cache without addresses on a device: compute hit ratios"])
    else:
        at = next(place for place, (label, _) in enumerate(rows) if label == "devices")
        rows[at][1] = _devices(info)
        rows += _fitting(info["end_offset_bytes"], fits)
    tables = [Table([str(path), ""], rows, left=frozenset({1}))]
    if info["sizes"]:
        tables.append(_sizes(info))
    if info["gaps"]:
        tables.append(_gaps(info["gaps"]))
    return tables


def _devices(info: Mapping[str, Any]) -> str:
    """Say which devices a trace has, in one line: runs of numbers as such."""
    numbers, count = list(info["device_list"]), info["devices"]
    if not numbers:
        return number(count)
    starts = [0, *(place + 1 for place, (one, other) in enumerate(pairwise(numbers)) if other != one + 1), len(numbers)]
    runs = [numbers[start:end] for start, end in pairwise(starts)]
    said = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    shown, more = said[:NAMED], len(said) > NAMED or count > len(numbers)
    return f"{number(count)}: {', '.join(shown)}{' and so on' if more else ''}"


def _fitting(end_bytes: int, fits: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Say on which devices a trace can be replayed as it is, and which are too small."""
    if not fits:
        return []
    room = [name for name, capacity in fits if capacity >= end_bytes]
    small = [f"{name} ({number(capacity / 1e9)} GB)" for name, capacity in fits if capacity < end_bytes]
    needs = f"{number(end_bytes / 1e9)} GB"
    found = [["fits", f"{', '.join(room)}: each holds the {needs} that it addresses" if room else f"none has {needs}"]]
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
    return Table(["size, up to", "requests", "%", "of these reads (%)", ""], rows, left=frozenset({4}))


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
    """Draw a bar in eighths of a character; what occurs at all can be seen."""
    eighths = max(round(8 * BAR * count / most), 1) if count else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _bytes(size: int) -> str:
    for unit, of in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= of:
            return f"{size / of:g} {unit}"
    return f"{size} B"


def _label(key: str) -> str:
    """Write a key that ends in its unit with the unit in brackets; what counts bytes does so."""
    name, _, unit = key.replace("_", " ").rpartition(" ")
    if unit == "bytes":
        return f"{name} (B)" if name.endswith(("offset", "total", "read")) else f"{name} size (B)"
    return f"{name} (s)" if unit == "s" else f"{name} {unit}".strip()


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value, 6)
    return "–" if value is None else str(value)
