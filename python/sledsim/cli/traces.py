"""Commands about traces."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Columns, Format, SectorBytes, SkipBad, mapping_of
from sledsim.cli.output import print_json, print_tables

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Look into block traces, and convert them.",
    epilog="""\b
Examples:
  sledsim trace info trace.srt
  sledsim trace head trace.csv.zst -n 20
  sledsim trace convert trace.vscsi.zst trace.parquet
""",
)

INFO_EXAMPLES = """\b
Examples:
  sledsim trace info trace.srt.bz2
  sledsim trace info trace.csv --column offset=where --json
"""
HEAD_EXAMPLES = """\b
Examples:
  sledsim trace head trace.mqsim -n 5
"""
CONVERT_EXAMPLES = """\b
Examples:
  sledsim trace convert trace.vscsi.zst trace.csv
  sledsim trace convert trace.srt trace.ascii --to disksim-ascii
"""

Source = Annotated[Path, typer.Argument(metavar="FILE", help="Block trace, compressed or not.")]


@app.command(epilog=INFO_EXAMPLES)
def info(
    file: Source,
    trace_format: Format = None,
    skip_bad: SkipBad = 0,
    sector_bytes: SectorBytes = None,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Read a trace and say what is in it."""
    from sledsim.traces.trace import info_table, open_trace

    trace = open_trace(
        file, format=trace_format, skip_bad=skip_bad, sector_bytes=sector_bytes, columns=mapping_of(columns)
    )
    found = trace.info()
    if as_json:
        print_json(found.to_dict())
    else:
        print_tables([info_table(file, found)])


@app.command(epilog=HEAD_EXAMPLES)
def head(
    file: Source,
    records: Annotated[int, typer.Option("--records", "-n", metavar="N", min=1, help="How many.")] = 10,
    trace_format: Format = None,
    skip_bad: SkipBad = 0,
    sector_bytes: SectorBytes = None,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Print the first records of a trace."""
    from sledsim.traces.trace import open_trace, records_table

    trace = open_trace(
        file, format=trace_format, skip_bad=skip_bad, sector_bytes=sector_bytes, columns=mapping_of(columns)
    )
    found = trace.head(records)
    if as_json:
        print_json({name: column.tolist() for name, column in found.items()})
    else:
        print_tables([records_table(found)])


@app.command(epilog=CONVERT_EXAMPLES)
def convert(
    file: Source,
    destination: Annotated[Path, typer.Argument(metavar="DESTINATION", help="File to write.")],
    to: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="csv, parquet, disksim-ascii or mqsim; else by the destination's name."),
    ] = None,
    trace_format: Format = None,
    skip_bad: SkipBad = 0,
    sector_bytes: SectorBytes = None,
    columns: Columns = None,
) -> None:
    """Write a trace in another format."""
    from sledsim.traces.trace import open_trace

    trace = open_trace(
        file, format=trace_format, skip_bad=skip_bad, sector_bytes=sector_bytes, columns=mapping_of(columns)
    )
    count = trace.convert(destination, to=to)
    typer.echo(f"{destination}: {count:,} records")


@app.command()
def formats(as_json: AsJson = False) -> None:
    """List the formats that can be read."""
    from sledsim.traces.trace import formats_table, trace_formats

    if as_json:
        print_json(trace_formats())
    else:
        print_tables([formats_table()])
