"""The architectures, workloads and shared runs of section 4 of hong2006.

Every architecture stands under the controller's volatile write-back cache of 4 MiB (section 4.2). The paper says no
more of it. It ran DiskSim, whose example of such a cache (``synthcachemem.parv``) has lines of 32 KiB, writes dirty
blocks only when their line is evicted, and makes the request that evicts it wait. :data:`CONTROLLER` is that cache, for
all claims; :func:`hierarchy_experiment` adds the figures with the other choice as a probe of each claim.

Disks and MEMS devices serve in the order of arrival; caches and buffers have the sizes of the paper, which are their
components' defaults. The paper does not say how long its runs are, nor what they leave out: here the first tenth of the
requests warms up the caches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from sledsim.runs import Interval, Result
from sledsim.studies.cache_cost import RATIOS, CachedDisk, CostComparison, mean_response
from sledsim.traces import open_trace
from sledsim.workloads import workload_entry
from sledsim_papers.harness.averaging import SEEDS
from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import Experimenter, experiment
from sledsim_papers.harness.settings import Settings
from sledsim_papers.harness.study import Study

__all__ = [
    "ARCHITECTURES",
    "CACHE_BYTES",
    "CONTROLLER",
    "KIB",
    "LABELS",
    "LOADS",
    "MIB",
    "PROBED",
    "Load",
    "Response",
    "cost_curve",
    "counts",
    "disk_ram",
    "hierarchy_experiment",
    "mcd",
    "responses",
    "results",
    "scenario",
    "seeds_of",
    "streams_of",
    "systems",
]

KIB, MIB = 1 << 10, 1 << 20
#: Size of the MEMS and of the RAM cache (section 4.2).
CACHE_BYTES = 256 * MIB
#: The controller's cache.
CONTROLLER: dict[str, Any] = {
    "bytes": 4 * MIB,
    "line_bytes": 32 * KIB,
    "eviction": "wait",
    "flush": {"demand_only": True},
}
#: The other choice, and the settings that make it.
OTHER_CONTROLLER = (
    "controller's cache with lines of 4 KiB, passed over while dirty and written after 50 ms without a request"
)
OTHER_SETTINGS = (
    f"system.line_bytes={4 * KIB}",
    "system.eviction=skip",
    "system.flush.demand_only=false",
    "system.flush.idle_ms=50.0",
)
LOG_BYTES = 128 * KIB
DISK = {"device": "atlas10k-50mb"}
#: The MEMS device, whose command overhead the paper does not name.
MEMS: dict[str, Any] = {"device": {"name": "hong2006", "overhead_ms": 0.0}}
#: The disk of the trace that is replayed; it has 95 % of the requests, and the other one's addresses are the same.
TRACED_DISK = 0
#: Share of the requests that warms up the caches.
WARM_UP = 0.1
#: Seeds of a full study.
FULL_SEEDS = 5
#: The architectures, with their names in Figure 8.
LABELS = {
    "disk": "DISK",
    "mems": "MEMS",
    "disk_ram": "DISK-RAM",
    "mwb": "MWB",
    "mcd_none": "MCD NONE",
    "mcd_all": "MCD ALL",
}
ARCHITECTURES = tuple(LABELS)


@dataclass(frozen=True)
class Load:
    """A workload of section 4.2.

    Parameters
    ----------
    label
        As the paper calls it.
    stand_in
        Workload of the catalogue; ``None`` for the trace.
    segment_bytes
        Segment of the caching disk (section 4.3).
    requests
        Sample sizes, in full and quick; of the trace everything is replayed.
    seeds
        How many seeds a full study runs it with; 1 for the trace, which is the same with all.
    quick_seeds
        How many a quick one does: 3 or more with a stand-in, of which a figure is not to hang on one seed.
    """

    label: str
    stand_in: str | None
    segment_bytes: int
    requests: tuple[int, int] = (0, 0)
    seeds: int = FULL_SEEDS
    quick_seeds: int = len(SEEDS)


# The day of cello is not cut short for a quick study: until the caches are full it is another workload.
LOADS = {
    "tpcd": Load("TPC-D", "tpcd-like", 256 * KIB, (20_000, 3_000), quick_seeds=FULL_SEEDS),
    "tpcc": Load("TPC-C", "tpcc-like", 8 * KIB, (300_000, 120_000)),
    "cello": Load("cello", "cello-like", 8 * KIB, (466_560, 466_560)),
    "hplajw": Load("hplajw", None, 64 * KIB, seeds=1, quick_seeds=1),
}
#: The same for changes to the model that only have to show where a figure moves.
PROBED = {
    "tpcd": replace(LOADS["tpcd"], requests=(3_000, 3_000), seeds=len(SEEDS), quick_seeds=len(SEEDS)),
    "tpcc": replace(LOADS["tpcc"], requests=(200_000, 200_000), seeds=len(SEEDS), quick_seeds=len(SEEDS)),
    "cello": replace(LOADS["cello"], requests=(250_000, 120_000), seeds=len(SEEDS), quick_seeds=len(SEEDS)),
    "hplajw": LOADS["hplajw"],
}


@dataclass(frozen=True)
class Response:
    """The mean response time of an architecture.

    Parameters
    ----------
    means_ms
        For each seed; for a trace there is one.
    interval
        Where the mean lies with a confidence of 95 %: over the seeds where there are several, else that of the run, if
        it has one.
    """

    means_ms: tuple[float, ...]
    interval: Interval | None

    @property
    def mean_ms(self) -> float:
        """The mean of these means."""
        return sum(self.means_ms) / len(self.means_ms)

    def over(self, other: "Response") -> tuple[float, ...]:
        """Return, for each seed, this mean over another's with the same requests."""
        return tuple(mine / theirs for mine, theirs in zip(self.means_ms, other.means_ms, strict=True))


