"""Commands that study a system: optimise, power, reliability, hit-ratio, role-test, cost, relation and others."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sledsim.cli.checks import check_chart, check_target
from sledsim.cli.options import (
    MOST_DIGITS,
    AsJson,
    Cluster,
    Columns,
    Event,
    OfDevice,
    Out,
    Plot,
    Precision,
    Replications,
    ScenarioFile,
    SectorBytes,
    Sets,
    SkipBad,
    Sort,
    Threads,
    TimeUnit,
    TraceFile,
    TraceFormat,
    device_names,
    numbers,
    policy_names,
    precision_sets,
    reader_options,
    scheduler_names,
    workload_names,
)
from sledsim.cli.output import draw_if_complete, not_drawn, print_document, print_error, print_result, print_written
from sledsim.cli.streams import BAD_INPUT, INTERRUPTED, write

if TYPE_CHECKING:
    from sledsim.reliability.reading import DescriptionLike
    from sledsim.reliability.shown import Shown
    from sledsim.scenario.reading import ScenarioLike
    from sledsim.studies.cache_cost import CostStudy

__all__ = ["register"]

PANEL = "Study"

OPTIMISE_EXAMPLES = """\b
Examples:
  sledsim optimise design.toml
  sledsim optimise design.toml --trials 500 --plot front.html
  sledsim optimise design.toml --save best.toml
  sledsim optimise design.toml --save other.toml --design 12
  sledsim optimise design.toml --set search.sampler=nsga2
  sledsim optimise design.toml --store designs.sweep --threads 4 --json
"""
POWER_EXAMPLES = """\b
Examples:
  sledsim power scenario.toml
  sledsim power scenario.toml --set system.spin_down.name=adaptive
  sledsim power scenario.toml --policies --plot power.png
"""
RELIABILITY_EXAMPLES = """\b
Examples:
  sledsim reliability enclosure.toml
  sledsim reliability enclosure.toml --set enclosure.spares=3
  sledsim reliability enclosure.toml --figure maintenance --plot mttf.png
  sledsim reliability enclosure.toml --figure cost --json
  sledsim reliability enclosure.toml --simulate --precision loss=5%
  sledsim reliability raid5.toml raid6.toml
"""
VALIDATE_DRIVE_EXAMPLES = """\b
Examples:
  sledsim validate-drive atlas10k.parv atlas10k.trace
  sledsim validate-drive atlas10k atlas10k.trace --plot atlas10k.png
  sledsim validate-drive mine.toml m.trace --set device.read_ahead=none
  sledsim validate-drive g2 served.csv
"""
CALIBRATE_EXAMPLES = """\b
Examples:
  sledsim calibrate --jobs my-drive --filename /dev/sdb
  sledsim calibrate --jobs my-drive --filename /dev/sdb --capacity 2TB
  sledsim calibrate my-drive --out my-drive.toml
  sledsim calibrate m.trace --out fitted.toml
  sledsim calibrate m.trace --from cheetah9LP.parv --out fitted.toml
"""
HIT_RATIO_EXAMPLES = """\b
Examples:
  sledsim hit-ratio trace.vscsi.zst --pages 1000,10000
  sledsim hit-ratio trace.csv --policy lru --policy arc --pages 5000
  sledsim hit-ratio trace.csv --policy arc --pages 100,300 --plot misses.html
  sledsim hit-ratio trace.csv --policy my_module:MyPolicy,weight=2
  sledsim hit-ratio OLTP.lis --policy 2q:in_share=0.3,out_share=0.5 --json
"""
COST_EXAMPLES = """\b
Examples:
  sledsim cost disk.toml
  sledsim cost disk.toml --mems-price 20 --nvram-price 30,60,120 --budget 5
  sledsim cost --workload tpcc-like --ratio 1,2,3,4 --plot cost.png
  sledsim cost comparison.toml --set cost.replications=5
  sledsim cost --trace hplajw.srt --mems-size "32 MiB" --json
"""
DESIGN_EXAMPLES = """\b
Examples:
  sledsim design g2
  sledsim design g2 --set bit_nm=30 --toml > device.toml
  sledsim design mine.toml --sensitivity --plot moves.png
