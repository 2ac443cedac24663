"""Commands that describe devices, catalogues, traces and documents: device, list, trace, import, schema."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.checks import check_chart, check_target
from sledsim.cli.options import (
    AsJson,
    Columns,
    Event,
    Out,
    Plot,
    SectorBytes,
    Sets,
    SkipBad,
    Sort,
    TimeUnit,
    TraceFile,
    TraceFormat,
    device_names,
    reader_options,
    workload_names,
)
from sledsim.cli.output import (
    print_document,
    print_json,
    print_result,
    print_tables,
    print_text,
    print_written,
)

if TYPE_CHECKING:
    from sledsim.devices.device import Device
    from sledsim.scenario.documents import Document
    from sledsim.show.shown import Catalog
    from sledsim.show.tables import Table
    from sledsim.traces.trace import Trace

__all__ = ["document_kinds", "register"]

PANEL = "Describe"

DEVICE_EXAMPLES = """\b
Examples:
  sledsim device g2
  sledsim device g2 --toml > mine.toml
  sledsim device mine.toml --seeks --plot seeks.png --out seeks.csv
  sledsim device g3 --seeks --set device.seek_model=first-order
  sledsim device g2 --seek-surface --plot surface.html
  sledsim device atlas10k --zones --plot zones.svg
  sledsim device g2 --set device.bit_nm=30
  sledsim device g2 --break-even --set device.idle_tips=last-access
"""
LIST_EXAMPLES = """\b
Examples:
  sledsim list devices
  sledsim list schedulers --json
  sledsim list workloads
  sledsim list workloads snake-like
  sledsim list cache-policies
  sledsim list materials
  sledsim list formats
"""
TRACE_EXAMPLES = """\b
Examples:
  sledsim trace trace.srt.bz2
  sledsim trace trace.csv --column offset=where --json
  sledsim trace trace.mqsim --head 5
  sledsim trace trace.vscsi.zst --out trace.csv
  sledsim trace trace.srt --out trace.ascii --to disksim-ascii
"""
IMPORT_EXAMPLES = """\b
Examples:
  sledsim import atlas10k.parv -o atlas10k.toml
  sledsim import atlas10k.parv --scenario -o run.toml
  sledsim import atlas10k.parv --scenario | sledsim run -
"""
SCHEMA_EXAMPLES = """\b
Examples:
  sledsim schema > scenario.schema.json
  sledsim schema sweep > sweep.schema.json
  sledsim schema drawing
  sledsim schema result
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, name, epilog in (
        (device, "device", DEVICE_EXAMPLES),
        (list_catalog, "list", LIST_EXAMPLES),
        (trace, "trace", TRACE_EXAMPLES),
        (import_file, "import", IMPORT_EXAMPLES),
        (schema, "schema", SCHEMA_EXAMPLES),
    ):
        app.command(name, epilog=epilog, rich_help_panel=PANEL)(command)


