"""Programs for a machine: their scripts, and their files on the device and in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.machine.assembled import Assembled
from sledsim.machine.browsing import browsing
from sledsim.machine.content import by_names, can_be_bytes, require_plain
from sledsim.machine.sources import sources
from sledsim.show.arguments import require_integer
from sledsim.show.faults import Sentence, is_one_of, make_error

__all__ = ["PROGRAMS", "Program", "program"]

POSTMARK = """set location /mnt
set number {files}
set transactions {transactions}
set subdirectories {folders}
set seed 42
run
quit
"""
ANDREW = """set -e
umask 022
time=$EPOCHREALTIME
phase() {{
    local now=$EPOCHREALTIME
    echo "$1: $(( (${{now/./}} - ${{time/./}}) / 1000 )) ms"
    time=$now
}}
for copy in $(seq {copies}); do
    (cd source && find . -type d) | while read -r each; do mkdir -p "copy$copy/$each"; done
done
phase directories
for copy in $(seq {copies}); do
    (cd source && find . -type f) | while read -r each; do cp "source/$each" "copy$copy/$each"; done
done
phase copies
for copy in $(seq {copies}); do
    find "copy$copy" -type f -exec ls -l {{}} + > /dev/null
    du -s "copy$copy" > /dev/null
done
phase scan
for copy in $(seq {copies}); do
    find "copy$copy" -type f -exec grep -c static {{}} + > /dev/null
    find "copy$copy" -type f -exec wc {{}} + > /dev/null
done
phase read
for copy in $(seq {copies}); do
    cd "copy$copy"
    for each in */*.c; do tcc -I. -c "$each" -o "${{each%.c}}.o"; done
    tcc -o program */*.o
    ./program
    cd ..
