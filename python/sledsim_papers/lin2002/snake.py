"""Lin et al. 2002: the day of snake, for which a stand-in runs: where joules go, merging, subsectors, all together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, Probe, trend
from sledsim_papers.harness.intervals import SEEDS, over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002.workload import IDLE, TENFOLD, TIME_SCALES, TIMEOUT_MS, day, joules, mean_ms, saved, snake

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = [
    "MIXES_BYTES",
    "SHARES",
    "STRATEGIES",
    "combined",
    "last_block",
    "last_blocks",
    "merging",
    "metadata",
    "strategies",
]

#: The run behind the right half of Table 1.
SHARES = day(TENFOLD, device={"name": "g2", **IDLE, "inactive_after_ms": TIMEOUT_MS})

#: Merging as the paper does it, and any 16 requests wherever they wait.
MERGE: dict[str, Any] = {}
BEYOND = {"requests": 16, "anywhere": True, "writes": True, "rows": True}

#: Bytes of a write of metadata on average, where all, half or none update the time of access alone.
MIXES_BYTES = (4, 66, 128)


@experiment("lin2002.snake-shares")
def snake_shares(study: Study) -> Finding:
    """Table 1, right half."""
    runs = [snake(study, [SHARES], seed)[0] for seed in SEEDS]
    run = runs[0]
    shares = [[joules(each, part) / joules(each) for each in runs] for part in ("inactive", "idle")]
    how = (
        "Stand-in `snake-like` on `g2`, ten times faster, timeout 1 s, idle as for the trace: "
        f"{joules(run, 'inactive'):.0f} J inactive and {joules(run, 'idle'):.0f} J idle of {joules(run):.0f} J in "
        f"{run['run']['measured_s']:,.0f} s. The paper's own column is too short for a day in a tenth of the time."
    )
    ours = tuple(share[0] for share in shares)
    return Finding(ours, how, intervals=tuple(map(over_seeds, shares)), scenarios=(SHARES,))


def merging(study: Study, time_scale: float, seed: int = 1) -> "dict[str, Result]":
    """Return the day on G3 without merging, with the paper's, and with more than that.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    seed
        Of the stand-in's random numbers.
    """
    rules: dict[str, dict[str, Any]] = {"none": {}, "paper": {"merge": MERGE}, "beyond": {"merge": BEYOND}}
    runs = snake(study, [day(time_scale, **rule) for rule in rules.values()], seed)
    return dict(zip(rules, runs, strict=True))


def _savings(study: Study, rule: str = "paper") -> list[tuple[float, float]]:
    """Return the shares of servicing energy and of response that merging saves, for every time scale."""
    runs = [merging(study, time_scale) for time_scale in TIME_SCALES]
    return [_saving(each["none"], each[rule]) for each in runs]


def _saving(before: "Result", after: "Result") -> tuple[float, float]:
    energy = saved(joules(before, "servicing"), joules(after, "servicing"))
    return energy, saved(mean_ms(before), mean_ms(after))


#: Places of what is saved.
ENERGY, RESPONSE = 0, 1

#: If nearly all reads go on where the one before them ends.
READS_GO_ON = {"continuation": {"reads": 0.95, "writes": 0.1}}


def _merge_finding(study: Study, which: int, shape: str) -> Finding:
    """Return what is found for energy or response; of the energy the paper says that longer queues save more."""
    longest = TIME_SCALES[-1]
    ours, beyond = _savings(study), _savings(study, "beyond")
    go_on = snake(study, [day(longest, workload=READS_GO_ON, **rule) for rule in ({}, {"merge": MERGE})])
    queue = merging(study, longest)["none"]["queue"]
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": merging(study, time_scale)["none"]["queue"]["mean"],
            "servicing energy saved": energy,
            "response saved": response,
        }
        for time_scale, (energy, response) in zip(TIME_SCALES, ours, strict=True)
    )
    series = [saving[which] for saving in ours]
    repeated = [merging(study, longest, seed) for seed in SEEDS]
    interval = over_seeds([_saving(each["none"], each["paper"])[which] for each in repeated])
    return Finding(
        series[-1],
        f"Stand-in `snake-like` on `g3`, replayed 1,000 times faster: {queue['mean']:.0f} requests wait on average, "
        f"at most {queue['max']:.0f}; two adjacent reads of the queue are merged where the second goes on where the "
        "first ends.",
        decimals=4,
        intervals=(interval,),
        curve=rows,
        scenarios=(day(longest), day(longest, merge=MERGE)),
        cause="A pair that is merged saves the second request's way back to its row and one pass of the sled, a "
        "small part of what an 8 KB request takes on G3; the joules of the tips remain. A quarter of 43 % of the "
        "requests are reads that go on, so a tenth of the requests can be second in a pair. The paper's savings "
        "can't come from pairs of 8 KB reads.",
        probes=(
            Probe("95 % of the reads go on where the one before them ends", _saving(*go_on)[which]),
            Probe("any 16 requests merged, writes too, wherever they wait", beyond[-1][which]),
        ),
        shape=shape,
        shape_holds=all(saving > 0 for saving in series) and (which == RESPONSE or trend(series) == "+"),
    )


@experiment("lin2002.merge-energy")
def merge_energy(study: Study) -> Finding:
    """Figure 6(a)."""
    return _merge_finding(study, ENERGY, "merging saves servicing energy, more of it the longer the queue")


@experiment("lin2002.merge-response")
def merge_response(study: Study) -> Finding:
    """Figure 6(b)."""
    return _merge_finding(study, RESPONSE, "merging shortens responses")


def last_blocks(study: Study, time_scale: float) -> "list[Result]":
    """Return the day on G3 with whole last blocks, and with as much of them as is needed; no request is metadata."""
    return snake(study, [last_block(time_scale, needed) for needed in ("whole", "uniform")])


def last_block(time_scale: float, needed: str) -> dict[str, Any]:
    """Return the day on G3 without metadata, where the whole or a part of each last block is needed."""
    return day(time_scale, workload={"metadata": {"share": 0.0}, "last_block": needed}, subsector=True)


PART_OF_LAST = {"last_block": "uniform"}


def metadata(study: Study, time_scale: float, write_bytes: int, seed: int = 1) -> "list[Result]":
    """Return the day on G3 without subsector access, and with it for requests of metadata.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    write_bytes
        Bytes of a write of metadata.
    seed
        Of the stand-in's random numbers.
    """
    return snake(study, [_metadata_day(time_scale, write_bytes, subsector=on) for on in (False, True)], seed)


def _metadata_day(time_scale: float, write_bytes: int, *, subsector: bool) -> dict[str, Any]:
    mix = {"metadata": {"share": METADATA_SHARE, "write_bytes": write_bytes}}
    return day(time_scale, workload=mix, subsector=subsector)


METADATA_SHARE = 0.72


@experiment("lin2002.subsector-metadata")
def subsector_metadata(study: Study) -> Finding:
    """Figure 8."""
    savings = {}
    for write_bytes in MIXES_BYTES:
        before, after = metadata(study, TENFOLD, write_bytes)
        savings[write_bytes] = _saving(before, after)[0]
    before, _ = metadata(study, TENFOLD, 66)
    accessing = 1 - joules(before, "seek") / joules(before, "servicing")
    said = ", ".join(f"{write_bytes} B {share:.3f}" for write_bytes, share in savings.items())
    mixes = [savings[write_bytes] for write_bytes in MIXES_BYTES]
    return Finding(
        savings[66],
        intervals=(over_seeds([_saving(*metadata(study, TENFOLD, 66, seed))[0] for seed in SEEDS]),),
        how=f"Stand-in `snake-like` on `g3`, ten times faster; reads of metadata 128 B, writes on average: {said}.",
        curve=tuple(
            {"bytes of a metadata write": key, "servicing energy saved": value} for key, value in savings.items()
        ),
        scenarios=tuple(_metadata_day(TENFOLD, 66, subsector=on) for on in (False, True)),
        cause=f"Servo bursts and data are {accessing:.0%} of servicing, metadata is 72 % of the requests and leaves "
        "out nearly all of their joules. The stand-in's requests of metadata are as long as the others, of which "
        "nothing is published; the paper's savings fit shorter ones.",
        probes=tuple(
            Probe(f"requests of metadata of {size // 1024} KB", _short_metadata(study, size))
            for size in (6144, 4096, 2048)
        ),
        shape="the smaller the updates of metadata, the more is saved",
        shape_holds=mixes[0] > mixes[1] > mixes[2] > 0,
    )


def _short_metadata(study: Study, size_bytes: int) -> float:
    """Return the share of servicing energy saved where requests of metadata are short and the others as they are.

    Both kinds come one by one, at the rates that they have in the stand-in ten times faster.
    """
    before, _ = metadata(study, TENFOLD, 66)
    known = before["scenario"]["workload"]
    rate_per_s = before["requests"]["completed"] / before["run"]["measured_s"]
    common = {
        "location": known["location"],
        "read_fraction": known["read_fraction"],
        "continuation": known["continuation"],
    }
    others = {**common, "arrival": _poisson((1 - METADATA_SHARE) * rate_per_s), "size_bytes": known["size_bytes"]}
    short = {
        **common,
        "arrival": _poisson(METADATA_SHARE * rate_per_s),
        "size_bytes": {"kind": "fixed", "value": size_bytes},
        "metadata": {"share": 1.0},
    }
    whole = {"workload": {"streams": [others, short]}, "run": {"requests": before["requests"]["completed"]}}
    runs = snake(study, [{**whole, "system": {"device": "g3", "subsector": on}} for on in (False, True)])
    return _saving(*runs)[0]


def _poisson(rate_per_s: float) -> dict[str, Any]:
    return {"kind": "poisson", "rate_per_s": rate_per_s}


#: What Figure 9 sets side by side: the timeout of Table 1, each strategy with it or alone, and all together.
TIMEOUT = {"name": "timeout", "after_ms": TIMEOUT_MS}
STRATEGIES: dict[str, dict[str, Any]] = {
    "timeout 1 s": {"spin_down": TIMEOUT},
    "stop at once": {"spin_down": "immediate"},
    "merging": {"spin_down": TIMEOUT, "merge": MERGE},
    "subsectors": {"spin_down": TIMEOUT, "subsector": True, "workload": PART_OF_LAST},
    "all": {"spin_down": "immediate", "merge": MERGE, "subsector": True, "workload": PART_OF_LAST},
}

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


def combined(study: Study, time_scale: float, names: Sequence[str] = BOTH, seed: int = 1) -> "dict[str, Result]":
    """Return the day on G3 with strategies.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    names
        Of :data:`STRATEGIES`.
    seed
        Of the stand-in's random numbers.
    """
    runs = snake(study, [strategies(name, time_scale) for name in names], seed)
    return dict(zip(names, runs, strict=True))


def _combined_rows(study: Study) -> tuple[Mapping[str, Any], ...]:
    """Return what each strategy takes at ten times, and what all together save at every speed."""
    return tuple(
        {"strategy": name, "scale factor": time_scale, "energy, J": joules(run), "mean response, ms": mean_ms(run)}
        for time_scale in TIME_SCALES
        for name, run in combined(study, time_scale, _at(time_scale)).items()
    )


def _at(time_scale: float) -> Sequence[str]:
    return tuple(STRATEGIES) if time_scale == TENFOLD else BOTH


@experiment("lin2002.combined-energy")
def combined_energy(study: Study) -> Finding:
    """Figure 9(a)."""
    runs = combined(study, TENFOLD, tuple(STRATEGIES))
    none = runs["timeout 1 s"]
    savings = {name: saved(joules(none), joules(run)) for name, run in runs.items()}
    left = joules(runs["all"], "inactive") / joules(runs["all"])
    single = max(savings[name] for name in ("stop at once", "merging", "subsectors"))
    repeated = [combined(study, TENFOLD, seed=seed) for seed in SEEDS]
    interval = over_seeds([saved(*(joules(each[name]) for name in BOTH)) for each in repeated])
    quicker = {time_scale: combined(study, time_scale) for time_scale in (0.03, 0.01)}
    return Finding(
        savings["all"],
        f"Stand-in `snake-like` on `g3`, ten times faster, against a timeout of 1 s: {joules(none):.0f} to "
        f"{joules(runs['all']):.0f} J.",
        intervals=(interval,),
        curve=_combined_rows(study),
        scenarios=(strategies("timeout 1 s", TENFOLD), strategies("all", TENFOLD)),
        cause=f"Stopping at once saves {savings['stop at once']:.3f} alone, and {left:.0%} of what is left is "
        "inactive power: the time that was idle is spent inactive, at 50 mW. What is saved depends on how fast the "
        "day is replayed, which the paper does not say.",
        probes=tuple(
            Probe(f"{1 / time_scale:.0f} times faster", saved(*(joules(each[name]) for name in BOTH)))
            for time_scale, each in quicker.items()
        ),
        shape="the three strategies together save more of the total energy than any of them alone",
        shape_holds=savings["all"] > single > 0,
    )


@experiment("lin2002.combined-response")
def combined_response(study: Study) -> Finding:
    """Figure 9(b)."""
    times = {
        time_scale: [mean_ms(run) for run in combined(study, time_scale).values()]
        for time_scale in (TENFOLD, 0.03, 0.01)
    }
    before, after = times[TENFOLD]
    return Finding(
        trend(times[TENFOLD]),
        f"The runs of combined-energy: {before:.3f} to {after:.3f} ms.",
        curve=_combined_rows(study),
        scenarios=(strategies("timeout 1 s", TENFOLD), strategies("all", TENFOLD)),
        cause="Ten times faster hardly a request waits, so merging has nothing to make up for start-ups with.",
        probes=tuple(
            Probe(f"{1 / time_scale:.0f} times faster: {each[0]:.2f} to {each[1]:.2f} ms", trend(each))
            for time_scale, each in times.items()
            if time_scale != TENFOLD
        ),
    )
