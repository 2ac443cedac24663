"""Lin et al. 2002, Table 1, right half: where the joules of the day of snake go, for which a stand-in runs."""

from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002.workload import AVERAGED, IDLE, TENFOLD, TIMEOUT_MS, day, joules, seagate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sledsim.runs import Result

__all__ = ["COLUMN"]

DEVICE = {"name": "g2", **IDLE, "inactive_after_ms": TIMEOUT_MS}

#: The run behind the column.
COLUMN = day(TENFOLD, device=DEVICE)

#: The longest that the column's joules can last, s; the day, and its requests; the size that its joules of data fit.
LASTS_S, DAY_S, REQUESTS = 5_100, 8_640, 77_372
FITTING_BYTES = 5632
#: The run whose day takes as long.
FASTER = day(TENFOLD * LASTS_S / DAY_S, device=DEVICE)

CAUSE = (
    "The column does not describe the run that its note names: 153.4 J at 50 mW and 198.07 J at 100 mW or more last "
    "for 5,100 s at most, of the 8,640 s of a day ten times faster: of a day 17 times faster they are what is found; "
    "and its joules of servo bursts and data fit requests of 5.5 KB, not of 8 KB, which the text has."
)


#: What nothing is published of and the parts hang on: how near requests are to those before, and how gaps are spread.
NEAR = {"kind": "local-walk", "scale_bytes": 1e5}
LONGER_GAPS = {
    "kind": "exponential-mixture",
    "means": [
        {"value": 15.0, "weight": 0.889},
        {"value": 680.0, "weight": 0.104},
        {"value": 150_000.0, "weight": 0.007},
    ],
}
SEEKS = (
    "Seeks hang on how near each request is to the one before, of which nothing is published: the stand-in draws most "
    "places anew. A walk in steps of 0.1 MB, near as no file server's requests are, takes little more than the column."
)
STARTUPS = (
    "There are as many starts as gaps of more than a second, and how the day's gaps are spread is not published. "
    "With 0.7 % of 150 s in place of 1.8 % of 58 s, the same requests in as long a day, starts take what is printed."
)


def _changed(study: Study, figure: "Callable[[Result], Any]", change: str, workload: "Mapping[str, Any]") -> Probe:
    return Probe(change, figure(study.run(day(TENFOLD, device=DEVICE, workload=workload))))


def _probed(study: Study, figure: "Callable[[Result], Any]") -> tuple[Probe, ...]:
    size = {"kind": "fixed", "value": FITTING_BYTES}
    smaller = day(TENFOLD, device=DEVICE, workload={"size_bytes": size})
    faster, small = study.runs([FASTER, smaller])
    return (
        Probe("the day in 5,100 s, 17 times faster", figure(faster)),
        Probe("requests of 5.5 KB", figure(small)),
    )


def _finding(
    study: Study,
    figure: "Callable[[Result], Any]",
    shape: "Callable[[Result], bool] | None" = None,
    decimals: int = 2,
    cause: str = CAUSE,
    changes: "Mapping[str, Mapping[str, Any]] | None" = None,
) -> Finding:
    """Return a figure of the column, or several, on average over seeds; what changes of the workload make of it."""

    def figures(each: Study) -> tuple[float, ...]:
        found = figure(each.run(COLUMN))
        return found if isinstance(found, tuple) else (found,)

    ours, intervals = over_seeds(study, figures)
    whole = study.run(COLUMN)
    return Finding(
        ours if len(ours) > 1 else ours[0],
        "Stand-in `snake-like` on `g2`, ten times faster, timeout 1 s, idle as for the trace: "
        f"{joules(whole):.0f} J in {whole['run']['measured_s']:,.0f} s. {AVERAGED}",
        decimals=decimals,
        intervals=intervals,
        scenarios=(COLUMN,),
        cause=cause,
        probes=study.probes(
            lambda: (
                *(_changed(study, figure, *each) for each in (changes or {}).items()),
                *_probed(study, figure),
            )
        ),
        shape_holds=shape is not None and all(shape(each.run(COLUMN)) for each in study.by_seed()),
    )


def _part(name: str) -> "Callable[[Result], float]":
    return lambda run: joules(run, name)


def _others(run: "Result", *left_out: str) -> list[float]:
    """Return the energies of all states but those left out, J."""
    return [
        joules(run, name) for name in ("startup", "inactive", "idle", "seek", "servo", "data") if name not in left_out
    ]


@experiment("lin2002.snake-startup")
def snake_startup(study: Study) -> Finding:
    """Start-ups."""
    return _finding(
        study,
        _part("startup"),
        lambda run: joules(run, "startup") < min(_others(run, "startup")),
        4,
        cause=STARTUPS,
        changes={
            "0.7 % of the gaps of 150 s, none of 58 s": {"arrival": {"kind": "renewal", "interarrival_ms": LONGER_GAPS}}
        },
    )


@experiment("lin2002.snake-inactive")
def snake_inactive(study: Study) -> Finding:
    """While inactive."""

    def second(run: "Result") -> bool:
        return joules(run, "idle") > joules(run, "inactive") > max(_others(run, "idle", "inactive"))

    return _finding(study, _part("inactive"), second, 1)


@experiment("lin2002.snake-idle")
def snake_idle(study: Study) -> Finding:
    """While idle."""
    return _finding(study, _part("idle"), lambda run: joules(run, "idle") > max(_others(run, "idle")), 1)


@experiment("lin2002.snake-seek")
def snake_seek(study: Study) -> Finding:
    """Seeks."""
    return _finding(
        study,
        _part("seek"),
        lambda run: joules(run, "servo") < joules(run, "seek") < joules(run, "data"),
        cause=SEEKS,
        changes={"each request near the one before, in steps of 0.1 MB": {"location": NEAR}},
    )


@experiment("lin2002.snake-transfer")
def snake_transfer(study: Study) -> Finding:
    """Find data."""
    return _finding(
        study, _part("data"), lambda run: joules(run, "data") > max(joules(run, "seek"), joules(run, "servo"))
    )


@experiment("lin2002.snake-servo-to-data")
def snake_servo_to_data(study: Study) -> Finding:
    """Servo bursts over data."""
    return _finding(study, lambda run: joules(run, "servo") / joules(run, "data"), decimals=4)


@experiment("lin2002.snake-servicing")
def snake_servicing(study: Study) -> Finding:
    """All servicing."""

    def between(run: "Result") -> bool:
        return joules(run, "startup") < joules(run, "servicing") < min(joules(run, "idle"), joules(run, "inactive"))

    return _finding(study, _part("servicing"), between)


@experiment("lin2002.snake-total")
def snake_total(study: Study) -> Finding:
    """All of it."""
    disk = study.run(seagate(study, TIMEOUT_MS))
    return _finding(study, joules, lambda run: joules(run) > joules(disk), 1)


@experiment("lin2002.snake-shares")
def snake_shares(study: Study) -> Finding:
    """Shares of inactive and idle states."""

    def shares(run: "Result") -> tuple[float, ...]:
        return tuple(joules(run, name) / joules(run) for name in ("inactive", "idle"))

    def ranked(run: "Result") -> bool:
        return joules(run, "idle") > joules(run, "inactive") > joules(run, "servicing")

    return _finding(study, shares, ranked, 3)
