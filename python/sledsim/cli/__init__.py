"""The command line: arguments in, tables or JSON out; everything else is done by the package."""

__all__ = ["main"]


def main() -> None:
    """Run the command line; the process ends with the command's exit status."""
    import sys

    try:
        from sledsim.cli.app import app

        app(prog_name="sledsim")
    except KeyboardInterrupt:
        # Ctrl-C before the command has begun, while Python still loads it.
        sys.exit(130)
