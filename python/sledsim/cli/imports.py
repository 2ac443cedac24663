"""Commands that take over what other simulators' files describe."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.output import check_target, print_text
from sledsim.cli.streams import say

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Import devices and scenarios from other simulators.",
    epilog="""\b
Examples:
  sledsim import disksim atlas10k.parv -o atlas10k.toml
  sledsim import disksim atlas10k.parv --scenario -o run.toml
""",
)

DISKSIM_EXAMPLES = """\b
Examples:
  sledsim import disksim atlas10k.parv -o atlas10k.toml
  sledsim replay trace.srt --device atlas10k.toml
  sledsim import disksim atlas10k.parv --scenario | sledsim run -
"""


@app.callback()
def _imports() -> None:
    """Import devices and scenarios from other simulators."""


@app.command(epilog=DISKSIM_EXAMPLES)
def disksim(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Parameter file, such as .parv or .diskspecs.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write (.toml; default: standard output)."),
    ] = None,
    scenario: Annotated[bool, typer.Option("--scenario", help="Write a whole scenario, not only the device.")] = False,
    device: Annotated[
        str | None, typer.Option("--device", "-d", metavar="NAME", help="Device to import, if the file has several.")
    ] = None,
) -> None:
    """Convert a DiskSim 4.0 parameter file to a device file or a scenario.

    Every value comes with its file and line. What cannot be carried over is listed on standard error and in the file.
    """
    from sledsim.scenario.disksim import import_disksim
    from sledsim.show.files import write_atomically
    from sledsim.show.fitting import visible_in_strings

    check_target(out, (".toml",))
    found = import_disksim(file, device=device, scenario=scenario)
    text = (found.scenario_file if scenario else found.device_file) or ""
    for line in found.listing:
        print_text(line, err=True)
    if out is None:
        say(visible_in_strings(text), end="")
    else:
        write_atomically(out, text)
        print_text(f"{out}: {found.name}")
