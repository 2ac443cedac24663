"""Options that several commands take: each is defined once, so that it means the same everywhere."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from sledsim.show.faults import wrong

__all__ = [
    "MOST_DIGITS",
    "AsJson",
    "Catalog",
    "Cluster",
    "Full",
    "Metric",
    "OfDevice",
    "Out",
    "Plot",
    "Reading",
    "Records",
    "Replications",
    "Resolved",
    "ScenarioFile",
    "SeekModel",
    "Sets",
    "SkipBad",
    "System",
    "Threads",
    "device_names",
    "listed",
    "policy_names",
    "scheduler_names",
    "unfolded",
    "with_catalog",
    "workload_names",
]


#: Digits of the largest number that a list of numbers takes.
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
System = Annotated[str, typer.Argument(metavar="SYSTEM", help="Scenario, - for standard input, or name of a device.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="PATH=VALUE", help="Set a key of the scenario: device.settle_constants=0. Repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a chart: .html, .png or .svg.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a table: .csv, .parquet or .json.")
]
Resolved = Annotated[bool, typer.Option("--resolved", help="Print the scenario with every key and run nothing.")]
Full = Annotated[bool, typer.Option("--full", help="Print every figure: percentiles, phases, states, components.")]
OfDevice = Annotated[
    str,
    typer.Option(
        "--device", "-d", metavar="NAME", help="Device of the catalogue, or a device file.", autocompletion=device_names
    ),
]
SeekModel = Annotated[
    str | None,
    typer.Option(
        "--seek-model", metavar="NAME", help="Seek model of MEMS storage: first-order, decomposed or time-optimal."
    ),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, help="Skip and count up to N malformed records.")
]
Metric = Annotated[
    str,
    typer.Option("--metric", "-m", metavar="KEY", help="Metric to draw, such as response.mean_ms."),
]
Records = Annotated[
    int | None, typer.Option("--records", "-n", metavar="N", min=1, help="Use only the first N records of the trace.")
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


Catalog = Annotated[
    Path | None,
    typer.Option(
        "--catalog",
        metavar="FOLDER",
        help="Folder with your devices/*.toml and workloads/*.toml (or set SLEDSIM_CATALOG).",
    ),
]


def unfolded(command: Callable[..., None]) -> Callable[..., None]:
    """Make options of a command of the fields of each of its parameters that is a dataclass.

    Parameters
    ----------
    command
        The command, with such parameters. It is called with the dataclasses filled in.
    """
    taken = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {each.name: each.annotation for each in taken if is_dataclass(each.annotation)}
    parameters = []
    for each in taken:
        if each.name not in groups:
            parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(each.annotation, include_extras=True)
        for field in fields(each.annotation):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            hint = hints[field.name]
            parameters.append(
                inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            )

    @wraps(command)
    def called(**given: Any) -> None:
        whole = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **whole)

    vars(called)["__signature__"] = inspect.Signature(parameters)
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def with_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a folder with additional devices and workloads.

    Parameters
    ----------
    command
        The command.
    """

    @wraps(command)
    def called(*, catalog: Path | None, **given: Any) -> None:
        if catalog is not None:
            from sledsim.scenario.folders import use_catalog

            use_catalog(catalog)
        command(**given)

    taken = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(command, eval_str=True).parameters.values()
    ]
    own = inspect.Parameter("catalog", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Catalog)
    vars(called)["__signature__"] = inspect.Signature([*taken, own])
    called.__annotations__ = {each.name: each.annotation for each in (*taken, own)}
    return called


@dataclass(frozen=True)
class Reading:
    """How to read a trace, for what its content does not say."""

    trace_format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="Format of the trace (default: detected; see `sledsim trace formats`)."
        ),
    ] = None
    skip_bad: SkipBad = 0
    sector_bytes: Annotated[
        int | None,
        typer.Option(
            "--sector-bytes", metavar="N", min=1, help="Bytes of a sector in the trace, if not the usual of its format."
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="MEANING=COLUMN",
            help="For CSV and Parquet: a column or a unit, such as time=when or time_unit=ms. Repeatable.",
        ),
    ] = None
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="NAME", help="blkparse event that counts as arrival: queued or dispatched."),
    ] = None
    time_unit: Annotated[
        str | None,
        typer.Option("--time-unit", metavar="UNIT", help="Timestamp unit of a fio v3 iolog, if not us."),
    ] = None

    def keys(self) -> dict[str, Any]:
        """Return what readers of traces are called with."""
        from sledsim.traces.trace import require_other

        require_other(self.trace_format)
        return {
            "format": self.trace_format,
            "skip_bad": self.skip_bad,
            "sector_bytes": self.sector_bytes,
            "columns": _mapping_of(self.columns),
            "event": self.event,
            "time_unit": self.time_unit,
        }


def _mapping_of(columns: list[str] | None) -> dict[str, str] | None:
    """Turn ``--column time=t_ms`` into a dictionary."""
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


Number = TypeVar("Number", int, float)


def listed(text: str | None, key: str, kind: type[Number]) -> list[Number] | None:
    """Read the numbers of ``1,3,5``.

    Parameters
    ----------
    text
        What was given, if it was.
    key
        Whose value it is.
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
        raise wrong(SledsimError, "wrong-type", path=key, value=text, allowed=expected) from None
