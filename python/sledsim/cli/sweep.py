"""Commands for sweeps: many runs of a scenario into a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sledsim.cli.options import AsJson, Cluster, Metric, Sets, Threads
from sledsim.cli.output import (
    check_picture,
    check_target,
    complain,
    print_found,
    print_json,
    print_tables,
    print_text,
)
from sledsim.cli.streams import WRONG, say

if TYPE_CHECKING:
    from sledsim.sweep import SweepReport

__all__ = ["app"]

INTERRUPTED = 130

RUN_EXAMPLES = """\b
Examples:
  sledsim sweep run rates.toml
  sledsim sweep run rates.toml --store results --threads 2 --set run.requests=1000
  sledsim sweep run rates.toml --set sweep.replications=10
  sledsim sweep run rates.toml --cluster tcp://head:8786
  sledsim sweep run rates.toml --retry-failed
"""
STATUS_EXAMPLES = """\b
Examples:
  sledsim sweep status rates.sweep
  sledsim sweep status results --sweep rates --json
"""
TABLE_EXAMPLES = """\b
Examples:
  sledsim sweep table rates.sweep
  sledsim sweep table rates.sweep --metric response.mean_ms --metric queue.max --json
"""
PLOT_EXAMPLES = """\b
Examples:
  sledsim sweep plot rates.sweep --plot rates.png --log-scale
  sledsim sweep plot rates.sweep --plot p99.html -m response.p99_ms --x workload.arrival.rate_per_s --colour scheduler
"""
EXPORT_EXAMPLES = """\b
Examples:
  sledsim sweep export rates.sweep --out rates.csv
  sledsim sweep export rates.sweep --out histograms.parquet --table histograms
"""
COMPARE_EXAMPLES = """\b
Examples:
  sledsim sweep compare rates.sweep --axis scheduler=fcfs,sptf
  sledsim sweep compare before.sweep after.sweep --metric response.mean_ms
  sledsim sweep compare results --sweep rates --sweep rates-g3
