"""Hong et al. 2006, section 4: MEMS in the storage hierarchy, under all workloads and under TPC-C."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sledsim.runs import mean_interval
from sledsim.studies.cache_cost import RATIOS, CostComparison
from sledsim_papers.harness.finding import Finding, Interval, Ours, Probe, order
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.systems import (
    CACHE_BYTES,
    DISK,
    KIB,
    LABELS,
    LOADS,
    MIB,
    PROBED,
    Load,
    Response,
    controlled,
    cost_curve,
    disk_ram,
    hierarchy_experiment,
    mcd,
    responses,
    scenario,
    seeds_of,
    streams_of,
    systems,
)

__all__ = ["GROWS", "TWICE", "all_loads", "all_responses", "cost_curves", "tpcc_streams"]

#: Mean length of a scan of the stand-in for TPC-D: 480 requests of 320 KiB.
SCAN_BYTES = 480 * 320 * KIB

#: Prices that the trace is tried at beyond those of the figure, to find where its curve crosses.
WIDER_RATIOS = (*RATIOS, 12.0, 16.0, 24.0, 32.0)
#: Remark on hplajw: the paper calls its trace read-intensive and sequential; the public week is neither.
TRACE = "disk 0 of the public week of hplajw, which is not the paper's selection of that trace"
#: Prices that are enough to see where a curve crosses near that of the paper.
NEAR_RATIOS = (1.0, 2.0, 2.5, 3.0, 4.0)
SET_UP = (
    "controller's write-back cache of 4 MiB that waits for the dirty lines it evicts, Atlas 10K at 50 MB/s, first "
    "tenth of the requests as warm-up"
)


def all_responses(study: Study, load: str) -> dict[str, Response]:
    """Return the mean response of every architecture under a workload (Figure 8).

    Parameters
    ----------
    study
        What makes the runs.
    load
        Key of the workload.
    """
    return responses(study, LOADS[load], systems(LOADS[load]))


def cost_curves(study: Study) -> dict[str, CostComparison]:
    """Return the caches that cost the same for each workload (Figure 9), by the workload's key."""
    return {name: cost_curve(study, load) for name, load in LOADS.items()}


def said(study: Study, load: str) -> str:
    """Say what a workload is, and how much of it is run."""
    chosen = LOADS[load]
    if chosen.stand_in is None:
        return f"{TRACE} replayed; {SET_UP}"
    requests = study.requests(*chosen.requests)
    return f"{chosen.stand_in}, {requests:,} requests, {_said_seeds(study, chosen)}; {SET_UP}"


def _said_seeds(study: Study, load: Load) -> str:
    return f"seeds 1 to {seeds_of(study, load)[-1]}"


def all_loads(study: Study, names: Iterable[str] = LOADS) -> str:
    """Say what workloads are, and with which seeds.

    Parameters
    ----------
    study
        It says with how many.
    names
        Keys of the workloads.
    """
    loads = [LOADS[name] for name in names]
    made = [f"{load.stand_in} ({_said_seeds(study, load)})" for load in loads if load.stand_in]
    return ", ".join([*made, *(TRACE for load in loads if not load.stand_in)])


def paired(figures: Sequence[Sequence[float]], loads: Iterable[str] = ()) -> tuple[Interval, ...]:
    """Return intervals of figures that each have a value for every seed; none where one is that of a single seed.

    Parameters
    ----------
    figures
        For each figure its values by seed.
    loads
        For each figure its workload, where they have several: what comes of a trace is exact.
    """
    exact = [LOADS[load].stand_in is None for load in loads] or [False] * len(figures)
    if all(exact) or any(len(values) == 1 for values, is_exact in zip(figures, exact, strict=True) if not is_exact):
        return ()
    found = [mean_interval(values) if len(values) > 1 else None for values in figures]
    return tuple(each.ends if each else (values[0], values[0]) for each, values in zip(found, figures, strict=True))


