"""Commands that run scenarios, or look at them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import (
    AsJson,
    Check,
    Columns,
    Format,
    Full,
    Log,
    Plot,
    Resolved,
    SectorBytes,
    Sets,
    SkipBad,
    Timeline,
    device_names,
    mapping_of,
    scheduler_names,
)
from sledsim.cli.output import (
    TIMELINE_TABLES,
    check_picture,
    check_target,
    check_timeline,
    complain,
    not_drawn,
    print_found,
    print_json,
    print_tables,
    show_timeline,
)

if TYPE_CHECKING:
    from sledsim import _core
    from sledsim.scenario.documents import Document

__all__ = ["register"]

INTERRUPTED = 130

RUN_EXAMPLES = """\b
Examples:
  sledsim run scenario.toml
  sledsim run scenario.toml --set device.name=g3 --set scheduler=sptf
  sledsim run scenario.toml --json --log requests.parquet
  sledsim run scenario.toml --timeline power.png
  sledsim run - < scenario.yaml
"""
REPLAY_EXAMPLES = """\b
Examples:
  sledsim replay hplajw.srt --device g2
  sledsim replay websearch.trace --device g3 --scheduler sptf --time-scale 0.5
  sledsim replay oltp.spc --device g2 --devices 0,1 --fit scale --json
  sledsim replay big.csv --device g2 --mode outstanding --outstanding 16 --records 100000
"""
COMPARE_EXAMPLES = """\b
Examples:
  sledsim compare g1.toml g2.toml g3.toml
  sledsim compare fcfs.toml sptf.toml --set run.requests=50000 --plot response.png
"""
VALIDATE_EXAMPLES = """\b
Examples:
  sledsim validate scenario.toml
  sledsim validate scenario.toml --resolved > full.json
"""
EXPLAIN_EXAMPLES = """\b
Examples:
  sledsim explain scenario.toml
  sledsim explain scenario.toml --set members.0.count=8 --json
"""
SCHEMA_EXAMPLES = """\b
Examples:
  sledsim schema > scenario.schema.json
  sledsim schema sweep > sweep.schema.json
  sledsim schema --result
"""


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a run besides running it."""

    as_json: bool
    full: bool
    log: Path | None
    plot: Path | None
    timeline: Path | None
    check: bool
    resolved: bool

    def __post_init__(self) -> None:
        """Refuse, before anything is run, files of kinds that can't be written."""
        from sledsim.show.frames import COPY_OPTIONS

        check_target(self.log, COPY_OPTIONS)
        check_picture(self.plot)
        check_timeline(self.timeline)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=RUN_EXAMPLES)(run)
    app.command(epilog=REPLAY_EXAMPLES)(replay)
    app.command(epilog=COMPARE_EXAMPLES)(compare)
    app.command(epilog=VALIDATE_EXAMPLES)(validate)
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)
    app.command(epilog=SCHEMA_EXAMPLES)(schema)


def run(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Scenario (TOML, YAML, JSON); - for standard input.")],
    sets: Sets = None,
    as_json: AsJson = False,
    full: Full = False,
    log: Log = None,
    plot: Plot = None,
    timeline: Timeline = None,
    check: Check = False,
    resolved: Resolved = False,
) -> None:
    """Run a scenario and print what it found."""
    from sledsim.scenario.reading import from_argument, resolve

    wanted = Wanted(as_json, full, log, plot, timeline, check, resolved)
    _run(resolve(from_argument(file), sets or []), wanted)


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Block trace, compressed or not.")],
    device: Annotated[
        str,
        typer.Option(metavar="NAME", help="A device of the catalogue, or a file.", autocompletion=device_names),
    ] = "g2",
    scheduler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Scheduler.", autocompletion=scheduler_names)
    ] = None,
    seek_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="first-order, decomposed or time-optimal.")
    ] = None,
    sets: Sets = None,
    time_scale: Annotated[
        float | None, typer.Option(metavar="X", help="Multiply the times between arrivals by X.")
    ] = None,
    trace_format: Format = None,
    mode: Annotated[
        str | None, typer.Option(metavar="NAME", help="open (as recorded), closed, outstanding, or auto.")
    ] = None,
    outstanding: Annotated[
        int | None, typer.Option(metavar="N", help="Requests kept outstanding in mode outstanding.")
    ] = None,
    fit: Annotated[
        str | None, typer.Option(metavar="NAME", help="Addresses beyond the device: error, wrap or scale.")
    ] = None,
    devices: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Only what went to these devices of the trace.")
    ] = None,
    skip_bad: SkipBad = 0,
    start_s: Annotated[float | None, typer.Option(metavar="S", help="Begin so many seconds into the trace.")] = None,
    end_s: Annotated[float | None, typer.Option(metavar="S", help="End so many seconds into the trace.")] = None,
    first_record: Annotated[int | None, typer.Option(metavar="N", help="Pass over the records before it.")] = None,
    records: Annotated[int | None, typer.Option(metavar="N", help="Replay so many records.")] = None,
    repeat: Annotated[int | None, typer.Option(metavar="N", help="Replay the whole N times.")] = None,
    sector_bytes: SectorBytes = None,
    columns: Columns = None,
    as_json: AsJson = False,
    full: Full = False,
    log: Log = None,
    plot: Plot = None,
    timeline: Timeline = None,
    check: Check = False,
    resolved: Resolved = False,
) -> None:
    """Replay a block trace on a device and print what it found."""
    from sledsim.scenario.reading import resolve

    wanted = Wanted(as_json, full, log, plot, timeline, check, resolved)
    workload = {
        "kind": "trace",
        "path": str(trace),
        "time_scale": time_scale,
        "format": trace_format,
        "mode": mode,
        "outstanding": outstanding,
        "fit": fit,
        "devices": _numbers(devices),
        "skip_bad": skip_bad or None,
        "start_s": start_s,
        "end_s": end_s,
        "first_record": first_record,
        "records": records,
        "repeat": repeat,
        "sector_bytes": sector_bytes,
        "columns": mapping_of(columns),
    }
    whole = _given({"name": device, "seek_model": seek_model})
    system = {"device": whole, "scheduler": {"name": scheduler} if scheduler else None}
    _run(resolve({"workload": _given(workload), "system": _given(system)}, sets or []), wanted)


