"""Lin et al. 2002, the day of snake on a stand-in: energy (Table 1), merging, subsectors, all strategies."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import COMPUTED, Finding, Interval, Probe, order, trend
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
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
    seagate,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sledsim.runs import Result

__all__ = [
    "COLUMN",
    "MERGE",
    "METADATA_SHARE",
    "MIXES_BYTES",
    "STRATEGIES",
    "combined",
    "last_block",
    "last_blocks",
    "merging",
    "metadata",
    "strategies",
]

#: Merging as in the paper, and of up to 16 requests anywhere in the queue.
MERGE: dict[str, Any] = {}
BEYOND = {"requests": 16, "anywhere": True, "writes": True, "rows": True}
MIXED = {**BEYOND, "mixed": True}

#: Bytes of a write of metadata on average, where all, half or none update the time of access alone.
MIXES_BYTES = (4, 66, 128)

#: Share of requests that are metadata, and updates of it, half of 4 and half of 128 bytes.
METADATA_SHARE = 0.72
UPDATES = {"metadata": {"share": METADATA_SHARE, "write_bytes": 66}}

#: The day without merging, with the paper's, and with more than that.
RULES: dict[str, dict[str, Any]] = {"none": {}, "paper": {"merge": MERGE}, "beyond": {"merge": BEYOND}}


def merging(study: Study, time_scale: float, rule: str = "paper") -> "dict[str, Result]":
    """Return the day on G3 without merging and with it.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    rule
        How is merged, of :data:`RULES`.
    """
    names = ("none", rule)
    return dict(zip(names, study.runs([day(time_scale, **RULES[name]) for name in names]), strict=True))


def _merging_saves(study: Study, time_scale: float, rule: str = "paper") -> tuple[float, float]:
    """Return the shares of servicing energy and of response that merging saves."""
    return _saving(*merging(study, time_scale, rule).values())


def _savings(study: Study) -> tuple[list[tuple[float, ...]], list[tuple[Interval, ...]]]:
    """Return these shares for every time scale, over seeds, and where they lie."""
    found = [over_seeds(study, partial(_merging_saves, time_scale=each)) for each in TIME_SCALES]
    return [means for means, _ in found], [ends for _, ends in found]


def _queue(study: Study, time_scale: float) -> float:
    """Return how many requests wait without merging."""
    return float(merging(study, time_scale)["none"]["queue"]["mean"])


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
    ours, ends = _savings(study)
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": _queue(study, time_scale),
            "servicing energy saved": energy,
            "response saved": response,
        }
        for time_scale, (energy, response) in zip(TIME_SCALES, ours, strict=True)
    )
    series = [saving[which] for saving in ours]

    def probes() -> tuple[Probe, ...]:
        go_on = study.runs([day(longest, workload=READS_GO_ON, **rule) for rule in ({}, {"merge": MERGE})])
        beyond = _merging_saves(study, longest, "beyond")
        mixed = _saving(merging(study, longest)["none"], *study.runs([day(longest, merge=MIXED)]))
        return (
            Probe("95 % of the reads go on where the one before them ends", _saving(*go_on)[which]),
            Probe("any 16 requests merged, writes too, wherever they wait", beyond[which]),
            Probe("the same, and reads with writes", mixed[which]),
        )

    return Finding(
        series[-1],
        f"Stand-in `snake-like` on `g3`, replayed 1,000 times faster: {_queue(study, longest):.0f} requests wait on "
        "average; two adjacent reads of the queue are merged where the second goes on where the first ends. "
        f"{AVERAGED}",
        decimals=4,
        intervals=(ends[-1][which],),
        curve=rows,
        scenarios=(day(longest), day(longest, merge=MERGE)),
        cause="A quarter of the reads, which are 43 % of the requests, continue the previous one, and the tips of a "
        "merged pair take as much energy as those of two requests.",
        probes=study.probes(probes),
        shape_holds=all(saving > 0 for saving in series) and (which == RESPONSE or trend(series) == "+"),
    )


@experiment("lin2002.merge-queue")
def merge_queue(study: Study) -> Finding:
    """Figure 6(a): what longer queues do."""
    savings = [saving[ENERGY] for saving in _savings(study)[0]]
    rows = tuple(
        {
            "scale factor": time_scale,
            "mean queue": _queue(study, time_scale),
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
        cause="Where requests hardly queue, nothing is merged.",
        probes=(Probe("from a queue of one request on", trend([each for each in savings if each > 1e-6])),),
    )


#: Schedulers compared with FCFS.
SORTING = ("sptf", "sstf_lbn", "clook")


@experiment("lin2002.scheduling-energy")
def scheduling_energy(study: Study) -> Finding:
    """Section 5.2: servicing energy by scheduler."""
    names = ("fcfs", *SORTING)
    cases = [(time_scale, name) for time_scale in TIME_SCALES for name in names]
    runs = study.runs([day(time_scale, scheduler=name) for time_scale, name in cases])
    energies = {case: joules(run, "servicing") for case, run in zip(cases, runs, strict=True)}
    changes = {
        (time_scale, name): 1 - energies[time_scale, name] / energies[time_scale, "fcfs"]
        for time_scale in TIME_SCALES
        for name in SORTING
    }
    largest = max(changes, key=lambda case: abs(changes[case]))
    return Finding(
        abs(changes[largest]),
        f"Stand-in `snake-like` on `g3`, ten to a thousand times faster. The largest change is that of {largest[1]} at "
        f"a scale of {largest[0]:g}. {AVERAGED}",
        decimals=4,
        curve=tuple(
            {"scale factor": time_scale, **{name: changes[time_scale, name] for name in SORTING}}
            for time_scale in TIME_SCALES
        ),
        scenarios=(day(largest[0]), day(largest[0], scheduler=largest[1])),
        cause="With hundreds of waiting requests SPTF saves most of the energy of seeks.",
        probes=tuple(
            Probe(f"at a scale of {time_scale:g}", max(abs(changes[time_scale, name]) for name in SORTING))
            for time_scale in TIME_SCALES
            if time_scale != largest[0]
        ),
    )


def _merging_with_updates(study: Study, *, subsector: bool) -> float:
    """Return the share of servicing energy that merging saves at the longest queues, with updates of metadata."""
    rules: tuple[dict[str, Any], ...] = ({}, {"merge": MERGE})
    runs = study.runs([day(TIME_SCALES[-1], workload=UPDATES, subsector=subsector, **rule) for rule in rules])
    return _saving(*runs)[ENERGY]


@experiment("lin2002.subsector-helps-merging")
def subsector_helps_merging(study: Study) -> Finding:
    """Section 6.3: merging with subsector access and without."""
    saves = {
        name: _merging_with_updates(study, subsector=subsector)
        for name, subsector in (("with_subsector", True), ("without", False))
    }
    said = ", ".join(f"{name} {share:.5f}" for name, share in saves.items())
    return Finding(
        order({name: -share for name, share in saves.items()}),
        f"Stand-in `snake-like` on `g3`, replayed 1,000 times faster; updates of metadata of 66 B on average; merging "
        f"saves {said} of the servicing energy. {AVERAGED}",
        scenarios=tuple(
            day(TIME_SCALES[-1], workload=UPDATES, subsector=subsector, merge=MERGE) for subsector in (True, False)
        ),
        curve=tuple({"subsector access": name, "servicing energy saved": share} for name, share in saves.items()),
        cause="Requests merge if the second goes on where the first ends; the number of free tips does not limit it.",
    )


def last_blocks(study: Study, time_scale: float) -> "list[Result]":
    """Return the day on G3 with whole last blocks, and with as much of them as is needed; no request is metadata."""
    return study.runs([last_block(time_scale, needed) for needed in ("whole", "uniform")])


def last_block(time_scale: float, needed: str) -> dict[str, Any]:
    """Return the day on G3 without metadata, where the whole or a part of each last block is needed."""
    return day(time_scale, workload={"metadata": {"share": 0.0}, "last_block": needed}, subsector=True)


def _last_block_saving(study: Study) -> tuple[float, Interval]:
    """Return the share of servicing energy that parts of last blocks save, over seeds, and where it lies."""
    [ours], [ends] = over_seeds(study, lambda each: (_saving(*last_blocks(each, TENFOLD))[ENERGY],))
    return ours, ends


@experiment("lin2002.subsector-last-block")
def subsector_last_block(study: Study) -> Finding:
    """Figure 7(a)."""
    whole, part = last_blocks(study, TENFOLD)

    def accessing_j(run: "Result") -> float:
        return joules(run, "servo") + joules(run, "data")

    ours, ends = _last_block_saving(study)
    [of_metadata], _ = _metadata_savings(study, 66)
    return Finding(
        ours,
        "Stand-in `snake-like` on `g3`, ten times faster; of the last block of each request 1 to 64 tips are needed. "
        f"{AVERAGED}",
        decimals=4,
        intervals=(ends,),
        scenarios=tuple(last_block(TENFOLD, needed) for needed in ("whole", "uniform")),
        cause="The paper's reason, half of the last of 16 blocks, gives the share of the energy of servo bursts and "
        "data alone.",
        probes=study.probes(
            lambda: (
                Probe("of the energy of servo bursts and data", saved(accessing_j(whole), accessing_j(part))),
                Probe("requests of 8 KB", _last_block_of(study, 8192)),
            )
        ),
        shape_holds=ours < of_metadata,
    )


def _last_block_of(study: Study, size_bytes: int) -> float:
    """Return the share of servicing energy saved where all requests of the day are of one size."""
    days = [last_block(TENFOLD, needed) for needed in ("whole", "uniform")]
    sized = [{**each, "workload": {**each["workload"], "size_bytes": _fixed(size_bytes)}} for each in days]
    return _saving(*study.runs(sized))[ENERGY]


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


def metadata(study: Study, time_scale: float, write_bytes: int) -> "list[Result]":
    """Return the day on G3 without subsector access, and with it for requests of metadata.

    Parameters
    ----------
    study
        Where they are run.
    time_scale
        By what its times are multiplied.
    write_bytes
        Bytes of a write of metadata.
    """
    return study.runs([_metadata_day(time_scale, write_bytes, subsector=on) for on in (False, True)])


def _metadata_day(time_scale: float, write_bytes: int, *, subsector: bool) -> dict[str, Any]:
    mix = {"metadata": {"share": METADATA_SHARE, "write_bytes": write_bytes}}
    return day(time_scale, workload=mix, subsector=subsector)


@experiment("lin2002.subsector-metadata")
def subsector_metadata(study: Study) -> Finding:
    """Figure 8."""
    means, ends = _metadata_savings(study, *MIXES_BYTES)
    savings, places = dict(zip(MIXES_BYTES, means, strict=True)), dict(zip(MIXES_BYTES, ends, strict=True))
    before, _ = metadata(study, TENFOLD, 66)
    accessing = 1 - joules(before, "seek") / joules(before, "servicing")
    said = ", ".join(f"{write_bytes} B {share:.3f}" for write_bytes, share in savings.items())
    return Finding(
        savings[66],
        intervals=(places[66],),
        how=f"Stand-in `snake-like` on `g3`, ten times faster; reads of metadata 128 B, writes on average: {said}. "
        f"{AVERAGED}",
        curve=tuple(
            {"bytes of a metadata write": key, "servicing energy saved": value} for key, value in savings.items()
        ),
        scenarios=tuple(_metadata_day(TENFOLD, 66, subsector=on) for on in (False, True)),
        cause=f"Servo bursts and data take {accessing:.0%} of the servicing energy, and requests of metadata, 72 % of "
        "all, then need hardly any of it.",
        probes=study.probes(
            lambda: tuple(
                Probe(f"requests of metadata of {size // 1024} KB", _short_metadata(study, size))
                for size in (6144, 4096, 2048)
            )
        ),
        shape_holds=savings[66] > _last_block_saving(study)[0],
    )


EXTREMES_BYTES = (MIXES_BYTES[0], MIXES_BYTES[-1])


def _metadata_savings(study: Study, *sizes_bytes: int) -> tuple[tuple[float, ...], tuple[Interval, ...]]:
    """Return what is saved of servicing energy where updates of metadata are so long, over seeds, and where it lies."""

    def shares(each: Study) -> list[float]:
        return [_saving(*metadata(each, TENFOLD, size))[ENERGY] for size in sizes_bytes]

    return over_seeds(study, shares)


@experiment("lin2002.subsector-metadata-extremes")
def subsector_metadata_extremes(study: Study) -> Finding:
    """Figure 8: its ends."""
    ours, intervals = _metadata_savings(study, *EXTREMES_BYTES)
    return Finding(
        ours,
        "The runs of subsector-metadata, all writes of metadata of 4 B, and all of 128 B.",
        decimals=4,
        intervals=intervals,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        cause="As for subsector-metadata, the lengths of requests of metadata are not published.",
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
    savings, _ = _metadata_savings(study, *MIXES_BYTES)
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

    def all_and_servicing(each: Study) -> tuple[float, float]:
        small, large = (metadata(each, TENFOLD, size)[1] for size in EXTREMES_BYTES)
        return abs(saved(joules(large), joules(small))), saved(joules(large, "servicing"), joules(small, "servicing"))

    (ours, of_servicing), _ = over_seeds(study, all_and_servicing)
    return Finding(
        ours,
        "The runs of subsector-metadata-extremes: difference of the energies of both over the larger.",
        decimals=5,
        scenarios=tuple(_metadata_day(TENFOLD, size, subsector=True) for size in EXTREMES_BYTES),
        shape_holds=ours < of_servicing,
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
    runs = study.runs([{**whole, "system": {"device": "g3", "subsector": on}} for on in (False, True)])
    return _saving(*runs)[0]


def _poisson(rate_per_s: float) -> dict[str, Any]:
    return {"kind": "poisson", "rate_per_s": rate_per_s}


DEVICE = {"name": "g2", **IDLE, "inactive_after_ms": TIMEOUT_MS}

#: The run behind the column.
COLUMN = day(TENFOLD, device=DEVICE)

#: The longest that the column's joules can last, s; the day, and its requests; the size that its joules of data fit.
LASTS_S, DAY_S, REQUESTS = 5_100, 8_640, 77_372
FITTING_BYTES = 5632
#: The run whose day takes as long.
FASTER = day(TENFOLD * LASTS_S / DAY_S, device=DEVICE)

CAUSE = (
    "The energies of inactive and idle states fit a day 17 times faster instead of ten times, and those of servo "
    "bursts and data fit requests of 5.5 KB instead of 8 KB."
)


#: Unpublished properties of the trace that the parts depend on: distances and gaps between requests.
NEAR = {"kind": "local-walk", "scale_bytes": 1e5}
LONGER_GAPS = {
    "kind": "exponential-mixture",
    "means": [
        {"value": 15.0, "weight": 0.889},
        {"value": 680.0, "weight": 0.104},
        {"value": 150_000.0, "weight": 0.007},
    ],
}
SEEKS = "Even where each request is about 0.1 MB from the previous one, seeks take more energy than printed."
STARTUPS = (
    "Each gap of more than a second causes a start-up, and with fewer but longer gaps (0.7 % of 150 s instead of 1.8 "
    "% of 58 s) start-ups take the printed energy."
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


#: Variants of Figure 9: the timeout of Table 1, each strategy, and all strategies.
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

#: Variants compared at every speed: none and all of the three strategies.
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


def _saved_against(study: Study, time_scale: float, timeout_s: int) -> float:
    """Return the share of energy that all strategies save against another timeout."""
    spin_down = {"name": "timeout", "after_ms": 1000 * timeout_s}
    before = day(time_scale, device={"name": "g3", **IDLE}, spin_down=spin_down)
    return saved(*(joules(run) for run in study.runs([before, strategies("all", time_scale)])))


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
        cause=f"Stopping at once alone saves {savings['stop at once']:.3f}, and {left:.0%} of the remaining energy is "
        "that of the stopped device, which draws 50 mW.",
        probes=study.probes(
            lambda: (
                *(Probe(_faster(scale), all_save(scale)) for scale in (0.03, 0.01)),
                *(Probe(f"against a timeout of {each} s", _saved_against(study, best, each)) for each in (2, 5)),
            )
        ),
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
        cause="Merging shortens only the responses of requests that wait in the queue.",
        probes=tuple(
            Probe(f"{_faster(time_scale)}: {each[0]:.2f} to {each[1]:.2f} ms", trend(each))
            for time_scale, each in times.items()
            if time_scale != best
        ),
    )
