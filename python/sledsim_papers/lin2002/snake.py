"""Lin et al. 2002: the day of snake, for which a stand-in runs: where joules go, merging, subsectors, all together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.runs import mean_interval
from sledsim_papers.harness.finding import COMPUTED, Finding, Probe, trend
from sledsim_papers.harness.intervals import SEEDS
from sledsim_papers.harness.ledger import claims
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002 import snake_column
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
SHARES = snake_column.COLUMN

#: Merging as the paper does it, and any 16 requests wherever they wait.
MERGE: dict[str, Any] = {}
BEYOND = {"requests": 16, "anywhere": True, "writes": True, "rows": True}
MIXED = {**BEYOND, "mixed": True}

#: Bytes of a write of metadata on average, where all, half or none update the time of access alone.
MIXES_BYTES = (4, 66, 128)


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


@experiment("lin2002.merge-energy", ENERGY)
@experiment("lin2002.merge-response", RESPONSE)
def merge_finding(study: Study, which: int) -> Finding:
    """Figure 6: what is found for energy or response; of the energy the paper says that longer queues save more."""
    longest = TIME_SCALES[-1]
    ours = _savings(study)
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

    def probes() -> tuple[Probe, ...]:
        go_on = snake(study, [day(longest, workload=READS_GO_ON, **rule) for rule in ({}, {"merge": MERGE})])
        mixed = _saving(merging(study, longest)["none"], *snake(study, [day(longest, merge=MIXED)]))
        return (
            Probe("95 % of the reads go on where the one before them ends", _saving(*go_on)[which]),
            Probe("any 16 requests merged, writes too, wherever they wait", _savings(study, "beyond")[-1][which]),
            Probe("the same, and reads with writes", mixed[which]),
        )

    repeated = [merging(study, longest, seed) for seed in SEEDS]
    interval = mean_interval([_saving(each["none"], each["paper"])[which] for each in repeated]).ends
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
        probes=study.probes(probes),
        shape_holds=all(saving > 0 for saving in series) and (which == RESPONSE or trend(series) == "+"),
    )


@experiment("lin2002.merge-queue")
def merge_queue(study: Study) -> Finding:
    """Figure 6(a): what longer queues do."""
    savings = [saving[ENERGY] for saving in _savings(study)]
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": merging(study, time_scale)["none"]["queue"]["mean"],
            "servicing energy saved": saving,
        }
        for time_scale, saving in zip(TIME_SCALES, savings, strict=True)
    )
    said = ", ".join(f"{saving:.4f}" for saving in savings)
    return Finding(
        trend(savings) if min(savings) > 0 else "?",
        f"The runs of merge-energy, ten to a thousand times faster, queues getting longer: {said} of the servicing "
        "energy.",
        curve=rows,
        scenarios=(day(TIME_SCALES[0], merge=MERGE), day(TIME_SCALES[-1], merge=MERGE)),
        cause="Where hardly a request waits nothing is merged, and nothing saved.",
        probes=(Probe("from a queue of one request on", trend([each for each in savings if each > 1e-6])),),
    )


def last_blocks(study: Study, time_scale: float) -> "list[Result]":
    """Return the day on G3 with whole last blocks, and with as much of them as is needed; no request is metadata."""
    return snake(study, [last_block(time_scale, needed) for needed in ("whole", "uniform")])


def last_block(time_scale: float, needed: str) -> dict[str, Any]:
    """Return the day on G3 without metadata, where the whole or a part of each last block is needed."""
    return day(time_scale, workload={"metadata": {"share": 0.0}, "last_block": needed}, subsector=True)


def _last_block_saving(study: Study, seed: int = 1) -> float:
    scenarios = [last_block(TENFOLD, needed) for needed in ("whole", "uniform")]
    return _saving(*snake(study, scenarios, seed))[ENERGY]


@experiment("lin2002.subsector-last-block")
def subsector_last_block(study: Study) -> Finding:
    """Figure 7(a)."""
    whole, part = last_blocks(study, TENFOLD)

    def accessing_j(run: "Result") -> float:
        return joules(run, "servo") + joules(run, "data")

    ours, of_metadata = _last_block_saving(study), _saving(*metadata(study, TENFOLD, 66))[ENERGY]
    return Finding(
        ours,
        "Stand-in `snake-like` on `g3`, ten times faster; of the last block of each request 1 to 64 tips are needed.",
        decimals=4,
        intervals=(mean_interval([_last_block_saving(study, seed) for seed in SEEDS]).ends,),
        scenarios=tuple(last_block(TENFOLD, needed) for needed in ("whole", "uniform")),
        cause="A third of the stand-in's requests are of 1 or 2 KB, of which half a block is a large part; requests "
        "of 8 KB each would save one in 32 of the energy of data, less by what seeks take. Of the energy of data "
        f"{saved(accessing_j(whole), accessing_j(part)):.4f} is saved here.",
        probes=study.probes(lambda: (Probe("requests of 8 KB", _last_block_of(study, 8192)),)),
        shape_holds=ours < of_metadata,
    )


def _last_block_of(study: Study, size_bytes: int) -> float:
    """Return the share of servicing energy saved where all requests of the day are of one size."""
    days = [last_block(TENFOLD, needed) for needed in ("whole", "uniform")]
    sized = [{**each, "workload": {**each["workload"], "size_bytes": _fixed(size_bytes)}} for each in days]
    return _saving(*snake(study, sized))[ENERGY]


def _fixed(size_bytes: int) -> dict[str, Any]:
    return {"kind": "fixed", "value": size_bytes}


@experiment("lin2002.subsector-response")
def subsector_response(study: Study) -> Finding:
    """Figure 7(b)."""
    times = [mean_ms(run) for run in last_blocks(study, TENFOLD)]
    how = f"The runs of subsector-last-block: {times[0]:.4f} and {times[1]:.4f} ms."
    hardly = claims()["lin2002.subsector-response"].hardly_moves
    scenarios = tuple(last_block(TENFOLD, needed) for needed in ("whole", "uniform"))
    return Finding(trend(times, hardly), how, scenarios=scenarios)


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
    return Finding(
        savings[66],
        intervals=(mean_interval([_saving(*metadata(study, TENFOLD, 66, seed))[0] for seed in SEEDS]).ends,),
        how=f"Stand-in `snake-like` on `g3`, ten times faster; reads of metadata 128 B, writes on average: {said}.",
        curve=tuple(
            {"bytes of a metadata write": key, "servicing energy saved": value} for key, value in savings.items()
        ),
        scenarios=tuple(_metadata_day(TENFOLD, 66, subsector=on) for on in (False, True)),
        cause=f"Servo bursts and data are {accessing:.0%} of servicing, metadata is 72 % of the requests and leaves "
        "out nearly all of their joules. The stand-in's requests of metadata are as long as the others, of which "
        "nothing is published; the paper's savings fit shorter ones.",
        probes=study.probes(
            lambda: tuple(
                Probe(f"requests of metadata of {size // 1024} KB", _short_metadata(study, size))
                for size in (6144, 4096, 2048)
            )
        ),
        shape_holds=savings[66] > _last_block_saving(study),
    )


EXTREMES_BYTES = (MIXES_BYTES[0], MIXES_BYTES[-1])


def _metadata_savings(study: Study, *sizes_bytes: int, seed: int = 1) -> list[float]:
    return [_saving(*metadata(study, TENFOLD, size, seed))[ENERGY] for size in sizes_bytes]


@experiment("lin2002.subsector-metadata-extremes")
def subsector_metadata_extremes(study: Study) -> Finding:
    """Figure 8: its ends."""
    ours = _metadata_savings(study, *EXTREMES_BYTES)
    of_each = [_metadata_savings(study, size, seed=seed)[0] for size in EXTREMES_BYTES for seed in SEEDS]
    intervals = (mean_interval(of_each[: len(SEEDS)]).ends, mean_interval(of_each[len(SEEDS) :]).ends)
    return Finding(
        tuple(ours),
        "The runs of subsector-metadata, all writes of metadata of 4 B, and all of 128 B.",
        decimals=4,
        intervals=intervals,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        cause="See subsector-metadata: the stand-in's requests of metadata are as long as the others.",
        probes=study.probes(
            lambda: tuple(
                Probe(
                    f"requests of metadata of {size // 1024} KB",
                    tuple(_short_metadata(study, size, write_bytes) for write_bytes in EXTREMES_BYTES),
                )
                for size in (4096,)
            )
        ),
        shape_holds=ours[0] > ours[1],
    )


@experiment("lin2002.subsector-update-size")
def subsector_update_size(study: Study) -> Finding:
    """Figure 8: along its axis."""
    savings = _metadata_savings(study, *MIXES_BYTES)
    said = ", ".join(f"{each:.4f}" for each in savings)
    return Finding(
        trend(savings, COMPUTED),
        f"The runs of subsector-metadata, writes of metadata of 4, 66 and 128 B on average: {said}. The requests are "
        "the same in all three, so that any difference counts.",
        curve=tuple({"bytes": size, "saved": each} for size, each in zip(MIXES_BYTES, savings, strict=True)),
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in MIXES_BYTES),
    )


@experiment("lin2002.subsector-update-size-total")
def subsector_update_size_total(study: Study) -> Finding:
    """Section 6.4: what the size of updates makes of all energy."""
    small, large = (metadata(study, TENFOLD, size)[1] for size in EXTREMES_BYTES)
    ours = abs(saved(joules(large), joules(small)))
    return Finding(
        ours,
        "The runs of subsector-metadata-extremes: difference of the energies of both over the larger.",
        decimals=5,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        shape_holds=ours < saved(joules(large, "servicing"), joules(small, "servicing")),
    )


def _short_metadata(study: Study, size_bytes: int, write_bytes: int | None = None) -> float:
    """Return the share of servicing energy saved where requests of metadata are short and the others as they are.

    Both kinds come one by one, at the rates that they have in the stand-in ten times faster.

    Parameters
    ----------
    study
        Where it is run.
    size_bytes
        Of requests of metadata.
    write_bytes
        What an update of them needs; as it comes if not given.
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
        "metadata": {"share": 1.0} | ({} if write_bytes is None else {"write_bytes": write_bytes}),
    }
    whole = {"workload": {"streams": [others, short]}, "run": {"requests": before["requests"]["completed"]}}
    runs = snake(study, [{**whole, "system": {"device": "g3", "subsector": on}} for on in (False, True)])
    return _saving(*runs)[0]


