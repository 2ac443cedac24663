"""Experiments for the claims of hong2006 on a caching disk's techniques, segments and size (section 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sledsim.runs import Result
from sledsim.studies.cache_cost import CostComparison
from sledsim_papers.harness.claim import claims
from sledsim_papers.harness.finding import Finding, Ours, Probe, join_level, order, trend
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.hierarchies import (
    SET_UP,
    all_loads,
    all_responses,
    cello_streams,
    cost_curves,
    mean,
    paired,
    ratio_of,
    rows_of_means,
    said,
    saved,
    shown,
)
from sledsim_papers.hong2006.systems import (
    CACHE_BYTES,
    KIB,
    LABELS,
    LOADS,
    MIB,
    PROBED,
    Load,
    controlled,
    counts,
    disk_ram,
    hierarchy_experiment,
    mcd,
    responses,
    results,
    scenario,
    streams_of,
    systems,
)

__all__: list[str] = []

TECHNIQUES = ("shortcut", "immediate_report", "partial_write")
#: Segment sizes of the trends.
SEGMENTS = tuple(KIB * size for size in (8, 32, 128, 256))
#: MEMS sizes of the trends.
SIZES = tuple(MIB * size for size in (64, 128, 256, 512))


def _switched(load: Load, *techniques: str) -> dict[str, Any]:
    """Return the caching disk with some techniques."""
    return controlled(mcd(load.segment_bytes) | {name: name in techniques for name in TECHNIQUES})


def _alone(study: Study, load: Load, technique: str, *beside: str, **workload: Any) -> tuple[float, float]:
    """Return the share of the response and the ms that one technique saves, alone or with others."""
    chosen = {"without": _switched(load, *beside), "with": _switched(load, technique, *beside)}
    found = responses(study, load, chosen, **workload)
    share = mean(saved(found["without"], found["with"]))
    return share, share * found["without"].mean_ms


@hierarchy_experiment("hong2006.immediate-report-workloads", "immediate_report", "tpcc", "cello", "tpcd")
@hierarchy_experiment("hong2006.shortcut-workloads", "shortcut", *LOADS)
def by_technique(study: Study, technique: str, *loads: str) -> Finding:
    """One technique by itself (section 4.2.1)."""
    gains = {load: _alone(study, LOADS[load], technique) for load in loads}
    said_gains = ", ".join(f"{LOADS[load].label} {share:.3f}" for load, (share, _) in gains.items())
    by_ms = order({load: -ms for load, (_, ms) in gains.items()})
    probes = (Probe("by the milliseconds saved", by_ms),)
    differs = technique == "shortcut"
    return Finding(
        order({load: -share for load, (share, _) in gains.items()}),
        f"The caching disk with {technique.replace('_', ' ')} alone, against that with no technique: share of the mean "
        f"response saved, {said_gains}; {all_loads(study, loads)}; {SET_UP}",
        scenarios=tuple(scenario(study, LOADS[load], _switched(LOADS[load], technique)) for load in loads),
        curve=tuple(
            {"workload": LOADS[load].label, "share saved": share, "saved, ms": ms}
            for load, (share, ms) in gains.items()
        ),
        cause=SHORTCUT_CAUSE if differs else "",
        probes=(*probes, *study.probes(lambda: _shortcut_probes(study))) if differs else probes,
    )


def _filled(study: Study, load: Load, *techniques: str) -> float:
    """Return the blocks that the caching disk with some techniques reads from disk to MEMS, a mean over seeds."""
    [runs] = results(study, load, {"": _switched(load, *techniques)}).values()
    return mean([counts(run, "mcd")["filled_blocks"] for run in runs])


@hierarchy_experiment("hong2006.partial-write-workloads")
def partial_write_workloads(study: Study) -> Finding:
    """Blocks read from disk to MEMS that partial write removes (section 4.2.1)."""
    names = ("cello", "tpcc", "tpcd")
    shares = {}
    for name in names:
        before, after = (_filled(study, LOADS[name], *techniques) for techniques in ((), ("partial_write",)))
        shares[name] = 1 - after / before
    said_shares = ", ".join(f"{LOADS[name].label} {share:.3f}" for name, share in shares.items())
    return Finding(
        order({name: -share for name, share in shares.items()}),
        "The caching disk with partial write alone, against that with no technique: share of the blocks read from disk "
        f"to MEMS that it removes, {said_shares}; {all_loads(study, names)}; {SET_UP}",
        scenarios=tuple(scenario(study, LOADS[name], _switched(LOADS[name], "partial_write")) for name in names),
        curve=tuple({"workload": LOADS[name].label, "share removed": share} for name, share in shares.items()),
        cause="With partial write a segment is not read if a write changes only a part of it.",
    )


@hierarchy_experiment("hong2006.partial-write-like-mwb")
def partial_write_like_mwb(study: Study) -> Finding:
    """Partial write under cello beside the write buffer (section 4.1.2)."""
    load = LOADS["cello"]
    chosen = {"none": _switched(load), "partial": _switched(load, "partial_write"), "mwb": systems(load)["mwb"]}
    found = responses(study, load, chosen)
    ratios = found["partial"].over(found["mwb"])
    return Finding(
        mean(ratios),
        f"The caching disk with partial write alone {found['partial'].mean_ms:.2f} ms, with no technique "
        f"{found['none'].mean_ms:.2f} ms, the write buffer {found['mwb'].mean_ms:.2f} ms. {said(study, 'cello')}",
        intervals=paired([ratios]),
        scenarios=(scenario(study, load, chosen["partial"]), scenario(study, load, chosen["mwb"])),
        curve=rows_of_means({"mwb": found["mwb"]}),
        cause="With immediate report, too, no miss waits for an eviction, and the responses are about the same.",
        shape_holds=all(each < 1 for each in found["partial"].over(found["none"])),
        probes=study.probes(
            lambda: (
                Probe(
                    "with all three techniques",
                    mean(all_responses(study, "cello")["mcd_all"].over(found["mwb"])),
                ),
                Probe("with no technique", mean(found["none"].over(found["mwb"]))),
            )
        ),
    )


#: Segments much larger than requests of 8 KB, with these.
LARGE = tuple(KIB * size for size in (8, 128, 256))


@hierarchy_experiment("hong2006.segment-size-techniques")
def segment_size_techniques(study: Study) -> Finding:
    """Gain of shortcut and immediate report by the size of segments (section 4.2.3)."""
    both = ("shortcut", "immediate_report")
    gains: dict[str, list[float]] = {}
    for name in ("tpcc", "cello"):
        gains[name] = []
        for size in LARGE:
            sized = {
                key: controlled(mcd(size, buffer_bytes=2 * MIB) | {each: each in chosen for each in TECHNIQUES})
                for key, chosen in (("without", ()), ("with", both))
            }
            found = responses(study, LOADS[name], sized)
            gains[name].append(mean(saved(found["without"], found["with"])))
    signs = {name: trend(each) for name, each in gains.items()}
    said_gains = "; ".join(
        f"{LOADS[name].label} {', '.join(f'{each:.3f}' for each in shares)}" for name, shares in gains.items()
    )
    return Finding(
        signs["tpcc"] if len({*signs.values()}) == 1 else "?",
        "The caching disk with shortcut and immediate report, against that with no technique, segments of 8, 128 and "
        f"256 KiB, a buffer of 2 MiB: share of the mean response saved, {said_gains}. {all_loads(study, gains)}; "
        f"{SET_UP}",
        curve=tuple(
            {"workload": LOADS[name].label, "segment, KiB": size // KIB, "share saved": share}
            for name, shares in gains.items()
            for size, share in zip(LARGE, shares, strict=True)
        ),
        scenarios=tuple(scenario(study, LOADS[name], controlled(mcd(LARGE[-1]))) for name in gains),
        cause="A longer segment takes longer to read, for which a miss waits without shortcut, and longer to evict, "
        "for which it waits without immediate report.",
        probes=tuple(
            Probe(f"{LOADS[name].label}, from 128 to 256 KiB alone", trend(shares[1:]))
            for name, shares in gains.items()
        ),
    )


def _disk_blocks(run: Result, name: str) -> float:
    """Return the blocks that the disk of an architecture moves."""
    controller = counts(run, "ram-cache")
    if name == "disk":
        return controller["fetched_blocks"] + controller["destaged_blocks"]
    if name == "mwb":
        buffer = counts(run, "mwb")
        # Fetches that a log answers do not reach the disk.
        from_disk = 1 - buffer["log_reads"] / max(controller["fetches"], 1.0)
        return controller["fetched_blocks"] * from_disk + buffer["disk_writes"] * buffer["blocks_per_disk_write"]
    cache = counts(run, "mcd")
    return cache["filled_blocks"] + cache["bypassed_blocks"] + cache["destaged_blocks"]


@hierarchy_experiment("hong2006.disk-traffic-tpcc", "tpcc", ("mcd_all", "mcd_none", "mwb", "disk"))
@hierarchy_experiment("hong2006.disk-traffic-cello", "cello", ("mcd_all", "mwb", "disk"))
def disk_traffic(study: Study, load: str, names: Sequence[str]) -> Finding:
    """Bytes that the disk moves for each request (sections 4.1 and 4.3)."""
    runs = results(study, LOADS[load], {name: systems(LOADS[load])[name] for name in names})
    kib = {
        name: mean([_disk_blocks(run, name) / 2 / run["requests"]["measured"] for run in found])
        for name, found in runs.items()
    }
    ranked = order(kib)
    return Finding(
        join_level(claims()[f"hong2006.disk-traffic-{load}"].joined(ranked), kib),
        f"KiB that the disk moves for each request: {', '.join(f'{LABELS[name]} {kib[name]:.2f}' for name in ranked)}. "
        f"Of the write buffer's reads those that its logs answer are left out. {said(study, load)}",
        curve=tuple({"architecture": LABELS[name], "KiB per request": kib[name]} for name in ranked),
        scenarios=shown(study, load, *names),
        cause="The caching disk reads less from the disk than the write buffer, but writes more to it.",
        probes=(Probe("by the blocks read from the disk alone", _by_reads(runs)),),
    )


def _by_reads(runs: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """Return architectures by the blocks that their disk reads."""

    def read(run: Result, name: str) -> float:
        if name.startswith("mcd"):
            return counts(run, "mcd")["filled_blocks"] + counts(run, "mcd")["bypassed_blocks"]
        return counts(run, "ram-cache")["fetched_blocks"]

    return order({name: mean([read(run, name) for run in found]) for name, found in runs.items()})


SHORTCUT_CAUSE = "Under cello a miss mostly waits until a changed segment is evicted, which shortcut does not change."


def _shortcut_probes(study: Study) -> tuple[Probe, ...]:
    """Return the order of the workloads without the effects that hide the gain of shortcut."""
    stream = {"kind": "sequential", "run_requests": 600.0}
    pieces = {"size_bytes": {"kind": "fixed", "value": 256 * KIB}, "location": stream}

    def ordered(*beside: str) -> tuple[str, ...]:
        loads = {name: PROBED[name] for name in LOADS}
        changed = {name: pieces if name == "tpcd" else {} for name in LOADS}
        shares = {name: _alone(study, load, "shortcut", *beside, **changed[name])[0] for name, load in loads.items()}
        return order({name: -share for name, share in shares.items()})

    return (
        Probe("TPC-D in requests of 256 KB", ordered()),
        Probe("the same, beside the other two techniques", ordered("immediate_report", "partial_write")),
    )


def _by_segment(study: Study, load: Load, **workload: Any) -> dict[int, float]:
    """Return the mean response of the caching disk by the size of its segments, ms."""
    chosen = {str(size): controlled(mcd(size)) for size in SEGMENTS}
    found = responses(study, load, chosen, **workload)
    return {size: found[str(size)].mean_ms for size in SEGMENTS}


def _without(key: str, load: str) -> list[dict[str, Any]]:
    """Return the streams of a stand-in without one of their keys."""
    return [{name: value for name, value in stream.items() if name != key} for stream in streams_of(load)]


def _eight(study: Study) -> str:
    """Return the trend under TPC-C if all requests have 8 KiB."""
    streams = [
        {**stream, "size_bytes": {"kind": "fixed", "value": 8 * KIB}} for stream in _without("size_bytes", "tpcc")
    ]
    return trend(list(_by_segment(study, PROBED["tpcc"], streams=streams).values()))


def _scattered(study: Study) -> str:
    """Return the trend under cello without sequential requests."""
    return trend(list(_by_segment(study, PROBED["cello"], streams=_without("continuation", "cello")).values()))


#: Why responses first get shorter, with the evidence.
SEGMENT_CAUSES: dict[str, tuple[str, str, Callable[[Study], str]]] = {
    "tpcc": (
        "A request of 64 KiB waits for eight reads of segments of 8 KiB, but only for two of 32 KiB.",
        "requests of 8 KiB all of them",
        _eight,
    ),
    "cello": (
        f"Of the stand-in's reads {streams_of('cello')[0]['continuation']['reads']:.0%} continue the previous one, and "
        "a segment of 32 KiB already holds their data.",
        "no request goes on where the one before ended",
        _scattered,
    ),
}


@hierarchy_experiment("hong2006.segment-size-tpcd", "tpcd")
@hierarchy_experiment("hong2006.segment-size-tpcc", "tpcc")
@hierarchy_experiment("hong2006.segment-size-cello", "cello")
def segments(study: Study, load: str) -> Finding:
    """Segments under a workload (section 4.2.3)."""
    means = _by_segment(study, LOADS[load])
    # Segments of 32 KiB are not much larger than requests of TPC-C and cello.
    judged = SEGMENTS if load == "tpcd" else LARGE
    rows = tuple({"segment, KiB": size // KIB, "mean response, ms": value} for size, value in means.items())
    ends = tuple(scenario(study, LOADS[load], controlled(mcd(size))) for size in (SEGMENTS[0], SEGMENTS[-1]))
    said_means = ", ".join(f"{value:.2f}" for value in means.values())
    cause, change, probe = SEGMENT_CAUSES.get(load, ("", "", None))
    return Finding(
        trend([means[size] for size in judged]),
        f"The caching disk with all techniques and segments of 8, 32, 128 and 256 KiB: {said_means} ms. "
        f"{said(study, load)}",
        scenarios=ends,
        curve=rows,
        cause=cause,
        probes=study.probes(lambda: (Probe(change, probe(study)),)) if probe else (),
    )


@hierarchy_experiment("hong2006.segment-sensitivity")
def segment_sensitivity(study: Study) -> Finding:
    """Longest over shortest mean response (section 4.3)."""
    spread = {}
    for load in LOADS:
        means = list(_by_segment(study, LOADS[load]).values())
        spread[load] = max(means) / min(means)
    said_spread = ", ".join(f"{LOADS[load].label} {value:.2f}" for load, value in spread.items())
    ends = tuple(scenario(study, LOADS["tpcc"], controlled(mcd(size))) for size in (SEGMENTS[0], SEGMENTS[-1]))
    return Finding(
        order({load: -value for load, value in spread.items()}),
        f"The caching disk with all techniques and segments of 8, 32, 128 and 256 KiB: longest over shortest mean "
        f"response, {said_spread}; {all_loads(study)}; {SET_UP}",
        scenarios=ends,
        curve=tuple({"workload": LOADS[load].label, "longest over shortest": value} for load, value in spread.items()),
    )


@hierarchy_experiment("hong2006.mems-size")
def mems_size(study: Study) -> Finding:
    """Larger caches (sections 4.2.3 and 4.4)."""
    found: dict[str, list[float]] = {}
    for name in ("tpcc", "cello", "hplajw"):
        load = LOADS[name]
        chosen = {str(size): controlled(mcd(load.segment_bytes, mems_bytes=size)) for size in SIZES}
        found[name] = [each.mean_ms for each in responses(study, load, chosen).values()]
    signs = {name: trend(means) for name, means in found.items()}
    said_signs = "; ".join(
        f"{LOADS[name].label} {', '.join(f'{value:.2f}' for value in means)} ms" for name, means in found.items()
    )
    # One sign for all three, or none.
    ours: Ours = signs["tpcc"] if len({*signs.values()}) == 1 else "?"
    tpcc = LOADS["tpcc"]
    sized = tuple(
        scenario(study, tpcc, controlled(mcd(tpcc.segment_bytes, mems_bytes=size))) for size in (SIZES[0], SIZES[-1])
    )
    return Finding(
        ours,
        f"The caching disk with all techniques and 64, 128, 256 and 512 MiB of MEMS: {said_signs}. "
        f"{all_loads(study, found)}; {SET_UP}",
        scenarios=sized,
        cause="The data of hplajw's week fit in 128 MiB, so larger caches hold nothing more.",
        probes=tuple(Probe(f"{LOADS[name].label} alone", sign) for name, sign in signs.items()),
    )


@hierarchy_experiment("hong2006.mcd-half-of-mems")
def mcd_half_of_mems(study: Study) -> Finding:
    """MEMS storage alone over the caching disk (introduction)."""
    ratios = {}
    for load in LOADS:
        found = all_responses(study, load)
        ratios[load] = found["mems"].mean_ms / found["mcd_all"].mean_ms
    best = max(ratios, key=lambda load: ratios[load])
    found = all_responses(study, best)
    said_ratios = ", ".join(f"{LOADS[load].label} {value:.2f}" for load, value in ratios.items())
    return Finding(
        ratios[best],
        f"Mean response of MEMS storage over that of the caching disk: {said_ratios}, of which the greatest counts; "
        f"{all_loads(study)}; {SET_UP}",
        intervals=paired([found["mems"].over(found["mcd_all"])]),
        scenarios=shown(study, best, "mems", "mcd_all"),
        cause="Under TPC-C and cello, where more requests miss the cache, MEMS storage alone is faster by more.",
        probes=tuple(Probe(f"{LOADS[load].label} alone", value) for load, value in ratios.items() if load != best),
        shape_holds=all(_between(study, load) for load in ("tpcc", "cello", "hplajw")),
    )


def _between(study: Study, load: str) -> bool:
    found = all_responses(study, load)
    return found["mems"].mean_ms < found["mcd_all"].mean_ms < found["disk"].mean_ms


@hierarchy_experiment("hong2006.tpcd-order")
def tpcd_order(study: Study) -> Finding:
    """All architectures under TPC-D (Figure 8(a))."""
    found = all_responses(study, "tpcd")
    return Finding(
        order({name: each.mean_ms for name, each in found.items()}),
        said(study, "tpcd"),
        scenarios=shown(study, "tpcd", "disk_ram", "mcd_all"),
        curve=rows_of_means(found),
    )


@hierarchy_experiment("hong2006.cello-mcd-over-mwb-factor")
def cello_factor(study: Study) -> Finding:
    """Find the write buffer over the caching disk under cello (Figure 8(c))."""
    found = all_responses(study, "cello")
    ratios = found["mwb"].over(found["mcd_all"])
    return Finding(
        mean(ratios),
        said(study, "cello"),
        decimals=2,
        intervals=paired([ratios]),
        scenarios=shown(study, "cello", "mwb", "mcd_all"),
        curve=rows_of_means(found),
        cause="With more skewed popularity the caching disk holds more of the reads and is ahead.",
        probes=study.probes(
            lambda: (
                Probe("requests come five times faster", ratio_of(study, "cello", "mwb", "mcd_all", time_scale=0.2)),
                Probe("popularity by Zipf's law with exponent 1.2", _skewed(study)),
            )
        ),
        shape_holds=all(ratio > 1 for ratio in ratios),
    )


def _skewed(study: Study) -> float:
    skewed = {"kind": "zipf", "exponent": 1.2, "regions": 6076, "shuffle": True, "align_bytes": 8 * KIB}
    return ratio_of(study, "cello", "mwb", "mcd_all", streams=cello_streams(skewed))


@hierarchy_experiment("hong2006.cost-performance-tpcd")
def cost_performance_tpcd(study: Study) -> Finding:
    """Find caches for the same money under TPC-D (Figure 9)."""
    load = LOADS["tpcd"]
    found = cost_curves(study)["tpcd"]
    line_bytes = 4 * KIB
    sizes = {ratio: int(CACHE_BYTES / ratio) // line_bytes * line_bytes for ratio in found.ratios}
    chosen = {"mcd_all": systems(load)["mcd_all"]}
    chosen |= {str(ratio): controlled(disk_ram(size)) for ratio, size in sizes.items()}
    of_systems = responses(study, load, chosen)
    by_seed = {ratio: of_systems[str(ratio)].over(of_systems["mcd_all"]) for ratio in sizes}
    orders = {order({"disk_ram": each, "mcd_all": 1.0}) for ratios in by_seed.values() for each in ratios}
    closest = max(max(ratios) for ratios in by_seed.values())
    return Finding(
        orders.pop() if len(orders) == 1 else ("depends on the price or the seed",),
        "256 MiB of MEMS against as much NVRAM as the same money buys, at one to ten times the price, each ratio and "
        f"each seed by itself; NVRAM's response over that of MEMS is {closest:.4f} at most. {said(study, 'tpcd')}",
        scenarios=shown(study, "tpcd", "mcd_all", "disk_ram"),
        curve=tuple(found.rows()),
        cause="TPC-D reads each segment once, so no cache helps, and the caching disk adds accesses.",
        probes=(Probe("on average over the seeds", _on_average(found)),),
    )


def _on_average(found: CostComparison) -> tuple[str, ...]:
    orders = {order({"disk_ram": each.mean_ms, "mcd_all": found.mems.mean_ms}) for each in found.nvram}
    return orders.pop() if len(orders) == 1 else ("depends on the price",)