"""
RELATION_EXAMPLES = """\b
Examples:
  sledsim relation
  sledsim relation --device uberdisk --layout row-major --layout two-axes
  sledsim relation --records 1000000 --attributes 4,4,120 --plot relation.png
  sledsim relation --device g2 --set device.settle_constants=0 --json
"""
ROLE_TEST_EXAMPLES = """\b
Examples:
  sledsim role-test specificity sdf
  sledsim role-test specificity sdf --set device.settle_constants=0
  sledsim role-test specificity role.toml --set role.replications=20
  sledsim role-test merit sptf --without sstf_lbn --device g3
  sledsim role-test merit augmented.toml --without disks.toml --plot it.png
  sledsim role-test merit a.toml --without b.toml --metric energy.total_j
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, name, epilog in (
        (optimise, "optimise", OPTIMISE_EXAMPLES),
        (power, "power", POWER_EXAMPLES),
        (reliability, "reliability", RELIABILITY_EXAMPLES),
        (hit_ratio, "hit-ratio", HIT_RATIO_EXAMPLES),
        (role_test, "role-test", ROLE_TEST_EXAMPLES),
        (cost, "cost", COST_EXAMPLES),
        (relation, "relation", RELATION_EXAMPLES),
        (design, "design", DESIGN_EXAMPLES),
        (validate_drive, "validate-drive", VALIDATE_DRIVE_EXAMPLES),
        (calibrate, "calibrate", CALIBRATE_EXAMPLES),
    ):
        app.command(name, epilog=epilog, rich_help_panel=PANEL)(command)


def optimise(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Search (TOML, YAML or JSON): scenario, parameters, objectives.")
    ],
    sets: Sets = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FOLDER",
            help="Store for the runs (default: NAME.sweep). Finished runs are not repeated.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", metavar="N", min=1, help="Number of designs to try (default: that of the file)."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the best design, or that of --design: a device file."),
    ] = None,
    chosen: Annotated[
        int | None,
        typer.Option("--design", metavar="N", min=0, help="Number of the trial that --save writes."),
    ] = None,
    threads: Threads = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
    plot: Plot = None,
    precision: Precision = None,
) -> None:
    """Search for Pareto-optimal designs of a device or a policy.

    --set KEY=VALUE sets a key of the scenario, --set search.KEY=VALUE one of the file. A search that was interrupted
    continues with the same command. With several objectives, --save writes the Pareto-optimal design nearest to the
    best values of all of them.
    """
    from sledsim.sweep.optimisation import optimise as search

    if chosen is not None and save is None:
        raise typer.BadParameter("add --save FILE", param_hint="--design")
    check_chart(plot)
    check_target(save, [".toml"])
    overrides = [*(sets or []), *precision_sets(precision)]
    found = search(file, store, overrides=overrides, trials=trials, threads=threads, cluster=cluster, progress=True)
    if as_json or found.complete or found.trials:
        print_result(found, as_json=as_json)
    if not found.complete:
        tried = f"{len(found.trials)} of {found.search.trials} designs"
        kept = f"finished runs are in {found.store}; the same command continues"
        print_error(f"interrupted after {tried}; {kept}{not_drawn(plot)}")
        raise typer.Exit(INTERRUPTED)
    errors = [trial.error for trial in found.trials]
    if errors and all(errors):
        print_error(f"{found.search.name}: no design could be run; the first: {errors[0]}")
        raise typer.Exit(BAD_INPUT)
    print_written(found.store, "sweep", "show", found.store)
    if save is not None:
        trial = found.save_design(save, chosen)
        print_written(save, "device", save, note=f" (trial {trial.number})")
    if plot:
        found.save_plot(plot)
        print_written(plot)