def controlled(system: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a system under the controller's cache.

    Parameters
    ----------
    system
        The component below.
    keys
        Of the cache, such as ``write``.
    """
    settings = {**CONTROLLER, **keys}
    if settings.get("write") == "through":
        # No line is dirty then.
        del settings["eviction"], settings["flush"]
    return {"kind": "ram-cache", **settings, "child": dict(system)}


def hierarchy_experiment(name: str, *given: Any, **named: Any) -> Callable[[Experimenter], Experimenter]:
    """Register the experiment of a claim of section 4, with the figures under the other controller's cache as a probe.

    Parameters
    ----------
    name, *given, **named
        As for :func:`~sledsim_papers.harness.registry.experiment`.
    """

    def register(function: Experimenter) -> Experimenter:
        @wraps(function)
        def beside(study: Study, *given: Any, **named: Any) -> Finding:
            found = function(study, *given, **named)

            def other() -> tuple[Probe, ...]:
                own = study.settings.settings if study.settings else ()
                changed = study.changed(Settings((*OTHER_SETTINGS, *own))).unprobed()
                return (Probe(OTHER_CONTROLLER, function(changed, *given, **named).ours),)

            return replace(found, probes=(*found.probes, *study.probes(other)))

        experiment(name, *given, **named)(beside)
        return function

    return register


def disk_ram(nvram_bytes: int = CACHE_BYTES) -> dict[str, Any]:
    """Return the disk with a cache of non-volatile RAM of a size, without a controller."""
    return {"kind": "ram-cache", "bytes": nvram_bytes, "volatile": False, "child": DISK}


def mcd(segment_bytes: int, *, techniques: bool = True, mems_bytes: int = CACHE_BYTES, **keys: Any) -> dict[str, Any]:
    """Return a MEMS caching disk, without a controller.

    Parameters
    ----------
    segment_bytes
        Its segments.
    techniques
        Whether shortcut, immediate report and partial write are on.
    mems_bytes
        Size of its MEMS.
    keys
        Further keys.
    """
    switches = dict.fromkeys(("shortcut", "immediate_report", "partial_write"), techniques)
    sizes = {"mems_bytes": mems_bytes, "segment_bytes": segment_bytes}
    return {"kind": "mcd", "mems": MEMS, "disk": DISK, **sizes, **switches, **keys}


def systems(load: Load, **controller: Any) -> dict[str, dict[str, Any]]:
    """Return the architectures for a workload.

    Parameters
    ----------
    load
        The workload.
    controller
        Keys of the controller's cache.
    """
    bare: dict[str, dict[str, Any]] = {
        "disk": DISK,
        "mems": {"kind": "concat", "members": [{"count": 3, **MEMS}]},
        "disk_ram": disk_ram(),
        "mwb": {
            "kind": "mwb",
            "mems": MEMS,
            "disk": DISK,
            "mems_bytes": CACHE_BYTES,
            "log_bytes": LOG_BYTES,
        },
        "mcd_none": mcd(load.segment_bytes, techniques=False),
        "mcd_all": mcd(load.segment_bytes),
    }
    return {name: controlled(system, **controller) for name, system in bare.items()}


def streams_of(load: str) -> list[dict[str, Any]]:
    """Return the streams of the stand-in for a workload."""
    streams: list[dict[str, Any]] = workload_entry(str(LOADS[load].stand_in)).values["streams"]["value"]
    return streams


def seeds_of(study: Study, load: Load) -> Sequence[int]:
    """Return the seeds that a workload is run with."""
    return range(1, 1 + (load.quick_seeds if study.quick else load.seeds))


def scenario(study: Study, load: Load, system: Mapping[str, Any], seed: int = 1, **workload: Any) -> dict[str, Any]:
    """Return the scenario of a workload on a system.

    Parameters
    ----------
    study
        It says how many requests, and where the trace is.
    load, system
        What is asked of what.
    seed
        The seed.
    workload
        Keys of the workload that are changed.
    """
    if load.stand_in is not None:
        requests = study.requests(*load.requests)
        run = {"requests": requests, "warmup_requests": int(WARM_UP * requests)}
        return {"seed": seed, "workload": {"name": load.stand_in, **workload}, "system": dict(system), "run": run}
    path = study.trace("hplajw")
    times = workload.get("repeat", 1)
    records = study.once("hong2006 hplajw records", lambda _: _records(str(path)))
    # Of a trace that is replayed several times the last time alone counts.
    warm = {"warmup_requests": int(WARM_UP * records) if times == 1 else (times - 1) * records}
    replayed = {"kind": "trace", "path": str(path), "devices": [TRACED_DISK], **workload}
    return {"seed": seed, "workload": replayed, "system": dict(system), "run": warm}


def _records(path: str) -> int:
    """Count the requests of the trace that are replayed."""
    return sum(int((batch["device"] == TRACED_DISK).sum()) for batch in open_trace(path))


def responses(
    study: Study, load: Load, chosen: Mapping[str, Mapping[str, Any]], **workload: Any
) -> dict[str, Response]:
    """Run systems under a workload with every seed.

    Parameters
    ----------
    study
        What makes the runs.
    load
        The workload.
    chosen
        Systems by name.
    workload
        Keys of the workload that are changed.
    """
    found = results(study, load, chosen, **workload)
    return {name: Response(*mean_response(results)) for name, results in found.items()}


def cost_curve(
    study: Study, load: Load, cache_bytes: int = CACHE_BYTES, ratios: Sequence[float] = RATIOS, **workload: Any
) -> CostComparison:
    """Compare caches for the same money under a workload, as Figure 9 does.

    Parameters
    ----------
    study
        What makes the runs.
    load
        The workload.
    cache_bytes
        Size of the MEMS cache.
    ratios
        What NVRAM costs per byte over what MEMS costs.
    workload
        Keys of the workload that are changed.
    """
    line_bytes = 4 * KIB
    sizes = [int(cache_bytes / ratio) // line_bytes * line_bytes for ratio in ratios]
    chosen = {"mems": controlled(mcd(load.segment_bytes, mems_bytes=cache_bytes))}
    chosen |= {str(ratio): controlled(disk_ram(size)) for ratio, size in zip(ratios, sizes, strict=True)}
    found = results(study, load, chosen, **workload)
    nvram = [CachedDisk.of("NVRAM", size, ratio, found[str(ratio)]) for ratio, size in zip(ratios, sizes, strict=True)]
    return CostComparison(CachedDisk.of("MEMS", cache_bytes, 1.0, found["mems"]), nvram, load.label, load.stand_in)


def results(
    study: Study, load: Load, chosen: Mapping[str, Mapping[str, Any]], **workload: Any
) -> dict[str, list[Result]]:
    """Return the runs of each system, one for each seed; parameters as for :func:`responses`."""
    seeds = seeds_of(study, load)
    wanted = [scenario(study, load, system, seed, **workload) for system in chosen.values() for seed in seeds]
    found = study.runs(wanted)
    return {name: found[i * len(seeds) : (i + 1) * len(seeds)] for i, name in enumerate(chosen)}


def counts(run: Result, kind: str) -> dict[str, float]:
    """Return the counts of the component of a kind in a run, by name."""
    [component] = [each for each in run["components"] if each["kind"] == kind]
    return {each["name"]: float(each["value"]) for each in component["counts"]}
