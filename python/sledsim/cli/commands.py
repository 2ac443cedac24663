"""Classes of commands and groups: help, errors and exit statuses."""

import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from sledsim.cli.checks import require_distinct, require_texts
from sledsim.cli.errors import (
    device_with_room,
    key_formatter,
    option_hint,
    print_suggestions,
    usage_error,
    with_options,
)
from sledsim.cli.output import print_error
from sledsim.cli.streams import (
    BAD_INPUT,
    INTERRUPTED,
    PIPE_CLOSED,
    OutputLostError,
    discard,
    exit_if_output_fails,
    write,
)

__all__ = ["NOT_LOADED", "Application", "Command", "Group"]

#: Keys of a context's ``meta``: the command that runs, its name with those of its groups, and the typed arguments.
COMMAND, NAME, TYPED = "sledsim.command", "sledsim.name", "sledsim.typed"
#: Commands of other distributions, which are found by entry point, with the distribution to install.
DISTRIBUTIONS = {"reproduce": "sledsim-papers"}
#: Commands of entry points that could not be imported, with the reason.
NOT_LOADED: dict[str, str] = {}
#: Heading of commands without a panel, which other packages add.
OTHERS = "Other packages"
#: Length of the longest summary in a list of commands; longer than any, so that none is cut.
SUMMARY = 1000


class Command(TyperCommand):
    """A command that checks its arguments before it runs."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the arguments and print help if requested."""
        with exit_if_output_fails():
            return super().make_context(*args, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options and arguments; an option that takes one value may be given once."""
        if args:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for option in dict.fromkeys(given):
                if not isinstance(option, TyperOption) or option.multiple or option.is_flag:
                    continue
                if given.count(option) > 1:
                    message = f"given {given.count(option)} times: give it once"
                    raise typer.BadParameter(message, ctx=ctx, param=option)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Check the arguments and run the command."""
        require_texts(self, ctx.params)
        require_distinct(self, ctx.params)
        return super().invoke(ctx)


class Group(TyperGroup):
    """A group of commands; an error of a command becomes a message and an exit status."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the arguments and print help if requested."""
        with exit_if_output_fails():
            return super().make_context(*args, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of the group; without arguments, print help."""
        return super().parse_args(ctx, args or ["--help"])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None) or (OTHERS if ctx.parent is None else "Commands")
            panels.setdefault(panel, []).append((name, command.get_short_help_str(SUMMARY)))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, ``help`` included, and remember what was typed."""
        ctx.meta.setdefault(TYPED, list(args))
        if args[0] == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                write(ctx.get_help())
                raise typer.Exit
        if args[0] in DISTRIBUTIONS and args[0] not in self.commands and ctx.parent is None:
            needed, error = DISTRIBUTIONS[args[0]], NOT_LOADED.get(args[0])
            problem = f"cannot be loaded ({error})" if error else "is not installed"
            remedy = "in a checkout of Sledsim, `pip install ./papers` installs it"
            print_error(f"sledsim {args[0]}: the distribution {needed} {problem}; {remedy}")
            raise typer.Exit(BAD_INPUT)
        ctx.meta[NAME] = f"{ctx.command_path} {args[0]}" if args[0] in self.commands else ctx.command_path
        found = super().resolve_command(ctx, args)
        ctx.meta[COMMAND] = found[1]
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        from sledsim._core import SledsimError
        from sledsim.show.faults import format_error, suggested_settings

        try:
            return super().invoke(ctx)
        except SledsimError as error:
            formatted = key_formatter(ctx.meta[COMMAND])
            print_error(format_error(with_options(error, ctx.meta[COMMAND]), formatted))
            suggested = [*suggested_settings(error), *device_with_room(error)]
            # Columns of a trace are given together; other suggestions are alternatives.
            columns = [each for each in suggested if "columns" in each[0].split(".")[:-1]]
            options = [formatted(*each) for each in suggested if each not in columns]
            if columns:
                options.insert(0, " ".join(formatted(*each) for each in columns))
            print_suggestions(self._global_options(ctx) + ctx.meta[TYPED], options, ctx.meta[COMMAND])
            raise typer.Exit(BAD_INPUT) from None
        except typer.TyperException as error:
            hint = option_hint(getattr(error, "option_name", None), ctx.meta.get(COMMAND))
            print_error(hint or usage_error(error))
            write(f"see: {ctx.meta[NAME]} --help", err=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            print_error("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            print_error("not enough memory: ask for fewer requests, no log, or fewer threads")
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:
            discard(sys.stdout)
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            if isinstance(error, OutputLostError):
                discard(sys.stdout)
            print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(BAD_INPUT) from None

    def _global_options(self, ctx: Any) -> list[str]:
        """Return the options that were given before the command."""
        catalog = ctx.find_root().params.get("catalog")
        return [] if catalog is None else ["--catalog", str(catalog)]


class Application(typer.Typer):
    """A group of commands of the class ``Command``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Group, rich_markup_mode=None, pretty_exceptions_enable=False, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        """Add a command, as ``typer.Typer.command`` does."""
        return super().command(name, cls=Command, **options)