def mean(values: Sequence[float]) -> float:
    """Return the mean over seeds."""
    return sum(values) / len(values)


def rows_of_means(found: Mapping[str, Response], **keys: Any) -> tuple[dict[str, Any], ...]:
    """Return a row for each architecture: name, mean response, interval."""
    return tuple(
        {
            **keys,
            "architecture": LABELS[name],
            "response_ms": each.mean_ms,
            "ci95_low_ms": each.interval.low if each.interval else None,
            "ci95_high_ms": each.interval.high if each.interval else None,
        }
        for name, each in found.items()
    )


def shown(study: Study, load: str, *names: str) -> tuple[dict[str, Any], ...]:
    """Return the scenarios of architectures with seed 1."""
    chosen = systems(LOADS[load])
    return tuple(scenario(study, LOADS[load], chosen[name]) for name in names)


def ratio_of(study: Study, load: str, above: str, below: str, **workload: Any) -> float:
    """Return the mean response of one architecture over another's, with keys of the workload changed; for a probe."""
    chosen = {name: systems(PROBED[load])[name] for name in (above, below)}
    return compared(responses(study, PROBED[load], chosen, **workload), above, below)


def compared(found: Mapping[str, Response], above: str, below: str) -> float:
    """Return one mean response over another."""
    return found[above].mean_ms / found[below].mean_ms


@hierarchy_experiment("hong2006.tpcd-mwb-equals-disk")
def tpcd_mwb(study: Study) -> Finding:
    """Compare the write buffer with the disk where nothing is written (Figure 8(a))."""
    found = all_responses(study, "tpcd")
    ratios = found["mwb"].over(found["disk"])
    return Finding(
        mean(ratios),
        said(study, "tpcd"),
        intervals=paired([ratios]),
        scenarios=shown(study, "tpcd", "mwb", "disk"),
        curve=rows_of_means(found),
    )


@hierarchy_experiment("hong2006.tpcd-mcd-penalty")
def tpcd_mcd(study: Study) -> Finding:
    """Compare the caching disk with the disk under a stream (Figure 8(a))."""
    found = all_responses(study, "tpcd")
    ratios = found["mcd_all"].over(found["disk"])

    def with_requests(size: int) -> float:
        # Scans stay as long as they are.
        scans = {"kind": "sequential", "run_requests": SCAN_BYTES / size}
        return ratio_of(study, "tpcd", "mcd_all", "disk", size_bytes={"kind": "fixed", "value": size}, location=scans)

    longer = {"mcd": controlled(mcd(512 * KIB, buffer_bytes=8 * MIB)), "disk": systems(PROBED["tpcd"])["disk"]}
    return Finding(
        mean(ratios),
        said(study, "tpcd"),
        intervals=paired([ratios]),
        scenarios=shown(study, "tpcd", "mcd_all", "disk"),
        curve=rows_of_means(found),
        cause="The caching disk divides a request of 256 or 384 KB into up to three accesses of the drive, whose "
        "read-ahead after each of them delays the next.",
        probes=study.probes(
            lambda: (
                Probe("a drive that does not read ahead", with_drive(study, read_ahead="none")),
                Probe("a drive with a buffer of 2 MB a segment", with_drive(study, segment_blocks=4096)),
                Probe("requests of 256 KB", with_requests(256 * KIB)),
                Probe("requests of 512 KB", with_requests(512 * KIB)),
                Probe(
                    "segments of 512 KB, buffer of 8 MB",
                    compared(responses(study, PROBED["tpcd"], longer), "mcd", "disk"),
                ),
            )
        ),
        shape_holds=all(ratio > 1 for ratio in ratios),
    )


def with_drive(study: Study, **values: Any) -> float:
    """Return the response of the caching disk over the disk's under TPC-D, with values of the drive changed."""
    load = PROBED["tpcd"]
    disk = {"device": {"name": DISK["device"], **values}}
    chosen = {"mcd": controlled({**mcd(load.segment_bytes), "disk": disk}), "disk": controlled(disk)}
    return compared(responses(study, load, chosen), "mcd", "disk")


