"""Commands that run scenarios and check them: run, replay, compare, check, serve, plugin-check."""

import json
import signal
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.checks import check_chart, check_target, require_not_read
from sledsim.cli.options import (
    AsJson,
    Columns,
    ComparedPrecision,
    FindLimit,
    Full,
    Log,
    Metric,
    Plot,
    Precision,
    Resolved,
    ScenarioFile,
    Sets,
    SkipBad,
    Sort,
    System,
    Timeline,
    TraceFile,
    TraceFormat,
    device_names,
    numbers,
    precision_pairs,
    precision_sets,
    reader_options,
    scheduler_names,
)
from sledsim.cli.output import (
    draw_if_complete,
    print_error,
    print_json,
    print_result,
    print_tables,
    print_text,
    print_written,
)
from sledsim.cli.streams import BAD_INPUT

if TYPE_CHECKING:
    from sledsim import _core
    from sledsim.runs.load_limit import LoadLimits
    from sledsim.runs.result import Result

__all__ = ["register"]

PANEL = "Simulate"

NOT_WITH_LIMIT = "cannot be combined with --find-limit"

RUN_EXAMPLES = """\b
Examples:
  sledsim run scenario.toml
  sledsim run scenario.toml --set device.name=g3 --set scheduler=sptf
  sledsim run scenario.toml --json --log requests.parquet
  sledsim run scenario.toml --plot run.html --timeline states.parquet
  sledsim run scenario.toml --find-limit p99=20ms
  sledsim run scenario.toml --precision response=1%
  sledsim run - < scenario.yaml
"""
REPLAY_EXAMPLES = """\b
Examples:
  sledsim replay hplajw.srt --device g2
  sledsim replay search.trace --device g2,g3,atlas10k --scheduler fcfs,sptf
  sledsim replay oltp.spc --device g2 --devices 0,1 --fit scale --json
  sledsim replay big.csv --device g2 --mode outstanding --records 100000
  sledsim replay search.trace --device g3 --scheduler sptf --time-scale 0.5
  sledsim replay search.trace --device g2,g3 --find-limit p99=20ms
  sledsim replay big.csv --set workload.start_s=60 --set workload.repeat=3
"""
COMPARE_EXAMPLES = """\b
Examples:
  sledsim compare g1.toml g2.toml g3.toml
  sledsim compare fcfs.toml sptf.toml --set run.requests=50000
  sledsim compare fcfs.toml sptf.toml --plot response.png
  sledsim compare fcfs.toml sptf.toml --precision response=1%,p99=5%
  sledsim compare fcfs.toml sptf.toml --precision difference=1%
"""
CHECK_EXAMPLES = """\b
Examples:
  sledsim check scenario.toml
  sledsim check *.toml --set members.0.count=8
  sledsim check scenario.toml --resolved > full.json
"""
SERVE_EXAMPLES = """\b
Examples:
  sledsim serve g2
  sledsim serve scenario.toml --image disk.img --log requests.csv
  sledsim serve scenario.toml --tcp 127.0.0.1:10809 --dilation 10
  sledsim serve scenario.toml --set device=g3 --once --json
"""
PLUGIN_CHECK_EXAMPLES = """\b
Examples:
  sledsim plugin-check my_module:MyPolicy
  sledsim plugin-check my_module:MyPolicy --parameter weight=0.5
  sledsim plugin-check '{library="mine.so", symbol="pick"}' --role scheduler
  sledsim plugin-check sptf --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, name, epilog in (
        (run, "run", RUN_EXAMPLES),
        (replay, "replay", REPLAY_EXAMPLES),
        (compare, "compare", COMPARE_EXAMPLES),
        (check, "check", CHECK_EXAMPLES),
        (serve, "serve", SERVE_EXAMPLES),
        (plugin_check, "plugin-check", PLUGIN_CHECK_EXAMPLES),
    ):
        app.command(name, epilog=epilog, rich_help_panel=PANEL)(command)


def run(
    file: ScenarioFile,
    sets: Sets = None,
    as_json: AsJson = False,
    full: Full = False,
    log: Log = None,
    plot: Plot = None,
    timeline: Timeline = None,
    invariants: Annotated[
        bool, typer.Option("--check", help="Check invariants during the run (slower, same results).")
    ] = False,
    limit: FindLimit = None,
    precision: Precision = None,
) -> None:
    """Run a scenario and print the result.

    With --find-limit, print the highest load at which the response time stays within a bound: the arrival rate is
    scaled, or the times of a trace.
    """
    from sledsim.scenario.reading import from_argument, resolve

    sets = [*(sets or []), *precision_sets(precision)]
    if limit is not None:
        _refuse({"--log": log, "--timeline": timeline, "--full": full, "--check": invariants}, NOT_WITH_LIMIT)
        _find_limit_of_scenario(file, limit, sets, as_json=as_json, plot=plot)
        return
    output = RunOutput(as_json, full, log, plot, timeline)
    _run(resolve(from_argument(file), sets), output, invariants=invariants)


def replay(
    trace: TraceFile,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            "-d",
            metavar="NAME",
            help="Device of the catalogue (see `sledsim list devices`), or a device file; several with commas "
            "(default: g2, g3 and the disks travelstar and ultrastar36z15).",
            autocompletion=device_names,
        ),
    ] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="Scheduler (see `sledsim list schedulers`); several with commas (default: fcfs).",
            autocompletion=scheduler_names,
        ),
    ] = None,
    time_scale: Annotated[
        float | None, typer.Option(metavar="X", help="Multiply the times between arrivals by X.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Arrivals: open (as recorded), closed (gaps after completions), outstanding, or auto (default).",
        ),
    ] = None,
    outstanding: Annotated[
        int | None, typer.Option(metavar="N", help="Requests kept outstanding in mode outstanding.")
    ] = None,
    fit: Annotated[
        str | None, typer.Option(metavar="NAME", help="Addresses beyond the device: error (default), wrap or scale.")
    ] = None,
    devices: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Replay only requests to these devices of the trace.")
    ] = None,
    records: Annotated[
        int | None, typer.Option("--records", "-n", metavar="N", min=1, help="Replay only the first N records.")
    ] = None,
    trace_format: TraceFormat = None,
    skip_bad: SkipBad = 0,
    sort: Sort = False,
    columns: Columns = None,
    sets: Sets = None,
    as_json: AsJson = False,
    full: Full = False,
    log: Log = None,
    plot: Plot = None,
    timeline: Timeline = None,
    resolved: Resolved = False,
    limit: FindLimit = None,
) -> None:
    """Replay a block trace on a device, or compare several devices and schedulers on it.

    With one device and one scheduler the result of the run is printed. Otherwise a table has a row for each
    combination. With --find-limit a row is the highest load at which the response time stays within a bound: the times
    between arrivals are scaled.

    --set workload.KEY=VALUE sets the other keys of a replay: start_s, end_s, first_record, repeat, sector_bytes,
    event, time_unit.
    """
    from sledsim.runs.replaying import replay_scenario, require_effect
    from sledsim.scenario.reading import resolve, set_list

    for setting in sets or []:
        key, _, value = setting.partition("=")
        if key == "system.kind" and value.strip("\"'") != "drive":
            message = "replay needs kind drive: for other systems, write a scenario and use sledsim run SCENARIO"
            raise typer.BadParameter(message, param_hint=f"--set {setting}")
    devices_given, schedulers_given = _split(device), _split(scheduler)
    keys = {
        "time_scale": time_scale,
        "mode": mode,
        "outstanding": outstanding,
        "fit": fit,
        "devices": numbers(devices, "devices", int),
        "records": records,
        **reader_options(trace_format, skip_bad, columns),
        "sort": sort or None,
        "skip_bad": skip_bad or None,
    }
    # Options are passed as settings, so that errors of both name what was typed.
    of_workload = {f"workload.{key}": value for key, value in keys.items() if value is not None}
    if limit is not None:
        options = {"--log": log, "--timeline": timeline, "--full": full, "--resolved": resolved}
        _refuse(options, NOT_WITH_LIMIT)
        overrides = [*set_list(of_workload), *(sets or [])]
        _find_limit(trace, limit, devices_given, schedulers_given, overrides, as_json=as_json, plot=plot)
        return
    if len(devices_given) != 1 or len(schedulers_given) > 1:
        single = {"--log": log, "--timeline": timeline, "--full": full, "--resolved": resolved}
        _refuse(single, "needs one --device and at most one --scheduler")
        overrides = [*set_list(of_workload), *(sets or [])]
        _compare_on_trace(trace, devices_given, schedulers_given, overrides, as_json=as_json, plot=plot)
        return
    output = RunOutput(as_json, full, log, plot, timeline)
    chosen = {"device": devices_given[0], **({"scheduler": schedulers_given[0]} if schedulers_given else {})}
    given = set_list(chosen | of_workload)
    scenario = resolve(replay_scenario(trace, devices_given[0]), [*given, *(sets or [])])
    require_effect(scenario)
    if resolved:
        print_json(scenario.values)
    else:
        _run(scenario, output)


def _find_limit_of_scenario(file: str, limit: str, sets: list[str], *, as_json: bool, plot: Path | None) -> None:
    """Print the highest load of a scenario within a bound."""
    from sledsim.runs.load_limit import Bound, limits_of
    from sledsim.scenario.reading import from_argument, resolve

    check_chart(plot)
    # Standard input can be read only once.
    scenario = resolve(from_argument(file), sets) if file == "-" else from_argument(file)

    def resolve_one(device: str | None, scheduler: str | None, more: list[str]) -> "_core.Scenario":
        return resolve(scenario, [*sets, *more])

    name = "scenario" if file == "-" else Path(file).name
    limits = limits_of(name, Bound.parse(limit), [None], [None], resolve_one, progress=True)
    _print_limits(limits, as_json=as_json, plot=plot)


def _refuse(options: Mapping[str, object], reason: str) -> None:
    """Raise if one of some options is given."""
    for option, value in options.items():
        if value:
            raise typer.BadParameter(reason, param_hint=option)


def _find_limit(
    trace: Path,
    limit: str,
    devices: list[str],
    schedulers: list[str],
    overrides: list[str],
    *,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Print the highest loads of a trace within a bound."""
    from sledsim.runs.load_limit import Bound, limits_of
    from sledsim.runs.replaying import replay_scenario
    from sledsim.runs.trace_comparison import DEFAULT_DEVICES
    from sledsim.scenario.reading import resolve, set_list

    check_chart(plot)

    def resolve_one(device: str | None, scheduler: str | None, more: list[str]) -> "_core.Scenario":
        given = set_list({"device": device, "scheduler": scheduler})
        return resolve(replay_scenario(trace, str(device)), [*given, *overrides, *more])

    names = devices or list(DEFAULT_DEVICES)
    limits = limits_of(trace.name, Bound.parse(limit), names, schedulers or ["fcfs"], resolve_one, progress=True)
    _print_limits(limits, as_json=as_json, plot=plot)


