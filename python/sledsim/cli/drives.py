"""Commands that compare a model with a real drive."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Out, Plot, Sets, SkipBad, device_names
from sledsim.cli.output import check_picture, check_target, print_found

__all__ = ["register"]

VALIDATE_DRIVE_EXAMPLES = """\b
Examples:
  sledsim validate-drive atlas10k.parv atlas10k.trace
  sledsim validate-drive atlas10k atlas10k.trace --plot atlas10k.png
  sledsim validate-drive my-drive.toml measured.trace --set device.read_ahead=none --json
  sledsim validate-drive g2 served.csv
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="validate-drive", epilog=VALIDATE_DRIVE_EXAMPLES)(validate_drive)


def validate_drive(
    specs: Annotated[
        str,
        typer.Argument(
            metavar="SPECS",
            help="DiskSim parameters (.parv, .diskspecs), a device file (.toml) or the name of a device.",
            autocompletion=device_names,
        ),
    ],
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="Measurements: lines of R|W Hit|Miss lbn blocks us us, or CSV with response_us."
        ),
    ],
    sets: Sets = None,
    plot: Plot = None,
    out: Out = None,
    skip_bad: SkipBad = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a drive's model with measured service times.

    The trace is replayed closed: each request the recorded gap after the completion of the one before; one with
    arrivals and responses, such as a served device's log, at its times. The demerit is the root mean square horizontal
    distance between the cumulative distributions (Ruemmler and Wilkes 1994).
    """
    from sledsim.show.frames import COPY_OPTIONS
    from sledsim.studies.validation.drive import validate_drive as validated

    check_picture(plot)
    check_target(out, COPY_OPTIONS)
    found = validated(specs, trace, overrides=sets or [], skip_bad=skip_bad, progress=True)
    print_found(found, as_json=as_json)
    if out:
        found.write(out)
    if plot:
        found.save_plot(plot)
