"""The command that compares what saves power."""

from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Plot, ScenarioFile, Sets
from sledsim.cli.output import check_picture, complain, not_drawn, print_found

__all__ = ["register"]

INTERRUPTED = 130

POWER_EXAMPLES = """\b
Examples:
  sledsim power scenario.toml
  sledsim power scenario.toml --set system.spin_down.name=adaptive --plot power.png
  sledsim power scenario.toml --policies
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=POWER_EXAMPLES)(power)


def power(
    file: ScenarioFile,
    policies: Annotated[
        bool, typer.Option("--policies", help="Compare the spin-down policies instead of the strategies.")
    ] = False,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Run a scenario with each power strategy and with all; print savings and costs.

    The strategies are spin-down, request merging and subsector access; the scenario's own settings of them are used, or
    else the simplest (spin-down immediate, adjacent sequential reads merged in pairs). `sledsim break-even` says from
    which idle time on it saves energy to stop.
    """
    from sledsim.scenario.reading import from_argument
    from sledsim.studies.power_saving.strategies import power as compared

    check_picture(plot)
    comparison = compared(from_argument(file), policies=policies, overrides=sets or [], progress=True)
    print_found(comparison, as_json=as_json)
    if not comparison.complete:
        last = list(comparison.results)[-1]
        what = "its results are those so far, and those after it are left out"
        complain(f"interrupted during run {last!r}: {what}{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    if plot:
        comparison.save_plot(plot)
