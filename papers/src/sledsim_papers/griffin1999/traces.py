"""Griffin et al. 1999, section 5.3: schedulers under the traces, for which stand-ins of the catalogue run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim_papers.griffin1999.scheduling import (
    BUSY,
    STEPS,
    common_order,
    margin,
    rate_at_utilisation,
    response_rows,
)
from sledsim_papers.griffin1999.workload import DEVICE, SCHEDULERS, mean_ms
from sledsim_papers.harness.averaging import SEEDS_SAID
from sledsim_papers.harness.finding import Finding, Probe, order
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["CELLO_SCALES", "SCALE", "at_scales", "replay"]

#: The paper's name for the speed-up of a replay.
SCALE = "scale factor"

#: Scale factors at which the device is busy for a fifth to four fifths of the time under FCFS.
CELLO_SCALES = (20.0, 40.0, 60.0, 80.0)

HEAVY_CELLO_SCALES = CELLO_SCALES[-2:]

#: Remark for figures with `tpcc-like`.
DATABASE = "Its database is as large as on an Atlas 10K, 1 GB, and so nearly half of the device."

#: Number of the stream in `cello-like` that is the daemon's bursts of writes.
DAEMON = 2


def replay(workload: str, scale: float, requests: int, scheduler: str) -> dict[str, Any]:
    """Return a scenario with a stand-in, times between requests divided by a scale factor.

    Parameters
    ----------
    workload
        Entry of the catalogue.
    scale
        How much faster it arrives.
    requests
        How many.
    scheduler
        Which policy picks.
    """
    return {
        "workload": {"name": workload, "time_scale": 1 / scale},
        "system": {"device": {"name": DEVICE}, "scheduler": scheduler},
        "run": {"requests": requests},
    }


def _requests(study: Study) -> int:
    """Return the number of replayed requests of a stand-in; in a full study that of `tpcc-like`."""
    return study.requests(300_000, 100_000)


def at_scales(
    study: Study,
    workload: str,
    scales: Sequence[float],
    sets: Mapping[str, Any] | None = None,
    requests: int | None = None,
) -> "dict[tuple[str, float], Result]":
    """Return runs of a stand-in with every scheduler at scale factors.

    Parameters
    ----------
    study
        Where they are run.
    workload
        Entry of the catalogue.
    scales
        Scale factors.
    sets
        Values that replace those of the scenario.
    requests
        How many with each seed; as many as for a claim if not given.
    """
    cases, count = [(name, scale) for name in SCHEDULERS for scale in scales], requests or _requests(study)
    runs = study.runs([replay(workload, scale, count, name) for name, scale in cases], sets or {})
    return dict(zip(cases, runs, strict=True))


def _order(
    study: Study, workload: str, scales: Sequence[float], sets: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Return the schedulers by rising mean response, where that is the same at each scale factor with each seed."""
    runs = {
        (name, (seed, scale)): run
        for seed, each in enumerate(study.by_seed())
        for (name, scale), run in at_scales(each, workload, scales, sets).items()
    }
    return common_order(runs)


#: Remark on seeds for orders.
EVERY = f"{SEEDS_SAID}: the order at every one of them with each seed; the curves are means over seeds"


def _one_by_one(study: Study) -> dict[str, Any]:
    """Return settings with which the daemon's writes arrive one by one, at the rate they have in the stand-in."""
    arrival = study.run(replay("cello-like", 1.0, 1_000, "fcfs"))["scenario"]["workload"]["streams"][DAEMON]["arrival"]
    between_ms = sum(part["value"] * part["weight"] for part in arrival["interarrival_ms"]["means"])
    return {f"workload.streams.{DAEMON}.arrival": {"kind": "poisson", "rate_per_s": 1e3 / between_ms}}


