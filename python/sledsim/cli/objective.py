"""The commands for the two objective tests of roles and policies."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import AsJson, Plot, Replications, Sets, device_names, scheduler_names, unfolded
from sledsim.cli.output import check_picture, print_found
from sledsim.cli.streams import say

if TYPE_CHECKING:
    from sledsim.studies.objective import ObjectiveTest, RoleTest

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


@dataclass(frozen=True)
class Tested:
    """What is tested, and by how many runs; both tests ask for it."""

    role: Annotated[
        str,
        typer.Argument(
            metavar="ROLE",
            help="Scenario with MEMS storage, scheduler or layout; or a file that names one.",
            autocompletion=scheduler_names,
        ),
    ]
    without: Annotated[
        str | None,
        typer.Option(
            "--without",
            metavar="BASE",
            help="Baseline: a scenario, scheduler (default: clook) or layout (default: pages).",
        ),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            "-d",
            metavar="NAME",
            help="MEMS device for a policy (default: g2).",
            autocompletion=device_names,
        ),
    ] = None
    rate_per_s: Annotated[
        float | None,
        typer.Option(
            "--rate", metavar="PER_S", help="Arrivals per second for a scheduler (default: 95 % busy under fcfs)."
        ),
    ] = None
    replications: Replications = None
    requests: Annotated[
        int | None, typer.Option("--requests", metavar="N", help="Requests of a run (default: those of the scenario).")
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the first run (default: 1).")
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="KEY",
            help="Metric to minimise (default: response.mean_ms).",
        ),
    ] = None
    sets: Sets = None

    def test(self, **own: Any) -> "RoleTest":
        """Return the test that a file describes, with the keys of the options, or one of a scenario or policy.

        Parameters
        ----------
        **own
            Keys that only one of the tests has.
        """
        from sledsim.scenario.documents import has_key
        from sledsim.studies.objective import RoleTest

        given = {key: getattr(self, key) for key in OPTIONS} | {"without": self.without and _role(self.without)} | own
        keys = {key: each for key, each in given.items() if each is not None}
        tested = _role(self.role)
        if isinstance(tested, Path) and has_key(tested, "role"):
            return RoleTest.load(tested, overrides=self.sets or [], **keys)
        return RoleTest(tested, overrides=self.sets or [], **keys)


#: Options that are keys of the test.
OPTIONS = ("device", "rate_per_s", "replications", "requests", "seed", "metric")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=SPECIFICITY_EXAMPLES)(unfolded(specificity))
    app.command(epilog=MERIT_EXAMPLES)(unfolded(merit))


def specificity(
    tested: Tested,
    disk: Annotated[
        str | None,
        typer.Option("--disk", metavar="NAME", help="Disk to fit (default: uberdisk).", autocompletion=device_names),
    ] = None,
    fit_bytes: Annotated[
        int | None,
        typer.Option("--fit-bytes", metavar="N", min=1, help="Bytes of the reads it is fitted to (default: 4096)."),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Test whether a role or policy gains by what MEMS storage is, or only by its speed.

    It is run on MEMS storage, and on a disk fitted to the same mean time of random reads. It is specific where it
    gains more on MEMS storage by over 10 % (Schlosser and Ganger 2004).
    """
    from sledsim.studies.objective import objective_tests

    check_picture(plot)
    found = objective_tests.specificity(tested.test(disk=disk, fit_bytes=fit_bytes), progress=True)
    _show(found, plot, as_json=as_json)


def merit(tested: Tested, as_json: AsJson = False, plot: Plot = None) -> None:
    """Test whether a role or policy gains enough, over 10 %, to be worth an abstraction of its own.

    It is run with and without, with the same random numbers (Schlosser and Ganger 2004).
    """
    from sledsim.studies.objective import objective_tests

    check_picture(plot)
    _show(objective_tests.merit(tested.test(), progress=True), plot, as_json=as_json)


def _role(name: str) -> "str | Path":
    """Return a policy's name as it is, and what may be a file as one."""
    return name if name == "-" or not Path(name).suffix else Path(name)


def _show(found: "ObjectiveTest", plot: Path | None, *, as_json: bool) -> None:
    """Print what was found, and draw it."""
    print_found(found, as_json=as_json)
    if found.verdict == "undecided":
        say("note: the interval holds the 10 % of the rule; more --replications would tell", err=True)
    if plot:
        found.save_plot(plot)
