"""The command that makes a device from a drawing."""

from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Plot, Sets
from sledsim.cli.output import check_picture, print_found
from sledsim.cli.streams import say

__all__ = ["register"]

#: By what fraction values are raised and lowered if nothing is said.
TENTH = 0.1

DESIGN_EXAMPLES = """\b
Examples:
  sledsim design g2
  sledsim design g2 --set bit_nm=30 --toml > device.toml
  sledsim design mine.toml --sensitivity --plot moves.png
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=DESIGN_EXAMPLES)(design)


def design(
    file: Annotated[
        str,
        typer.Argument(metavar="DRAWING|-", help="g1, g2 or g3, or a file (TOML, YAML, JSON); - for stdin."),
    ] = "g2",
    sensitive: Annotated[
        bool, typer.Option("--sensitivity", help="Show how much each value changes each figure.")
    ] = False,
    step: Annotated[
        float | None,
        typer.Option(
            "--step", metavar="X", help="Fraction by which --sensitivity and --plot change a value (default: 0.1)."
        ),
    ] = None,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print a device file for other commands.")] = False,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Derive a device (acceleration, capacity, bandwidth, power) from a drawing.

    Printed are the parameters beside those of the catalogue's device, and what follows. The picture is that of
    --sensitivity.
    """
    from sledsim.show.fitting import visible_in_strings
    from sledsim.studies.sled_design import design as made_of

    check_picture(plot)
    if as_toml and (as_json or sensitive):
        raise typer.BadParameter("leave out --json and --sensitivity", param_hint="--toml")
    if step is not None and not (sensitive or plot):
        raise typer.BadParameter("add --sensitivity or --plot: nothing is raised without them", param_hint="--step")
    found = made_of(file, overrides=sets or [])
    moves = found.sensitivity(TENTH if step is None else step) if sensitive or plot else None
    if as_toml:
        say(visible_in_strings(found.to_toml()), end="")
    else:
        print_found(moves if moves and sensitive else found, as_json=as_json)
    if moves and plot:
        moves.save_plot(plot)
