"""The commands put together, and what happens when one fails."""

import logging
import re
import sys
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from sledsim.cli import (
    caches,
    catalog,
    cost,
    design,
    drives,
    examples,
    imports,
    machine,
    objective,
    optimise,
    policies,
    power,
    relation,
    reliability,
    runs,
    serving,
    sweep,
    traces,
)
from sledsim.cli.options import with_catalog
from sledsim.cli.output import (
    PrintedWarnings,
    complain,
    in_options,
    require_distinct,
    require_texts,
    suggest,
    words_of,
)
from sledsim.cli.streams import PIPE_CLOSED, WRONG, OutputLostError, drop, say, told

__all__ = ["app"]

logging.getLogger("sledsim").addHandler(PrintedWarnings())

#: The exit status after Ctrl-C.
INTERRUPTED = 130


#: Where a context remembers the command that it runs, and what was typed after the program's name.
COMMAND, TYPED = "sledsim.command", "sledsim.typed"

#: What commands are for; those that another package adds, and nobody has named here, come last.
GROUPS = {
    "Simulate": ("run", "replay", "compare", "serve", "machine", "validate", "explain", "check-policy", "example"),
    "Study": (
        *("sweep", "optimise", "power", "reliability", "cost", "hit-ratio", "relation", "specificity", "merit"),
        "design",
        "validate-drive",
    ),
    "Describe": (
        *(
            "devices",
            "schedulers",
            "workloads",
            "cache-policies",
            "seek",
            "zones",
            "break-even",
            "trace",
            "import",
            "schema",
        ),
    ),
    "Papers": ("reproduce",),
}
#: What takes devices and workloads by their names.
NAMING = {
    *(
        "run",
        "replay",
        "compare",
        "serve",
        "validate",
        "explain",
        "optimise",
        "power",
        "cost",
        "relation",
        "specificity",
        "merit",
    ),
    *("validate_drive", "devices", "workloads", "seek", "zones", "break_even", "info"),
}
OTHERS = "Other packages"
#: Commands of other distributions, which are found by entry point, and the distribution to install for each.
DISTRIBUTIONS = {"reproduce": "sledsim-papers"}
#: Why the command of an entry point could not be imported, by the command's name.
_not_loaded: dict[str, str] = {}
#: The first sentence of a command's help is shown whole.
SENTENCE = 1000

#: What Typer puts in front of a message.
ERROR = "Error: "

#: What Typer raises of arguments that it does not take.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
#: How bounds of an option's value are said, by what Typer calls them.
BOUNDS = {"ge": "from {} up", "gt": "above {}", "le": "up to {}", "lt": "below {}"}


def _roomier(error: Any) -> list[tuple[str, Any]]:
    """Return the device that has the room which a trace takes, where that is what is wrong: key and value."""
    taken = [
        fault.allowed["least"]
        for fault in error.faults
        if fault.kind == "misfit"
        and fault.path is None
        and isinstance(fault.allowed, dict)
        and fault.allowed.get("least")
    ]
    if not taken:
        return []
    from sledsim.devices.entries import with_room

    name = with_room(max(taken))
    return [("device", name)] if name else []


