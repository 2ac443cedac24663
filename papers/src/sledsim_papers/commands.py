"""The command `sledsim reproduce`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli import AsJson, print_error, print_json, print_tables, print_written

if TYPE_CHECKING:
    from sledsim.show import Table
    from sledsim_papers.harness.pages import Pages

__all__ = ["register"]

FAILED, INTERRUPTED = 1, 130

REPRODUCE_EXAMPLES = """\b
Examples:
  sledsim reproduce griffin1999.settle-time
  sledsim reproduce griffin1999.settle-time --set device.settle_constants=2
  sledsim reproduce lin2002 --report lin2002-report
  sledsim reproduce --full --report report
  sledsim reproduce schlosser2000 --perturb --seeds 5
  sledsim reproduce --json > verdicts.json
"""


def claim_names(incomplete: str) -> list[str]:
    """Return the papers and claims whose names begin with this."""
    from sledsim_papers.harness.claim import PAPERS, claims

    return [name for name in (*PAPERS, *claims()) if name.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(epilog=REPRODUCE_EXAMPLES, rich_help_panel="Papers")(reproduce)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER[.CLAIM]",
            help="A paper, or one of its claims; all if not given.",
            autocompletion=claim_names,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Sample sizes of the papers: ten minutes (default: smaller samples, two).")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write pages with all claims and figures into this folder."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", metavar="N", min=1, max=100, help="Check with each of N seeds; list verdicts that differ."
        ),
    ] = 1,
    perturb: Annotated[
        bool,
        typer.Option("--perturb", help="Check again with a change of the model that should change the verdict."),
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="PATH=VALUE",
            help="Check one claim without and with this value in all its runs. Repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check published claims about MEMS storage with simulations.

    Prints the published figure, Sledsim's figure and the verdict for each claim. --set checks one claim twice, without
    and with a value: device.KEY=VALUE changes every device that has the key, device=NAME replaces every sled, any other
    PATH=VALUE changes the scenarios. Traces are read from the folder named by SLEDSIM_REFERENCE. The exit status is 0
    even if claims differ, and 1 if an experiment fails.
    """
    from sledsim_papers.harness.registry import select

    selected = select(name)
    if sets:
        if name is None or selected != [name]:
            raise typer.BadParameter("name one claim: PAPER.CLAIM", param_hint="--set")
        for option, given in (("--report", report), ("--seeds", seeds > 1), ("--perturb", perturb)):
            if given:
                raise typer.BadParameter("leave out --set", param_hint=option)
        _change(name, sets, full=full, as_json=as_json)
        return
    _reproduce(name, report, full=full, seeds=seeds, perturb=perturb, as_json=as_json)


def _reproduce(name: str | None, report: Path | None, *, full: bool, seeds: int, perturb: bool, as_json: bool) -> None:
    """Check claims with the model as it is."""
    from sledsim.show import ProgressBar
    from sledsim_papers.harness import reproduction
    from sledsim_papers.harness.overview import tables
    from sledsim_papers.harness.study import Study
    from sledsim_papers.harness.verdicts import verdicts

    pages = _pages(report)
    what = "claims and figures" if pages else "claims"
    # The tables of the terminal show no probes.
    in_detail = pages is not None or as_json
    with Study(quick=not full) as study, ProgressBar("reproducing", what) as progress:
        found = reproduction.reproduce(
            name,
            draw=pages is not None,
            time_optimal=in_detail,
            seeds=seeds,
            perturb=perturb,
            study=study if in_detail else study.unprobed(),
            export=pages.export if pages else None,
            progress=progress,
        )
    if pages and report:
        pages.write(found)
        print_written(report / "index.html")
    document = verdicts(found) if as_json else None
    _end(document, [] if as_json else tables(found), complete=found.complete, failures=len(found.failures))


def _change(name: str, sets: list[str], *, full: bool, as_json: bool) -> None:
    """Check one claim without and with changed values."""
    from sledsim.show import ProgressBar
    from sledsim_papers.harness.change import change
    from sledsim_papers.harness.overview import change_tables
    from sledsim_papers.harness.study import Study
    from sledsim_papers.harness.verdicts import change_verdicts

    with Study(quick=not full) as study, ProgressBar("reproducing", "runs of the claim") as progress:
        # The table of the terminal shows no probes.
        found = change(name, sets, study if as_json else study.unprobed(), progress)
    document = change_verdicts(found) if as_json else None
    _end(document, [] if as_json else change_tables(found), complete=found.complete, failures=found.failures)


def _end(document: dict[str, Any] | None, tables: "list[Table]", *, complete: bool, failures: int) -> None:
    """Print the outcome; exit with a status if it is incomplete or something failed."""
    if document is None:
        print_tables(tables)
    else:
        print_json(document)
    if not complete:
        print_error("interrupted: unfinished claims are listed as not done")
        # Experiments still running in threads are abandoned.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if failures:
        print_error(f"{failures} of the experiments and figures failed")
        raise typer.Exit(FAILED)


def _pages(folder: Path | None) -> "Pages | None":
    """Return the writer of the report, if one was asked for."""
    if folder is None:
        return None
    from sledsim_papers.harness.pages import Pages

    return Pages(folder)
