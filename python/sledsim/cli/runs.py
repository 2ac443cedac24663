"""Commands that run scenarios, or look at them."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import (
    AsJson,
    Full,
    Metric,
    OfDevice,
    Plot,
    Reading,
    Records,
    Resolved,
    ScenarioFile,
    SeekModel,
    Sets,
    listed,
    scheduler_names,
    unfolded,
)
from sledsim.cli.output import (
    check_picture,
    check_target,
    complain,
    not_drawn,
    print_found,
    print_json,
    print_tables,
    print_text,
    require_kept,
)

if TYPE_CHECKING:
    from sledsim import _core
    from sledsim.runs.result import Result
    from sledsim.scenario.documents import Document

__all__ = ["register"]

INTERRUPTED = 130

RUN_EXAMPLES = """\b
Examples:
  sledsim run scenario.toml
  sledsim run scenario.toml --set device.name=g3 --set scheduler=sptf
  sledsim run scenario.toml --json --log requests.parquet
  sledsim run scenario.toml --plot run.html --timeline states.parquet
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

    sets: Sets = None
    as_json: AsJson = False
    full: Full = False
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Write a row per request: .parquet, .csv or .json.")
    ] = None
    plot: Plot = None
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write states and power of each mechanism over time: .parquet, .csv or .json.",
        ),
    ] = None
    check: Annotated[bool, typer.Option("--check", help="Check invariants during the run (slower, same results).")] = (
        False
    )
    resolved: Resolved = False

    def __post_init__(self) -> None:
        """Refuse, before anything is run, files of kinds that can't be written."""
        from sledsim.show.frames import COPY_OPTIONS

        check_target(self.log, COPY_OPTIONS)
        check_picture(self.plot)
        check_target(self.timeline, COPY_OPTIONS)


def _key(metavar: str, meaning: str) -> Any:
    """Return an option with the name of what it is of."""
    return typer.Option(metavar=metavar, help=meaning)


@dataclass(frozen=True)
class Replayed:
    """How a trace is replayed: keys of the workload, by their names."""

    time_scale: Annotated[float | None, _key("X", "Multiply the times between arrivals by X.")] = None
    mode: Annotated[str | None, _key("NAME", "open (as recorded), closed, outstanding, or auto.")] = None
    outstanding: Annotated[int | None, _key("N", "Requests kept outstanding in mode outstanding.")] = None
    fit: Annotated[str | None, _key("NAME", "Addresses beyond the device: error, wrap or scale.")] = None
    devices: Annotated[str | None, _key("N,N,…", "Only what went to these devices of the trace.")] = None
    start_s: Annotated[float | None, _key("S", "Begin so many seconds into the trace.")] = None
    end_s: Annotated[float | None, _key("S", "End so many seconds into the trace.")] = None
    first_record: Annotated[int | None, _key("N", "Pass over the records before it.")] = None
    records: Records = None
    repeat: Annotated[int | None, _key("N", "Replay the whole N times.")] = None


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=RUN_EXAMPLES)(unfolded(run))
    app.command(epilog=REPLAY_EXAMPLES)(unfolded(replay))
    app.command(epilog=COMPARE_EXAMPLES)(compare)
    app.command(epilog=VALIDATE_EXAMPLES)(validate)
    app.command(epilog=EXPLAIN_EXAMPLES)(explain)
    app.command(epilog=SCHEMA_EXAMPLES)(schema)


def run(
    file: ScenarioFile,
    *,
    wanted: Wanted,
    accept_missing: Annotated[
        bool, typer.Option("--accept-missing", help="Run even if an import lacks values that affect results.")
    ] = False,
) -> None:
    """Run a scenario and print the result."""
    from sledsim.scenario.reading import from_argument, resolve

    accepted = ["accept_missing=true"] if accept_missing else []
    _run(resolve(from_argument(file), [*(wanted.sets or []), *accepted]), wanted)


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Block trace, compressed or not.")],
    *,
    device: OfDevice = "g2",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="NAME", help="Scheduler.", autocompletion=scheduler_names)
    ] = None,
    seek_model: SeekModel = None,
    replayed: Replayed,
    reading: Reading,
    wanted: Wanted,
) -> None:
    """Replay a block trace on a device and print the result."""
    from sledsim.runs.replaying import replay_scenario, require_effect
    from sledsim.scenario.reading import resolve, set_list

    keys = {**asdict(replayed), **reading.keys()}
    keys |= {"devices": listed(replayed.devices, "devices", int), "skip_bad": reading.skip_bad or None}
    # As settings, so that what is wrong with one is told as an option.
    chosen = {"device": device, "device.seek_model": seek_model, "scheduler": scheduler}
    chosen |= {f"workload.{key}": value for key, value in keys.items()}
    given = set_list({path: value for path, value in chosen.items() if value is not None})
    resolved = resolve(replay_scenario(trace, device), [*given, *(wanted.sets or [])])
    require_effect(resolved)
    _run(resolved, wanted)


