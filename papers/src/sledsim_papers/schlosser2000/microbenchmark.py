"""Schlosser et al. 2000, section 4.1: 10,000 random requests on three generations and two disks."""

import math
from typing import TYPE_CHECKING, Any

from sledsim.runs import Result, batched_interval
from sledsim_papers.harness.finding import Finding, Probe, order, trend
from sledsim_papers.harness.intervals import of_mean, of_ratio
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.schlosser2000.devices import DISKS, NO_BUFFER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DISKSIM_OVERHEAD_MS", "SLEDS", "microbenchmark", "variation"]

#: The generations as the paper prints them, by their names; it names no command overhead, so they have none.
SLEDS = {"g1": "g1-paper", "g2": "g2-paper", "g3": "g3-paper"}

#: Command overheads of DiskSim's parameter files for the three, ms.
DISKSIM_OVERHEAD_MS = {"g1": 0.3, "g2": 0.2, "g3": 0.1}

#: Size of a request: section 4.1 speaks of reaching a block.
BLOCK_BYTES = 512

RUN = "10,000 random requests of one block, two thirds reads, Poisson 20/s"


def microbenchmark(device: str, size_bytes: int = BLOCK_BYTES, **changes: Any) -> dict[str, Any]:
    """Return the scenario of section 4.1: 10,000 random requests, two thirds of them reads, 20 a second.

    Parameters
    ----------
    device
        A disk of :data:`~sledsim_papers.schlosser2000.devices.DISKS`, or an entry of the catalogue.
    size_bytes
        Size of each request.
    **changes
        Values that replace those of the device.
    """
    return {
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": 20.0},
            "size_bytes": {"kind": "fixed", "value": size_bytes},
            "read_fraction": 0.6667,
        },
        "system": {"device": {**DISKS.get(device, {"name": device}), **changes}},
        "run": {"requests": 10_000},
    }


def variation(result: Result) -> float:
    """Return the standard deviation of responses over their mean."""
    scv = float(result.response.scv)
    return math.sqrt(scv)


def _responses_ms(result: Result) -> "NDArray[np.float64]":
    return result.log["response_ns"].astype(float) * 1e-6


def _spread(times: "NDArray[np.float64]") -> float:
    return float(times.std() / times.mean())


def _on_sleds(study: Study, **changes: Any) -> dict[str, Result]:
    runs = study.runs([microbenchmark(name, **changes) for name in SLEDS.values()], log=True)
    return dict(zip(SLEDS, runs, strict=True))


def _with_overhead(study: Study) -> dict[str, Result]:
    scenarios = [microbenchmark(name, overhead_ms=DISKSIM_OVERHEAD_MS[key]) for key, name in SLEDS.items()]
    return dict(zip(SLEDS, study.runs(scenarios), strict=True))


@experiment("schlosser2000.mems-cov")
def mems_cov(study: Study) -> Finding:
    """Variation of responses of the three devices."""
    runs = _on_sleds(study)
    intervals = tuple(batched_interval(_responses_ms(run), _spread).ends for run in runs.values())
    return Finding(
        tuple(variation(run) for run in runs.values()),
        f"{', '.join(SLEDS.values())}: {RUN}; responses, without command overhead.",
        intervals=intervals,
        scenarios=tuple(microbenchmark(name) for name in SLEDS.values()),
        cause="An access of a single block never turns between rows, so it varies less than a longer one.",
        probes=study.probes(
            lambda: (
                Probe("requests of 4 KB", tuple(map(variation, _on_sleds(study, size_bytes=4096).values()))),
                Probe("requests of 16 KB", tuple(map(variation, _on_sleds(study, size_bytes=16384).values()))),
                Probe("DiskSim's command overheads", tuple(map(variation, _with_overhead(study).values()))),
            )
        ),
    )


def _one_at_a_time(device: str, size_bytes: int = BLOCK_BYTES, **changes: Any) -> dict[str, Any]:
    """Return random requests, two thirds of them reads, one at a time."""
    alone = microbenchmark(device, size_bytes, **changes)
    return {**alone, "workload": {**alone["workload"], "arrival": {"kind": "closed", "outstanding": 1}}}


#: Columns of the table of accesses.
ONE_BLOCK, LARGER, OVERHEAD = "one block, ms", "4 KB, ms", "one block and DiskSim's command overhead, ms"


def _accesses(study: Study) -> tuple[dict[str, Result], tuple[dict[str, Any], ...]]:
    """Return runs of accesses one at a time, and rows with 4 KB and with command overhead."""
    keys = list(SLEDS)
    scenarios = [_one_at_a_time(SLEDS[key]) for key in keys]
    others = [_one_at_a_time(SLEDS[key], 4096) for key in keys]
    others += [_one_at_a_time(SLEDS[key], overhead_ms=DISKSIM_OVERHEAD_MS[key]) for key in keys]
    runs = study.runs([*scenarios, *others])
    block, larger, over = (dict(zip(keys, runs[place : place + 3], strict=True)) for place in (0, 3, 6))
    rows = tuple(
        {
            "device": SLEDS[key],
            ONE_BLOCK: block[key].response.mean_ms,
            LARGER: larger[key].response.mean_ms,
            OVERHEAD: over[key].response.mean_ms,
        }
        for key in keys
    )
    return block, rows


