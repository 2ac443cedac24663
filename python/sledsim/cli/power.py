"""The command that compares what saves power."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Sets, device_names
from sledsim.cli.output import check_picture, complain, not_drawn, print_found

__all__ = ["register"]

INTERRUPTED = 130

POWER_EXAMPLES = """\b
Examples:
  sledsim power scenario.toml
  sledsim power scenario.toml --set system.spin_down.name=adaptive --plot power.png
  sledsim power scenario.toml --policies
  sledsim power --break-even g2
  sledsim power --break-even g2 --set device.idle_tips=last-access --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=POWER_EXAMPLES)(power)


def power(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="Scenario (TOML, YAML, JSON); - for standard input.")
    ] = None,
    policies: Annotated[
        bool, typer.Option("--policies", help="Compare the spin-down policies instead of the strategies.")
    ] = False,
    break_even: Annotated[
        str | None,
        typer.Option(
            "--break-even",
            metavar="DEVICE",
            help="Run nothing: print the idle time past which this device saves energy by stopping.",
            autocompletion=device_names,
        ),
    ] = None,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the comparison: .html, .png or .svg.")
    ] = None,
) -> None:
    """Run a scenario with each power strategy alone and with all, and print what they save and cost.

    The strategies are spin-down, request merging and subsector access; the scenario's own settings of them are used, or
    else the simplest (spin-down immediate, adjacent sequential reads merged in pairs).
    """
    if (file is None) == (break_even is None):
        given = "not both" if file else "give one of them"
        raise typer.BadParameter(f"a scenario to run, or a device with --break-even: {given}", param_hint="FILE")
    if break_even is not None:
        if policies:
            raise typer.BadParameter("compares runs; it has no use for --break-even", param_hint="--policies")
        _break_even(break_even, sets, as_json=as_json, plot=plot)
    elif file is not None:
        _compare(file, sets, policies=policies, as_json=as_json, plot=plot)


def _break_even(device: str, sets: list[str] | None, *, as_json: bool, plot: Path | None) -> None:
    """Print when stopping pays."""
    from sledsim.devices.device import Device

    check_picture(plot)
    found = Device(device, set=sets or []).break_even()
    print_found(found, as_json=as_json)
    if plot:
        found.save_plot(plot)


def _compare(file: str, sets: list[str] | None, *, policies: bool, as_json: bool, plot: Path | None) -> None:
    """Run a scenario in several ways and print them side by side."""
    from sledsim.scenario.reading import from_argument
    from sledsim.studies.power.strategies import power_strategies, spin_down_policies

    check_picture(plot)
    compare = spin_down_policies if policies else power_strategies
    comparison = compare(from_argument(file), set=sets or [], progress=True)
    print_found(comparison, as_json=as_json)
    if not comparison.complete:
        last = list(comparison.results)[-1]
        what = "its results are those so far, and those after it are left out"
        complain(f"interrupted during run {last!r}: {what}{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    if plot:
        comparison.save_plot(plot)
