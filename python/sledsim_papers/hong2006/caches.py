"""Experiments for the claims of hong2006 on a caching disk's techniques, segments and size (section 4)."""

from collections.abc import Callable
from typing import Any

from sledsim_papers.harness.finding import Finding, Ours, Probe, order, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.hierarchies import (
    SET_UP,
    all_responses,
    cost_curves,
    mean,
    paired,
    rows_of_means,
    said,
    saved,
    shown,
)
from sledsim_papers.hong2006.systems import CACHE_BYTES, KIB, LOADS, MIB, controlled, mcd, responses, scenario

__all__: list[str] = []

TECHNIQUES = ("shortcut", "immediate_report", "partial_write")
#: Segments that the trends go through.
SEGMENTS = tuple(KIB * size for size in (8, 32, 128, 256))
#: Sizes of the MEMS that the trends go through.
SIZES = tuple(MIB * size for size in (64, 128, 256, 512))


def _alone(study: Study, load: str, technique: str) -> float:
    """Return the share of the response that one technique saves by itself."""
    switches = {name: name == technique for name in TECHNIQUES}
    chosen = LOADS[load]
    only = controlled(mcd(chosen.segment_bytes) | switches)
    [found] = responses(study, chosen, {technique: only}).values()
    none = all_responses(study, load)["mcd_none"]
    return mean(saved(none, found))


@experiment("hong2006.immediate-report-workloads", "immediate_report", "tpcc", "cello", "tpcd")
@experiment("hong2006.partial-write-workloads", "partial_write", "cello", "tpcd")
@experiment("hong2006.shortcut-workloads", "shortcut", *LOADS)
def by_technique(study: Study, technique: str, *loads: str) -> Finding:
    """One technique by itself (section 4.2.1)."""
    gains = {load: _alone(study, load, technique) for load in loads}
    said_gains = ", ".join(f"{LOADS[load].label} {gain:.3f}" for load, gain in gains.items())
    spared_ms = {load: gain * all_responses(study, load)["mcd_none"].mean_ms for load, gain in gains.items()}
    switches = {name: name == technique for name in TECHNIQUES}
    scenarios = tuple(
        scenario(study, LOADS[load], controlled(mcd(LOADS[load].segment_bytes) | switches)) for load in loads
    )
    return Finding(
        order({load: -gain for load, gain in gains.items()}),
        f"The caching disk with {technique.replace('_', ' ')} alone, against that with no technique: share of the mean "
        f"response saved, {said_gains}; {SET_UP}",
        scenarios=scenarios,
        curve=tuple(
            {"workload": LOADS[load].label, "share saved": gain, "saved, ms": spared_ms[load]}
            for load, gain in gains.items()
        ),
        cause="A share says little of how much the disk has to do with a response: under hplajw hardly any request "
        "misses, and "
        "what it saves of a short response is a large share. In milliseconds the two with much disk reading gain most.",
        probes=(Probe("by the milliseconds saved", order({load: -each for load, each in spared_ms.items()})),),
    )


def _by_segment(study: Study, load: str) -> dict[int, float]:
    """Return the mean response of the caching disk by the size of its segments, ms."""
    chosen = {str(size): controlled(mcd(size)) for size in SEGMENTS}
    found = responses(study, LOADS[load], chosen)
    return {size: found[str(size)].mean_ms for size in SEGMENTS}


@experiment("hong2006.segment-size-tpcd", "tpcd")
@experiment("hong2006.segment-size-tpcc", "tpcc")
@experiment("hong2006.segment-size-cello", "cello")
def segments(study: Study, load: str) -> Finding:
    """Segments under a workload (section 4.2.3)."""
    means = _by_segment(study, load)
    rows = tuple({"segment, KiB": size // KIB, "mean response, ms": value} for size, value in means.items())
    ends = tuple(scenario(study, LOADS[load], controlled(mcd(size))) for size in (SEGMENTS[0], SEGMENTS[-1]))
    said_means = ", ".join(f"{value:.2f}" for value in means.values())
    return Finding(
        trend(list(means.values())),
        f"The caching disk with all techniques and segments of 8, 32, 128 and 256 KiB: {said_means} ms. "
        f"{said(study, load)}",
        scenarios=ends,
        curve=rows,
        cause="From 8 to 32 KiB responses get a little shorter: the stand-in asks for neighbours of what it asked "
        "for before, "
        "which longer segments bring along. From there on they get longer, as the disk moves more than is wanted.",
        probes=(Probe("from 32 KiB on", trend(list(means.values())[1:])),),
    )


@experiment("hong2006.segment-sensitivity")
def segment_sensitivity(study: Study) -> Finding:
    """Longest over shortest mean response (section 4.3)."""
    spread = {}
    for load in LOADS:
        means = list(_by_segment(study, load).values())
        spread[load] = max(means) / min(means)
    said_spread = ", ".join(f"{LOADS[load].label} {value:.2f}" for load, value in spread.items())
    ends = tuple(scenario(study, LOADS["tpcc"], controlled(mcd(size))) for size in (SEGMENTS[0], SEGMENTS[-1]))
    return Finding(
        order({load: -value for load, value in spread.items()}),
        f"The caching disk with all techniques and segments of 8, 32, 128 and 256 KiB: longest over shortest mean "
        f"response, {said_spread}; {SET_UP}",
        scenarios=ends,
        curve=tuple({"workload": LOADS[load].label, "longest over shortest": value} for load, value in spread.items()),
    )


@experiment("hong2006.mems-size")
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
        f"The caching disk with all techniques and 64, 128, 256 and 512 MiB of MEMS: {said_signs}. {SET_UP}",
        scenarios=sized,
        cause="What the user of hplajw works with in a week fits 64 MiB: more holds nothing more.",
        probes=tuple(Probe(f"{LOADS[name].label} alone", sign) for name, sign in signs.items()),
    )


@experiment("hong2006.mcd-half-of-mems")
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
        f"Mean response of MEMS storage over that of the caching disk: {said_ratios}. The greatest is that of "
        f"{said(study, best)}",
        intervals=paired([found["mems"].over(found["mcd_all"])]),
        scenarios=shown(study, best, "mems", "mcd_all"),
        cause="The week of hplajw fits the cache, so that nearly all of its requests are served by MEMS, and the "
        "larger MEMS storage behind the controller has nothing to be faster with.",
        probes=tuple(Probe(f"{LOADS[load].label} alone", value) for load, value in ratios.items() if load != best),
        shape_holds=all(_between(study, load) for load in ("tpcc", "cello", "hplajw")),
    )


