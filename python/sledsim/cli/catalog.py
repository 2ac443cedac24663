"""Commands about devices, schedulers and workloads."""

from pathlib import Path
from typing import Annotated

import typer

from sledsim.cli.options import AsJson, Sets, device_names, workload_names
from sledsim.cli.output import check_picture, check_target, print_json, print_tables

__all__ = ["register"]

DEVICES_EXAMPLES = """\b
Examples:
  sledsim devices
  sledsim devices g2
  sledsim devices g2 --json
  sledsim devices my-drive.toml
"""
SCHEDULERS_EXAMPLES = """\b
Examples:
  sledsim schedulers
  sledsim schedulers --json
"""
WORKLOADS_EXAMPLES = """\b
Examples:
  sledsim workloads
  sledsim workloads snake-like
  sledsim workloads snake-like --json
"""
SEEK_EXAMPLES = """\b
Examples:
  sledsim seek g2
  sledsim seek g2 --plot curve.png --data curve.csv
  sledsim seek g2 --surface --plot surface.html
  sledsim seek g3 --model first-order --set device.settle_constants=0
  sledsim seek atlas10k --plot curve.svg
"""
ZONES_EXAMPLES = """\b
Examples:
  sledsim zones atlas10k
  sledsim zones atlas10k --plot zones.svg
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=DEVICES_EXAMPLES)(devices)
    app.command(epilog=SCHEDULERS_EXAMPLES)(schedulers)
    app.command(epilog=WORKLOADS_EXAMPLES)(workloads)
    app.command(epilog=SEEK_EXAMPLES)(seek)
    app.command(epilog=ZONES_EXAMPLES)(zones)


def devices(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show the values of this one: a name, or a device file (.toml).",
            autocompletion=device_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the devices, or all values of one with their sources."""
    from dataclasses import asdict

    from sledsim.devices import catalog
    from sledsim.devices.entries import catalog_tables, device_entry, device_tables

    if name is not None:
        entry = device_entry(name)
        if as_json:
            print_json(asdict(entry))
        else:
            print_tables(device_tables(entry))
    elif as_json:
        print_json({key: asdict(entry) for key, entry in catalog().items()})
    else:
        print_tables(catalog_tables())


def schedulers(as_json: AsJson = False) -> None:
    """List the schedulers and their parameters."""
    from sledsim.schedulers import catalog
    from sledsim.schedulers.entries import schedulers_table

    if as_json:
        print_json(catalog())
    else:
        print_tables([schedulers_table()])


def workloads(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show what this one was matched to: a name, or a workload file (.toml).",
            autocompletion=workload_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the workloads of the catalogue, or what one was matched to."""
    from dataclasses import asdict

    from sledsim.workloads import catalog
    from sledsim.workloads.entries import workload_entry, workload_tables, workloads_table

    if name is not None:
        entry = workload_entry(name)
        if as_json:
            print_json(asdict(entry))
        else:
            print_tables(workload_tables(entry))
    elif as_json:
        print_json({key: asdict(entry) for key, entry in catalog().items()})
    else:
        print_tables([workloads_table()])


def seek(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Device.", autocompletion=device_names)],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="MEMS storage: first-order, decomposed or time-optimal."),
    ] = None,
    surface: Annotated[bool, typer.Option("--surface", help="MEMS storage: time over the X-Y plane.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .html, .png or .svg.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it: .csv, .parquet or .json.")] = None,
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Show how long a device's seeks take, against distance or over the plane."""
    from sledsim.devices.device import Device
    from sledsim.show.frames import COPY_OPTIONS, write_columns

    check_picture(plot)
    check_target(data, COPY_OPTIONS)
    chosen = Device(device, set=sets or [], **({"seek_model": model} if model else {}))
    columns = chosen.seek_surface() if surface else chosen.seek_curve()
    if data:
        write_columns(columns, data)
    if plot:
        chosen.save_plot(plot, "surface" if surface else "curve")
    if as_json:
        print_json({name: column.tolist() for name, column in columns.items()})
    elif not (plot or data):
        print_tables([chosen.surface_table() if surface else chosen.seek_table()])


def zones(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Disk drive.", autocompletion=device_names)],
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them: .html, .png or .svg.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Write them: .csv, .parquet or .json.")] = None,
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Show the zones of a disk drive: cylinders, sectors per track, LBNs and media rates."""
    from sledsim.devices.device import Device
    from sledsim.show.frames import COPY_OPTIONS, write_columns

    check_picture(plot)
    check_target(data, COPY_OPTIONS)
    drive = Device(device, set=sets or [])
    columns = drive.zones()
    if data:
        write_columns(columns, data)
    if plot:
        drive.save_plot(plot, "zones")
    if as_json:
        print_json({name: column.tolist() for name, column in columns.items()})
    elif not (plot or data):
        print_tables([drive.zone_table()])