def _poisson(rate_per_s: float) -> dict[str, Any]:
    return {"kind": "poisson", "rate_per_s": rate_per_s}


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


def _best_scale(study: Study) -> float:
    """Return the time scale, of those that count, at which all strategies together save most."""
    return max(CANDIDATES, key=lambda time_scale: _all_save(study, time_scale))


def _all_save(study: Study, time_scale: float, seed: int = 1) -> float:
    runs = combined(study, time_scale, seed=seed)
    return saved(*(joules(runs[name]) for name in BOTH))


def _faster(time_scale: float) -> str:
    return "as recorded" if time_scale == 1.0 else f"{1 / time_scale:.0f} times faster"


@experiment("lin2002.combined-energy")
def combined_energy(study: Study) -> Finding:
    """Figure 9(a)."""
    best = _best_scale(study)
    runs = combined(study, best, tuple(STRATEGIES))
    none = runs["timeout 1 s"]
    savings = {name: saved(joules(none), joules(run)) for name, run in runs.items()}
    left = joules(runs["all"], "inactive") / joules(runs["all"])
    single = max(savings[name] for name in ("stop at once", "merging", "subsectors"))
    said = ", ".join(f"{_faster(scale)} {_all_save(study, scale):.3f}" for scale in CANDIDATES)
    return Finding(
        savings["all"],
        f"Stand-in `snake-like` on `g3` against a timeout of 1 s, {_faster(best)}, where most is saved ({said}): "
        f"{joules(none):.0f} to {joules(runs['all']):.0f} J.",
        intervals=(mean_interval([_all_save(study, best, seed) for seed in SEEDS]).ends,),
        curve=_combined_rows(study),
        scenarios=(strategies("timeout 1 s", best), strategies("all", best)),
        cause=f"Stopping at once saves {savings['stop at once']:.3f} alone, and {left:.0%} of what is left is "
        "inactive power: the time that was idle is spent inactive, at 50 mW. What is saved depends on how fast the "
        "day is replayed, which the paper does not say.",
        probes=tuple(Probe(_faster(scale), _all_save(study, scale)) for scale in (0.03, 0.01)),
        shape_holds=savings["all"] > single > 0,
    )


@experiment("lin2002.combined-response")
def combined_response(study: Study) -> Finding:
    """Figure 9(b)."""
    best = _best_scale(study)
    times = {
        time_scale: [mean_ms(run) for run in combined(study, time_scale).values()] for time_scale in (best, 0.03, 0.01)
    }
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
