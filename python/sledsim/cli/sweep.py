"""The command ``sweep``: many runs of a scenario into a store, and their results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sledsim.cli.checks import check_chart, check_target
from sledsim.cli.commands import Application
from sledsim.cli.options import AsJson, Cluster, Metrics, Out, Plot, Precision, Sets, Threads, precision_sets
from sledsim.cli.output import print_error, print_json, print_result, print_tables, print_text, print_written
from sledsim.cli.streams import BAD_INPUT, INTERRUPTED, write

if TYPE_CHECKING:
    from sledsim.sweep import SweepReport

__all__ = ["app"]

RUN_EXAMPLES = """\b
Examples:
  sledsim sweep run rates.toml
  sledsim sweep run rates.toml --store results --set run.requests=1000
  sledsim sweep run rates.toml --set sweep.replications=10
  sledsim sweep run rates.toml --cluster tcp://head:8786
  sledsim sweep run rates.toml --retry-failed
"""
STATUS_EXAMPLES = """\b
Examples:
  sledsim sweep status rates.sweep
  sledsim sweep status results --sweep rates --json
"""
SHOW_EXAMPLES = """\b
Examples:
  sledsim sweep show rates.sweep
  sledsim sweep show rates.sweep -m response.mean_ms -m queue.max --json
  sledsim sweep show rates.sweep --plot rates.png --log-scale
  sledsim sweep show rates.sweep --plot it.html --x rate --colour scheduler
  sledsim sweep show rates.sweep --out rates.csv
  sledsim sweep show rates.sweep --table histograms --out it.parquet
"""
COMPARE_EXAMPLES = """\b
Examples:
  sledsim sweep compare rates.sweep --axis scheduler=fcfs,sptf
  sledsim sweep compare before.sweep after.sweep -m response.mean_ms
  sledsim sweep compare results --sweep rates --sweep rates-g3
"""

app = Application(
    help="Run a scenario for all combinations of values, save and show the results.",
    epilog="""\b
Examples:
  sledsim sweep run rates.toml
  sledsim sweep show rates.sweep
  sledsim sweep status rates.sweep