done
phase compile
"""
LINK = """set -e
for each in objects/*.o; do echo "$each"; done > /tmp/names
ld -r -o linked.o @/tmp/names
"""
TPCH = """set -e
for query in {queries}; do
    sqlite3 -readonly tpch.db < "$query.sql"
done
"""
#: The server's pages are in memory. An object that is not in the cache is fetched into a file of the cache, and the
#: oldest files are then deleted until the rest fits. The cache's index is read at the start and written at the end.
BROWSE = """set -e
ip link set lo up
httpd -p 127.0.0.1:80 -h /web/pages
trap 'kill $(pidof httpd)' EXIT
declare -A kept
order=() oldest=0 total=0 fetched=0 found=0 removed=0
cd cache
while read -r each bytes; do
    kept[$each]=$bytes
    order+=("$each")
    total=$((total + bytes))
done < index
while read -r pause page; do
    for each in $page; do
        if [ -n "${{kept[$each]}}" ]; then
            cat "$each" > /dev/null
            found=$((found + 1))
            continue
        fi
        wget -q -O "$each" "http://127.0.0.1/$each"
        kept[$each]=$(stat -c %s "$each")
        order+=("$each")
        total=$((total + kept[$each]))
        fetched=$((fetched + 1))
        while [ $total -gt {most_bytes} ]; do
            each=${{order[oldest]}}
            rm "$each"
            total=$((total - kept[$each]))
            unset "kept[$each]"
            oldest=$((oldest + 1)) removed=$((removed + 1))
        done
    done
    [ "$pause" = 0 ] || sleep "$pause"
done < /web/visits
for each in "${{order[@]:oldest}}"; do echo "$each ${{kept[$each]}}"; done > index
echo "fetched $fetched, found $found, removed $removed"
"""
#: Maximum of every size.
MOST_SIZE = 1_000_000
#: Maximum total bytes of the pages and the initial cache of ``browse``: the guest holds them in memory at boot.
MOST_BROWSED = 256 << 20
FIO = "fio --output-format=json --output=/out/fio.json job.fio\n"
FIO_JOB = """[random]
filename=data
size=64m
rw=randread
bs=4k
direct=1
ioengine=psync
number_ios=500
randrepeat=1
fallocate=none
"""


@dataclass(frozen=True)
class Program:
    """A program for a machine."""

    name: str
    """Its name; ``"command"`` for any other command."""
    script: str
    """The shell script run by the guest, in the root of the device's file system."""
    files: dict[str, bytes | Path] = field(default_factory=dict)
    """The initial contents of the device, by path: bytes, or files and folders of the host."""
    memory: dict[str, bytes] = field(default_factory=dict)
    """Files in the memory of the guest, by path."""
    needs: Sequence[str] = ()
    """Names of the programs that the machine must have."""


def program(
    name: str,
    find: "Find",
    sizes: Mapping[str, int] | None = None,
    *,
    command: str | None = None,
    job: str | Path | None = None,
    files: Sequence[str | Path] = (),
) -> Program:
    """Return a program after checking its arguments.

    Parameters
    ----------
    name
        ``"postmark"``, ``"andrew"``, ``"link"``, ``"tpch"``, ``"browse"``, ``"fio"`` or ``"command"``.
    find
        Returns the assembled machine; called for programs with files from it, after all other checks.
    sizes
        Size of the work: ``files``, ``transactions`` and ``folders`` of postmark, ``copies`` of andrew, ``objects`` of
        link, ``first`` and ``last`` query and ``scale_percent`` of tpch, ``pages``, ``visits``, ``cache_kib`` and
        ``pause_ms`` of browse.
    command
        The shell command, if the name is ``"command"``.
    job
        A job file of fio; by default, random reads of 4 KiB.
    files
        Files and folders of the host to copy onto the device, under their own names.

    Raises
    ------
    SledsimError
        If the program, a size or a file does not exist, or an argument does not fit the program.
    """
    if not is_one_of(name, (*PROGRAMS, "command")):
        message: Sentence = [("program",), f" {name!r} is not known"]
        raise make_error(SledsimError, "unknown-name", message, path="program", value=name, known=PROGRAMS)
    if (name == "command") != (command is not None):
        message = ": give a command or a program, not both" if command is not None else ": the command is missing"
        raise make_error(SledsimError, "conflict", message, path="program", value=name)
    if job is not None and name != "fio":
        raise make_error(SledsimError, "conflict", ": a job file needs the program fio", path="job", value=str(job))
    if job is not None:
        require_plain(job)
    more = by_names(files)
    if not isinstance(sizes, Mapping | None):
        raise make_error(SledsimError, "wrong-type", path="sizes", value=sizes, allowed="numbers by their names")
    if command is not None and sizes:
        raise make_error(
            SledsimError, "conflict", ": apply to programs, not to commands", path="sizes", value=str(sizes)
        )
    if command is not None:
        needs = tuple(each for each in PROGRAMS if each != "fio" and not PROGRAMS[each].base)
        return Program(name, f"{_command(command)}\n", dict(more), needs=needs)
    made, given = PROGRAMS[name], sizes or {}
    unknown = [each for each in given if each not in made.sizes]
    if unknown:
        message = [("sizes",), f": {name} has no size {unknown[0]!r}"]
        raise make_error(SledsimError, "unknown-name", message, path="sizes", value=unknown[0], known=made.sizes)
    for size, value in given.items():
        # Only sizes whose default is 0 may be 0.
        require_integer(SledsimError, size, value, min(1, made.sizes[size]), MOST_SIZE)
    script, own, memory = made.make(find, {**made.sizes, **given}, job)
    own_names = {each.partition("/")[0] for each in own}
    for device_name, each in more.items():
        if device_name in own_names:
            message = f"{name} creates its own {device_name} on the device: rename this file"
            raise make_error(SledsimError, "conflict", message, path="files", value=device_name, file=each)
    return Program(name, script, {**own, **more}, memory, () if made.base else (name,))


def _command(given: object) -> str:
    """Return a shell command, and raise if it is invalid."""
    if not isinstance(given, str):
        raise make_error(SledsimError, "wrong-type", path="command", value=given, allowed="a text")
    if not given.strip():
        raise make_error(SledsimError, "missing", ": it is empty", path="command", value=given)
    if "\0" in given or not can_be_bytes(given):
        message = ": a shell command can't contain NUL characters or unpaired surrogates"
        raise make_error(SledsimError, "misfit", message, path="command", value=given)
    return given


#: Returns the assembled machine.
Find = Callable[[], Assembled]
Sizes = Mapping[str, int]
#: A script, the files on the device, and the files in memory.
Made = tuple[str, dict[str, bytes | Path], dict[str, bytes]]


def _postmark(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    return f"postmark << 'END'\n{POSTMARK.format(**sizes)}END\n", {}, {}


def _andrew(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    return ANDREW.format(**sizes), {f"source/{name}": data for name, data in sources().items()}, {}


def _link(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    available, objects = sorted((find().folder / "objects").glob("*.o")), sizes["objects"]
    if objects > len(available):
        message: Sentence = [("objects",), f" = {objects:,}: there are {len(available):,}"]
        raise make_error(
            SledsimError, "out-of-range", message, path="objects", value=objects, allowed={"most": len(available)}
        )
    return LINK, {f"objects/{each.name}": each for each in available[:objects]}, {}


def _tpch(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    first, last = sizes["first"], sizes["last"]
    queries = range(first, last + 1)
    folder = find().folder / "tpch"
    known = sorted(int(each.stem) for each in folder.glob("*.sql"))
    if not set(queries) <= set(known) or not queries:
        message: Sentence = [("last",), f" = {last}: expected from {first} to {max(known, default=0)}, the last query"]
        raise make_error(SledsimError, "out-of-range", message, path="last", value=last)
    percent = sizes["scale_percent"]
    scales = sorted(int(each.stem.removeprefix("scale-")) for each in folder.glob("scale-*.db"))
    if percent not in scales:
        message = [("scale_percent",), f" = {percent}: the machine has databases of {' and '.join(map(str, scales))}"]
        raise make_error(SledsimError, "unsupported", message, path="scale_percent", value=percent)
    files: dict[str, bytes | Path] = {"tpch.db": folder / f"scale-{percent}.db"}
    files |= {f"{each}.sql": folder / f"{each}.sql" for each in queries}
    return TPCH.format(queries=" ".join(map(str, queries))), files, {}


def _browse(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    drawn = browsing(**sizes)
    if (total := sum(drawn.sizes.values()) + sum(drawn.kept.values())) > MOST_BROWSED:
        message: Sentence = [
            ("visits",),
            f" = {sizes['visits']} to ",
            ("pages",),
            f" = {sizes['pages']} need {total} bytes",
        ]
        most = f", and a machine holds {MOST_BROWSED}: choose fewer"
        raise make_error(SledsimError, "out-of-range", [*message, most], path="visits", value=sizes["visits"])
    index = "".join(f"{name} {size}\n" for name, size in drawn.kept.items())
    visits = "".join(
        f"{f'{pause_s:.6f}' if pause_s else 0} {' '.join(page)}\n"
        for pause_s, page in zip(drawn.pauses_s, drawn.visits, strict=True)
    )
    cache: dict[str, bytes | Path] = {f"cache/{name}": drawn.content(name) for name in drawn.kept}
    pages = {f"web/pages/{name}": drawn.content(name) for name in drawn.sizes}
    script = BROWSE.format(most_bytes=sizes["cache_kib"] << 10)
    return script, {**cache, "cache/index": index.encode()}, {**pages, "web/visits": visits.encode()}


def _fio(find: Find, sizes: Sizes, job: str | Path | None) -> Made:
    return FIO, {"job.fio": FIO_JOB.encode() if job is None else Path(job).resolve()}, {}


@dataclass(frozen=True)
class Recipe:
    """A predefined program."""

    about: str
    """The description."""
    sizes: dict[str, int]
    """Default sizes of the work."""
    make: Callable[[Find, Sizes, str | Path | None], Made]
    """Returns its script, its files on the device and its files in memory."""
    base: bool = False
    """True if it needs only the base system."""


PROGRAMS = {
    "postmark": Recipe(
        "PostMark: small files created, read, appended to and deleted",
        {"files": 500, "transactions": 500, "folders": 10},
        _postmark,
    ),
    "andrew": Recipe("directories, copies, scan, read and compile of a tree of C sources", {"copies": 1}, _andrew),
    "link": Recipe("GNU ld links objects of a C library", {"objects": 1500}, _link),
    "tpch": Recipe(
        "queries of TPC-H in SQLite, from the first to the last",
        {"first": 4, "last": 4, "scale_percent": 1},
        _tpch,
    ),
    "browse": Recipe(
        "a browser that fetches pages over HTTP and keeps them in a bounded cache of files",
        {"pages": 200, "visits": 200, "cache_kib": 7680, "pause_ms": 0},
        _browse,
        base=True,
    ),
    "fio": Recipe("fio with your own job file; 500 random reads by default", {}, _fio),
}
