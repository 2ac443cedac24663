"""Experiment for the claim of hong2006 on what the disk has to do with the response of a cached disk (section 4.3)."""

from collections.abc import Mapping
from typing import Any

from sledsim_papers.harness.finding import Finding, Probe
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.hong2006.hierarchies import SET_UP, all_loads, all_responses, mean, paired, saved, shown
from sledsim_papers.hong2006.systems import (
    CACHE_BYTES,
    DISK,
    LABELS,
    LOADS,
    MIB,
    PROBED,
    Load,
    controlled,
    mcd,
    responses,
    systems,
)

__all__: list[str] = []

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
    ram = {"kind": "ram-cache", "bytes": SMALL_BYTES, "volatile": False, "child": DISK}
    return {"mcd_all": controlled(mcd(load.segment_bytes, mems_bytes=SMALL_BYTES)), "disk_ram": controlled(ram)}


@experiment("hong2006.disk-latency-dominates")
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
        cause="What the user of hplajw works with in a week fits 256 MiB, so that of the caching disk's responses more "
        "are those of MEMS than of the disk; with RAM in its place nothing but the disk takes time. Caches in which a "
        "week does not fit leave most of a response to the disk under all four.",
        probes=study.probes(lambda: (Probe(f"caches of {SMALL_BYTES // MIB} MiB", _small_shares(study)),)),
    )