def device(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Device of the catalogue, device file or drawing (.toml).", autocompletion=device_names
        ),
    ],
    seeks: Annotated[bool, typer.Option("--seeks", help="Seek times by distance.")] = False,
    seek_surface: Annotated[
        bool, typer.Option("--seek-surface", help="MEMS storage: seek times over the X-Y plane.")
    ] = False,
    zones: Annotated[
        bool, typer.Option("--zones", help="Disks: cylinders, sectors per track, LBNs and media rates.")
    ] = False,
    break_even: Annotated[
        bool, typer.Option("--break-even", help="Idle time from which stopping the device saves energy.")
    ] = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print a device file based on the device, to edit.")] = False,
    sets: Sets = None,
    plot: Plot = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Show a device: values, sources, seek times, zones.

    Without options, the command prints every value with its source, and derived figures. With --set, it prints the
    derived figures of the changed device.
    """
    from sledsim.devices.entries import device_entry, device_of
    from sledsim.devices.headings import device_questions
    from sledsim.show.frames import COPY_OPTIONS
    from sledsim.show.tables import Table, number

    chosen = {"--seeks": seeks, "--seek-surface": seek_surface, "--zones": zones, "--break-even": break_even}
    views = [option for option, is_given in (chosen | {"--toml": as_toml}).items() if is_given]
    if len(views) > 1:
        raise typer.BadParameter(f"leave out {views[1]}: give one of them", param_hint=views[0])
    for option, path in (("--plot", plot), ("--out", out)):
        if path is not None and not any(chosen.values()):
            raise typer.BadParameter("add --seeks, --seek-surface, --zones or --break-even", param_hint=option)
    check_chart(plot)
    check_target(out, COPY_OPTIONS)
    if as_toml:
        if as_json:
            raise typer.BadParameter("leave out --json", param_hint="--toml")
        made = device_of("name", name, overrides=sets or [])
        # Without changes, the file names the device as its base, so that the sources stay known.
        print_document(made.to_toml() if sets or made.is_drawn else device_entry(name).to_toml())
        return
    if not views and not sets:
        print_result(device_entry(name), as_json=as_json)
        return
    shown = device_of("name", name, overrides=sets or [])
    view = next((option for option, is_given in chosen.items() if is_given), None)
    _print_ineffective(name, sets or [], view)
    if break_even:
        if out is not None:
            raise typer.BadParameter("a break-even time is not a table: use --json", param_hint="--out")
        found = shown.break_even()
        print_result(found, as_json=as_json)
        if plot:
            found.save_plot(plot)
            print_written(plot)
    elif seeks:
        _show_columns(shown, "curve", shown.seek_curve, shown.seek_table, plot, out, as_json=as_json)
    elif seek_surface:
        _show_columns(shown, "surface", shown.seek_surface, shown.surface_table, plot, out, as_json=as_json)
    elif zones:
        _show_columns(shown, "zones", shown.zones, shown.zone_table, plot, out, as_json=as_json)
    elif as_json:
        print_json([{"name": label, "value": value, "unit": unit} for label, value, unit in shown.facts()])
    else:
        rows = [[label, number(value), unit] for label, value, unit in shown.facts()]
        notes = device_questions(shown.parameters)
        print_tables([Table([shown.label, "", "unit"], rows, left=frozenset({2}), notes=notes)])


def _print_ineffective(name: str, sets: list[str], view: str | None) -> None:
    """Print a note for each setting that does not change the figures of a view; ``None`` for the derived figures."""
    from sledsim._core import SledsimError
    from sledsim.devices.entries import device_of

    def figures(overrides: list[str]) -> str | None:
        try:
            shown = device_of("name", name, overrides=overrides)
        except SledsimError:
            # Some settings are valid only together.
            return None
        tables = {"--seeks": "seek_table", "--seek-surface": "surface_table", "--zones": "zone_table"}
        if view == "--break-even":
            return str(shown.break_even().to_dict())
        return str(getattr(shown, tables[view])() if view is not None else shown.facts())

    if not sets:
        return
    found = figures(sets)
    for setting in sets:
        if figures([each for each in sets if each != setting]) == found:
            print_text(f"note: --set {setting} has no effect on these figures", err=True)


def _show_columns(
    shown: "Device",
    kind: str,
    columns_of: Callable[[], Any],
    table_of: "Callable[[], Table]",
    plot: Path | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print columns of a device, and write or draw them."""
    from sledsim.show.frames import write_columns

    columns = columns_of()
    if as_json:
        print_json({name: column.tolist() for name, column in columns.items()})
    else:
        print_tables([table_of()])
    if out:
        write_columns(columns, out)
        print_written(out)
    if plot:
        shown.save_plot(plot, kind)
        print_written(plot)


#: Catalogues that ``list`` prints.
LISTS = ("devices", "materials", "schedulers", "workloads", "cache-policies", "formats")


def list_names(incomplete: str) -> list[str]:
    """Complete what ``list`` prints."""
    return [name for name in LISTS if name.startswith(incomplete)]