def power(
    file: ScenarioFile,
    policies: Annotated[
        bool, typer.Option("--policies", help="Compare the spin-down policies instead of the strategies.")
    ] = False,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compare power strategies: savings and costs.

    The scenario is run with each strategy and with all of them. The strategies are spin-down, request merging and
    subsector access. Strategies that the scenario does not set use the simplest settings: immediate spin-down, and
    merging of adjacent sequential reads in pairs. `sledsim device NAME --break-even` prints the idle time from which
    spin-down saves energy.
    """
    from sledsim.scenario.reading import from_argument
    from sledsim.studies.power_saving.strategies import power as compared

    check_chart(plot)
    comparison = compared(from_argument(file), policies=policies, overrides=sets or [], progress=True)
    print_result(comparison, as_json=as_json)
    last = list(comparison.results)[-1]
    message = f"interrupted during run {last!r}: its results are those so far, and those after it are left out"
    draw_if_complete(comparison, plot, interrupted=message)


#: Figures of hong2006 that ``--figure`` computes.
FIGURES = {
    "spares": "survival without repair by spares (Figure 3)",
    "maintenance": "MTTF by strategy and time of repair (Figure 4)",
    "failures": "failed devices and repairs (Figure 5)",
    "cost": "cost against loss of data (section 6)",
}


def figure_names(incomplete: str) -> list[str]:
    """Complete the name of a figure."""
    return [name for name in FIGURES if name.startswith(incomplete)]


def reliability(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|-",
            help="Enclosures (TOML, YAML, JSON), - for standard input. Several are compared, with ratios to the first.",
        ),
    ],
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Print and draw a figure of Hong et al. 2006: "
            + "; ".join(f"{name}, {what}" for name, what in FIGURES.items())
            + ".",
            autocompletion=figure_names,
        ),
    ] = None,
    years: Annotated[
        str | None, typer.Option("--years", metavar="N,N,…", help="Years to report (default: 1,3,5).")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="PATH=VALUE", help="Set a key of the enclosure: enclosure.spares=3. Repeatable."
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Simulate lifetimes even if a Markov chain is exact."),
    ] = False,
    lifetimes: Annotated[
        int | None, typer.Option("--lifetimes", metavar="N", help="Lifetimes to simulate (default: 200,000).")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision", metavar="RESULT=SHARE", help="Simulate until losses are known within SHARE: loss=10%."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed (default: 1).")] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compute lifetime and data loss of an enclosure.

    An enclosure is a set of devices with redundancy and on-line spares; docs/how-to/reliability.md describes the file.
    """
    check_chart(plot)
    options = {"lifetimes": lifetimes, "precision": _loss_precision(precision), "seed": seed}
    simulation = {key: value for key, value in options.items() if value is not None}
    sources: list[DescriptionLike] = [file if file == "-" else Path(file) for file in files]
    if figure:
        _check_figure(figure, files, years, ["simulate"] * simulate + list(simulation))
        found = _figure(sources[0], figure, years, sets or [])
    elif len(sources) > 1:
        if simulate:
            message = "applies to one enclosure: a comparison simulates only enclosures without an exact chain"
            raise typer.BadParameter(message, param_hint="--simulate")
        found = _compared(sources, years, sets or [], simulation)
    else:
        found = _report(sources[0], years, sets or [], simulation, simulate=simulate or bool(simulation))
    print_result(found, as_json=as_json)
    draw_if_complete(found, plot)


def _loss_precision(given: str | None) -> float | None:
    """Parse ``loss=10%`` into 0.1."""
    if given is None:
        return None
    from sledsim.reliability.monte_carlo import LEAST_PRECISION

    found = re.fullmatch(r"loss *= *([-+.\deE]+) *(%?)", given.strip())
    try:
        share = float(found[1]) / (100 if found[2] else 1)  # type: ignore[index]
    except (TypeError, ValueError):
        message = f"{given!r}: expected loss=SHARE, such as loss=10%"
        raise typer.BadParameter(message, param_hint="--precision") from None
    if not LEAST_PRECISION <= share <= 1:
        message = f"{given!r}: expected a share from {100 * LEAST_PRECISION:g} % to 100 %, such as loss=10%"
        raise typer.BadParameter(message, param_hint="--precision")
    return share


def _check_figure(figure: str, files: list[str], years: str | None, simulation: list[str]) -> None:
    """Raise if a figure is unknown, or if the other arguments have no effect on it."""
    if simulation:
        raise typer.BadParameter("has no effect on --figure: leave it out", param_hint=f"--{simulation[0]}")
    if len(files) > 1:
        raise typer.BadParameter("shows one enclosure: name one file", param_hint="--figure")
    if figure not in FIGURES:
        from sledsim._core import SledsimError
        from sledsim.show.faults import make_error

        raise make_error(SledsimError, "unknown-name", path="figure", value=figure, known=FIGURES)
    if years is not None and figure in ("maintenance", "cost"):
        instead = "set cost.lifetime" if figure == "cost" else "an MTTF has no time"
        raise typer.BadParameter(f"has no effect on --figure {figure}: {instead}", param_hint="--years")


def _compared(
    sources: "list[DescriptionLike]", years: str | None, sets: list[str], simulation: dict[str, Any]
) -> "Shown":
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.comparison import compare_enclosures

    return compare_enclosures(
        sources, years=numbers(years, "years", float) or YEARS, overrides=sets, progress=True, **simulation
    )


def _report(
    source: "DescriptionLike", years: str | None, sets: list[str], simulation: dict[str, Any], *, simulate: bool
) -> "Shown":
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.reporting import report

    times = numbers(years, "years", float) or YEARS
    return report(source, years=times, overrides=sets, simulated=simulate, progress=True, **simulation)


def _figure(source: "DescriptionLike", figure: str, years: str | None, sets: list[str]) -> "Shown":
    """Compute a figure of one enclosure."""
    from sledsim.reliability.analysis import YEARS
    from sledsim.reliability.cost import cost_curve
    from sledsim.reliability.curves import survival_by_spares
    from sledsim.reliability.failures import failure_counts
    from sledsim.reliability.maintenance import mttf_by_maintenance

    last = max(numbers(years, "years", float) or YEARS)
    if figure == "spares":
        return survival_by_spares(source, years=last, overrides=sets)
    if figure == "maintenance":
        return mttf_by_maintenance(source, overrides=sets)
    if figure == "failures":
        return failure_counts(source, years=last, overrides=sets)
    return cost_curve(source, overrides=sets)


def page_counts(texts: list[str]) -> list[int]:
    """Parse the values of ``--pages``, such as ``1000,2000``."""
    counts = []
    for part in ",".join(texts).split(","):
        digits = part.strip()
        if digits.isdecimal() and len(digits) > MOST_DIGITS:
            message = f"{digits[:MOST_DIGITS]}…: too large, a number of {len(digits):,} digits"
            raise typer.BadParameter(message, param_hint="--pages")
        if not digits.isdecimal() or int(part) < 1:
            raise typer.BadParameter(f"{part!r}: expected numbers of pages, as in 1000,2000", param_hint="--pages")
        counts.append(int(part))
    return counts


def hit_ratio(
    trace: TraceFile,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME[:KEY=VALUE,…]",
            help="Replacement policy (see `sledsim list cache-policies`), lru by default, or a custom class as "
            "MODULE:CLASS[,KEY=VALUE,…]. Repeatable.",
            autocompletion=policy_names,
        ),
    ] = None,
    pages: Annotated[
        list[str] | None,
        typer.Option("--pages", metavar="N[,N…]", help="Cache sizes in pages (default: 1000). Repeatable."),
    ] = None,
    page_bytes: Annotated[
        int | None,
        typer.Option(
            "--page-bytes",
            metavar="N",
            min=1,
            help="Page size (default: that of the format, 512 for ARC lists, else 4096; none for keys and objects).",
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
    plot: Plot = None,
) -> None:
    """Compute hit ratios of caches under a trace.

    Every request references the pages that it touches, in the order of the trace; times are ignored unless --sort is
    given. Reads and writes count alike, and a missed page enters the cache. In lists of keys and of objects each counts
    as one page, whatever its size.
    """
    from sledsim.studies.hit_ratios.ratios import hit_ratio as compute

    check_chart(plot)
    found = compute(
        trace,
        policies or ["lru"],
        page_counts(pages or ["1000"]),
        page_bytes=page_bytes,
        **reader_options(trace_format, skip_bad, columns, sector_bytes, event, time_unit, sort=sort),
        progress=True,
    )
    print_result(found, as_json=as_json)
    if plot:
        found.save_plot(plot)
        print_written(plot)


def role_test_names(incomplete: str) -> list[str]:
    """Complete the name of a test of roles."""
    return [name for name in TESTS if name.startswith(incomplete)]


def role_test(
    test: Annotated[str, typer.Argument(metavar="TEST", help="specificity or merit.", autocompletion=role_test_names)],
    role: Annotated[
        str,
        typer.Argument(
            metavar="ROLE",
            help="Scenario with MEMS storage, scheduler or layout; or a file that names one.",
            autocompletion=scheduler_names,
        ),
    ],
    without: Annotated[
        str | None,
        typer.Option(
            "--without",
            metavar="BASE",
            help="Baseline: a scenario, scheduler (default: clook) or layout (default: pages).",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            "-d",
            metavar="NAME",
            help="MEMS device for a policy (default: g2).",
            autocompletion=device_names,
        ),
    ] = None,
    rate_per_s: Annotated[
        float | None,
        typer.Option(
            "--rate", metavar="PER_S", help="Arrivals per second for a scheduler (default: 95 % busy under fcfs)."
        ),
    ] = None,
    replications: Replications = None,
    requests: Annotated[
        int | None, typer.Option("--requests", metavar="N", help="Requests of a run (default: those of the scenario).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the first run (default: 1).")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", metavar="KEY", help="Metric to minimise (default: response.mean_ms)."),
    ] = None,
    disk: Annotated[
        str | None,
        typer.Option(
            "--disk",
            metavar="NAME",
            help="For specificity: disk to fit (default: uberdisk).",
            autocompletion=device_names,
        ),
    ] = None,
    fit_bytes: Annotated[
        int | None,
        typer.Option(
            "--fit-bytes", metavar="N", min=1, help="For specificity: bytes of the reads of the fit (default: 4096)."
        ),
    ] = None,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Test whether a role or policy is specific to MEMS storage, or has merit there.

    Two tests of Schlosser and Ganger (2004). specificity runs it on MEMS storage and on a disk fitted to the same mean
    time of random reads: it is specific to MEMS storage if it gains over 10 % more there than on the disk. merit runs
    MEMS storage with and without it, with the same random numbers: it has merit if it gains over 10 %.
    """
    from sledsim._core import SledsimError
    from sledsim.scenario.documents import has_key
    from sledsim.show.faults import make_error
    from sledsim.studies.objective import RoleTest, objective_tests

    check_chart(plot)
    if test not in TESTS:
        raise make_error(SledsimError, "unknown-name", path="test", value=test, known=TESTS)
    fit = {"disk": disk, "fit_bytes": fit_bytes}
    if test == "merit" and (unused := next((key for key, value in fit.items() if value is not None), None)):
        message, option = "has no effect on merit, which fits no disk", f"--{unused.replace('_', '-')}"
        raise typer.BadParameter(message, param_hint=option)
    options = {
        "without": without and _file_or_name(without),
        "device": device,
        "rate_per_s": rate_per_s,
        "replications": replications,
        "requests": requests,
        "seed": seed,
        "metric": metric,
        **fit,
    }
    keys: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    named = _file_or_name(role)
    if isinstance(named, Path) and has_key(named, "role"):
        described = RoleTest.load(named, overrides=sets or [], **keys)
    else:
        described = RoleTest(named, overrides=sets or [], **keys)
    run_test = objective_tests.merit if test == "merit" else objective_tests.specificity
    found = run_test(described, progress=True)
    print_result(found, as_json=as_json)
    if found.verdict == "undecided":
        write("note: the interval contains the 10 % of the rule; more --replications narrow it", err=True)
    if plot:
        found.save_plot(plot)
        print_written(plot)


#: Tests of ``role-test``.
TESTS = ("specificity", "merit")


def _file_or_name(text: str) -> str | Path:
    """Return a path if the text has a file's ending, otherwise the text: the name of a policy, or ``-``."""
    return text if text == "-" or not Path(text).suffix else Path(text)


CostFile = Annotated[
    str | None,
    typer.Argument(
        metavar="SCENARIO|-",
        help="Scenario (TOML, YAML, JSON) whose system is cached, or a file that names one; - for standard input.",
    ),
]
CostWorkload = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Workload of the catalogue, instead of a scenario.", autocompletion=workload_names
    ),
]
CostTrace = Annotated[Path | None, typer.Option(metavar="FILE", help="Block trace, instead of a scenario.")]
CostDisk = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Disk for --workload or --trace (default: atlas10k-50mb).",
        autocompletion=device_names,
    ),
]


