"""The command that times a relation under several layouts."""

from typing import Annotated

import typer

from sledsim.cli.options import AsJson, OfDevice, Plot, Sets, listed
from sledsim.cli.output import check_picture, print_found

__all__ = ["register"]

RELATION_EXAMPLES = """\b
Examples:
  sledsim relation
  sledsim relation --device uberdisk --layout row-major --layout column-major
  sledsim relation --records 1000000 --attributes 4,4,120 --plot relation.png
  sledsim relation --device g2 --set device.settle_constants=0 --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=RELATION_EXAMPLES)(relation)


def relation(
    device: OfDevice = "g2",
    records: Annotated[int, typer.Option("--records", "-n", metavar="N", help="Records of the relation.")] = 10_000_000,
    attributes: Annotated[
        str, typer.Option("--attributes", metavar="BYTES,BYTES", help="Bytes of each attribute.")
    ] = "8,32,15,16",
    page_bytes: Annotated[
        int, typer.Option("--page-bytes", metavar="N", help="Size of the pages of row-major and column-major.")
    ] = 8192,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout",
            metavar="NAME",
            help="row-major, column-major, tip-subset, equivalent or two-axes (default: all). Repeatable.",
        ),
    ] = None,
    fetches: Annotated[
        int,
        typer.Option(
            "--fetches", metavar="N", min=0, max=10_000_000, help="Number of random rows to fetch (0 for none)."
        ),
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the choice of rows.")] = 1,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Time scans and row fetches of a relation under several layouts.

    The relation is that of Schlosser and Ganger 2004, section 6.1.1, unless other sizes are given. Rows are fetched one
    at a time; their mean has a 95 % confidence interval.
    """
    from sledsim.studies.relations.access import relation_times as timed
    from sledsim.studies.relations.layouts import Relation

    check_picture(plot)
    sizes = listed(attributes, "attributes", int) or []
    laid = Relation(records, tuple(sizes), page_bytes)
    times = timed(device, laid, layouts=layout or [], fetches=fetches, seed=seed, overrides=sets or [])
    print_found(times, as_json=as_json)
    if plot:
        times.save_plot(plot)