"""

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run a scenario along axes into a store, and inspect the results.",
)

Folder = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the store.")]
SweepName = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="NAME",
        help="Sweep of the store, if it has several; NAME@HASH for an earlier version.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="KEY", help="Metric, such as response.mean_ms. Repeatable."),
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
) -> None:
    """Run the missing runs of a sweep.

    docs/how-to/sweep.md describes sweep files. --set replaces values of the scenario, and with sweep. in front
    those of the file itself. What was interrupted goes on with the same command.
    """
    from sledsim.sweep import Sweep
    from sledsim.sweep import run as run_sweep

    folder = store or Path(f"{Sweep.load(file, overrides=sets or []).name}.sweep")
    report = run_sweep(
        file, folder, overrides=sets or [], threads=threads, cluster=cluster, retry_failed=retry_failed, progress=True
    )
    if as_json:
        print_json({**report.__dict__, "store": str(report.store)})
    else:
        print_text(_said(report))
    if report.failed:
        from sledsim.show.naming import counted

        say(f"note: {counted(report.failed, 'run')} failed: sledsim sweep status {report.store}", err=True)
    if report.complete and not report.done:
        _require_some(report)
    if not report.complete:
        complain(
            f"interrupted: {report.over:,} of {report.runs:,} runs are in {report.store}; the same command goes on "
            f"with the other {report.runs - report.over:,}"
        )
        raise typer.Exit(INTERRUPTED)


def _require_some(report: "SweepReport") -> None:
    """End with an error where no run of a sweep, and none that was there already, could be done."""
    from sledsim.sweep import status as standing

    [found] = standing(report.store, report.sweep)
    if found.failures and not found.done:
        complain(f"{report.sweep}: every run failed; the first: {found.failures[0].error}")
        raise typer.Exit(WRONG)


def _said(report: "SweepReport") -> str:
    """Say what became of a sweep."""
    parts = [f"{report.done:,} runs done"]
    if report.failed:
        parts.append(f"{report.failed:,} failed")
    if report.skipped:
        parts.append(f"{report.skipped:,} were there already")
    rate = (report.done + report.failed) / report.seconds if report.seconds else 0.0
    return f"{report.sweep}: {', '.join(parts)}; {report.seconds:.1f} s, {rate:,.0f} runs/s; {report.store}"


@app.command(epilog=STATUS_EXAMPLES)
def status(store: Folder, sweep: SweepName = None, as_json: AsJson = False) -> None:
    """Print the progress of the sweeps in a store, with failures and their reasons."""
    from sledsim.sweep import Store
    from sledsim.sweep import status as standing
    from sledsim.sweep.sweep_status import status_tables, status_to_json

    place = Store(store)
    found = standing(place, sweep)
    if as_json:
        print_json(status_to_json(place, found))
        return
    print_tables(status_tables(place, found))
    for each in found:
        if each.latest and each.missing > 0:
            print_text(f"\n{each.missing:,} runs of {each.definition.sweep} are missing; to go on:")
            # Not folded, so that it can be pasted.
            say(f"  {each.definition.command}")


@app.command(epilog=TABLE_EXAMPLES)
def table(store: Folder, metrics: Metrics = None, sweep: SweepName = None, as_json: AsJson = False) -> None:
    """Print the points of a sweep: means over replications with 95 % confidence intervals."""
    from sledsim.sweep import results

    found = results(store, sweep)
    print_found(found, metrics or [], as_json=as_json)


@app.command(epilog=PLOT_EXAMPLES)
def plot(
    store: Folder,
    picture: Annotated[Path, typer.Option("--plot", metavar="FILE", help="Picture: .html, .png or .svg.")],
    metric: Metric = "response.mean_ms",
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="Axis on X.")] = None,
    colour: Annotated[str | None, typer.Option("--colour", metavar="AXIS", help="Axis shown as colours.")] = None,
    facet: Annotated[str | None, typer.Option("--facet", metavar="AXIS", help="Axis with one panel per value.")] = None,
    log_scale: Annotated[bool, typer.Option("--log-scale", help="Use a logarithmic scale for the metric.")] = False,
    sweep: SweepName = None,
) -> None:
    """Draw a metric along an axis, with bands of 95 % confidence."""
    from sledsim.show.saving import save
    from sledsim.sweep import results

    check_picture(picture)
    save(results(store, sweep).plot(metric, x=x, colour=colour, facet=facet, log_scale=log_scale), picture)


@app.command(epilog=EXPORT_EXAMPLES)
def export(
    store: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write: .csv, .parquet or .json.")],
    metrics: Metrics = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Write a table of the store: runs, parameters, metrics, histograms, provenance or sweeps.",
        ),
    ] = None,
    sweep: SweepName = None,
) -> None:
    """Write a sweep as a table with a row for each run, or a table of the store."""
    from sledsim.show.frames import COPY_OPTIONS
    from sledsim.sweep import Store, results
    from sledsim.sweep.exporting import write_table

    check_target(out, COPY_OPTIONS)
    if table is None:
        results(store, sweep).export(out, metrics or [])
        return
    if sweep is not None or metrics:
        raise typer.BadParameter("is of the whole store; it has no use for --sweep and --metric", param_hint="--table")
    write_table(Store(store), table, out)


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
        raise typer.BadParameter("two sides are compared", param_hint="STORE")
    if axis is not None:
        if len(stores) > 1 or len(names) > 1:
            raise typer.BadParameter("compares values of one sweep", param_hint="--axis")
        found = compare_pairs(results(stores[0], names[0] if names else None), axis=_axis_values(axis))
    else:
        if len(stores) == 1 and len(names) < 2:
            raise typer.BadParameter("give two stores, two --sweep, or --axis AXIS=A,B", param_hint="STORE")
        sides = zip((stores * 2)[:2], (names * 2)[:2] if names else [None, None], strict=True)
        found = compare_pairs(*(results(store, name) for store, name in sides))
    print_found(found, metrics or [], as_json=as_json)


def _axis_values(text: str) -> tuple[str, str, str]:
    """Read ``AXIS=A,B``."""
    name, _, values = text.partition("=")
    first, comma, second = values.partition(",")
    if not (name and comma and first.strip() and second.strip()):
        raise typer.BadParameter(
            f"{text!r}: expected an axis and two of its values: scheduler=fcfs,sptf", param_hint="--axis"
        )
    return name.strip(), first.strip(), second.strip()