def _between(study: Study, load: str) -> bool:
    found = all_responses(study, load)
    return found["mems"].mean_ms < found["mcd_all"].mean_ms < found["disk"].mean_ms


@experiment("hong2006.tpcd-order")
def tpcd_order(study: Study) -> Finding:
    """All architectures under TPC-D (Figure 8(a))."""
    found = all_responses(study, "tpcd")
    return Finding(
        order({name: each.mean_ms for name, each in found.items()}),
        said(study, "tpcd"),
        scenarios=shown(study, "tpcd", "disk_ram", "mcd_all"),
        curve=rows_of_means(found),
    )


FASTER = 2 / 3


def _tpcc_probes(study: Study, figure: Callable[[float, float], float]) -> tuple[Probe, ...]:
    """Return a figure of the responses with all and with no techniques where TPC-C is changed."""
    load = LOADS["tpcc"]

    def means_ms(mems_bytes: int, **workload: Any) -> tuple[float, float]:
        chosen = {
            str(on): controlled(mcd(load.segment_bytes, techniques=on, mems_bytes=mems_bytes)) for on in (True, False)
        }
        found = responses(study, load, chosen, **workload)
        return found["True"].mean_ms, found["False"].mean_ms

    return (
        Probe("requests come half as fast again", figure(*means_ms(CACHE_BYTES, time_scale=FASTER))),
        Probe("128 MiB of MEMS", figure(*means_ms(SIZES[1]))),
    )


TPCC_CAUSE = (
    "The response hangs on how many requests miss the cache and on how long the disk's queue is then: a smaller "
    "cache, or a "
    "faster workload, gives any response. The stand-in's rate and locality were set so that the paper's lie near."
)


@experiment("hong2006.tpcc-mcd-all", "tpcc", "mcd_all")
@experiment("hong2006.tpcc-mcd-none", "tpcc", "mcd_none")
def mean_response(study: Study, load: str, name: str) -> Finding:
    """Find the caching disk under a workload (Figure 8)."""
    found = all_responses(study, load)[name]
    return Finding(
        found.mean_ms,
        said(study, load),
        decimals=2,
        intervals=(found.interval.ends,) if found.interval else (),
        scenarios=shown(study, load, name),
        cause=TPCC_CAUSE,
        probes=_tpcc_probes(study, lambda with_all, without: with_all if name == "mcd_all" else without),
    )


@experiment("hong2006.tpcc-techniques-gain")
def tpcc_techniques_gain(study: Study) -> Finding:
    """Find what all techniques save under TPC-C (Figure 8(b))."""
    found = all_responses(study, "tpcc")
    gains = saved(found["mcd_none"], found["mcd_all"])
    return Finding(
        mean(gains),
        said(study, "tpcc"),
        intervals=paired([gains]),
        scenarios=shown(study, "tpcc", "mcd_none", "mcd_all"),
        curve=rows_of_means(found),
        cause=TPCC_CAUSE + " What the techniques save at the disk shortens its queue as well.",
        probes=_tpcc_probes(study, lambda with_all, without: 1 - with_all / without),
        shape_holds=all(gain > 0 for gain in gains),
    )


@experiment("hong2006.cello-mcd-over-mwb-factor")
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
        cause="Reads that miss wait for the disk with either; how many of them the cache holds is decided by how even "
        "the stand-in's popularities are.",
        probes=(Probe("64 MiB of MEMS in the caching disk", _small_cache(study)),),
        shape_holds=all(ratio > 1 for ratio in ratios),
    )


def _small_cache(study: Study) -> float:
    load = LOADS["cello"]
    system = controlled(mcd(load.segment_bytes, mems_bytes=SIZES[0]))
    [small] = responses(study, load, {"small": system}).values()
    return mean(all_responses(study, "cello")["mwb"].over(small))


@experiment("hong2006.cost-performance-tpcd")
def cost_performance_tpcd(study: Study) -> Finding:
    """Find caches for the same money under TPC-D (Figure 9)."""
    found = cost_curves(study)["tpcd"]
    orders = {order({"disk_ram": each.mean_ms, "mcd_all": found.mems.mean_ms}) for each in found.nvram}
    return Finding(
        orders.pop() if len(orders) == 1 else ("depends on the price",),
        f"256 MiB of MEMS against as much NVRAM as the same money buys, at one to ten times the price. "
        f"{said(study, 'tpcd')}",
        scenarios=shown(study, "tpcd", "mcd_all", "disk_ram"),
        curve=tuple(found.rows()),
    )
