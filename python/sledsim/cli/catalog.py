"""Commands about devices, schedulers and workloads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import AsJson, Out, Plot, SeekModel, Sets, device_names, workload_names
from sledsim.cli.output import check_picture, check_target, print_found, print_json, print_tables
from sledsim.cli.streams import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sledsim.devices.device import Device
    from sledsim.scenario.catalog import CatalogEntry
    from sledsim.show.shown import Catalog
    from sledsim.show.tables import Table

__all__ = ["register"]

DEVICES_EXAMPLES = """\b
Examples:
  sledsim devices
  sledsim devices g2
  sledsim devices g2 --json
  sledsim devices g2 --toml > mine.toml
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
  sledsim seek g2 --plot curve.png --out curve.csv
  sledsim seek g2 --surface --plot surface.html
  sledsim seek g3 --seek-model first-order --set device.settle_constants=0
  sledsim seek atlas10k --plot curve.svg
"""
BREAK_EVEN_EXAMPLES = """\b
Examples:
  sledsim break-even g2
  sledsim break-even g2 --set device.idle_tips=last-access --json
"""
ZONES_EXAMPLES = """\b
Examples:
  sledsim zones atlas10k
  sledsim zones atlas10k --plot zones.svg
"""


NamedDevice = Annotated[
    str,
    typer.Argument(
        metavar="DEVICE", help="Device of the catalogue, or a device file (.toml).", autocompletion=device_names
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=DEVICES_EXAMPLES)(devices)
    app.command(epilog=SCHEDULERS_EXAMPLES)(schedulers)
    app.command(epilog=WORKLOADS_EXAMPLES)(workloads)
    app.command(epilog=SEEK_EXAMPLES)(seek)
    app.command(epilog=ZONES_EXAMPLES)(zones)
    app.command(name="break-even", epilog=BREAK_EVEN_EXAMPLES)(break_even)


def devices(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Device to show: a name or a device file (.toml).",
            autocompletion=device_names,
        ),
    ] = None,
    as_json: AsJson = False,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print a device file based on this device, for you to edit.")
    ] = False,
) -> None:
    """List the devices, or all values of one with their sources."""
    from sledsim._core import mechanisms
    from sledsim.devices import catalog
    from sledsim.devices.entries import device_entry
    from sledsim.show.fitting import visible_in_strings

    if as_toml:
        if name is None or as_json:
            wrong = "leave out --json" if as_json else "name the device to start from: sledsim devices g2 --toml"
            raise typer.BadParameter(wrong, param_hint="--toml")
        say(visible_in_strings(device_entry(name).to_toml()), end="")
        return
    _list(name, device_entry, catalog(), as_json=as_json, parts=mechanisms)


def _list(
    name: str | None,
    entry_named: "Callable[[str], CatalogEntry]",
    catalog: "Catalog[Any]",
    *,
    as_json: bool,
    parts: "Callable[[], Sequence[Mapping[str, Any]]]" = tuple,
) -> None:
    """List a catalogue with plugins in Rust, or show the entry of a name."""
    if name is not None:
        print_found(entry_named(name), as_json=as_json)
    elif as_json:
        print_json(catalog.to_dict() | {each["name"]: each for each in parts()})
    else:
        print_tables(catalog.tables())


def schedulers(as_json: AsJson = False) -> None:
    """List the schedulers and their parameters."""
    from sledsim.schedulers import catalog

    print_found(catalog(), as_json=as_json)


def workloads(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Workload to show: a name or a workload file (.toml).",
            autocompletion=workload_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the workloads of the catalogue, or show the statistics of one."""
    from sledsim.workloads import catalog
    from sledsim.workloads.entries import workload_entry

    _list(name, workload_entry, catalog(), as_json=as_json)


def seek(
    device: NamedDevice,
    seek_model: SeekModel = None,
    surface: Annotated[bool, typer.Option("--surface", help="MEMS storage: seek time over the X-Y plane.")] = False,
    plot: Plot = None,
    out: Out = None,
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Show the seek times of a device, by distance or over the plane."""
    from sledsim.devices.entries import device_of

    chosen = device_of("device", device, overrides=sets or [], **({"seek_model": seek_model} if seek_model else {}))
    columns = chosen.seek_surface if surface else chosen.seek_curve
    table = chosen.surface_table if surface else chosen.seek_table
    _show(chosen, "surface" if surface else "curve", columns, table, plot, out, as_json=as_json)


def zones(
    device: NamedDevice,
    plot: Plot = None,
    out: Out = None,
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Show the zones of a disk drive: cylinders, sectors per track, LBNs and media rates."""
    from sledsim.devices.entries import device_of

    drive = device_of("device", device, overrides=sets or [])
    _show(drive, "zones", drive.zones, drive.zone_table, plot, out, as_json=as_json)


def break_even(
    device: NamedDevice,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Show the idle time beyond which stopping a device saves energy."""
    from sledsim.devices.entries import device_of

    check_picture(plot)
    found = device_of("device", device, overrides=sets or []).break_even()
    print_found(found, as_json=as_json)
    if plot:
        found.save_plot(plot)


def _show(
    device: "Device",
    kind: str,
    columns_of: "Callable[[], Mapping[str, NDArray[Any]]]",
    table_of: "Callable[[], Table]",
    plot: Path | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Draw, write or print something of a device."""
    from sledsim.show.frames import COPY_OPTIONS, write_columns

    check_picture(plot)
    check_target(out, COPY_OPTIONS)
    columns = columns_of()
    if out:
        write_columns(columns, out)
    if plot:
        device.save_plot(plot, kind)
    if as_json:
        print_json({name: column.tolist() for name, column in columns.items()})
    elif not (plot or out):
        print_tables([table_of()])