@hierarchy_experiment("hong2006.cello-mwb-gain")
def cello_mwb(study: Study) -> Finding:
    """Compare the plain disk with the write buffer (Figure 8(c))."""
    found, two = all_responses(study, "cello"), ("disk", "mwb")
    gains = found["disk"].over(found["mwb"])

    def exposed() -> float:
        through = systems(PROBED["cello"], write="through")
        found = responses(study, PROBED["cello"], {name: through[name] for name in two})
        return compared(found, "disk", "mwb")

    return Finding(
        mean(gains),
        said(study, "cello"),
        decimals=2,
        intervals=paired([gains]),
        scenarios=shown(study, "cello", "disk", "mwb"),
        curve=rows_of_means(found),
        cause="At higher request rates the gain hardly changes until the disk alone is close to saturation.",
        probes=study.probes(
            lambda: (
                Probe("controller that writes through", exposed()),
                *(
                    Probe(
                        f"requests come {1 / scale:.0f} times faster", ratio_of(study, "cello", *two, time_scale=scale)
                    )
                    for scale in (0.2, 0.07, 0.06)
                ),
            )
        ),
        shape_holds=all(gain > 1 for gain in gains),
    )


@hierarchy_experiment("hong2006.cello-mcd-over-mwb", "mcd_all", "mwb", "disk")
@hierarchy_experiment("hong2006.cello-order", "mems", "disk_ram", "mcd_all")
def cello_order(study: Study, *names: str) -> Finding:
    """Order some architectures under cello (Figure 8(c))."""
    found = all_responses(study, "cello")
    return Finding(
        order({name: found[name].mean_ms for name in names}),
        said(study, "cello"),
        scenarios=shown(study, "cello", *names),
        curve=rows_of_means(found),
        cause="With a controller that skips dirty lines hardly a write waits, and the caching disk is ahead by the "
        "reads that it holds.",
    )


@hierarchy_experiment("hong2006.hplajw-mcd")
def hplajw_mcd(study: Study) -> Finding:
    """Mean response of the caching disk under hplajw (Figure 8(d))."""
    found = all_responses(study, "hplajw")
    around = found["mcd_all"].interval
    return Finding(
        found["mcd_all"].mean_ms,
        said(study, "hplajw"),
        intervals=(around.ends,) if around else (),
        scenarios=shown(study, "hplajw", "mcd_all"),
        curve=rows_of_means(found),
    )


@hierarchy_experiment("hong2006.hplajw-ram-lead")
def hplajw_ram_lead(study: Study) -> Finding:
    """MEMS alone over DISK-RAM under hplajw (Figure 8(d))."""
    found, load = all_responses(study, "hplajw"), LOADS["hplajw"]
    ratio = compared(found, "mems", "disk_ram")
    chosen = {name: systems(load)[name] for name in ("mems", "disk_ram")}
    return Finding(
        ratio,
        said(study, "hplajw"),
        scenarios=shown(study, "hplajw", "mems", "disk_ram"),
        curve=rows_of_means(found),
        cause="In a second replay of the same week RAM holds all that is read, and its lead is larger still.",
        probes=study.probes(
            lambda: (
                Probe(
                    "the week replayed twice, the first time as warm-up",
                    compared(responses(study, load, chosen, repeat=2), "mems", "disk_ram"),
                ),
            )
        ),
        shape_holds=ratio > 1,
    )


@hierarchy_experiment("hong2006.hplajw-order")
def hplajw_order(study: Study) -> Finding:
    """Order the architectures under hplajw (Figure 8(d))."""

    def ordered(found: Mapping[str, Response]) -> tuple[str, ...]:
        return order({name: found[name].mean_ms for name in ("disk_ram", "mems", "mcd_all", "mwb", "disk")})

    found = all_responses(study, "hplajw")
    return Finding(
        ordered(found),
        said(study, "hplajw"),
        scenarios=shown(study, "hplajw", "disk_ram", "mems"),
        curve=rows_of_means(found),
    )


