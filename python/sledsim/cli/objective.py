"""The commands for the two objective tests of roles and policies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import AsJson, Sets, device_names, scheduler_names
from sledsim.cli.output import check_picture, print_found

if TYPE_CHECKING:
    from sledsim.studies.objective.objective_tests import ObjectiveTest

__all__ = ["register"]

SPECIFICITY_EXAMPLES = """\b
Examples:
  sledsim specificity sdf
  sledsim specificity sdf --set device.settle_constants=0 --plot sdf.png
  sledsim specificity augmented.toml --without disks.toml
  sledsim specificity equivalent --json
  sledsim specificity role.toml --set role.replications=20
"""

MERIT_EXAMPLES = """\b
Examples:
  sledsim merit sdf
  sledsim merit sptf --without sstf_lbn --device g3 --replications 20
  sledsim merit augmented.toml --without disks.toml
  sledsim merit stopping.toml --without ready.toml --metric energy.total_j
"""

Role = Annotated[
    str,
    typer.Argument(
        metavar="ROLE",
        help="A scenario with MEMS storage in its system, a scheduler or a layout; or a file that names one.",
        autocompletion=scheduler_names,
    ),
]
Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        metavar="BASE",
        help="What there is without it: a scenario, scheduler (clook) or layout (pages).",
    ),
]
OfPolicy = Annotated[
    str | None,
    typer.Option(
        "--device", "-d", metavar="NAME", help="For a policy: the MEMS device (g2).", autocompletion=device_names
    ),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="PER_S", help="For a scheduler: arrivals in a second; else 95 % busy under fcfs."),
]
Replications = Annotated[
    int | None, typer.Option("--replications", metavar="N", help="Runs, each with a seed of its own; else 10.")
]
Requests = Annotated[
    int | None, typer.Option("--requests", metavar="N", help="Requests of a run; else as the scenario has it.")
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="PATH",
        help="What is measured: a figure of the result of which less is better; response.mean_ms by default.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the first run; else 1.")]
Picture = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the gains: .html, .png or .svg.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=SPECIFICITY_EXAMPLES)(specificity)
    app.command(epilog=MERIT_EXAMPLES)(merit)


def specificity(
    role: Role,
    without: Without = None,
    device: OfPolicy = None,
    disk: Annotated[
        str | None,
        typer.Option(
            "--disk", metavar="NAME", help="The disk that is fitted, uberdisk by default.", autocompletion=device_names
        ),
    ] = None,
    fit_bytes: Annotated[
        int | None,
        typer.Option("--fit-bytes", metavar="N", min=1, help="Size of the reads that it is fitted to; else 4096."),
    ] = None,
    rate: Rate = None,
    replications: Replications = None,
    requests: Requests = None,
    seed: Seed = None,
    metric: Metric = None,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Picture = None,
) -> None:
    """Test whether a role or policy gains by what MEMS storage is, or only by its speed.

    It is run on MEMS storage, and on a disk fitted to the same mean time of random reads. It is specific where it
    gains more on MEMS storage by over 10 % (Schlosser and Ganger 2004).
    """
    from sledsim.studies.objective import objective_tests

    check_picture(plot)
    given = {"without": without, "device": device, "disk": disk, "fit_bytes": fit_bytes, "rate_per_s": rate}
    sampling = {"replications": replications, "requests": requests, "seed": seed, "metric": metric}
    found = objective_tests.specificity(**_asked(role, given, sampling, sets or []))
    _show(found, plot, as_json=as_json)


def merit(
    role: Role,
    without: Without = None,
    device: OfPolicy = None,
    rate: Rate = None,
    replications: Replications = None,
    requests: Requests = None,
    seed: Seed = None,
    metric: Metric = None,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Picture = None,
) -> None:
    """Test whether a role or policy gains enough, over 10 %, to be worth an abstraction of its own.

    It is run with and without, with the same random numbers (Schlosser and Ganger 2004).
    """
    from sledsim.studies.objective import objective_tests

    check_picture(plot)
    given = {"without": without, "device": device, "rate_per_s": rate}
    sampling = {"replications": replications, "requests": requests, "seed": seed, "metric": metric}
    asked = _asked(role, given, sampling, sets or [])
    # Nothing is fitted here.
    found = objective_tests.merit(**{key: each for key, each in asked.items() if key not in ("disk", "fit_bytes")})
    _show(found, plot, as_json=as_json)


def _asked(role: str, given: dict[str, Any], sampling: dict[str, Any], sets: list[str]) -> dict[str, Any]:
    """Return what is tested and how: what a file of a role says, and the options over it."""
    from dataclasses import replace

    from sledsim.scenario.documents import has_key
    from sledsim.studies.objective.roles import Sampling, role_file

    keys = {key: _role(each) if key == "without" else each for key, each in given.items() if each is not None}
    own = {key: each for key, each in sampling.items() if each is not None}
    tested = _role(role)
    if isinstance(tested, Path) and has_key(tested, "role"):
        of_file = role_file(tested, set=sets)
        return {**of_file, **keys, "sampling": replace(of_file["sampling"], **own, progress=True)}
    return {"role": tested, **keys, "sampling": Sampling(**own, progress=True), "set": sets}


def _role(name: str) -> "str | Path":
    """Return a policy's name as it is, and what may be a file as one."""
    return name if name == "-" or not Path(name).suffix else Path(name)


def _show(found: "ObjectiveTest", plot: Path | None, *, as_json: bool) -> None:
    """Print what was found, and draw it."""
    print_found(found, as_json=as_json)
    if found.verdict == "undecided":
        typer.echo("note: the interval holds the 10 % of the rule; more --replications would tell", err=True)
    if plot:
        found.save_plot(plot)
