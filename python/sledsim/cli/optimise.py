"""The command that searches for good designs."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Cluster, Plot, Sets, Threads
from sledsim.cli.output import check_picture, complain, not_drawn, print_found
from sledsim.cli.streams import WRONG

__all__ = ["register"]

INTERRUPTED = 130

EXAMPLES = """\b
Examples:
  sledsim optimise design.toml
  sledsim optimise design.toml --trials 500 --plot front.html
  sledsim optimise design.toml --set search.sampler=nsga2
  sledsim optimise design.toml --store designs.sweep --threads 4 --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EXAMPLES)(optimise)


def optimise(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Search (TOML, YAML or JSON): scenario, parameters, objectives.")
    ],
    sets: Sets = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FOLDER",
            help="Store for the runs (default: NAME.sweep). Finished runs are not repeated.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", metavar="N", min=1, help="Number of designs to try (default: that of the file)."),
    ] = None,
    threads: Threads = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Search for Pareto-optimal designs of a device or a policy.

    --set replaces values of the scenario, and with search. in front those of the file itself.
    """
    from sledsim.sweep.optimisation import optimise as search

    check_picture(plot)
    found = search(file, store, overrides=sets or [], trials=trials, threads=threads, cluster=cluster, progress=True)
    print_found(found, as_json=as_json)
    if not found.complete:
        tried = f"{len(found.trials)} of {found.search.trials} designs"
        complain(f"interrupted after {tried}; the same command goes on{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    errors = [each.error for each in found.trials]
    if errors and all(errors):
        complain(f"{found.search.name}: no design could be run; the first: {errors[0]}")
        raise typer.Exit(WRONG)
    if plot:
        found.save_plot(plot)