@hierarchy_experiment("hong2006.techniques-gain")
def techniques_gain(study: Study) -> Finding:
    """Compute what shortcut, immediate report and partial write save together (section 4.2.1)."""
    found = {name: all_responses(study, name) for name in LOADS}
    gains = {name: saved(each["mcd_none"], each["mcd_all"]) for name, each in found.items()}
    stream = {"kind": "sequential", "run_requests": 600.0}
    pieces = {"size_bytes": {"kind": "fixed", "value": 256 * KIB}, "location": stream}
    small = {
        name: controlled(mcd(LOADS["hplajw"].segment_bytes, techniques=name == "mcd_all", mems_bytes=64 * MIB))
        for name in ("mcd_none", "mcd_all")
    }
    return Finding(
        tuple(mean(each) for each in gains.values()),
        f"{all_loads(study)}; {SET_UP}",
        intervals=paired(list(gains.values()), gains),
        scenarios=shown(study, "cello", "mcd_none", "mcd_all"),
        curve=tuple(row for name in LOADS for row in rows_of_means(found[name], workload=LOADS[name].label)),
        cause="Under cello the techniques save more than the paper says: without them a request that evicts a dirty "
        "line from the controller's cache waits for the disk.",
        probes=study.probes(
            lambda: (
                Probe("TPC-D, requests of 256 KB", 1 - ratio_of(study, "tpcd", "mcd_all", "mcd_none", **pieces)),
                Probe("cello, half as fast", 1 - ratio_of(study, "cello", "mcd_all", "mcd_none", time_scale=2.0)),
                Probe(
                    "hplajw, 64 MiB of MEMS",
                    1 - compared(responses(study, LOADS["hplajw"], small), "mcd_all", "mcd_none"),
                ),
            )
        ),
        shape_holds=all(gain > 0 for each in gains.values() for gain in each),
    )


def saved(slow: Response, fast: Response) -> tuple[float, ...]:
    """Return, for each seed, the share of a response time that a faster one saves."""
    return tuple(1 - ratio for ratio in fast.over(slow))


@hierarchy_experiment("hong2006.lru-lfuda")
def lru_lfuda(study: Study) -> Finding:
    """Compare LFUDA with LRU in the caching disk (section 4.2.2)."""
    figures, rows = {}, []
    for name, load in LOADS.items():
        found = responses(study, load, policies(load))
        figures[name] = found["lfuda"].over(found["lru"])
        for policy, response in found.items():
            rows.append({"workload": load.label, "policy": policy, "response_ms": response.mean_ms})
    ours = {name: mean(each) for name, each in figures.items()}

    def cello_at(location: Mapping[str, Any]) -> tuple[float, ...]:
        moved = responses(study, PROBED["cello"], policies(PROBED["cello"]), streams=cello_streams(location))
        return tuple({**ours, "cello": compared(moved, "lfuda", "lru")}.values())

    walk = {"kind": "local-walk", "scale_bytes": 1e6}
    return Finding(
        tuple(ours.values()),
        f"MCD with all techniques; {all_loads(study)}; {SET_UP}",
        intervals=paired([*figures.values()], LOADS),
        scenarios=shown(study, "tpcc", "mcd_all"),
        curve=tuple(rows),
        cause="LFUDA has no advantage where all addresses are equally popular, or where each request is near the "
        "previous one.",
        probes=study.probes(
            lambda: (
                Probe("cello, all places as likely", cello_at({"kind": "uniform", "align_bytes": 8 * KIB})),
                Probe("cello, each stream a random walk in steps of 1 MB", cello_at(walk)),
            )
        ),
    )