class Command(TyperCommand):
    """A command; it writes over no file that it reads, and its help's examples can be pasted on whatever terminal."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read what was typed; help is printed meanwhile."""
        with told():
            return super().make_context(*args, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options and arguments; an option that takes one value may be given once."""
        if args:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for option in dict.fromkeys(given):
                if not isinstance(option, TyperOption) or option.multiple or option.is_flag:
                    continue
                if given.count(option) > 1:
                    says = f"given {given.count(option)} times, and takes one value: give it once"
                    raise typer.BadParameter(says, ctx=ctx, param=option)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        require_texts(self, ctx.params)
        require_distinct(self, ctx.params)
        return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, none of them longer than a line."""
        _write_examples(self.epilog, formatter)


def _write_examples(epilog: str | None, formatter: Any) -> None:
    """Write what stands below a help as it is, but for commands: what is too long goes on behind a backslash."""
    for paragraph in epilog.removeprefix("\b\n").split("\n\n") if epilog else ():
        formatter.write_paragraph()
        for line in paragraph.rstrip().split("\n"):
            formatter.write("".join(f"  {part}\n" for part in _continued(line, formatter.width - 2)))


def _continued(line: str, width: int) -> list[str]:
    """Break a command before options, so that a shell takes it for one line."""
    if len(line) <= width:
        return [line]
    first, *others = re.split(r" (?=--?[a-z])", line)
    parts = [first]
    for each in others:
        # Room is left for the backslash.
        if len(f"{parts[-1]} {each}") <= width - 2:
            parts[-1] += f" {each}"
        else:
            parts.append(f"    {each}")
    return [f"{part} \\" for part in parts[:-1]] + parts[-1:]


def _plainly(error: Any) -> None:
    """Let an error of an option's value say what was expected, where that is known as data."""
    from sledsim.show.faults import brief

    found = getattr(error.__cause__, "errors", list[Any])()
    for each in found[:1]:
        kind, bounds = each["type"], each.get("ctx", {})
        expected = "a whole number" if kind.startswith("int_") else "a number" if kind.startswith("float_") else None
        bound = next((f"a number {words.format(bounds[key])}" for key, words in BOUNDS.items() if key in bounds), None)
        if expected or bound:
            error.message = f"expected {expected or bound} (got {brief(each['input'])[0]})"


class Commands(TyperGroup):
    """The commands; errors become one message and an exit status."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, none of them longer than a line."""
        _write_examples(self.epilog, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by what they are for; those of a command that has some of its own stay in one list."""
        commands = self.commands
        named = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, OTHERS: tuple(name for name in commands if name not in named)}
        if "run" not in commands or "replay" not in commands:
            groups = {"Commands": tuple(commands)}
        for group, names in groups.items():
            rows = [(name, commands[name].get_short_help_str(SENTENCE)) for name in names if name in commands]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, and remember whose options errors are told in."""
        ctx.meta.setdefault(TYPED, list(args))
        if args and args[0] in DISTRIBUTIONS and args[0] not in self.commands:
            needed, error = DISTRIBUTIONS[args[0]], _not_loaded.get(args[0])
            problem = f"cannot be loaded ({error})" if error else "is not installed"
            complain(f"sledsim {args[0]}: the distribution {needed} {problem}: pip install {needed}")
            raise typer.Exit(WRONG)
        found = super().resolve_command(ctx, args)
        ctx.meta[COMMAND] = found[1]
        return found

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read what was typed; help is printed meanwhile."""
        with told():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        from sledsim._core import SledsimError
        from sledsim.show.faults import spoken, ways_out
        from sledsim.show.fitting import folded, terminal_width

        try:
            return super().invoke(ctx)
        except SledsimError as error:
            words = words_of(ctx.meta[COMMAND])
            complain(spoken(in_options(error, ctx.meta[COMMAND]), words))
            suggest(ctx.meta[TYPED], [words(path, value) for path, value in (*ways_out(error), *_roomier(error))])
            raise typer.Exit(WRONG) from None
        except USAGE_ERROR as error:
            _plainly(error)
            # As Typer tells it, folded with the word that it puts in front.
            told = "\n".join(folded(f"{ERROR}{error.format_message()}", terminal_width(sys.stderr)))
            vars(error)["format_message"] = lambda: told[len(ERROR) :]
            raise
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            complain("there is not enough memory for it: ask for fewer requests, without a log, or on fewer threads")
            raise typer.Exit(WRONG) from None
        except BrokenPipeError:
            drop(sys.stdout)
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            if isinstance(error, OutputLostError):
                drop(sys.stdout)
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
  sledsim example readme
  sledsim replay my-trace.gz --device g2 --scheduler sptf
  sledsim run scenario.toml --set run.requests=10000 --json
  sledsim power scenario.toml --plot power.png
  sledsim sweep run rates.toml
  sledsim reliability enclosure.toml --plot survival.png
  sledsim devices g2
  sledsim seek g2 --plot seek.png
  sledsim validate-drive atlas10k measured.trace
  sledsim relation --device g2 --plot relation.png
  sledsim check-policy my_module:MyPolicy
  sledsim specificity sdf
  sledsim hit-ratio my-trace.gz --policy arc --pages 1000,2000
  sledsim cost --workload tpcc-like --mems-size "128 MiB"
  sledsim design g2 --sensitivity
  sledsim optimise design.toml --plot front.html
  sledsim import disksim drive.parv -o drive.toml
  sledsim reproduce --report report

The exit status is 2 where something asked for is wrong, 130 after Ctrl-C.""",
)


def _version(asked: bool) -> None:
    if asked:
        from sledsim._core import __version__

        say(f"sledsim {__version__}")
        raise typer.Exit


@app.callback()
def _sledsim(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate MEMS storage, disks and systems of them under your workload."""


runs.register(app)
serving.register(app)
policies.register(app)
examples.register(app)
optimise.register(app)
power.register(app)
reliability.register(app)
drives.register(app)
catalog.register(app)
caches.register(app)
cost.register(app)
design.register(app)
relation.register(app)
objective.register(app)
for _entry in entry_points(group="sledsim.commands"):
    try:
        _register = _entry.load()
    except ImportError as _error:
        # A distribution that is broken or half removed does not take the other commands with it.
        _not_loaded[_entry.name] = str(_error)
    else:
        _register(app)
for _each in (app, sweep.app, traces.app, machine.app, imports.app):
    for _info in _each.registered_commands:
        _info.cls = Command
for _info in (*app.registered_commands, *sweep.app.registered_commands, *traces.app.registered_commands):
    if _info.callback and _info.callback.__name__ in NAMING:
        _info.callback = with_catalog(_info.callback)
app.add_typer(sweep.app, name="sweep", cls=Commands)
app.add_typer(traces.app, name="trace", cls=Commands)
app.add_typer(machine.app, name="machine", cls=Commands)
app.add_typer(imports.app, name="import", cls=Commands)