def compare(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Scenarios; ratios are to the first.")],
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the comparison: .html, .png or .svg.")
    ] = None,
    metric: Annotated[str, typer.Option(metavar="KEY", help="What --plot draws.")] = "response.mean_ms",
) -> None:
    """Run several scenarios and print their results side by side."""
    from sledsim.runs.comparison import compare as compare_runs
    from sledsim.runs.summary_tables import require_metric
    from sledsim.scenario.reading import from_argument

    check_picture(plot)
    require_metric(metric)
    comparison = compare_runs([from_argument(file) for file in files], set=sets or [], progress=True)
    print_found(comparison, as_json=as_json)
    if not comparison.complete:
        done = len(comparison)
        complain(f"interrupted during run {done} of {len(files)}: its results are those so far{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    if plot:
        comparison.save_plot(plot, metric)


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Scenarios; - for standard input.")],
    sets: Sets = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Print the scenarios with every key explicit.")] = False,
) -> None:
    """Say whether scenarios are right."""
    from sledsim.scenario.reading import from_argument, resolve

    for file in files:
        complete = resolve(from_argument(file), sets or [])
        if resolved:
            print_json(complete.values)
        else:
            typer.echo(f"{file}: ok")


def explain(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Scenario (TOML, YAML, JSON); - for standard input.")],
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Draw the components of a scenario's system as a tree, with their sizes and parameters."""
    from sledsim.scenario.explanation import explain as explained
    from sledsim.scenario.reading import from_argument

    found = explained(from_argument(file), set=sets or [])
    print_found(found, as_json=as_json)


def document_kinds() -> "dict[str, type[Document]]":
    """Return the documents beside scenarios by what their files describe."""
    from sledsim.reliability.description import Description
    from sledsim.studies.cost.performance import CostFile
    from sledsim.studies.objective.roles import RoleFile
    from sledsim.sweep.description import SweepFile
    from sledsim.sweep.search import SearchFile

    return {"sweep": SweepFile, "search": SearchFile, "enclosure": Description, "cost": CostFile, "role": RoleFile}


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="scenario, sweep, search, enclosure, cost or role.")
    ] = "scenario",
    result: Annotated[bool, typer.Option("--result", help="The schema of what `run --json` prints.")] = False,
) -> None:
    """Print the JSON Schema of scenarios, of other documents, or of results.

    It gives every key, its unit, range, default and meaning.
    """
    from sledsim import _core
    from sledsim.show.naming import did_you_mean

    kinds = document_kinds()
    if kind in kinds and not result:
        print_json(kinds[kind].file_schema())
    elif kind == "scenario":
        print_json(_core.result_schema() if result else _core.schema(document=True))
    elif kind in kinds:
        raise typer.BadParameter("is of what `run --json` prints: leave out the kind", param_hint="--result")
    else:
        raise typer.BadParameter(f"no kind {kind!r}{did_you_mean(kind, ['scenario', *kinds])}", param_hint="KIND")


def _run(scenario: "_core.Scenario", wanted: Wanted) -> None:
    """Run a scenario, print and write what was asked for."""
    from sledsim.runs.running import run_resolved

    if wanted.resolved:
        print_json(scenario.values)
        return
    logged, timed = wanted.log is not None, wanted.timeline is not None
    result = run_resolved(scenario, log=logged, timeline=timed, progress=True, check=wanted.check)
    if wanted.full or wanted.as_json:
        print_found(result, as_json=wanted.as_json)
    else:
        print_tables([result.brief()])
    if wanted.log:
        result.write_log(wanted.log)
    if not result.complete:
        if wanted.timeline and wanted.timeline.suffix.lower() in TIMELINE_TABLES:
            show_timeline(result, wanted.timeline)
        complain(f"interrupted: the results are those so far{not_drawn(wanted.plot, wanted.timeline)}")
        raise typer.Exit(INTERRUPTED)
    if wanted.plot:
        result.save_plot(wanted.plot)
    if wanted.timeline:
        show_timeline(result, wanted.timeline)


def _given(keys: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for: the core knows the defaults."""
    return {key: value for key, value in keys.items() if value is not None}


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r}: expected numbers between commas", param_hint="--devices") from None