@experiment("griffin1999.cello-schedulers")
def cello_schedulers(study: Study) -> Finding:
    """Figure 13(a)."""
    runs, heaviest = at_scales(study, "cello-like", CELLO_SCALES), CELLO_SCALES[-1]
    clook_ms, sstf_ms = (mean_ms(runs[name, heaviest]) for name in ("clook", "sstf_lbn"))
    scales = ", ".join(f"{scale:.0f}" for scale in CELLO_SCALES)
    return Finding(
        _order(study, "cello-like", CELLO_SCALES),
        f"Stand-in `cello-like` on the device, replayed {scales} times faster, {_requests(study):,} requests each, "
        f"{EVERY}.",
        curve=response_rows(runs, SCALE),
        scenarios=tuple(replay("cello-like", heaviest, _requests(study), name) for name in SCHEDULERS),
        cause=f"C-LOOK has {clook_ms:.1f} ms and SSTF_LBN {sstf_ms:.1f} ms at a scale factor of {heaviest:.0f}, and "
        "C-LOOK finishes the bursts of the stand-in's daemon sooner because it passes through them in order of LBN.",
        probes=study.probes(
            lambda: (
                Probe(
                    "the daemon's writes one by one (Poisson, the same rate), 60 and 80 times faster",
                    _order(study, "cello-like", HEAVY_CELLO_SCALES, _one_by_one(study)),
                ),
                Probe("60 and 80 times faster, as the stand-in is", _order(study, "cello-like", HEAVY_CELLO_SCALES)),
            )
        ),
    )


def tpcc_scale(study: Study) -> float:
    """Return the scale factor of `tpcc-like` at which SSTF_LBN keeps the device busy for 90 % of the time."""

    def search(study: Study) -> float:
        low, high = 0.5, 4.0
        for _ in range(STEPS):
            scale = 0.5 * (low + high)
            run = study.run(replay("tpcc-like", scale, _requests(study), "sstf_lbn"))
            if run["utilisation"]["fraction"] <= BUSY:
                low = scale
            else:
                high = scale
        return low

    return study.once("griffin1999 scale of tpcc-like", search)


#: Scale factors around that at which SSTF_LBN keeps the device busy for nine tenths of the time.
HEAVY_TPCC_SCALES = (1.5, 1.6, 1.7)


@experiment("griffin1999.tpcc-order")
def tpcc_order(study: Study) -> Finding:
    """Figure 13(b): all schedulers."""
    runs = at_scales(study, "tpcc-like", HEAVY_TPCC_SCALES)
    scales, heaviest = ", ".join(f"{scale:g}" for scale in HEAVY_TPCC_SCALES), HEAVY_TPCC_SCALES[-1]
    return Finding(
        _order(study, "tpcc-like", HEAVY_TPCC_SCALES),
        f"Stand-in `tpcc-like` on the device, replayed {scales} times faster, {_requests(study):,} requests each, "
        f"{EVERY}.",
        curve=response_rows(runs, SCALE),
        scenarios=tuple(replay("tpcc-like", heaviest, _requests(study), name) for name in SCHEDULERS),
    )


@experiment("griffin1999.tpcc-schedulers")
def tpcc_schedulers(study: Study) -> Finding:
    """Figure 13(b): SPTF beside SSTF_LBN, here and under the random workload."""
    scale, rate = tpcc_scale(study), rate_at_utilisation(study, DEVICE)
    found = [_margins(each, scale, rate) for each in study.by_seed()]
    margins = {name: sum(each[name] for each in found) / len(found) for name in found[0]}
    of_each = "; ".join(f"{each['tpcc']:.0%} and {each['random']:.0%}" for each in found)
    how = (
        "At loads at which SSTF_LBN keeps the device busy for 90 % of the time its mean response is longer than "
        f"SPTF's by {margins['tpcc']:.0%} with the stand-in `tpcc-like` ({scale:.2f} times faster) and by "
        f"{margins['random']:.0%} with the random workload ({rate:.0f}/s), on average over {SEEDS_SAID}: "
        f"{of_each}. {DATABASE}"
    )
    rows = tuple({"workload": name, "SSTF_LBN over SPTF, less 1": value} for name, value in margins.items())
    scenarios = _at_tpcc_scale(study, scale)
    return Finding(order({name: -value for name, value in margins.items()}), how, curve=rows, scenarios=scenarios)


def _margins(study: Study, scale: float, rate_per_s: float) -> dict[str, float]:
    """Return by what share SSTF_LBN's mean response is longer than SPTF's under either workload."""
    sstf, sptf = study.runs(_at_tpcc_scale(study, scale))
    return {
        "tpcc": mean_ms(sstf) / mean_ms(sptf) - 1,
        "random": margin(study, DEVICE, rate_per_s, "sstf_lbn", "sptf"),
    }


def _at_tpcc_scale(study: Study, scale: float) -> tuple[dict[str, Any], ...]:
    return tuple(replay("tpcc-like", scale, _requests(study), name) for name in ("sstf_lbn", "sptf"))