ONE_AT_A_TIME = (
    "10,000 random requests of one block, two thirds reads, one at a time, without command overhead: mean response."
)
ACCESS_CAUSE = (
    f"DiskSim's command overheads would add {DISKSIM_OVERHEAD_MS['g3']} ms on G3 and {DISKSIM_OVERHEAD_MS['g1']} ms "
    "on G1, and the paper names none."
)


@experiment("schlosser2000.access-time-range", *SLEDS)
@experiment("schlosser2000.access-time-ends", "g3", "g1")
def access_times(study: Study, *keys: str) -> Finding:
    """Mean accesses of some generations."""
    runs, rows = _accesses(study)
    by_device = {row["device"]: row for row in rows}

    def column(name: str) -> tuple[float, ...]:
        return tuple(float(by_device[SLEDS[key]][name]) for key in keys)

    return Finding(
        column(ONE_BLOCK),
        f"{', '.join(SLEDS[key] for key in keys)}: {ONE_AT_A_TIME}",
        intervals=tuple(each for key in keys for each in of_mean(runs[key].response)),
        curve=rows,
        scenarios=tuple(_one_at_a_time(SLEDS[key]) for key in keys),
        cause=ACCESS_CAUSE,
        probes=(
            Probe("requests of 4 KB", column(LARGER)),
            Probe("DiskSim's command overheads", column(OVERHEAD)),
        ),
    )


#: Stripe units: a track of a G2, and the default. No request is longer.
TRACK_BLOCKS, SMALL_STRIPE_BLOCKS = 27 * 20, 64


@experiment("schlosser2000.four-sleds")
def four_sleds(study: Study) -> Finding:
    """Throughput of four sleds over that of one, with 64 requests outstanding."""

    def saturated(sleds: int, **laid: Any) -> dict[str, Any]:
        alone = microbenchmark(SLEDS["g2"], sleds=sleds, **laid)
        workload = {**alone["workload"], "arrival": {"kind": "closed", "outstanding": 64}}
        return {**alone, "workload": workload, "run": {"requests": 50_000}}

    striped, small = (
        {"sled_layout": "striped", "stripe_blocks": blocks} for blocks in (TRACK_BLOCKS, SMALL_STRIPE_BLOCKS)
    )
    scenarios = [saturated(4, **striped), saturated(1), saturated(4), saturated(4, **small)]
    four, one, split, smaller = study.runs(scenarios)

    def over_one(run: Result) -> float:
        return float(run.throughput.requests_per_s / one.throughput.requests_per_s)

    return Finding(
        over_one(four),
        f"{SLEDS['g2']}, 64 random requests of one block outstanding, 50,000 in all, striped over the sleds in units "
        f"of a track, {TRACK_BLOCKS} blocks; in units of {SMALL_STRIPE_BLOCKS} blocks {over_one(smaller):.2f}. With a "
        f"quarter of the LBN space on each sled: {over_one(split):.2f}.",
        decimals=2,
        # With as many requests outstanding all the time, the mean response is 64 over the throughput.
        intervals=of_ratio(one.response, four.response),
        scenarios=tuple(scenarios[:2]),
        cause="Random requests are not spread evenly over the sleds at any moment, so that sometimes one is idle.",
        probes=(Probe("a quarter of the LBN space on each sled", over_one(split)),),
    )


#: Stripe units, blocks, and numbers of outstanding requests. Half of the requests are longer than the smallest units.
UNITS_BLOCKS, OUTSTANDING = (8, 16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32)


