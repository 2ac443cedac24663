"""The commands put together, and what happens when one fails."""

import os
import sys
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sledsim.cli import (
    caches,
    catalog,
    cost,
    drives,
    imports,
    layouts,
    objective,
    optimise,
    power,
    reliability,
    runs,
    sweep,
    traces,
)
from sledsim.cli.output import complain, words_of

__all__ = ["app"]

#: Exit statuses: what was asked for is wrong; Ctrl-C; the reader of our output has gone (128 + SIGPIPE).
WRONG, INTERRUPTED, PIPE_CLOSED = 2, 130, 141


#: Where a context remembers the command that it runs.
COMMAND = "sledsim.command"


class Commands(TyperGroup):
    """The commands; errors become one message and an exit status."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, and remember whose options errors are told in."""
        found = super().resolve_command(ctx, args)
        ctx.meta[COMMAND] = found[1]
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        from sledsim._core import SledsimError
        from sledsim.show.faults import spoken

        try:
            return super().invoke(ctx)
        except SledsimError as error:
            complain(spoken(error, words_of(ctx.meta[COMMAND])))
            raise typer.Exit(WRONG) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Nobody reads any more: keep Python from complaining when it flushes the output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(WRONG) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  sledsim replay trace.srt --device g2 --scheduler sptf
  sledsim run scenario.toml --set run.requests=10000 --json
  sledsim power scenario.toml --plot power.png
  sledsim sweep run sweep.toml
  sledsim reliability enclosure.toml --plot survival.png
  sledsim devices g2
  sledsim seek g2 --out seek.png
  sledsim validate-drive atlas10k measured.trace
  sledsim table --device g2 --plot table.png
  sledsim specificity sdf
  sledsim hit-ratio trace.srt --policy arc --pages 1000,2000
  sledsim cost --workload tpcc-like --mems-size "128 MiB"
  sledsim optimise design.toml --plot front.html
  sledsim import disksim drive.parv -o drive.toml
  sledsim reproduce --report report

The exit status is 2 where something asked for is wrong, 130 after Ctrl-C.""",
)


def _version(asked: bool) -> None:
    if asked:
        from sledsim._core import __version__

        typer.echo(f"sledsim {__version__}")
        raise typer.Exit


@app.callback()
def _sledsim(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate storage that moves: how fast, and for how many joules, a device serves a workload."""


runs.register(app)
optimise.register(app)
power.register(app)
reliability.register(app)
drives.register(app)
catalog.register(app)
caches.register(app)
cost.register(app)
layouts.register(app)
objective.register(app)
for _command in entry_points(group="sledsim.commands"):
    _command.load()(app)
app.add_typer(sweep.app, name="sweep", cls=Commands)
app.add_typer(traces.app, name="trace", cls=Commands)
app.add_typer(imports.app, name="import", cls=Commands)
