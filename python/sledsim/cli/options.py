"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Columns",
    "Format",
    "Full",
    "Log",
    "Plot",
    "Resolved",
    "SectorBytes",
    "Sets",
    "SkipBad",
    "Timeline",
    "device_names",
    "mapping_of",
    "policy_names",
    "scheduler_names",
    "workload_names",
]


def device_names(incomplete: str) -> list[str]:
    """Complete the name of a device."""
    from sledsim import devices

    return [name for name in devices.catalog() if name.startswith(incomplete)]


def scheduler_names(incomplete: str) -> list[str]:
    """Complete the name of a scheduler."""
    from sledsim import schedulers

    return [each["name"] for each in schedulers.catalog() if each["name"].startswith(incomplete)]


def policy_names(incomplete: str) -> list[str]:
    """Complete the name of a replacement policy."""
    from sledsim.studies.hit_ratio.ratios import cache_policies

    return [each["name"] for each in cache_policies() if each["name"].startswith(incomplete)]


def workload_names(incomplete: str) -> list[str]:
    """Complete the name of a workload of the catalogue."""
    from sledsim import workloads

    return [name for name in workloads.catalog() if name.startswith(incomplete)]


def mapping_of(columns: list[str] | None) -> dict[str, str] | None:
    """Turn ``--column time=t_ms`` into a dictionary."""
    if not columns:
        return None
    pairs = [column.partition("=") for column in columns]
    for meaning, equals, name in pairs:
        if not (meaning and equals and name):
            raise typer.BadParameter(f"{meaning + equals + name!r}: expected MEANING=COLUMN", param_hint="--column")
    return {meaning: name for meaning, _, name in pairs}


Sets = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="PATH=VALUE", help="Replace a value: device.settle_constants=0. Repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
Resolved = Annotated[bool, typer.Option("--resolved", help="Print the scenario with every key explicit; run nothing.")]
Full = Annotated[bool, typer.Option("--full", help="Print every figure: percentiles, phases, states, components.")]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Write a row per request: .parquet, .csv or .json.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the response times: .html, .png or .svg."),
]
Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Draw states and power along time (.html, .png, .svg), or write them (.parquet, .csv).",
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Check the simulator's own rules on the way: slower, and changes nothing.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format of the trace (see `sledsim trace formats`); else detected."),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, help="Pass over up to N malformed records, and count them.")
]
SectorBytes = Annotated[
    int | None, typer.Option("--sector-bytes", metavar="N", min=1, help="Size of the trace's sectors, if unusual.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="MEANING=COLUMN", help="For CSV and Parquet: where to find what. Repeatable."),
]