def policies(load: Load) -> dict[str, dict[str, Any]]:
    """Return the caching disk under a controller with each of the two policies."""
    aged = mcd(load.segment_bytes, policy={"name": "lfuda"})
    return {"lru": systems(load)["mcd_all"], "lfuda": controlled(aged)}


def cello_streams(location: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the streams of the stand-in for cello, with their places drawn in another way."""
    return [{**stream, "location": dict(location)} for stream in streams_of("cello")]


@hierarchy_experiment("hong2006.ram-advantage")
def ram_advantage(study: Study) -> Finding:
    """Compute what RAM of the same size saves over the caching disk (section 4.3)."""
    found = {name: all_responses(study, name) for name in LOADS}
    figures = [saved(each["mcd_all"], each["disk_ram"]) for each in found.values()]
    return Finding(
        tuple(mean(each) for each in figures),
        f"{all_loads(study)}; {SET_UP}",
        intervals=paired(figures, LOADS),
        scenarios=shown(study, "tpcc", "disk_ram", "mcd_all"),
        shape_holds=all(figure > 0 for each in figures for figure in each),
        curve=tuple(row for name in LOADS for row in rows_of_means(found[name], workload=LOADS[name].label)),
    )


@hierarchy_experiment("hong2006.cost-performance")
def cost_performance(study: Study) -> Finding:
    """Find the ratio of prices above which MEMS is the better cache (Figure 9)."""
    found = cost_curves(study)
    hplajw = LOADS["hplajw"]
    wider = found | {"hplajw": cost_curve(study, hplajw, ratios=WIDER_RATIOS)}
    crossed = {name: crossing(wider[name]) for name in ("tpcc", "cello", "hplajw")}

    def smaller(size: int) -> float:
        return crossing(cost_curve(study, hplajw, size * MIB, WIDER_RATIOS))

    def cello_with(**workload: Any) -> float:
        return crossing(cost_curve(study, PROBED["cello"], ratios=NEAR_RATIOS, **workload))

    skewed = {"kind": "zipf", "exponent": 1.2, "regions": 6076, "shuffle": True, "align_bytes": 8 * KIB}
    rows = [{"workload": LOADS[name].label, **row} for name, each in found.items() for row in each.rows()]
    keys = ("workload", "ratio", "bytes", "mean_ms", "over_mems")
    return Finding(
        tuple(crossed.values()),
        "256 MiB of MEMS against as much NVRAM as the same money buys, at one to ten times the price per byte (under "
        f"hplajw to 32 times); {all_loads(study)}; {SET_UP}",
        decimals=2,
        intervals=_crossing_intervals(wider),
        scenarios=shown(study, "tpcc", "mcd_all", "disk_ram"),
        curve=tuple({key: row[key] for key in keys} for row in rows),
        cause="With a quarter of the MEMS, in which the week does not fit, the curves of hplajw cross at a third of "
        "the price.",
        probes=study.probes(
            lambda: (
                *(Probe(f"hplajw, {size} MiB of MEMS", smaller(size)) for size in (64, 32)),
                Probe("cello, popularity by Zipf's law with exponent 1.2", cello_with(streams=cello_streams(skewed))),
                Probe("cello, twice as fast", cello_with(time_scale=0.5)),
            )
        ),
        shape_holds=all(_behind_then_ahead(found[name]) for name in ("tpcc", "cello", "hplajw")),
    )


def crossing(found: CostComparison) -> float:
    """Return the ratio from which on MEMS is faster; the last one that was tried where it is at none."""
    return found.ratios[-1] if found.crossover is None else found.crossover


def _behind_then_ahead(found: CostComparison) -> bool:
    """Compare MEMS with NVRAM of the same and of the highest price."""
    equal, dearest = found.nvram[0].mean_ms, found.nvram[-1].mean_ms
    return bool(equal < found.mems.mean_ms < dearest)


def _crossing_intervals(found: Mapping[str, CostComparison]) -> tuple[Interval, ...]:
    """Return where the crossings of the stand-ins lie; that of the trace is exact."""
    intervals = []
    for name in ("tpcc", "cello", "hplajw"):
        between = found[name].crossover_interval
        if between is None and name != "hplajw":
            return ()
        exact = crossing(found[name])
        intervals.append((between.low, between.high) if between else (exact, exact))
    return tuple(intervals)


#: A disk as large as that of the paper which answers at once.
AT_ONCE: dict[str, Any] = {"device": {"name": "simpledisk-constant", "access_ms": 0.0, "capacity_blocks": 17_938_986}}
#: The architectures of which the paper says it.
CACHED = ("mcd_all", "disk_ram")
#: Size of the caches of a probe.
SMALL_BYTES = 32 * MIB


def _at_once(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return a system whose disk takes no time."""
    if system == DISK:
        return AT_ONCE
    return {key: _at_once(value) if isinstance(value, Mapping) else value for key, value in system.items()}


def _shares(study: Study, load: Load, chosen: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Return, for each seed, the share of the responses of systems that goes where the disk takes no time."""
    found = responses(study, load, chosen)
    without = responses(study, load, {name: _at_once(system) for name, system in chosen.items()})
    return {name: saved(found[name], without[name]) for name in chosen}


def _small_shares(study: Study) -> tuple[float, ...]:
    """Return the shares with smaller caches."""
    return tuple(mean(found) for load in PROBED.values() for found in _shares(study, load, _small(load)).values())


def _small(load: Load) -> dict[str, dict[str, Any]]:
    """Return the architectures with smaller caches."""
    small = mcd(load.segment_bytes, mems_bytes=SMALL_BYTES)
    return {"mcd_all": controlled(small), "disk_ram": controlled(disk_ram(SMALL_BYTES))}


@hierarchy_experiment("hong2006.disk-latency-dominates")
def disk_latency(study: Study) -> Finding:
    """Responses with the disk over those without its time (section 4.3)."""
    shares = {
        (load, name): found
        for load in LOADS
        for name, found in _shares(study, LOADS[load], {each: systems(LOADS[load])[each] for each in CACHED}).items()
    }
    rows = tuple(
        {
            "workload": LOADS[load].label,
            "architecture": LABELS[name],
            "response, ms": all_responses(study, load)[name].mean_ms,
            "share at the disk": mean(found),
        }
        for (load, name), found in shares.items()
    )
    return Finding(
        tuple(map(mean, shares.values())),
        "Share of the mean response that goes where a disk that takes no time stands in the disk's place, so that "
        f"waiting for it goes, too: {CACHE_BYTES // MIB} MiB of MEMS, then of RAM, under each of {all_loads(study)}; "
        f"{SET_UP}",
        intervals=paired(list(shares.values()), (load for load, _ in shares)),
        scenarios=tuple(each for load in LOADS for each in shown(study, load, *CACHED)),
        curve=rows,
        cause=f"With caches of {SMALL_BYTES // MIB} MiB, which do not hold the week, the disk takes a larger share of "
        "its responses.",
        probes=study.probes(lambda: (Probe(f"caches of {SMALL_BYTES // MIB} MiB", _small_shares(study)),)),
    )


#: Column for the ratio of the mean responses with twice and with all requests.
TWICE = "with twice the requests, times as long"

#: Twice the requests make the mean response so much longer where a load can't be carried.
GROWS = 1.5
#: Architectures that may saturate.
SATURABLE = ("mwb", "disk")


def tpcc_streams(tables: Mapping[str, Any], rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the two streams of the stand-in with keys of theirs changed.

    Parameters
    ----------
    tables, rows
        Keys of the location among tables that are read, and among rows that are changed.
    """
    return [
        {**stream, "location": {**stream["location"], **changed}}
        for stream, changed in zip(streams_of("tpcc"), (tables, rows), strict=True)
    ]


def _growth(study: Study, load: Load, chosen: Mapping[str, Mapping[str, Any]], **workload: Any) -> dict[str, float]:
    """Return by how much longer the mean response of systems is with a run twice as long."""
    full, quick = load.requests
    twice = replace(load, requests=(2 * full, 2 * quick))
    short, long = (responses(study, each, chosen, **workload) for each in (load, twice))
    return {name: long[name].mean_ms / short[name].mean_ms for name in chosen}


def _saturated(growth: Mapping[str, float]) -> list[str]:
    return [name for name, ratio in growth.items() if ratio >= GROWS]


@hierarchy_experiment("hong2006.tpcc-order")
def tpcc_order(study: Study) -> Finding:
    """Order all architectures under TPC-C (Figure 8(b))."""
    found, load = all_responses(study, "tpcc"), LOADS["tpcc"]
    growth = _growth(study, load, {name: systems(load)[name] for name in SATURABLE})
    said_growth = ", ".join(f"{LABELS[name]} {ratio:.2f} times" for name, ratio in growth.items())
    return Finding(
        order({name: each.mean_ms for name, each in found.items()}, saturated=_saturated(growth)),
        f"{said(study, 'tpcc')}. With twice as many requests mean responses are longer: {said_growth}; what takes "
        f"{GROWS} times as long or more can't keep up",
        scenarios=shown(study, "tpcc", "mcd_all", "mwb"),
        curve=tuple({**row, TWICE: growth.get(name)} for name, row in zip(found, rows_of_means(found), strict=True)),
        cause=f"With MWB the disk is close to saturation: the mean response is {found['mwb'].mean_ms:.0f} ms, against "
        f"{found['mcd_all'].mean_ms:.1f} ms of MCD ALL, and in a run twice as long it is "
        f"{growth['mwb']:.2f} times as long.",
    )


def _mean_probes(study: Study, figure: Callable[[float, float], float]) -> tuple[Probe, ...]:
    """Return a figure of the responses with all and with no techniques where TPC-C or the controller is changed."""
    load = PROBED["tpcc"]

    def found(controller: Mapping[str, Any] | None = None, **workload: Any) -> Ours:
        built = systems(load, **(controller or {}))
        means = responses(study, load, {name: built[name] for name in ("mcd_all", "mcd_none")}, **workload)
        return figure(means["mcd_all"].mean_ms, means["mcd_none"].mean_ms)

    return (
        Probe("tables less skewed (Zipf 0.8)", found(streams=tpcc_streams({"exponent": 0.8}, {}))),
        Probe("rows more skewed (Zipf 1.3)", found(streams=tpcc_streams({}, {"exponent": 1.3}))),
        Probe("controller that writes through", found({"write": "through"})),
    )


CAUSE = (
    "The skew of reads decides how many requests miss the cache, and the skew of writes decides how many of these "
    "wait until a changed segment is evicted."
)


@hierarchy_experiment("hong2006.tpcc-mcd-all", "mcd_all")
@hierarchy_experiment("hong2006.tpcc-mcd-none", "mcd_none")
def mean_response(study: Study, name: str) -> Finding:
    """Find the caching disk under TPC-C (Figure 8(b))."""
    found = all_responses(study, "tpcc")[name]
    return Finding(
        found.mean_ms,
        said(study, "tpcc"),
        decimals=2,
        intervals=(found.interval.ends,) if found.interval else (),
        scenarios=shown(study, "tpcc", name),
        cause=CAUSE,
        probes=study.probes(
            lambda: _mean_probes(study, lambda with_all, without: with_all if name == "mcd_all" else without)
        ),
    )


@hierarchy_experiment("hong2006.tpcc-techniques-gain")
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
        cause="Immediate report spares a miss this wait; with more skewed writes fewer of the evicted segments are "
        "changed, and the techniques save less.",
        probes=study.probes(lambda: _mean_probes(study, lambda with_all, without: 1 - with_all / without)),
        shape_holds=all(gain > 0 for gain in gains),
    )