def _print_limits(limits: "LoadLimits", *, as_json: bool, plot: Path | None) -> None:
    """Print the highest loads within a bound, and draw them."""
    print_result(limits, as_json=as_json)
    draw_if_complete(limits, plot, interrupted="interrupted: the limits are incomplete")


def _split(given: list[str] | None) -> list[str]:
    """Return the names of a repeatable option, each of which may be a list with commas."""
    return [name.strip() for names in given or [] for name in names.split(",") if name.strip()]


def _compare_on_trace(
    trace: Path, devices: list[str], schedulers: list[str], overrides: list[str], *, as_json: bool, plot: Path | None
) -> None:
    """Print a comparison of devices and schedulers on a trace."""
    from sledsim.runs.replaying import replay_scenario, require_effect
    from sledsim.runs.running import run_resolved
    from sledsim.runs.trace_comparison import compare_combinations
    from sledsim.scenario.reading import resolve, set_list

    check_chart(plot)

    def run_one(device: str, scheduler: str) -> "Result":
        given = set_list({"device": device, "scheduler": scheduler})
        scenario = resolve(replay_scenario(trace, device), [*given, *overrides])
        require_effect(scenario)
        return run_resolved(scenario, log=plot is not None, progress=True)

    comparison = compare_combinations(trace.name, devices or None, schedulers or None, run_one)
    print_result(comparison, as_json=as_json)
    draw_if_complete(comparison, plot)


