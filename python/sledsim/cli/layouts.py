"""The command that times a relation under several layouts."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Sets, device_names
from sledsim.cli.output import check_picture, print_found

__all__ = ["register"]

TABLE_EXAMPLES = """\b
Examples:
  sledsim table
  sledsim table --device uberdisk --layout row-major --layout column-major
  sledsim table --records 1000000 --attributes 4,4,120 --plot table.png
  sledsim table --device g2 --set device.settle_constants=0 --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=TABLE_EXAMPLES)(table)


def table(
    device: Annotated[
        str,
        typer.Option("--device", "-d", metavar="NAME", help="Device or device file.", autocompletion=device_names),
    ] = "g2",
    records: Annotated[int, typer.Option("--records", metavar="N", help="Records of the relation.")] = 10_000_000,
    attributes: Annotated[
        str, typer.Option("--attributes", metavar="BYTES,BYTES", help="Bytes of each attribute.")
    ] = "8,32,15,16",
    page_bytes: Annotated[
        int, typer.Option("--page-bytes", metavar="N", help="Size of the pages of row-major and column-major.")
    ] = 8192,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout", metavar="NAME", help="row-major, column-major, tip-subset or equivalent. Repeatable; else all."
        ),
    ] = None,
    fetch: Annotated[
        int, typer.Option("--fetch", metavar="N", min=0, max=10_000_000, help="Random rows to fetch; 0 for none.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the choice of rows.")] = 1,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw scans and fetches: .html, .png or .svg.")
    ] = None,
) -> None:
    """Time scans and row fetches of a relation under several layouts.

    The relation is that of Schlosser and Ganger 2004, section 6.1.1, unless other sizes are given. Rows are fetched one
    at a time; their mean has a 95 % confidence interval.
    """
    from sledsim.studies.relation.access import table_times
    from sledsim.studies.relation.layouts import Relation

    check_picture(plot)
    relation = Relation(records, _sizes(attributes), page_bytes)
    times = table_times(device, relation, layouts=layout or [], fetches=fetch, seed=seed, set=sets or [])
    print_found(times, as_json=as_json)
    if plot:
        times.save_plot(plot)


def _sizes(text: str) -> tuple[int, ...]:
    """Read the sizes of attributes."""
    from sledsim._core import SledsimError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SledsimError(f"--attributes {text!r}: expected whole numbers of bytes, such as 8,32,15,16") from None