#: Options by the arguments of the Python function, where the names differ.
COST_OPTIONS = {
    "segment_bytes": "segment",
    "controller_bytes": "controller",
    "mems_price_per_gb": "mems_price",
    "nvram_prices_per_gb": "nvram_price",
    "ratios": "ratio",
}


def cost(
    file: CostFile = None,
    workload: CostWorkload = None,
    trace: CostTrace = None,
    disk: CostDisk = None,
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
        str | None,
        typer.Option(metavar="X,…", help="Prices of NVRAM as multiples of the price of MEMS (default: 1 to 10)."),
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
    """Compare a MEMS cache with NVRAM caches of equal cost.

    For each price of NVRAM, the disk runs with the amount that costs as much as the MEMS cache. The command prints the
    response times, and the ratio of prices above which MEMS is faster.
    """
    from sledsim.show.faults import by_arguments
    from sledsim.studies.cache_cost.comparison import cost as compare_costs

    check_chart(plot)
    if mems_size is not None and budget is not None:
        raise typer.BadParameter("set by --mems-size already: leave one out", param_hint="--budget")
    given = {
        "mems": mems,
        "mems_bytes": mems_size,
        "segment_bytes": segment,
        "controller_bytes": controller,
        "mems_price_per_gb": mems_price,
        "nvram_prices_per_gb": numbers(nvram_price, "nvram_price", float),
        "ratios": numbers(ratio, "ratio", float),
        "budget": budget,
        "replications": replications,
    }
    keys = {key: value for key, value in given.items() if value is not None}
    with by_arguments(COST_OPTIONS):
        found = compare_costs(_cost_study(file, workload, trace, disk, sets or [], keys), progress=True)
    print_result(found, as_json=as_json)
    if plot:
        found.save_plot(plot)
        print_written(plot)


def _cost_study(
    file: str | None, workload: str | None, trace: Path | None, disk: str | None, sets: list[str], keys: dict[str, Any]
) -> "CostStudy":
    """Return the comparison that a file describes, with the keys of the options, or one of a scenario."""
    from sledsim.scenario.documents import has_key
    from sledsim.studies.cache_cost import CostStudy

    scenario = _cost_scenario(file, workload, trace, disk)
    if isinstance(scenario, Path) and has_key(scenario, "scenario"):
        return CostStudy.load(scenario, overrides=sets, **keys)
    return CostStudy(scenario=scenario, overrides=sets, **keys)


def _cost_scenario(file: str | None, workload: str | None, trace: Path | None, disk: str | None) -> "ScenarioLike":
    """Return the named scenario, or one made of a workload or trace and a disk."""
    from sledsim.scenario.reading import from_argument

    if sum(each is not None for each in (file, workload, trace)) != 1:
        raise typer.BadParameter("give one of a scenario, --workload and --trace", param_hint="SCENARIO")
    if file is not None:
        if disk is not None:
            raise typer.BadParameter(
                "the scenario has a disk already: use --set system.device=NAME", param_hint="--disk"
            )
        return from_argument(file)
    load = {"kind": "trace", "path": str(trace)} if trace is not None else workload
    return {"workload": load, "system": {"device": disk or "atlas10k-50mb"}}


def relation(
    device: OfDevice = "g2",
    records: Annotated[int, typer.Option("--records", "-n", metavar="N", help="Records of the relation.")] = 10_000_000,
    attributes: Annotated[
        str, typer.Option("--attributes", metavar="BYTES,BYTES", help="Bytes of each attribute.")
    ] = "8,32,15,16",
    page_bytes: Annotated[
        int, typer.Option("--page-bytes", metavar="N", help="Size of the pages of row-major and column-major.")
    ] = 8192,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout",
            metavar="NAME",
            help="row-major, column-major, tip-subset, equivalent or two-axes (default: all). Repeatable.",
        ),
    ] = None,
    fetches: Annotated[
        int,
        typer.Option(
            "--fetches", metavar="N", min=0, max=10_000_000, help="Number of random rows to fetch (0 for none)."
        ),
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the choice of rows.")] = 1,
    sets: Sets = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Time scans and row fetches of a database table by layout.

    The default relation is that of Schlosser and Ganger 2004, section 6.1.1. Rows are fetched one at a time; the mean
    has a 95 % confidence interval.
    """
    from sledsim.studies.relations.access import relation_times as time_relation
    from sledsim.studies.relations.layouts import Relation

    check_chart(plot)
    sizes = numbers(attributes, "attributes", int) or []
    laid = Relation(records, tuple(sizes), page_bytes)
    times = time_relation(device, laid, layouts=layout or [], fetches=fetches, seed=seed, overrides=sets or [])
    print_result(times, as_json=as_json)
    if plot:
        times.save_plot(plot)
        print_written(plot)


#: Default fraction by which --sensitivity changes a value.
STEP = 0.1


def design(
    file: Annotated[
        str,
        typer.Argument(metavar="DRAWING|-", help="g1, g2 or g3, or a file (TOML, YAML, JSON); - for standard input."),
    ] = "g2",
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Print how much each value changes each figure.")
    ] = False,
    step: Annotated[
        float | None,
        typer.Option(
            "--step", metavar="X", help="Fraction by which --sensitivity and --plot change a value (default: 0.1)."
        ),
    ] = None,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print a device file for other commands.")] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="PATH=VALUE", help="Set a key of the drawing: bit_nm=30. Repeatable."),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compute a MEMS device from a drawing.

    Prints the device's parameters beside those of the catalogue's device, and derived figures: capacity, bandwidth,
    seek times, power. `sledsim schema drawing` lists the keys of a drawing. --plot draws the sensitivities.
    """
    from sledsim.studies.sled_design import design as derive

    check_chart(plot)
    if as_toml and (as_json or sensitivity):
        raise typer.BadParameter("leave out --json and --sensitivity", param_hint="--toml")
    if step is not None and not (sensitivity or plot):
        raise typer.BadParameter("has no effect without --sensitivity or --plot", param_hint="--step")
    found = derive(file, overrides=sets or [])
    changes = found.sensitivity(STEP if step is None else step) if sensitivity or plot else None
    if as_toml:
        print_document(found.to_toml())
    else:
        print_result(changes if changes and sensitivity else found, as_json=as_json)
    if changes and plot:
        changes.save_plot(plot)
        print_written(plot)


def validate_drive(
    specs: Annotated[
        str,
        typer.Argument(
            metavar="SPECS",
            help="DiskSim parameters (.parv, .diskspecs), a device file (.toml) or the name of a device.",
            autocompletion=device_names,
        ),
    ],
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="Measurements: lines of R|W Hit|Miss lbn blocks us us, or CSV with response_us."
        ),
    ],
    sets: Sets = None,
    plot: Plot = None,
    out: Out = None,
    skip_bad: SkipBad = 0,
    sort: Sort = False,
    as_json: AsJson = False,
) -> None:
    """Compare a drive's model with measured service times.

    The trace is replayed closed: each request follows the completion of the one before by the recorded gap. A trace
    with arrivals and responses, such as the log of `sledsim serve`, is replayed at its times. The demerit is the root
    mean square horizontal distance between the cumulative distributions (Ruemmler and Wilkes 1994).
    """
    from sledsim.show.frames import COPY_OPTIONS
    from sledsim.studies.validation.drive import validate_drive as validate

    check_chart(plot)
    check_target(out, COPY_OPTIONS)
    found = validate(specs, trace, overrides=sets or [], skip_bad=skip_bad, sort=sort, progress=True)
    print_result(found, as_json=as_json)
    if out:
        found.write(out)
        print_written(out)
    if plot:
        found.save_plot(plot)
        print_written(plot)