@dataclass(frozen=True)
class RunOutput:
    """The output of a run: what is printed and which files are written.

    A run writes its log itself, unless a chart needs the log in memory.
    """

    as_json: bool
    full: bool
    log: Path | None
    plot: Path | None
    timeline: Path | None

    def __post_init__(self) -> None:
        """Raise if a file cannot be written."""
        from sledsim.show.frames import COPY_OPTIONS

        check_target(self.log, COPY_OPTIONS)
        check_chart(self.plot)
        check_target(self.timeline, COPY_OPTIONS)

    def print_and_write(self, result: "Result") -> None:
        """Print a result, and write log and timeline."""
        if self.full or self.as_json:
            print_result(result, as_json=self.as_json)
        else:
            print_tables([result.brief()])
        if not result.complete and (self.timeline or (self.log and self.plot)):
            # Writing takes about as long as the run did.
            print_error("writing what was recorded so far; Ctrl-C leaves it out")
        if self.log:
            if self.plot is not None:
                result.write_log(self.log)
            print_written(self.log)
        if self.timeline:
            result.write_timeline(self.timeline)
            print_written(self.timeline)


def _run(scenario: "_core.Scenario", output: RunOutput, *, invariants: bool = False) -> None:
    """Run a scenario and give the output."""
    from sledsim._core import RunError
    from sledsim.runs.running import run_resolved

    require_not_read(scenario, {"log": output.log, "plot": output.plot, "timeline": output.timeline})
    drawn = output.plot is not None
    log: bool | Path = True if drawn else output.log or False
    # A chart shows power only if it is known; an explicit --timeline is an error without it.
    timed = output.timeline is not None or (drawn and not scenario.unpowered)
    try:
        result = run_resolved(scenario, log=log, timeline=timed, progress=True, check=invariants)
    except RunError as error:
        if error.result is not None:
            output.print_and_write(error.result)
        raise
    output.print_and_write(result)
    draw_if_complete(result, output.plot, "course")


