"""Schlosser et al. 2000, sections 2.3 and 2.4: tips that fail, and sleds that are redundant."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["keeps_all"]

#: Tips that failed, one after the other, and the spare tips there are for them: a track's.
FAILED, SPARE = (0, 1, 10, 100, 640), 640

#: Probability that a sled fails, by which the figures are reckoned; they rise with any.
FAILS = 0.1

#: Devices, by sleds and how they share data.
MIRRORS = (1, 2, 3, 4)
PARITY = (3, 4)


@experiment("schlosser2000.tip-remap")
def tip_remap(study: Study) -> Finding:
    """Room, and requests that are lost, as tips fail."""
    sleds = [study.sled("g1-paper", spare_tips=SPARE, failed_tips=failed) for failed in FAILED]
    rooms = [sled.readable_bytes / 1e9 for sled in sleds]
    scenarios = [_reading({"name": "g1-paper", "spare_tips": SPARE, "failed_tips": failed}) for failed in FAILED]
    runs = study.runs(scenarios)
    rows = tuple(
        {
            "failed tips": failed,
            "can be read, GB": room,
            "requests lost": run["requests"]["failed"],
            "mean response, ms": _mean_ms(run),
        }
        for failed, room, run in zip(FAILED, rooms, runs, strict=True)
    )
    return Finding(
        trend(rooms, 0.001),
        f"`g1-paper` of whose 6,400 tips {SPARE} are spare ones, and up to {FAILED[-1]} fail: what of it can be read; "
        f"{rooms[0]:.4g} to {rooms[-1]:.4g} GB. Of 2,000 random requests {runs[-1]['requests']['failed']} are lost at "
        f"the end, and responses take {_mean_ms(runs[0]):.4f} and {_mean_ms(runs[-1]):.4f} ms.",
        curve=rows,
        scenarios=(scenarios[0], scenarios[-1]),
    )


def _mean_ms(run: "Result") -> float:
    """Return the mean response of the requests that were served, ms; 0 where none was."""
    return float(run["response"]["mean_ms"]) if run["response"] else 0.0


def _reading(device: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario with random requests, half of them reads, over all of a device."""
    return {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 50.0}, "read_fraction": 0.5},
        "system": {"device": device},
        "run": {"requests": 2000},
    }


def _device(sleds: int, layout: str, failed: Sequence[int]) -> dict[str, Any]:
    return {"name": "g2-paper", "sleds": sleds, "sled_layout": layout, "failed_sleds": list(failed)}


def keeps_all(study: Study, sleds: int, layout: str) -> float:
    """Return the probability that a device keeps all of its data, each sled failing with :data:`FAILS` by itself.

    Every set of sleds is made to fail, and the device is asked for blocks all over it.

    Parameters
    ----------
    study
        Where it is run.
    sleds
        Sleds of the device.
    layout
        How they share data.
    """
    sets = [failed for count in range(sleds + 1) for failed in combinations(range(sleds), count)]
    runs = study.runs([_reading(_device(sleds, layout, failed)) for failed in sets])
    return sum(
        FAILS ** len(failed) * (1 - FAILS) ** (sleds - len(failed))
        for failed, run in zip(sets, runs, strict=True)
        if run["requests"]["failed"] == 0
    )


@experiment("schlosser2000.sleds-reliability")
def sleds_reliability(study: Study) -> Finding:
    """Probability that nothing is lost."""
    mirrors = [keeps_all(study, sleds, "mirrored") for sleds in MIRRORS]
    parity = [keeps_all(study, sleds, "parity") for sleds in PARITY]
    apart = keeps_all(study, MIRRORS[-1], "split")
    said = ", ".join(f"{each:.4f}" for each in mirrors)
    return Finding(
        trend(mirrors, 1e-6),
        f"`g2-paper` with {MIRRORS[0]} to {MIRRORS[-1]} sleds that hold the same: each set of sleds fails and 2,000 "
        f"requests all over the device are served or lost; with a probability of {FAILS} for each sled nothing is lost "
        f"with {said}. Under RAID level 5 of {PARITY[0]} and {PARITY[1]} sleds that is {parity[0]:.4f} and "
        f"{parity[1]:.4f}, and of four sleds without redundancy {apart:.4f}.",
        curve=tuple({"sleds": n, "keeps all": each} for n, each in zip(MIRRORS, mirrors, strict=True)),
        scenarios=(_reading(_device(1, "mirrored", (0,))), _reading(_device(2, "mirrored", (0,)))),
    )
