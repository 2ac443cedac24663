"""The command that says how likely enclosures of devices are to lose data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import AsJson, Plot, Sets, listed
from sledsim.cli.output import check_picture, complain, not_drawn, print_found

if TYPE_CHECKING:
    from sledsim.reliability.reading import DescriptionLike
    from sledsim.reliability.shown import Shown

__all__ = ["register"]

INTERRUPTED = 130

#: What a figure shows, and where it stands in hong2006.
FIGURES = {
    "spares": "survival without repair by spares (Figure 3)",
    "maintenance": "MTTF by strategy and time of repair (Figure 4)",
    "failures": "devices that fail and repairs that takes (Figure 5)",
    "cost": "cost against loss of data (section 6)",
}

RELIABILITY_EXAMPLES = """\b
Examples:
  sledsim reliability enclosure.toml
  sledsim reliability enclosure.toml --set enclosure.spares=3 --plot survival.png
  sledsim reliability enclosure.toml --figure maintenance --plot mttf.png
  sledsim reliability enclosure.toml --figure cost --json
  sledsim reliability enclosure.toml --simulate --precision 0.05
  sledsim reliability --compare raid5.toml raid6.toml
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=RELIABILITY_EXAMPLES)(reliability)


def figure_names(incomplete: str) -> list[str]:
    """Complete the name of a figure."""
    return [name for name in FIGURES if name.startswith(incomplete)]


def reliability(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE…|-", help="Description of an enclosure (TOML, YAML, JSON); - for standard input."),
    ],
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare several enclosures; ratios are to the first.")
    ] = False,
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Print and draw instead: " + "; ".join(f"{name}, {what}" for name, what in FIGURES.items()) + ".",
            autocompletion=figure_names,
        ),
    ] = None,
    years: Annotated[
        str | None, typer.Option("--years", metavar="N,N,…", help="Years to report (default: 1,3,5).")
    ] = None,
    sets: Sets = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Simulate lifetimes even where a Markov chain would do."),
    ] = False,
    lifetimes: Annotated[
        int | None, typer.Option("--lifetimes", metavar="N", help="Lifetimes to simulate (default: 200,000).")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option("--precision", metavar="X", help="Simulate until intervals are ±X of the estimates, such as 0.1."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed (default: 1).")] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compute lifetime, probability of data loss and repairs of an enclosure.

    An enclosure is made of devices with redundancy and on-line spares; docs/how-to/reliability.md describes it.
    """
    check_picture(plot)
    _check_use(files, figure, years, compare=compare)
    asked = {"lifetimes": lifetimes, "precision": precision, "seed": seed}
    simulation = {key: value for key, value in asked.items() if value is not None}
    if figure and (simulate or simulation):
        option = "--simulate" if simulate else f"--{next(iter(simulation))}"
        raise typer.BadParameter("simulates the enclosure as it is; it has no use for --figure", param_hint=option)
    if compare and simulate:
        raise typer.BadParameter("a comparison simulates only what chains cannot say", param_hint="--simulate")
    sources: list[DescriptionLike] = [file if file == "-" else Path(file) for file in files]
    if compare:
        found = _compared(sources, years, sets or [], simulation)
    elif figure:
        found = _figure(sources[0], figure, years, sets or [])
    else:
        found = _report(sources[0], years, sets or [], simulation, simulate=simulate or bool(simulation))
    print_found(found, as_json=as_json)
    if not found.complete:
        complain(f"interrupted: the results are those so far{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    if plot:
        found.save_plot(plot)


def _check_use(files: list[str], figure: str | None, years: str | None, *, compare: bool) -> None:
    """Refuse arguments that do not go together."""
    if not compare and len(files) > 1:
        raise typer.BadParameter("one description, or several with --compare", param_hint="FILE")
    if figure is None:
        return
    if compare:
        raise typer.BadParameter("shows one enclosure; it has no use for --compare", param_hint="--figure")
    if figure not in FIGURES:
        from sledsim._core import SledsimError
        from sledsim.show.faults import wrong

        raise wrong(SledsimError, "unknown-name", path="figure", value=figure, known=FIGURES)
    if years is not None and figure in ("maintenance", "cost"):
        instead = "set cost.lifetime" if figure == "cost" else "an MTTF has no time"
        raise typer.BadParameter(f"has no use for --figure {figure}: {instead}", param_hint="--years")


def _compared(
    sources: "list[DescriptionLike]", years: str | None, sets: list[str], simulation: dict[str, Any]
) -> "Shown":
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.comparison import compare_enclosures

    return compare_enclosures(
        sources, years=listed(years, "years", float) or YEARS, overrides=sets, progress=True, **simulation
    )


def _report(
    source: "DescriptionLike", years: str | None, sets: list[str], simulation: dict[str, Any], *, simulate: bool
) -> "Shown":
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.reporting import report

    times = listed(years, "years", float) or YEARS
    return report(source, years=times, overrides=sets, simulated=simulate, progress=True, **simulation)


def _figure(source: "DescriptionLike", figure: str, years: str | None, sets: list[str]) -> "Shown":
    """Compute a figure of one enclosure."""
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.cost import cost_curve
    from sledsim.reliability.curves import survival_by_spares
    from sledsim.reliability.failures import failure_counts
    from sledsim.reliability.maintenance import mttf_by_maintenance

    last = max(listed(years, "years", float) or YEARS)
    if figure == "spares":
        return survival_by_spares(source, years=last, overrides=sets)
    if figure == "maintenance":
        return mttf_by_maintenance(source, overrides=sets)
    if figure == "failures":
        return failure_counts(source, years=last, overrides=sets)
    return cost_curve(source, overrides=sets)