def compare(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Scenarios; ratios are to the first.")],
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
    metric: Metric = "response.mean_ms",
    precision: ComparedPrecision = None,
) -> None:
    """Run several scenarios and compare their results.

    --precision difference=1% simulates until the difference of each mean response from that of the first scenario is
    known within 1 % of the first mean.
    """
    from sledsim._core import SledsimError
    from sledsim.runs.comparison import compare as compare_runs
    from sledsim.runs.summary_tables import require_metric
    from sledsim.scenario.reading import from_argument
    from sledsim.show.faults import with_faults

    check_chart(plot)
    require_metric(metric)
    pairs = precision_pairs(precision)
    difference = next((share for result, share in pairs if result == "difference"), None)
    if difference is not None and len(pairs) > 1:
        raise typer.BadParameter("difference cannot be combined with other results", param_hint="--precision")
    settings = [*(sets or []), *([] if difference is not None else precision_sets(precision))]
    sources = [from_argument(file) for file in files]
    try:
        comparison = compare_runs(sources, difference=difference, overrides=settings, progress=True)
    except SledsimError as error:
        raise with_faults(error, [_of_difference(fault) for fault in error.faults]) from error.__cause__
    print_result(comparison, as_json=as_json)
    if all(result.complete for result in comparison.results.values()):
        message = "interrupted: the results are those of the last complete runs"
    else:
        message = f"interrupted during run {len(comparison)} of {len(files)}: its results are those so far"
    draw_if_complete(comparison, plot, metric, interrupted=message)