@experiment("schlosser2000.sleds-stripe-unit")
def sleds_stripe_unit(study: Study) -> Finding:
    """Best stripe unit of four sleds by the number of outstanding requests."""

    def on_four(unit: int, outstanding: int) -> dict[str, Any]:
        laid: dict[str, Any] = {"sleds": 4, "sled_layout": "striped", "stripe_blocks": unit}
        alone = microbenchmark(SLEDS["g2"], **laid)
        arrival = {"kind": "closed", "outstanding": outstanding}
        size = {"kind": "exponential", "mean": 65536}
        workload = {**alone["workload"], "arrival": arrival, "size_bytes": size}
        return {**alone, "workload": workload, "run": {"requests": study.requests(50_000, 10_000)}}

    cases = [(unit, outstanding) for outstanding in OUTSTANDING for unit in UNITS_BLOCKS]
    runs = dict(zip(cases, study.runs([on_four(*each) for each in cases]), strict=True))
    rates = {case: float(run.throughput.requests_per_s) for case, run in runs.items()}
    best = [max(UNITS_BLOCKS, key=lambda unit: rates[unit, outstanding]) for outstanding in OUTSTANDING]
    return Finding(
        trend(best),
        f"{SLEDS['g2']} with 4 sleds, random requests of 64 KB on average, exponential; units of "
        f"{', '.join(map(str, UNITS_BLOCKS))} blocks. Best units with {', '.join(map(str, OUTSTANDING))} requests "
        f"outstanding: {', '.join(map(str, best))} blocks.",
        curve=tuple(
            {"outstanding": outstanding, **{f"{unit} blocks, 1/s": rates[unit, outstanding] for unit in UNITS_BLOCKS}}
            for outstanding in OUTSTANDING
        ),
        scenarios=(on_four(best[0], OUTSTANDING[0]), on_four(best[-1], OUTSTANDING[-1])),
        cause="A small unit spreads a request over more sleds, which pays as long as the others would be idle.",
    )


def _disk(study: Study, name: str) -> dict[str, Result]:
    """Return the run on a disk, its buffer on and off."""
    scenarios = {"on": microbenchmark(name), "off": microbenchmark(name, **NO_BUFFER)}
    return dict(zip(scenarios, study.runs(scenarios.values(), log=True), strict=True))


BUFFERS = (
    "The paper does not say whether buffers were on: both are in the table. Drives are taken as they come, with "
    "buffers on, "
    "in all figures of this run; that the latencies of Table 3 are less than half a turn speaks for it, too."
)


def _rows(study: Study, name: str) -> tuple[dict[str, Any], ...]:
    """Return response and variation of a disk, and its response over those of the three devices."""
    sleds = _on_sleds(study)
    return tuple(
        {
            "buffer": label,
            "response, ms": run.response.mean_ms,
            **{f"over {key}": run.response.mean_ms / each.response.mean_ms for key, each in sleds.items()},
            "variation": variation(run),
        }
        for label, run in _disk(study, name).items()
    )


@experiment("schlosser2000.atlas-speedup", "atlas10k")
@experiment("schlosser2000.superdisk-speedup", "superdisk")
def speedup(study: Study, name: str) -> Finding:
    """Response of a disk over that of G2."""
    g2, runs = _on_sleds(study)["g2"], _disk(study, name)
    over = _with_overhead(study)["g2"]
    ours = runs["on"].response.mean_ms / g2.response.mean_ms
    others = ", ".join(f"{key} {_rows(study, name)[0][f'over {key}']:.2f}" for key in SLEDS)
    return Finding(
        ours,
        f"{name}, {RUN}: {runs['on'].response.mean_ms:.2f} ms, over {g2.response.mean_ms:.2f} ms of {SLEDS['g2']} "
        f"without command overhead (over {others}). {BUFFERS}",
        decimals=2,
        intervals=of_ratio(runs["on"].response, g2.response),
        scenarios=(microbenchmark(SLEDS["g2"]), microbenchmark(name)),
        curve=_rows(study, name),
        cause="It hangs on two things of which the paper says nothing: the drive's buffer, and the command overhead "
        "of G2.",
        probes=(
            Probe("the disk's buffer off", runs["off"].response.mean_ms / g2.response.mean_ms),
            Probe("G2 with DiskSim's command overhead of 0.2 ms", runs["on"].response.mean_ms / over.response.mean_ms),
        ),
    )


@experiment("schlosser2000.atlas-cov", "atlas10k")
@experiment("schlosser2000.superdisk-cov", "superdisk")
def cov(study: Study, name: str) -> Finding:
    """Variation of responses of a disk."""
    runs = _disk(study, name)
    return Finding(
        variation(runs["on"]),
        f"{name}, {RUN}; responses. {BUFFERS}",
        intervals=(batched_interval(_responses_ms(runs["on"]), _spread).ends,),
        scenarios=(microbenchmark(name),),
        curve=_rows(study, name),
        cause="Writes that end in the drive's buffer and reads that wait for the disk are two kinds of responses, and "
        "how far apart they lie decides the variation; with the buffer off there is one kind.",
        probes=(Probe("the drive's buffer off", variation(runs["off"])),),
    )


@experiment("schlosser2000.microbenchmark-order")
def microbenchmark_order(study: Study) -> Finding:
    """Mean responses of all five devices."""
    means = {key: float(run.response.mean_ms) for key, run in _on_sleds(study).items()}
    means |= {name: float(_disk(study, name)["on"].response.mean_ms) for name in DISKS}
    return Finding(
        order(means),
        f"{', '.join([*SLEDS.values(), *DISKS])}: {RUN}. {BUFFERS}",
        curve=tuple({"device": name, "response, ms": mean} for name, mean in means.items()),
        scenarios=(*map(microbenchmark, SLEDS.values()), *map(microbenchmark, DISKS)),
    )
