"""The command that writes examples into the working folder: what the documentation names, to be run and changed."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sledsim.cli.options import AsJson
from sledsim.cli.output import print_json, print_tables
from sledsim.show.faults import wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EVERYTHING", "register"]

#: The name that stands for all of them: README uses every one.
EVERYTHING = "readme"

EXAMPLES = """\b
Examples:
  sledsim example
  sledsim example readme
  sledsim example scenario.toml
"""

#: What there is, and what it is of. Those with a suffix that a description has lie in the package; traces are made.
KINDS = {
    "scenario.toml": "a file server on a second-generation device",
    "fcfs.toml": "random reads at a high load, first come first served",
    "sptf.toml": "the same, shortest positioning time first",
    "rates.toml": "a sweep: three schedulers at four loads",
    "enclosure.toml": "an enclosure of twenty devices with spares",
    "design.toml": "a search: how large and how dense should a sled be?",
    "my-trace.gz": "a block trace: 5,000 requests made by the stand-in tpcc-like",
    "measured.trace": "service times as they are measured on a drive; made by the model of atlas10k, each 2 % longer",
}
TRACE_REQUESTS = 5000
MEASURED_REQUESTS = 400
#: How much longer than the model's the service times of the made measurement are.
LONGER = 1.02


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EXAMPLES)(example)


def example_names(incomplete: str) -> list[str]:
    """Complete the name of an example."""
    return [name for name in (EVERYTHING, *KINDS) if name.startswith(incomplete)]


def example(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help=f"Which one; {EVERYTHING} for all that README uses. Without it they are listed.",
            autocompletion=example_names,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an example into the working folder: a scenario, a sweep, a trace.

    A file that is there already is left as it is, unless it would become the same or --force is given.
    """
    from sledsim._core import SledsimError
    from sledsim.show.faults import require_plain
    from sledsim.show.tables import Table

    if name is None:
        if as_json:
            print_json(KINDS)
        else:
            rows = [[EVERYTHING, "all of these"], *map(list, KINDS.items())]
            print_tables([Table(["example", "what it is"], rows, left=frozenset({1}))])
        return
    wanted = list(KINDS) if name == EVERYTHING else [name]
    # The ending may be left out.
    named = [each for each in KINDS if name in (each, Path(each).stem)]
    if name != EVERYTHING and not named:
        raise wrong(
            SledsimError, "unknown-name", f"no example {name!r}", path="name", value=name, known=[EVERYTHING, *KINDS]
        )
    texts = {each: _content(each) for each in (named or wanted)}
    for each in texts:
        require_plain(SledsimError, Path(each))
    changed = [each for each, text in texts.items() if Path(each).exists() and Path(each).read_bytes() != text]
    if changed and not force:
        says = f"{', '.join(changed)}: there already, with other content; --force writes over it"
        raise wrong(SledsimError, "conflict", says, path="force", value=changed)
    for each, text in texts.items():
        Path(each).write_bytes(text)
    if as_json:
        print_json(list(texts))
    else:
        print_tables([Table(["written", ""], [[each, KINDS[each]] for each in texts], left=frozenset({1}))])


def _content(name: str) -> bytes:
    made: dict[str, Callable[[], bytes]] = {"my-trace.gz": _trace, "measured.trace": _measured}
    return made[name]() if name in made else (files("sledsim") / "examples" / name).read_bytes()


def _logged(scenario: "dict[str, object]") -> "dict[str, NDArray[np.generic]]":
    from sledsim.runs.running import run

    return run(scenario, log=True).log


def _trace() -> bytes:
    """Write requests of a stand-in as a trace: CSV with the columns that are looked for, compressed."""
    import gzip

    # Where requests go and when follows from the size of the device, not from its speed.
    log = _logged({"workload": "tpcc-like", "system": {"device": "g2"}, "run": {"requests": TRACE_REQUESTS}})
    columns = (log[name].tolist() for name in ("arrival_ns", "origin", "lbn", "blocks", "read"))
    rows = sorted(
        (arrival_ns, f"{arrival_ns},{origin},{512 * lbn},{512 * blocks},{'R' if read else 'W'}")
        for arrival_ns, origin, lbn, blocks, read in zip(*columns, strict=True)
    )
    text = "\n".join(["t_ns,device,offset_bytes,bytes,op", *(row for _, row in rows), ""])
    return gzip.compress(text.encode(), mtime=0)


def _measured() -> bytes:
    """Write service times of a drive's model, each a little longer, in DiskSim's validation format."""
    workload = {"read_fraction": 0.7, "arrival": {"kind": "closed", "outstanding": 1}}
    log = _logged({"workload": workload, "system": {"device": "atlas10k"}, "run": {"requests": MEASURED_REQUESTS}})
    columns = (log[name].tolist() for name in ("read", "lbn", "blocks", "response_ns"))
    lines = [
        f"{'R' if read else 'W'} Miss {lbn} {blocks} {LONGER * response_ns / 1e3:.3f} 0.000"
        for read, lbn, blocks, response_ns in zip(*columns, strict=True)
    ]
    return "\n".join([*lines, ""]).encode()
