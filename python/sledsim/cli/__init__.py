"""The command line: arguments in, tables or JSON out; everything else is done by the package."""

__all__ = ["main"]


def main() -> None:
    """Run the command line; the process ends with the command's exit status."""
    from sledsim.cli.app import app

    app(prog_name="sledsim")
