"""Commands about traces."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Reading, Records, unfolded
from sledsim.cli.output import print_json, print_tables, print_text

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Inspect and convert block traces.",
    epilog="""\b
Examples:
  sledsim trace info trace.srt
  sledsim trace head trace.csv.zst -n 20
  sledsim trace convert trace.vscsi.zst -o trace.parquet
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
  sledsim trace convert trace.vscsi.zst -o trace.csv
  sledsim trace convert trace.srt -o trace.ascii --to disksim-ascii
"""

Source = Annotated[Path, typer.Argument(metavar="FILE", help="Block trace, compressed or not.")]


@app.command(epilog=INFO_EXAMPLES)
@unfolded
def info(
    file: Source,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Summarise a trace: totals, sizes, interarrival times, devices that it fits."""
    from sledsim.devices.entries import capacities
    from sledsim.traces.info import info_tables
    from sledsim.traces.trace import open_trace

    trace = open_trace(file, **reading.keys())
    found = trace.info()
    room = capacities()
    if as_json:
        fits = {name: capacity >= found["end_offset_bytes"] for name, capacity in room}
        print_json({**found.to_dict(), "fits": fits})
    else:
        print_tables(info_tables(file, found, room))


@app.command(epilog=HEAD_EXAMPLES)
@unfolded
def head(
    file: Source,
    *,
    records: Records = 10,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Print the first records of a trace."""
    from sledsim.traces.trace import open_trace, records_table

    trace = open_trace(file, **reading.keys())
    found = trace.head(records or 10)
    if as_json:
        print_json({name: column.tolist() for name, column in found.items()})
    else:
        print_tables([records_table(found)])


@app.command(epilog=CONVERT_EXAMPLES)
@unfolded
def convert(
    file: Source,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME", help="csv, parquet, disksim-ascii or mqsim (default: from the name of the file)."
        ),
    ] = None,
    reading: Reading,
) -> None:
    """Convert a trace to another format."""
    from sledsim.show.naming import counted
    from sledsim.traces.trace import WITH_FLUSHES, open_trace, written_as

    trace = open_trace(file, **reading.keys())
    count = trace.convert(out, to=to)
    print_text(f"{out}: {count:,} records")
    chosen = written_as(out, to)
    if chosen in WITH_FLUSHES:
        return
    info = trace.info()
    if info["flushes"]:
        print_text(f"note: {counted(info['flushes'], 'flush record')} left out: {chosen} has none", err=True)
    if durable := info["durable_writes"]:
        told = counted(durable, "durable write")
        print_text(f"note: {told} written as any other: {chosen} does not tell them apart", err=True)


@app.command()
def formats(as_json: AsJson = False) -> None:
    """List the formats that can be read."""
    from sledsim.traces.trace import formats_table, trace_formats

    if as_json:
        print_json(trace_formats())
    else:
        print_tables([formats_table()])