def calibrate(
    measured: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER|TRACE", help="Folder with fio's logs of the jobs, or a trace."),
    ] = None,
    jobs: Annotated[
        str | None, typer.Option("--jobs", metavar="FOLDER", help="Write jobs for fio to a folder and exit.")
    ] = None,
    filename: Annotated[
        str | None, typer.Option("--filename", metavar="PATH", help="Drive to measure, for --jobs.")
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity", metavar="SIZE", help="Its size, for a drive of another machine (default: that of --filename)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing jobs, for --jobs.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale", metavar="X", min=0.1, max=10.0, help="Factor on the number of accesses, for --jobs (default: 1)."
        ),
    ] = None,
    dilation: Annotated[
        float | None,
        typer.Option("--dilation", metavar="N", help="Dilation of the served drive that FOLDER measured (default: 1)."),
    ] = None,
    specs: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SPECS",
            help="Model whose times are fitted to TRACE: a DiskSim file, a device file or a device name.",
            autocompletion=device_names,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the device (.toml).")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a drive model to your own drive.

    First write jobs with --jobs and run them with fio in their folder: reads.fio only reads, writes.fio overwrites
    data. Then name the folder. The command prints the fitted parameters with intervals, and the errors on reads that
    it did not use for the fit. With a trace of measured service times instead, it fits a model to the first half and
    tests it on the second half; with --from, it fits only times of an existing model.
    """
    from sledsim._core import TraceError
    from sledsim.show.faults import missing_file
    from sledsim.studies.drive_calibration.calibration import calibrate_drive
    from sledsim.studies.drive_calibration.refinement import refine_drive

    if measured is None and jobs is None:
        raise typer.BadParameter("give a folder with logs, a trace, or --jobs FOLDER", param_hint="FOLDER")
    if jobs is not None:
        source = "FOLDER" if specs is None else "TRACE"
        excluded = ((source, measured), ("--dilation", dilation), ("--from", specs), ("--out", out))
        for name, value in excluded:
            if value is not None:
                raise typer.BadParameter(f"--jobs excludes {name}", param_hint=name)
        _write_jobs(jobs, filename, capacity, 1.0 if scale is None else scale, force=force)
        return
    assert measured is not None
    only = (("--filename", filename), ("--capacity", capacity), ("--scale", scale), ("--force", force or None))
    for name, given in only:
        if given is not None:
            raise typer.BadParameter("has an effect only with --jobs", param_hint=name)
    check_target(out, [".toml"])
    if dilation is not None and (specs is not None or measured.is_file()):
        raise typer.BadParameter("has an effect only with a folder of jobs", param_hint="--dilation")
    if not measured.exists():
        raise missing_file(TraceError, measured, "no such file or folder")
    if specs is not None or measured.is_file():
        found = refine_drive(specs, measured, progress=True)
    else:
        found = calibrate_drive(measured, dilation=1.0 if dilation is None else dilation, progress=True)
    print_result(found, as_json=as_json)
    if out:
        found.save(out)
        print_written(out, "device", out)


#: Files of jobs and of their measurements.
JOB_FILES = ("calibration.json", "*.fio", "*.iolog", "*_lat.*.log")


def _write_jobs(folder: str, filename: str | None, capacity: str | None, scale: float, *, force: bool) -> None:
    """Write jobs for fio, and print their names."""
    from sledsim.studies.drive_calibration.jobs import write_jobs

    if not folder:
        raise typer.BadParameter("no folder has an empty name", param_hint="--jobs")
    if not filename:
        message = "add --filename PATH; for a drive of another machine also --capacity SIZE"
        raise typer.BadParameter(message, param_hint="--jobs")
    size = _device_bytes(filename) if capacity is None else _bytes(capacity)
    if Path(filename).exists():
        filename = str(Path(filename).absolute())  # fio runs in the folder of the jobs
    if not force and any(True for pattern in JOB_FILES for _ in Path(folder).glob(pattern)):
        raise typer.BadParameter(
            f"{folder}: has jobs or logs already; --force overwrites the jobs", param_hint="--jobs"
        )
    written = write_jobs(folder, filename, size, scale=scale)
    print_written(written.reads)
    print_written(written.writes, note=" (overwrites data)")
    write(f"next: cd {folder} && fio {written.reads.name}", err=True)


#: Units of capacities above those of scenarios.
LARGE_UNITS = {"": 1, "TB": 10**12, "TiB": 1 << 40}


def _bytes(text: str) -> int:
    """Return the bytes of a size, such as ``2TB``, ``256 MiB`` or ``2000398934016``."""
    from sledsim._core import quantity, split_quantity

    try:
        value, unit = split_quantity(text) or (None, "")
        return round(value * LARGE_UNITS[unit] if value is not None and unit in LARGE_UNITS else quantity(text, "B"))
    except (ValueError, OverflowError):
        message = f"{text!r}: expected bytes, or a size such as 2TB or '256 MiB'"
        raise typer.BadParameter(message, param_hint="--capacity") from None


def _device_bytes(path: str) -> int:
    """Return the size of a block device or a file."""
    import os

    try:
        with Path(path).open("rb") as file:
            return file.seek(0, os.SEEK_END)
    except OSError as error:
        message = f"{path}: {error.strerror}; if it is a drive of another machine, add --capacity SIZE"
        raise typer.BadParameter(message, param_hint="--filename") from None