def _of_difference(fault: "_core.Fault") -> "_core.Fault":
    """Return a fault of the argument `difference` as one of `--precision difference`."""
    from sledsim.show.faults import facts_of, with_facts

    if fault.path != "difference":
        return fault
    option = "--precision difference"
    words = facts_of(fault)["message"]
    message = [{"text": option} if word.get("setting") == [["difference"], None] else word for word in words]
    return with_facts(fault, path=[option], message=message)


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Scenarios; - for standard input.")],
    sets: Sets = None,
    resolved: Resolved = False,
    as_json: AsJson = False,
) -> None:
    """Check scenarios without running them, and show their components.

    Every error is printed. For each component of a valid scenario, a table gives its size, its parameters, where writes
    wait and what a power cut can lose.
    """
    from sledsim._core import Fault, ScenarioError, error_of
    from sledsim.scenario.explanation import Explanation
    from sledsim.scenario.reading import from_argument, resolve

    if resolved and as_json:
        raise typer.BadParameter("prints JSON itself: leave out --json", param_hint="--resolved")
    faults: list[Fault] = []
    for file in files:
        try:
            scenario = resolve(from_argument(file), sets or [])
        except ScenarioError as error:
            # The same wrong --set is reported once, not for each file.
            faults += [fault for fault in error.faults if fault not in faults]
            continue
        if resolved:
            print_json(scenario.values)
        elif as_json:
            print_json(scenario.explain())
        else:
            print_text(f"{file}: ok")
            print_tables([Explanation(scenario.explain()).table()])
    if faults:
        raise error_of(ScenarioError, faults)


def serve(
    system: System,
    sets: Sets = None,
    socket: Annotated[
        str | None, typer.Option("--socket", metavar="FILE", help="Unix socket (default: sledsim.sock).")
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="[ADDRESS:]PORT", help="Use TCP (default address: 127.0.0.1)."),
    ] = None,
    remote: Annotated[
        bool, typer.Option("--remote", help="Allow --tcp addresses that other machines can reach.")
    ] = False,
    image: Annotated[
        str | None, typer.Option("--image", metavar="FILE", help="Keep data in this file (default: in memory).")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the image at the end.")] = False,
    dilation: Annotated[
        float, typer.Option("--dilation", metavar="N", help="Run the device N times slower than real time.")
    ] = 1.0,
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="Write the requests as a CSV trace.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Exit when the last client disconnects.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve a system as a network block device (NBD).

    A request is answered when the simulated system completes it, and written data is stored. The server runs until
    SIGTERM or Ctrl-C. Then it prints whether answers were on time, and the result of the run.
    """
    from sledsim.runs.serving import serve as serve_system
    from sledsim.runs.session import system_of

    def ready(address: str, size: int, early_ns: int) -> None:
        print_text(f"{address} has {size:,} bytes; answers leave {early_ns / 1e3:.1f} µs early", err=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options: dict[str, Any] = {"socket": socket, "tcp": tcp, "remote": remote, "image": image, "drop": drop, "log": log}
    result = serve_system(system_of(system), overrides=sets or [], **options, dilation=dilation, once=once, ready=ready)
    # Print the result even if a second SIGTERM arrives.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print_result(result, as_json=as_json)
    if log:
        print_written(log, "replay", log, "--device", "g2")


def plugin_check(
    name: Annotated[
        str,
        typer.Argument(metavar="POLICY", help="MODULE:CLASS, the name of a policy, or a table as in a scenario."),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the policy. Repeatable."),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="scheduler (request order), replacement (cache), mirror (choice of copy), spin-down (idle device) or "
            "device (service times). Default: that of the class or name.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a custom policy or device keeps its contract.

    The checks are those that built-in policies pass: each request is served once, the order is the same in each run,
    also after merges and cancellations, and no scheduler starves a request. A failed check names the request.
    """
    from sledsim.runs.policy_check import check_policy

    table = {**_policy_table(name), **dict(_parameter(each) for each in parameters or [])}
    # A policy without parameters may be a plain name.
    found = check_policy(name if table == {"name": name} else table, role)
    print_result(found, as_json=as_json)
    if not found.passed:
        first = next(verdict for verdict in found.verdicts if not verdict.passed)
        print_error(f"{found.name} breaks the contract ({first.rule}): {first.fault}")
        raise typer.Exit(BAD_INPUT)


def _policy_table(text: str) -> dict[str, Any]:
    """Return a policy as the table of a scenario."""
    if not text.startswith("{"):
        return {"name": text}
    try:
        return dict(tomllib.loads(f"scheduler = {text}")["scheduler"])
    except tomllib.TOMLDecodeError as error:
        raise typer.BadParameter(f"{text} is not a TOML table: {error}", param_hint="POLICY") from None


def _parameter(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE; a value that is not JSON is a string."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise typer.BadParameter(f"expected NAME=VALUE, not {text!r}", param_hint="--parameter")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
