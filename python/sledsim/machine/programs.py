"""Programs that a machine runs: the command of each, and the files that it finds on the device."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.machine.assembled import Assembled
from sledsim.machine.sources import sources
from sledsim.show.faults import Sentence, is_there, missing_file, require_whole, wrong

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
#: The most that a size may be.
MOST_SIZE = 1_000_000
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
    """What a machine runs."""

    name: str
    """Its name; ``"command"`` for a command of one's own."""
    script: str
    """What the guest's shell is given; it begins in the root of the device's file system."""
    files: dict[str, bytes | Path] = field(default_factory=dict)
    """What lies on the device, by its path: bytes, or files and folders of this machine."""
    needs: Sequence[str] = ()
    """Which programs of the machine's."""


def program(
    name: str,
    machine: Assembled,
    sizes: Mapping[str, int] | None = None,
    *,
    command: str | None = None,
    job: str | Path | None = None,
    files: Sequence[str | Path] = (),
) -> Program:
    """Return a program, ready to be run.

    Parameters
    ----------
    name
        ``"postmark"``, ``"andrew"``, ``"link"``, ``"tpch"``, ``"fio"`` or ``"command"``.
    machine
        What has been assembled.
    sizes
        How much it has to do: ``files``, ``transactions`` and ``folders`` of postmark, ``copies`` of andrew,
        ``objects`` of link, ``first`` and ``last`` question of tpch.
    command
        Of a command: what the shell is given.
    job
        Of fio: a file with its jobs; random reads of 4 KiB where there is none.
    files
        Files and folders of this machine that are to lie on the device, by their own names.

    Raises
    ------
    SledsimError
        Where there is no such program, size or file.
    """
    if name not in (*PROGRAMS, "command"):
        says: Sentence = [("program",), f" {name!r} is none of those there are"]
        raise wrong(SledsimError, "unknown-name", says, path="program", value=name, known=PROGRAMS)
    if (name == "command") != (command is not None):
        says = ": a command is given, or a program, and not both" if command else ": there is no command"
        raise wrong(SledsimError, "conflict", says, path="program", value=name)
    if job is not None and name != "fio":
        raise wrong(SledsimError, "conflict", ": a file of jobs is for fio", path="job", value=str(job))
    more: dict[str, bytes | Path] = {}
    for each in map(Path, files):
        if not is_there(each):
            raise missing_file(SledsimError, each)
        more[each.resolve().name] = each
    if name == "command":
        return Program(name, f"{command}\n", more, tuple(each for each in PROGRAMS if each != "fio"))
    made, asked = PROGRAMS[name], sizes or {}
    unknown = [each for each in asked if each not in made.sizes]
    if unknown:
        says = [("sizes",), f" of {name} has no {unknown[0]!r}"]
        raise wrong(SledsimError, "unknown-name", says, path="sizes", value=unknown[0], known=made.sizes)
    for size, value in asked.items():
        require_whole(SledsimError, size, value, 1, MOST_SIZE)
    script, lie = made.make(machine, {**made.sizes, **asked}, job)
    return Program(name, script, {**lie, **more}, (name,))


Sizes = Mapping[str, int]
Made = tuple[str, dict[str, bytes | Path]]


def _postmark(machine: Assembled, sizes: Sizes, job: str | Path | None) -> Made:
    return f"postmark << 'END'\n{POSTMARK.format(**sizes)}END\n", {}


def _andrew(machine: Assembled, sizes: Sizes, job: str | Path | None) -> Made:
    return ANDREW.format(**sizes), {f"source/{name}": data for name, data in sources().items()}


def _link(machine: Assembled, sizes: Sizes, job: str | Path | None) -> Made:
    there = sorted((machine.folder / "objects").glob("*.o"))[: sizes["objects"]]
    return LINK, {f"objects/{each.name}": each for each in there}


def _tpch(machine: Assembled, sizes: Sizes, job: str | Path | None) -> Made:
    first, last = sizes["first"], sizes["last"]
    queries = range(first, last + 1)
    known = sorted(int(each.stem) for each in (machine.folder / "tpch").glob("*.sql"))
    if not set(queries) <= set(known) or not queries:
        says: Sentence = [("last",), f" = {last}: the questions from {first} on go to {known[-1]}"]
        raise wrong(SledsimError, "out-of-range", says, path="last", value=last)
    names = ["tpch.db", *(f"{each}.sql" for each in queries)]
    files: dict[str, bytes | Path] = {each: machine.folder / "tpch" / each for each in names}
    return TPCH.format(queries=" ".join(map(str, queries))), files


def _fio(machine: Assembled, sizes: Sizes, job: str | Path | None) -> Made:
    if job is None:
        return FIO, {"job.fio": FIO_JOB.encode()}
    if not is_there(Path(job)):
        raise missing_file(SledsimError, Path(job))
    return FIO, {"job.fio": Path(job)}


@dataclass(frozen=True)
class Known:
    """A program that a machine knows."""

    about: str
    """What it does."""
    sizes: dict[str, int]
    """How much it has to do, as a rule."""
    make: Callable[[Assembled, Sizes, str | Path | None], Made]
    """Makes its script, and what lies on the device."""


PROGRAMS = {
    "postmark": Known(
        "PostMark: small files created, read, appended to and deleted",
        {"files": 500, "transactions": 500, "folders": 10},
        _postmark,
    ),
    "andrew": Known("directories, copies, scan, read and compile of a tree of C sources", {"copies": 1}, _andrew),
    "link": Known("GNU ld links objects of a C library", {"objects": 1500}, _link),
    "tpch": Known("questions of TPC-H, from the first to the last, asked of SQLite", {"first": 4, "last": 4}, _tpch),
    "fio": Known("fio with jobs of your own; 500 random reads otherwise", {}, _fio),
}
