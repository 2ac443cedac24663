"""The application: all commands, and the options before a command."""

import logging
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli import describe, examples, explore, machine, simulate, studies, sweep
from sledsim.cli.commands import NOT_LOADED, Application
from sledsim.cli.output import PrintedWarnings
from sledsim.cli.streams import write

__all__ = ["app"]

logging.getLogger("sledsim").addHandler(PrintedWarnings())

app = Application(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  sledsim example readme
  sledsim run scenario.toml --set run.requests=10000 --json
  sledsim replay my-trace.gz --device g2 --scheduler sptf
  sledsim device g2 --seeks --plot seeks.png
  sledsim sweep run rates.toml
  sledsim help sweep show

`sledsim help COMMAND` prints options and examples of a command. The exit
status is 2 if something is wrong with the input, and 130 after Ctrl-C.""",
)


def _version(requested: bool) -> None:
    if requested:
        from sledsim._core import __version__

        write(f"sledsim {__version__}")
        raise typer.Exit


@app.callback()
def _sledsim(
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog",
            metavar="FOLDER",
            help="Folder with your devices/*.toml and workloads/*.toml (or set SLEDSIM_CATALOG).",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate MEMS storage, disks and systems of them under your workload."""
    if catalog is not None:
        from sledsim.scenario.folders import use_catalog

        use_catalog(catalog)


simulate.register(app)
explore.register(app)
machine.register(app)
examples.register(app)
app.add_typer(sweep.app, name="sweep", rich_help_panel="Study")
studies.register(app)
describe.register(app)
for _entry in entry_points(group="sledsim.commands"):
    try:
        _register = _entry.load()
    except ImportError as _error:
        # The other commands work without a distribution that is broken.
        NOT_LOADED[_entry.name] = str(_error)
    else:
        _register(app)