def list_catalog(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(LISTS)}.", autocompletion=list_names)],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="For workloads: show the statistics of one, by name or file (.toml).",
            autocompletion=workload_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List devices, materials, schedulers, workloads, cache policies or formats."""
    from sledsim._core import SledsimError, mechanisms
    from sledsim.show.faults import make_error

    if kind not in LISTS:
        raise make_error(SledsimError, "unknown-name", path="kind", value=kind, known=LISTS)
    if name is not None and kind != "workloads":
        instead = f": use sledsim device {name}" if kind == "devices" else ": leave it out"
        raise typer.BadParameter(f"{kind} are only listed{instead}", param_hint="NAME")
    if name is not None:
        from sledsim.workloads.entries import workload_entry

        print_result(workload_entry(name), as_json=as_json)
    elif kind == "formats":
        from sledsim.traces.trace import formats_table, trace_formats

        if as_json:
            print_json(trace_formats())
        else:
            print_tables([formats_table()])
    else:
        catalog = _catalog(kind)
        if kind == "devices" and as_json:
            # Plugins in Rust add mechanisms, which are devices without an entry.
            print_json(catalog.to_dict() | {each["name"]: each for each in mechanisms()})
        else:
            print_result(catalog, as_json=as_json)


def _catalog(kind: str) -> "Catalog[Any]":
    """Return a catalogue by its name on the command line."""
    from sledsim import caches, devices, schedulers, workloads

    if kind == "materials":
        return devices.materials()
    modules: dict[str, Any] = {
        "devices": devices,
        "schedulers": schedulers,
        "workloads": workloads,
        "cache-policies": caches,
    }
    found: Catalog[Any] = modules[kind].catalog()
    return found


def trace(
    file: TraceFile,
    records: Annotated[
        int | None, typer.Option("--head", metavar="N", min=1, help="Print the first N records instead.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the trace in another format instead.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="Format of --out: csv, parquet, disksim-ascii or mqsim (default: from the name of the file).",
        ),
    ] = None,
    trace_format: TraceFormat = None,
    skip_bad: SkipBad = 0,
    sort: Sort = False,
    columns: Columns = None,
    sector_bytes: SectorBytes = None,
    event: Event = None,
    time_unit: TimeUnit = None,
    as_json: AsJson = False,
) -> None:
    """Summarise a block trace, print its first records, or convert it.

    The summary has totals, sizes, interarrival times, and the devices that the trace fits.
    """
    from sledsim.traces.trace import open_trace, records_table

    if records is not None and out is not None:
        raise typer.BadParameter("leave out --out: print records or convert", param_hint="--head")
    if to is not None and out is None:
        raise typer.BadParameter("add --out FILE", param_hint="--to")
    if out is not None and as_json:
        raise typer.BadParameter("leave out --json: a conversion prints nothing", param_hint="--out")
    options = reader_options(trace_format, skip_bad, columns, sector_bytes, event, time_unit, sort=sort)
    opened = open_trace(file, **options)
    if out is not None:
        _convert(opened, out, to)
    elif records is None:
        _print_summary(opened, file, as_json=as_json)
    elif as_json:
        print_json({name: column.tolist() for name, column in opened.head(records).items()})
    else:
        print_tables([records_table(opened.head(records))])


def _print_summary(opened: "Trace", file: Path, *, as_json: bool) -> None:
    """Print what a trace contains."""
    from sledsim.devices.entries import capacities, sled_names
    from sledsim.traces.info import info_tables

    found = opened.info()
    sizes = capacities()
    if as_json:
        fits = {name: capacity_bytes >= found["end_offset_bytes"] for name, capacity_bytes in sizes}
        print_json({**found.to_dict(), "fits": fits})
    else:
        print_tables(info_tables(file, found, sizes, sled_names()))


def _convert(opened: "Trace", out: Path, to: str | None) -> None:
    """Write a trace in another format."""
    from sledsim.show.naming import with_count
    from sledsim.traces.trace import WITH_FLUSHES, written_as

    count = opened.convert(out, to=to)
    chosen = written_as(out, to)
    if chosen not in WITH_FLUSHES:
        info = opened.info()
        if info["flushes"]:
            print_text(f"note: {with_count(info['flushes'], 'flush record')} left out: {chosen} has none", err=True)
        if info["resets"]:
            print_text(f"note: {with_count(info['resets'], 'reset')} left out: {chosen} has none", err=True)
        if durable := info["durable_writes"]:
            writes = with_count(durable, "durable write")
            print_text(f"note: {writes} written as ordinary writes: {chosen} has no others", err=True)
    print_written(out, "replay", out, "--device", "g2", note=f": {with_count(count, 'record')}")


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="DiskSim parameter file, such as .parv or .diskspecs.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write (.toml; default: standard output)."),
    ] = None,
    scenario: Annotated[bool, typer.Option("--scenario", help="Write a whole scenario, not only the device.")] = False,
    device: Annotated[
        str | None, typer.Option("--device", "-d", metavar="NAME", help="Device to import, if the file has several.")
    ] = None,
) -> None:
    """Convert a DiskSim 4.0 parameter file to a device file or a scenario.

    Each value comes with its file and line. Values that cannot be converted are listed on standard error and in the
    file.
    """
    from sledsim.scenario.disksim import import_disksim
    from sledsim.show.files import write_atomically

    check_target(out, (".toml",))
    found = import_disksim(file, device=device, scenario=scenario)
    text = (found.scenario_file if scenario else found.device_file) or ""
    for line in found.listing:
        print_text(line, err=True)
    if out is None:
        print_document(text)
    else:
        write_atomically(out, text)
        command = ("run", out) if scenario else ("device", out)
        print_written(out, *command, note=f": {found.name}")


def document_kinds() -> "dict[str, type[Document]]":
    """Return the kinds of documents other than scenarios."""
    from sledsim.explorer.lesson import Lesson
    from sledsim.reliability.description import Description
    from sledsim.scenario.drawings.drawing import Drawing
    from sledsim.studies.cache_cost import CostStudy
    from sledsim.studies.objective import RoleTest
    from sledsim.sweep import Search, Sweep

    return {
        "sweep": Sweep,
        "search": Search,
        "drawing": Drawing,
        "enclosure": Description,
        "cost": CostStudy,
        "role": RoleTest,
        "lesson": Lesson,
    }


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="scenario, sweep, search, drawing, enclosure, cost, role, lesson, or result (of `run --json`).",
        ),
    ] = "scenario",
) -> None:
    """Print the JSON Schema of scenarios and other documents.

    It gives every key, its unit, range, default and meaning.
    """
    from sledsim import _core
    from sledsim.show.faults import make_error

    kinds = document_kinds()
    if kind in kinds:
        print_json(kinds[kind].file_schema())
    elif kind == "scenario":
        print_json(_core.schema(document=True))
    elif kind == "result":
        print_json(_core.result_schema())
    else:
        known = ["scenario", *kinds, "result"]
        raise make_error(_core.SledsimError, "unknown-name", path="kind", value=kind, known=known)