""",
)


@app.callback()
def _sweep() -> None:
    """Run a scenario for all combinations of values, save and show the results."""


Folder = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the store.")]
SweepName = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="NAME",
        help="Sweep of the store, if it has several; NAME@HASH for an earlier version.",
    ),
]


@app.command(epilog=RUN_EXAMPLES)
def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Sweep (TOML, YAML, JSON): base scenario, axes, replications.")
    ],
    sets: Sets = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FOLDER", help="Folder of the store (default: NAME.sweep).")
    ] = None,
    threads: Threads = None,
    cluster: Cluster = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs.")] = False,
    as_json: AsJson = False,
    precision: Precision = None,
) -> None:
    """Run the missing runs of a sweep.

    docs/how-to/sweep.md describes sweep files. --set KEY=VALUE sets a key of the scenario, --set sweep.KEY=VALUE one of
    the file. A sweep that was interrupted continues with the same command.
    """
    from sledsim.sweep import Sweep
    from sledsim.sweep import run as run_sweep

    overrides = [*(sets or []), *precision_sets(precision)]
    folder = store or Path(f"{Sweep.load(file, overrides=overrides).name}.sweep")
    report = run_sweep(
        file, folder, overrides=overrides, threads=threads, cluster=cluster, retry_failed=retry_failed, progress=True
    )
    if as_json:
        print_json({**report.__dict__, "store": str(report.store)})
    else:
        print_text(_summary(report))
    if report.failed:
        from sledsim.show.naming import with_count

        write(f"note: {with_count(report.failed, 'run')} failed: sledsim sweep status {report.store}", err=True)
    if report.complete and not report.done:
        _require_some(report)
    if not report.complete:
        print_error(
            f"interrupted: {report.over:,} of {report.runs:,} runs are in {report.store}; the same command runs the "
            f"other {report.runs - report.over:,}"
        )
        raise typer.Exit(INTERRUPTED)
    print_written(report.store, "sweep", "show", report.store)


def _require_some(report: "SweepReport") -> None:
    """Exit with an error if every run of the sweep failed, those of earlier commands included."""
    from sledsim.sweep import status as sweep_status

    [found] = sweep_status(report.store, report.sweep)
    if found.failures and not found.done:
        print_error(f"{report.sweep}: every run failed; the first: {found.failures[0].error}")
        raise typer.Exit(BAD_INPUT)


def _summary(report: "SweepReport") -> str:
    """Return the result of a sweep in one line."""
    parts = [f"{report.done:,} runs done"]
    if report.failed:
        parts.append(f"{report.failed:,} failed")
    if report.skipped:
        parts.append(f"{report.skipped:,} were there already")
    rate = (report.done + report.failed) / report.seconds if report.seconds else 0.0
    return f"{report.sweep}: {', '.join(parts)}; {report.seconds:.1f} s, {rate:,.0f} runs/s"


@app.command(epilog=SHOW_EXAMPLES)
def show(
    store: Folder,
    metrics: Metrics = None,
    plot: Plot = None,
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="For --plot: axis on X.")] = None,
    colour: Annotated[
        str | None, typer.Option("--colour", metavar="AXIS", help="For --plot: axis shown as colours.")
    ] = None,
    facet: Annotated[
        str | None, typer.Option("--facet", metavar="AXIS", help="For --plot: axis with one panel per value.")
    ] = None,
    log_scale: Annotated[
        bool, typer.Option("--log-scale", help="For --plot: logarithmic scale of the metric.")
    ] = False,
    out: Out = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="For --out: a table of the store instead: runs, parameters, metrics, histograms, provenance or "
            "sweeps.",
        ),
    ] = None,
    sweep: SweepName = None,
    as_json: AsJson = False,
) -> None:
    """Print the points of a sweep: means over replications with 95 % confidence intervals.

    --plot draws the first metric (default: response.mean_ms) with 95 % confidence bands. --out writes a row for each
    run.
    """
    from sledsim.show.frames import COPY_OPTIONS
    from sledsim.show.saving import save
    from sledsim.sweep import Store, results
    from sledsim.sweep.exporting import write_table

    check_chart(plot)
    check_target(out, COPY_OPTIONS)
    axes = {"x": x, "colour": colour, "facet": facet, "log_scale": log_scale or None}
    if plot is None and (unused := next((name for name, value in axes.items() if value is not None), None)):
        raise typer.BadParameter("add --plot FILE", param_hint=f"--{unused.replace('_', '-')}")
    if table is not None:
        if out is None:
            raise typer.BadParameter("add --out FILE", param_hint="--table")
        if sweep is not None or metrics or plot is not None or as_json:
            raise typer.BadParameter("writes a table of the whole store: give only --out with it", param_hint="--table")
        write_table(Store(store), table, out)
        print_written(out)
        return
    found = results(store, sweep)
    print_result(found, metrics or [], as_json=as_json)
    if out:
        found.export(out, metrics or [])
        print_written(out)
    if plot:
        metric = metrics[0] if metrics else "response.mean_ms"
        save(found.plot(metric, x=x, colour=colour, facet=facet, log_scale=log_scale), plot)
        print_written(plot)


@app.command(epilog=STATUS_EXAMPLES)
def status(store: Folder, sweep: SweepName = None, as_json: AsJson = False) -> None:
    """Print the progress of the sweeps in a store, with failures and their reasons."""
    from sledsim.sweep import Store
    from sledsim.sweep import status as sweep_status
    from sledsim.sweep.sweep_status import status_tables, status_to_json

    opened = Store(store)
    found = sweep_status(opened, sweep)
    if as_json:
        print_json(status_to_json(opened, found))
        return
    print_tables(status_tables(opened, found))
    for each in found:
        if each.latest and each.missing > 0:
            print_text(f"\n{each.missing:,} runs of {each.definition.sweep} are missing; to run them:")
            # Not wrapped, so that it can be pasted.
            write(f"  {each.definition.command}")


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE [STORE]", help="One store, or the two to compare.")],
    axis: Annotated[
        str | None, typer.Option("--axis", metavar="AXIS=A,B", help="Compare two values of an axis of one sweep.")
    ] = None,
    sweeps: Annotated[
        list[str] | None,
        typer.Option("--sweep", metavar="NAME", help="Sweep; repeat to compare two."),
    ] = None,
    metrics: Metrics = None,
    as_json: AsJson = False,
) -> None:
    """Compare two sweeps, or two values of an axis, in pairs of equal seeds."""
    from sledsim.sweep import compare_pairs, results

    names = sweeps or []
    if len(stores) > 2 or len(names) > 2:
        raise typer.BadParameter("expected two at most", param_hint="STORE")
    if axis is not None:
        if len(stores) > 1 or len(names) > 1:
            raise typer.BadParameter(
                "compares two values of one sweep: name one store and one --sweep", param_hint="--axis"
            )
        found = compare_pairs(results(stores[0], names[0] if names else None), axis=_axis_values(axis))
    else:
        if len(stores) == 1 and len(names) < 2:
            raise typer.BadParameter("give two stores, two --sweep, or --axis AXIS=A,B", param_hint="STORE")
        sides = zip((stores * 2)[:2], (names * 2)[:2] if names else [None, None], strict=True)
        found = compare_pairs(*(results(store, name) for store, name in sides))
    print_result(found, metrics or [], as_json=as_json)


def _axis_values(text: str) -> tuple[str, str, str]:
    """Parse ``AXIS=A,B``."""
    name, _, values = text.partition("=")
    first, comma, second = values.partition(",")
    if not (name and comma and first.strip() and second.strip()):
        raise typer.BadParameter(
            f"{text!r}: expected an axis and two of its values: scheduler=fcfs,sptf", param_hint="--axis"
        )
    return name.strip(), first.strip(), second.strip()
