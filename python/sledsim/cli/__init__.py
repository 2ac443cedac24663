"""The command line: reads arguments, calls the package, prints tables or JSON.

Another package adds commands through an entry point of the group ``sledsim.commands``: a function that takes the
application. ``AsJson``, ``print_error``, ``print_json``, ``print_tables`` and ``print_written`` give its commands the
same options and output.
"""

from sledsim._loading import CoreError, attach

# `main` handles Ctrl-C before it loads the commands.
__getattr__, __dir__, __all__ = attach(__name__)


def main() -> None:
    """Run the command line and exit with the command's status."""
    import sys
    from contextlib import suppress

    try:
        from sledsim._guarding import end_when_stuck
        from sledsim.cli.streams import prepare_streams

        prepare_streams()
        if sys.argv[1:] == ["--version"]:
            from sledsim._core import __version__

            # The commands are not loaded. If the version can't be printed, the application reports why.
            with suppress(OSError):
                print(f"sledsim {__version__}", flush=True)
                return
        from sledsim.cli.app import app

        end_when_stuck()
        app(prog_name="sledsim")
    except KeyboardInterrupt:
        # Ctrl-C while the command is still being loaded.
        sys.exit(130)
    except CoreError as error:
        print(f"sledsim: {error}", file=sys.stderr)
        sys.exit(2)
