"""Lin et al. 2002, Figure 9: the day of snake, for which a stand-in runs, with all of the paper's strategies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, Interval, Probe, trend
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002.snake import MERGE, METADATA_SHARE
from sledsim_papers.lin2002.workload import (
    AVERAGED,
    IDLE,
    TENFOLD,
    TIME_SCALES,
    TIMEOUT_MS,
    day,
    joules,
    mean_ms,
    saved,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sledsim.runs import Result

__all__ = ["STRATEGIES", "combined", "strategies"]

#: Updates of metadata, half of 4 and half of 128 bytes.
UPDATES = {"metadata": {"share": METADATA_SHARE, "write_bytes": 66}}

#: What Figure 9 sets side by side: the timeout of Table 1, each strategy with it or alone, and all together.
TIMEOUT = {"name": "timeout", "after_ms": TIMEOUT_MS}
STRATEGIES: dict[str, dict[str, Any]] = {
    "timeout 1 s": {"spin_down": TIMEOUT},
    "stop at once": {"spin_down": "immediate"},
    "merging": {"spin_down": TIMEOUT, "merge": MERGE},
    "subsectors": {"spin_down": TIMEOUT, "subsector": True, "workload": UPDATES},
    "all": {"spin_down": "immediate", "merge": MERGE, "subsector": True, "workload": UPDATES},
}

#: Speeds at which the paper may have found its greatest saving: from as recorded to that of Table 1.
CANDIDATES = (1.0, 0.3, TENFOLD)

#: What is compared at every speed: with none and with all of the paper's three strategies.
BOTH = ("timeout 1 s", "all")


def strategies(name: str, time_scale: float) -> dict[str, Any]:
    """Return the day on G3 with a strategy.

    Parameters
    ----------
    name
        One of :data:`STRATEGIES`.
    time_scale
        By what its times are multiplied.
    """
    return day(time_scale, device={"name": "g3", **IDLE}, **STRATEGIES[name])


def combined(study: Study, time_scale: float, names: Sequence[str] = BOTH) -> "dict[str, Result]":
    """Return the day on G3 with strategies.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    names
        Of :data:`STRATEGIES`.
    """
    runs = study.runs([strategies(name, time_scale) for name in names])
    return dict(zip(names, runs, strict=True))


def _averaged(
    study: Study, time_scale: float, names: Sequence[str], figure: "Callable[[Result], float]"
) -> dict[str, float]:
    """Return a figure of the day with strategies, on average over seeds."""
    means, _ = over_seeds(study, lambda each: [figure(run) for run in combined(each, time_scale, names).values()])
    return dict(zip(names, means, strict=True))


def _combined_rows(study: Study) -> tuple[Mapping[str, Any], ...]:
    """Return what each strategy takes at ten times, and what all together save at every speed."""
    rows = []
    for time_scale in TIME_SCALES:
        names = _at(time_scale)
        energies, times = (_averaged(study, time_scale, names, figure) for figure in (joules, mean_ms))
        rows += [
            {
                "strategy": name,
                "scale factor": time_scale,
                "energy, J": energies[name],
                "mean response, ms": times[name],
            }
            for name in names
        ]
    return tuple(rows)


def _at(time_scale: float) -> Sequence[str]:
    return tuple(STRATEGIES) if time_scale == TENFOLD else BOTH


def _best_scale(study: Study) -> float:
    """Return the time scale, of those that count, at which all strategies together save most."""
    return max(CANDIDATES, key=lambda time_scale: _strategies_save(study, time_scale)[0]["all"])


def _strategies_save(
    study: Study, time_scale: float, names: Sequence[str] = BOTH
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return the shares of energy that strategies save, the first none of them, over seeds, and where they lie."""

    def shares(each: Study) -> list[float]:
        runs = combined(each, time_scale, names)
        return [saved(joules(runs[names[0]]), joules(runs[name])) for name in names[1:]]

    means, ends = over_seeds(study, shares)
    return dict(zip(names[1:], means, strict=True)), dict(zip(names[1:], ends, strict=True))


def _faster(time_scale: float) -> str:
    return "as recorded" if time_scale == 1.0 else f"{1 / time_scale:.0f} times faster"


@experiment("lin2002.combined-energy")
def combined_energy(study: Study) -> Finding:
    """Figure 9(a)."""
    best = _best_scale(study)
    savings, ends = _strategies_save(study, best, tuple(STRATEGIES))
    single = max(savings[name] for name in ("stop at once", "merging", "subsectors"))

    def all_save(time_scale: float) -> float:
        return _strategies_save(study, time_scale)[0]["all"]

    none_j, all_j = _averaged(study, best, BOTH, joules).values()
    left = _averaged(study, best, BOTH, lambda run: joules(run, "inactive") / joules(run))["all"]
    said = ", ".join(f"{_faster(scale)} {all_save(scale):.3f}" for scale in CANDIDATES)
    return Finding(
        savings["all"],
        f"Stand-in `snake-like` on `g3` against a timeout of 1 s, {_faster(best)}, where most is saved ({said}): "
        f"{none_j:.0f} to {all_j:.0f} J. {AVERAGED}",
        intervals=(ends["all"],),
        curve=_combined_rows(study),
        scenarios=(strategies("timeout 1 s", best), strategies("all", best)),
        cause=f"Stopping at once saves {savings['stop at once']:.3f} alone, and {left:.0%} of what is left is "
        "inactive power: the time that was idle is spent inactive, at 50 mW. What is saved depends on how fast the "
        "day is replayed, which the paper does not say.",
        probes=study.probes(lambda: tuple(Probe(_faster(scale), all_save(scale)) for scale in (0.03, 0.01))),
        shape_holds=savings["all"] > single > 0,
    )


@experiment("lin2002.combined-response")
def combined_response(study: Study) -> Finding:
    """Figure 9(b)."""
    best = _best_scale(study)
    times = {scale: tuple(_averaged(study, scale, BOTH, mean_ms).values()) for scale in (best, 0.03, 0.01)}
    before, after = times[best]
    return Finding(
        trend(times[best]),
        f"The runs of combined-energy, {_faster(best)}: {before:.3f} to {after:.3f} ms.",
        curve=_combined_rows(study),
        scenarios=(strategies("timeout 1 s", best), strategies("all", best)),
        cause="At this speed hardly a request waits, so merging has nothing to make up for start-ups with.",
        probes=tuple(
            Probe(f"{_faster(time_scale)}: {each[0]:.2f} to {each[1]:.2f} ms", trend(each))
            for time_scale, each in times.items()
            if time_scale != best
        ),
    )
