"""The command line: reads arguments, calls the package, prints tables or JSON.

Another package adds commands through an entry point of the group ``sledsim.commands``: a function that takes the
application. ``AsJson``, ``print_error``, ``print_json``, ``print_tables`` and ``print_written`` give its commands the
same options and output.
"""

from typing import TYPE_CHECKING

from sledsim._loading import CoreError, on_first_use

if TYPE_CHECKING:
    from sledsim.cli.options import AsJson
    from sledsim.cli.output import print_error, print_json, print_tables, print_written

__all__ = ["AsJson", "main", "print_error", "print_json", "print_tables", "print_written"]

_HOMES = {"AsJson": "options"} | dict.fromkeys(("print_error", "print_json", "print_tables", "print_written"), "output")

# Loaded on first use, so that `main` handles Ctrl-C from the start.
__getattr__, __dir__ = on_first_use(__name__, _HOMES)


def main() -> None:
    """Run the command line and exit with the command's status."""
    import sys

    try:
        from sledsim._guarding import end_when_stuck
        from sledsim.cli.streams import prepare_streams

        prepare_streams()
        from sledsim.cli.app import app

        end_when_stuck()
        app(prog_name="sledsim")
    except KeyboardInterrupt:
        # Ctrl-C while the command is still being loaded.
        sys.exit(130)
    except CoreError as error:
        print(f"sledsim: {error}", file=sys.stderr)
        sys.exit(2)
