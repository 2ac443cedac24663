"""Options that several commands have."""

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sledsim.show.faults import make_error

__all__ = [
    "MOST_DIGITS",
    "AsJson",
    "Cluster",
    "Columns",
    "ComparedPrecision",
    "Event",
    "FindLimit",
    "Full",
    "Log",
    "Metric",
    "Metrics",
    "OfDevice",
    "Out",
    "Plot",
    "Precision",
    "Replications",
    "Resolved",
    "ScenarioFile",
    "SectorBytes",
    "Sets",
    "SkipBad",
    "Sort",
    "System",
    "Threads",
    "TimeUnit",
    "Timeline",
    "TraceFile",
    "TraceFormat",
    "device_names",
    "numbers",
    "policy_names",
    "precision_pairs",
    "precision_sets",
    "reader_options",
    "scheduler_names",
    "workload_names",
]


#: Most digits of a number in a list of numbers.
MOST_DIGITS = 18


def device_names(incomplete: str) -> list[str]:
    """Complete the name of a device."""
    from sledsim import devices

    return [name for name in devices.catalog() if name.startswith(incomplete)]


def scheduler_names(incomplete: str) -> list[str]:
    """Complete the name of a scheduler."""
    from sledsim import schedulers

    return [name for name in schedulers.catalog() if name.startswith(incomplete)]


def policy_names(incomplete: str) -> list[str]:
    """Complete the name of a replacement policy."""
    from sledsim import caches

    return [name for name in caches.catalog() if name.startswith(incomplete)]


def workload_names(incomplete: str) -> list[str]:
    """Complete the name of a workload of the catalogue."""
    from sledsim import workloads

    return [name for name in workloads.catalog() if name.startswith(incomplete)]


ScenarioFile = Annotated[
    str, typer.Argument(metavar="FILE|-", help="Scenario (TOML, YAML, JSON); - for standard input.")
]
System = Annotated[
    str,
    typer.Argument(metavar="SYSTEM", help="Scenario, - for standard input, or a device or drawing by name or file."),
]
TraceFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE", help="Block trace, also compressed or in an archive; of blktrace, a file or their folder."
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="PATH=VALUE", help="Set a key of the scenario: device.settle_constants=0. Repeatable."
    ),
]
_PRECISION_HELP = (
    "End each run when RESULT is known within SHARE: response=1%, p99=5%, energy=1%, utilisation=1%, hit_ratio=2%. "
    "Repeatable, or several with commas."
)
Precision = Annotated[list[str] | None, typer.Option("--precision", metavar="RESULT=SHARE", help=_PRECISION_HELP)]
#: The precisions of `compare`.
ComparedPrecision = Annotated[
    list[str] | None,
    typer.Option(
        "--precision",
        metavar="RESULT=SHARE",
        help="End when the difference of each mean response from the first is known within SHARE of the first: "
        f"difference=1%. Without it: {_PRECISION_HELP}",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a chart: .html, .png or .svg.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a table: .csv, .parquet or .json.")
]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Write a row per request: .parquet, .csv or .json.")
]
Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Write states and power of each mechanism over time: .parquet, .csv or .json.",
    ),
]
Resolved = Annotated[bool, typer.Option("--resolved", help="Print the scenario with every key and run nothing.")]
Full = Annotated[bool, typer.Option("--full", help="Print every figure: percentiles, phases, states, components.")]
OfDevice = Annotated[
    str,
    typer.Option(
        "--device", "-d", metavar="NAME", help="Device of the catalogue, or a device file.", autocompletion=device_names
    ),
]
FindLimit = Annotated[
    str | None,
    typer.Option(
        "--find-limit",
        metavar="BOUND",
        help="Find the highest load with response times within BOUND: p99=20ms, p99.9=50ms or mean=5ms.",
    ),
]
Metric = Annotated[
    str,
    typer.Option("--metric", "-m", metavar="KEY", help="Metric to draw, such as response.mean_ms."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="KEY", help="Metric, such as response.mean_ms. Repeatable."),
]
Replications = Annotated[
    int | None, typer.Option("--replications", metavar="N", help="Runs of each kind, each with its own seed.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Number of parallel runs (default: all processors)."),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="local|ADDRESS", help="Run on a Dask cluster: local or tcp://host:port."),
]

TraceFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Format of the trace (default: detected; see `sledsim list formats`)."
    ),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, help="Skip and count up to N malformed records.")
]
Sort = Annotated[bool, typer.Option("--sort", help="Sort the records of the trace by time.")]
SectorBytes = Annotated[
    int | None,
    typer.Option(
        "--sector-bytes", metavar="N", min=1, help="Bytes of a sector in the trace, if not the usual of its format."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="MEANING=COLUMN",
        help="For CSV and Parquet: a column (time=when), a unit (time_unit=ms, length_unit=sectors) or operation codes "
        "(read=28, write=2a). Repeatable.",
    ),
]
Event = Annotated[
    str | None,
    typer.Option("--event", metavar="NAME", help="Event of blktrace that is the arrival: queued or dispatched."),
]
TimeUnit = Annotated[
    str | None,
    typer.Option("--time-unit", metavar="UNIT", help="Timestamp unit of a fio v3 iolog, if not us."),
]


def reader_options(
    trace_format: str | None,
    skip_bad: int,
    columns: list[str] | None,
    sector_bytes: int | None = None,
    event: str | None = None,
    time_unit: str | None = None,
    *,
    sort: bool = False,
) -> dict[str, Any]:
    """Return the arguments of functions that read a trace.

    Parameters
    ----------
    trace_format, skip_bad, columns, sector_bytes, event, time_unit, sort
        Values of the options.
    """
    from sledsim.traces.trace import require_other

    require_other(trace_format)
    return {
        "format": trace_format,
        "skip_bad": skip_bad,
        "sort": sort,
        "sector_bytes": sector_bytes,
        "columns": _mapping_of(columns),
        "event": event,
        "time_unit": time_unit,
    }


def _mapping_of(columns: list[str] | None) -> dict[str, str] | None:
    """Parse ``--column time=t_ms``."""
    if not columns:
        return None
    pairs = [column.partition("=") for column in columns]
    for meaning, equals, name in pairs:
        if not (meaning and equals and name):
            raise typer.BadParameter(f"{meaning + equals + name!r}: expected MEANING=COLUMN", param_hint="--column")
    keys = [meaning for meaning, _, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise typer.BadParameter(f"{key} is given {keys.count(key)} times: give it once", param_hint="--column")
    return {meaning: name for meaning, _, name in pairs}


def precision_pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """Return the results and shares of ``--precision response=1%,p99.9=5%``."""
    pairs = []
    for pair in (pair.strip() for text in given or [] for pair in text.split(",")):
        found = re.fullmatch(r"([a-z0-9_.]+) *= *(.+)", pair)
        if not found:
            raise typer.BadParameter(f"{pair!r}: expected RESULT=SHARE, such as response=1%", param_hint="--precision")
        result, share = found[1], found[2].strip()
        if re.fullmatch(r"\d+(\.\d*)?", share) and float(share) >= 1:
            raise typer.BadParameter(f"{pair!r}: did you mean {result}={share}%?", param_hint="--precision")
        pairs.append((result, share))
    names = [result.replace(".", "_") for result, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            message = f"{name} is given {names.count(name)} times: give it once"
            raise typer.BadParameter(message, param_hint="--precision")
    return pairs


def precision_sets(given: list[str] | None) -> list[str]:
    """Return the settings of ``--precision response=1%,p99.9=5%``."""
    pairs = precision_pairs(given)
    if any(result == "difference" for result, _ in pairs):
        raise typer.BadParameter("difference is for compare", param_hint="--precision")
    return [f"run.precision.{result.replace('.', '_')}={share}" for result, share in pairs]


Number = TypeVar("Number", int, float)


def numbers(text: str | None, key: str, kind: type[Number]) -> list[Number] | None:
    """Parse a list of numbers such as ``1,3,5``.

    Parameters
    ----------
    text
        The value of an option; ``None`` if it was not given.
    key
        The option's name.
    kind
        ``int`` or ``float``.
    """
    from sledsim._core import SledsimError

    if text is None:
        return None
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        expected = {int: "whole numbers between commas", float: "numbers between commas"}[kind]
        raise make_error(SledsimError, "wrong-type", path=key, value=text, allowed=expected) from None
