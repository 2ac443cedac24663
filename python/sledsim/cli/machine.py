"""The command ``machine``: runs programs on a whole Linux machine in virtual time."""

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import MOST_DIGITS, AsJson, Sets, System, Threads, device_names
from sledsim.cli.output import print_result, print_written

if TYPE_CHECKING:
    from sledsim._core import SledsimError

__all__ = ["register"]

EXAMPLES = """\b
Examples:
  sledsim machine scenario.toml --program postmark
  sledsim machine g2 --program fio jobs.fio --trace requests.csv
  sledsim machine g2 --program andrew --device g1 --device atlas10k
  sledsim machine g2 --memory-mib 64 --file-system ext2 --program postmark
  sledsim machine g2 --program postmark --size files=2000
  sledsim machine g2 --file stock.db -- "sqlite3 stock.db .tables"

The exit status is 1 if the program failed; the result has its own status."""

Jobs = Annotated[
    list[str] | None,
    typer.Argument(metavar="JOBS | -- COMMAND", help="Job files of fio, or a command for the shell of the machine."),
]
Program = Annotated[
    str | None, typer.Option("--program", metavar="NAME", help="postmark, andrew, link, tpch, browse or fio.")
]
Size = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="KEY=N", help="Size of a program: files=2000. Repeatable."),
]
Files = Annotated[
    list[Path] | None,
    typer.Option("--file", metavar="PATH", help="File or folder to copy to the device. Repeatable."),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        "-d",
        metavar="NAME",
        autocompletion=device_names,
        help="Run once on each of these devices. Repeatable.",
    ),
]
Memory = Annotated[int, typer.Option("--memory-mib", metavar="N", help="Memory of the guest, in MiB.")]
Cpu = Annotated[float, typer.Option("--cpu", metavar="N", help="Instructions per nanosecond: 1 is 1 GHz.")]
FileSystem = Annotated[str, typer.Option("--file-system", metavar="NAME", help="ext4, ext2 or xfs.")]
FileSystemSize = Annotated[
    int | None, typer.Option("--file-system-mib", metavar="N", help="Size of the file system (default: the device).")
]
Mount = Annotated[str, typer.Option("--mount", metavar="OPTIONS", help="Mount options, such as dirsync,noatime.")]
ReadAhead = Annotated[
    int | None, typer.Option("--read-ahead-kib", metavar="N", help="Read-ahead of the kernel (default: 128).")
]
Cache = Annotated[str, typer.Option("--cache", metavar="STATE", help="cold, or warm (all files read before).")]
WrittenTrace = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Write the requests as a CSV trace.")
]
Limit = Annotated[float, typer.Option("--limit-s", metavar="N", help="Stop a guest after this many seconds.")]
Folder = Annotated[Path | None, typer.Option("--machine", metavar="FOLDER", help="Folder made by `make machine`.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EXAMPLES, rich_help_panel="Simulate")(machine)


def machine(
    system: System,
    words: Jobs = None,
    program: Program = None,
    size: Size = None,
    file: Files = None,
    device: Devices = None,
    memory_mib: Memory = 128,
    cpu: Cpu = 1.0,
    file_system: FileSystem = "ext4",
    file_system_mib: FileSystemSize = None,
    mount: Mount = "defaults",
    read_ahead_kib: ReadAhead = None,
    cache: Cache = "cold",
    trace: WrittenTrace = None,
    limit_s: Limit = 1800.0,
    folder: Folder = None,
    sets: Sets = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Run a program on a Linux machine with simulated storage.

    QEMU emulates the machine in virtual time. Each instruction takes the same time, and processor and device share one
    clock, so two runs give the same times to the microsecond.
    """
    from sledsim._core import SledsimError
    from sledsim.machine import Guest
    from sledsim.machine import folder as machine_folder
    from sledsim.machine import run as run_program
    from sledsim.machine.running import run_each
    from sledsim.runs.session import files_read, system_of
    from sledsim.show.faults import require_apart, require_place

    # SIGTERM ends the machine like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _program(program, words or [])
    options |= {"files": file or [], "sizes": _sizes(size or []), "machine": folder, "limit_s": limit_s}
    options["guest"] = Guest(memory_mib, cpu, file_system, mount, read_ahead_kib, cache, file_system_mib)
    given = system_of(system)
    if device:
        _require_absent("trace", None if trace is None else str(trace), " records one run: leave it out, or ", "device")
        _require_unique("device", device)
        settings = {name: [*(sets or []), f"device={name}"] for name in device}
        try:
            each = run_each(dict.fromkeys(device, given), threads=threads, overrides=settings, **options)
        except SledsimError as error:
            raise _with_device_option(error, device) from None
        print_result(each, as_json=as_json)
        statuses = [run.status for run in each.runs.values()]
    else:
        _require_absent("threads", threads, " applies to several runs: leave it out, or give ", "device")
        if trace:
            require_place(SledsimError, trace)
            inputs = [
                ("SYSTEM", system),
                ("FILE", options.get("job") or ""),
                *(("--file", each) for each in file or []),
            ]
            inputs += [("--machine", folder or machine_folder())]
            inputs += [("the scenario", each) for each in files_read(given, sets or [])]
            require_apart(SledsimError, "trace", trace, [_inside(trace, *each) for each in inputs])
        found = run_program(given, overrides=sets or [], **options)
        print_result(found, as_json=as_json)
        if trace:
            found.save_trace(trace)
            print_written(trace, "replay", trace, "--device", "g2")
        statuses = [found.status]
    if any(statuses):
        raise typer.Exit(1)


def _program(program: str | None, words: list[str]) -> dict[str, Any]:
    """Return the program and its jobs, or the command, to run."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    if program is None:
        if not words:
            message = "name a program with --program NAME, or give a command after --"
            raise make_error(SledsimError, "missing", message, path="program")
        return {"command": words[0] if len(words) == 1 else shlex.join(words)}
    if len(words) > 1 or (words and program != "fio"):
        parts: list[str | tuple[str]] = [("program",), f" {program} takes no further arguments: {shlex.join(words)}"]
        raise make_error(SledsimError, "conflict", parts, path="program", value=program)
    return {"name": program, "job": words[0] if words else None}


def _sizes(given: list[str]) -> dict[str, int]:
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    _require_unique("size", [each.partition("=")[0] for each in given])
    sizes = {}
    for each in given:
        key, _, value = each.partition("=")
        if not (value.isascii() and value.isdecimal()):
            raise make_error(
                SledsimError, "misfit", f"--size {each}: expected KEY=N, such as files=2000", path="size", value=each
            )
        if len(value) > MOST_DIGITS:
            message = f"--size {key}={value[:MOST_DIGITS]}… is too large, a number of {len(value):,} digits"
            raise make_error(SledsimError, "out-of-range", message, path="size", value=each)
        sizes[key] = int(value)
    return sizes


def _require_unique(option: str, given: list[str]) -> None:
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    twice = [each for place, each in enumerate(given) if each in given[:place]]
    if twice:
        message = f"--{option} {twice[0]} is given twice: leave one out"
        raise make_error(SledsimError, "conflict", message, path=option, value=twice[0])


def _with_device_option(error: "SledsimError", devices: list[str]) -> "SledsimError":
    """Return an error whose faults of the devices name the option ``--device``."""
    from sledsim._core import error_of

    settings = {f"device={name}" for name in devices}
    faults = [fault.of_option("--device") if fault.setting in settings else fault for fault in error.faults]
    return error_of(type(error), faults) if faults else error


def _inside(trace: Path, name: str, given: str | Path) -> tuple[str, str | Path]:
    """Return name and file; the trace itself if it exists in a folder that is read."""
    inside = Path(given).is_dir() and trace.exists() and trace.resolve().is_relative_to(Path(given).resolve())
    return name, trace if inside else given


def _require_absent(key: str, value: object, message: str, other: str) -> None:
    """Raise if an option is given that needs or excludes another one."""
    from sledsim._core import SledsimError
    from sledsim.show.faults import make_error

    if value is not None:
        parts: list[str | tuple[str]] = [(key,), message, (other,)]
        raise make_error(SledsimError, "conflict", parts, path=key, value=value)