def compare(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Scenarios; ratios are to the first.")],
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
    metric: Metric = "response.mean_ms",
) -> None:
    """Run several scenarios and compare their results."""
    from sledsim.runs.comparison import compare as compare_runs
    from sledsim.runs.summary_tables import require_metric
    from sledsim.scenario.reading import from_argument

    check_picture(plot)
    require_metric(metric)
    comparison = compare_runs([from_argument(file) for file in files], overrides=sets or [], progress=True)
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
    resolved: Resolved = False,
) -> None:
    """Check scenarios and print every error."""
    from sledsim._core import ScenarioError, error_of
    from sledsim.scenario.reading import from_argument, resolve

    found: list[_core.Fault] = []
    for file in files:
        try:
            complete = resolve(from_argument(file), sets or [])
        except ScenarioError as error:
            # A setting that is wrong is wrong for each of them.
            found += [fault for fault in error.faults if fault not in found]
            continue
        if resolved:
            print_json(complete.values)
        else:
            print_text(f"{file}: ok")
    if found:
        raise error_of(ScenarioError, found)


def explain(
    file: ScenarioFile,
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Print the component tree of a scenario's system with sizes and parameters."""
    from sledsim.scenario.explanation import explain as explained
    from sledsim.scenario.reading import from_argument

    found = explained(from_argument(file), overrides=sets or [])
    print_found(found, as_json=as_json)


def document_kinds() -> "dict[str, type[Document]]":
    """Return the documents beside scenarios by what their files describe."""
    from sledsim.reliability.description import Description
    from sledsim.studies.cache_cost import CostStudy
    from sledsim.studies.objective import RoleTest
    from sledsim.sweep import Search, Sweep

    return {"sweep": Sweep, "search": Search, "enclosure": Description, "cost": CostStudy, "role": RoleTest}


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="scenario, sweep, search, enclosure, cost or role.")
    ] = "scenario",
    result: Annotated[bool, typer.Option("--result", help="Print the schema of `run --json`.")] = False,
) -> None:
    """Print the JSON Schema of scenarios, of other documents, or of results.

    It gives every key, its unit, range, default and meaning.
    """
    from sledsim import _core
    from sledsim.show.faults import wrong

    kinds = document_kinds()
    if kind in kinds and not result:
        print_json(kinds[kind].file_schema())
    elif kind == "scenario":
        print_json(_core.result_schema() if result else _core.schema(document=True))
    elif kind in kinds:
        raise typer.BadParameter("is of what `run --json` prints: leave out the kind", param_hint="--result")
    else:
        raise wrong(_core.SledsimError, "unknown-name", path="kind", value=kind, known=["scenario", *kinds])


def _run(scenario: "_core.Scenario", wanted: Wanted) -> None:
    """Run a scenario, print and write what was asked for."""
    from sledsim._core import RunError
    from sledsim.runs.running import run_resolved

    if wanted.resolved:
        print_json(scenario.values)
        return
    require_kept(scenario, {"log": wanted.log, "plot": wanted.plot, "timeline": wanted.timeline})
    drawn = wanted.plot is not None
    logged = drawn or wanted.log is not None
    # A picture has the power where it is known; who asks for the timeline is told where it is not.
    timed = wanted.timeline is not None or (drawn and not scenario.unpowered)
    try:
        result = run_resolved(scenario, log=logged, timeline=timed, progress=True, check=wanted.check)
    except RunError as error:
        if error.result is not None:
            _show(error.result, wanted)
        raise
    _show(result, wanted)
    if not result.complete:
        complain(f"interrupted: the results are those so far{not_drawn(wanted.plot)}")
        raise typer.Exit(INTERRUPTED)
    if wanted.plot:
        result.save_plot(wanted.plot, "course")


def _show(result: "Result", wanted: Wanted) -> None:
    """Print and write what a run found."""
    if wanted.full or wanted.as_json:
        print_found(result, as_json=wanted.as_json)
    else:
        print_tables([result.brief()])
    if not result.complete and (wanted.log or wanted.timeline):
        # Of millions of requests that takes as long as they did.
        complain("writing what was recorded so far; Ctrl-C leaves it out")
    if wanted.log:
        result.write_log(wanted.log)
    if wanted.timeline:
        result.write_timeline(wanted.timeline)
