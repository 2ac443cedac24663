"""The command line: arguments in, tables or JSON out; everything else is done by the package.

Another package adds commands of its own by an entry point of the group ``sledsim.commands``: a function that takes the
application. ``AsJson``, ``complain``, ``print_json`` and ``print_tables`` keep such commands like the others.
"""

from sledsim._loading import CoreError, attach

# `main` handles Ctrl-C before it loads the commands.
__getattr__, __dir__, __all__ = attach(__name__)


def main() -> None:
    """Run the command line; the process ends with the command's exit status."""
    import sys

    try:
        from sledsim._guarding import end_when_stuck
        from sledsim.cli.streams import hold_streams

        hold_streams()
        from sledsim.cli.app import app

        end_when_stuck()
        app(prog_name="sledsim")
    except KeyboardInterrupt:
        # Ctrl-C before the command has begun, while Python still loads it.
        sys.exit(130)
    except CoreError as error:
        print(f"sledsim: {error}", file=sys.stderr)
        sys.exit(2)
