"""The command that compares caches for the same money."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.options import AsJson, Plot, Replications, Sets, device_names, listed, workload_names
from sledsim.cli.output import check_picture, print_found

if TYPE_CHECKING:
    from sledsim.scenario.reading import ScenarioLike
    from sledsim.studies.cache_cost import CostStudy

__all__ = ["register"]

COST_EXAMPLES = """\b
Examples:
  sledsim cost disk.toml
  sledsim cost disk.toml --mems-price 20 --nvram-price 30,60,120 --budget 5
  sledsim cost --workload tpcc-like --segment "8 KiB" --ratio 1,2,3,4 --replications 5 --plot cost.png
  sledsim cost comparison.toml --set cost.replications=5
  sledsim cost --trace hplajw.srt --mems-size "32 MiB" --set workload.devices=[0] --json
"""

File = Annotated[
    str | None,
    typer.Argument(
        metavar="[SCENARIO|-]",
        help="Scenario (TOML, YAML, JSON) whose system is cached, or a file that names one; - for standard input.",
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Stand-in workload, instead of a scenario.", autocompletion=workload_names),
]
Trace = Annotated[Path | None, typer.Option(metavar="FILE", help="Block trace, instead of a scenario.")]
Disk = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Disk for --workload or --trace (default: atlas10k-50mb).",
        autocompletion=device_names,
    ),
]


#: Options that Python calls otherwise.
OPTIONS = {
    "segment_bytes": "segment",
    "controller_bytes": "controller",
    "mems_price_per_gb": "mems_price",
    "nvram_prices_per_gb": "nvram_price",
    "ratios": "ratio",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=COST_EXAMPLES)(cost)


def cost(
    file: File = None,
    workload: Workload = None,
    trace: Trace = None,
    disk: Disk = None,
    mems: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="MEMS device (default: hong2006).", autocompletion=device_names),
    ] = None,
    mems_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Size of the MEMS cache (default: 256 MiB).")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="MONEY", help="Budget for a cache, instead of its size.")
    ] = None,
    mems_price: Annotated[
        float | None, typer.Option(metavar="MONEY", help="Price of a GB (10⁹ bytes) of MEMS (default: 1).")
    ] = None,
    nvram_price: Annotated[
        str | None, typer.Option(metavar="MONEY,…", help="Prices of a GB of NVRAM, such as 5,10,20.")
    ] = None,
    ratio: Annotated[
        str | None, typer.Option(metavar="X,…", help="The same as multiples of the price of MEMS (default: 1 to 10).")
    ] = None,
    segment: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Segment that moves between disk and MEMS (default: 64 KiB).")
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Volatile controller cache above either cache (default: 4 MiB; none for no cache)."
        ),
    ] = None,
    replications: Replications = None,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compare a MEMS cache of a disk with NVRAM caches of equal cost.

    For each price of NVRAM the disk is run with as much of it as the money of the MEMS cache buys; printed are the
    response times, and the ratio of prices above which MEMS is faster.
    """
    from sledsim.show.faults import by_arguments
    from sledsim.studies.cache_cost.comparison import cost as compared

    check_picture(plot)
    if mems_size is not None and budget is not None:
        raise typer.BadParameter("give either the size of the MEMS cache or the budget", param_hint="--budget")
    given = {
        "mems": mems,
        "mems_bytes": mems_size,
        "segment_bytes": segment,
        "controller_bytes": controller,
        "mems_price_per_gb": mems_price,
        "nvram_prices_per_gb": listed(nvram_price, "nvram_price", float),
        "ratios": listed(ratio, "ratio", float),
        "budget": budget,
        "replications": replications,
    }
    keys = {key: value for key, value in given.items() if value is not None}
    with by_arguments(OPTIONS):
        found = compared(_study(file, workload, trace, disk, sets or [], keys), progress=True)
    print_found(found, as_json=as_json)
    if plot:
        found.save_plot(plot)


def _study(
    file: str | None, workload: str | None, trace: Path | None, disk: str | None, sets: list[str], keys: dict[str, Any]
) -> "CostStudy":
    """Return the comparison that a file describes, with the keys of the options, or one of a scenario."""
    from sledsim.scenario.documents import has_key
    from sledsim.studies.cache_cost import CostStudy

    scenario = _scenario(file, workload, trace, disk)
    if isinstance(scenario, Path) and has_key(scenario, "scenario"):
        return CostStudy.load(scenario, overrides=sets, **keys)
    return CostStudy(scenario=scenario, overrides=sets, **keys)


def _scenario(file: str | None, workload: str | None, trace: Path | None, disk: str | None) -> "ScenarioLike":
    """Return the scenario that was named, or make it of a stand-in or a trace and a disk."""
    from sledsim.scenario.reading import from_argument

    if sum(each is not None for each in (file, workload, trace)) != 1:
        raise typer.BadParameter("give one of a scenario, --workload and --trace", param_hint="SCENARIO")
    if file is not None:
        if disk is not None:
            raise typer.BadParameter("the scenario has a disk already; use --set system.…", param_hint="--disk")
        return from_argument(file)
    made = {"kind": "trace", "path": str(trace)} if trace is not None else workload
    return {"workload": made, "system": {"device": disk or "atlas10k-50mb"}}
