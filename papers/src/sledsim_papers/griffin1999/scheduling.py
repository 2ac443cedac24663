"""Griffin et al. 1999, section 5: schedulers on the device and on the disk, under the random workload."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sledsim_papers.griffin1999.workload import DEVICE, DISK, NAMES, SCHEDULERS, closed, mean_ms, poisson, random
from sledsim_papers.harness.averaging import SEEDS_SAID
from sledsim_papers.harness.finding import Finding, Probe, order, trend
from sledsim_papers.harness.intervals import over_seeds
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["BUSY", "STEPS", "at_rates", "common_order", "margin", "rate_at_utilisation", "response_rows"]

#: First come, first served saturates at 467 requests per second on the device, at 83 on the disk.
DEVICE_RATES, DISK_RATES = (500.0, 550.0, 600.0, 650.0), (75.0, 85.0, 95.0)

#: Utilisation of a busy device whose queue is still stable.
BUSY = 0.9

#: Acceleration with which a seek along Y takes some 0.01 ms.
AT_ONCE_ALONG_Y = {"acceleration_y_m_s2": 1e6}

#: Precision of a bisection over rates, relative to the initial range.
STEPS = 12


def at_rates(
    study: Study, rates: Sequence[float], *, device: str = DEVICE, quick: int = 50_000, **changes: Any
) -> "dict[tuple[str, float], Result]":
    """Return runs with every scheduler at arrival rates.

    Parameters
    ----------
    study
        Where they are run.
    rates
        Requests per second.
    device
        Entry of the catalogue.
    quick
        Requests with each seed in a quick study.
    **changes
        Values that replace those of the device.
    """
    requests = study.requests(200_000, quick)
    cases = [(name, rate) for name in SCHEDULERS for rate in rates]
    runs = study.runs([random(poisson(rate), requests, name, device=device, **changes) for name, rate in cases])
    return dict(zip(cases, runs, strict=True))


def response_rows(runs: "Mapping[tuple[str, float], Result]", x: str = "requests/s") -> tuple[Mapping[str, Any], ...]:
    """Return rows with the mean response of runs and its squared coefficient of variation."""
    return tuple(
        {
            "scheduler": NAMES[name],
            x: load,
            "mean response, ms": mean_ms(run),
            "low, ms": run["response"]["ci95_low_ms"],
            "high, ms": run["response"]["ci95_high_ms"],
            "squared coefficient of variation": run["response"]["scv"],
            "utilisation": run["utilisation"]["fraction"],
        }
        for (name, load), run in runs.items()
    )


def common_order(runs: "Mapping[tuple[str, Any], Result]") -> tuple[str, ...]:
    """Return the schedulers by rising mean response, where the order is the same at each load.

    Parameters
    ----------
    runs
        By scheduler and load, whatever tells one load from another.
    """
    loads = dict.fromkeys(load for _, load in runs)
    orders = {order({name: mean_ms(runs[name, load]) for name in SCHEDULERS}) for load in loads}
    return orders.pop() if len(orders) == 1 else ("depends on load",)


@experiment("griffin1999.mems-schedulers", DEVICE, DEVICE_RATES)
@experiment("griffin1999.disk-schedulers", DISK, DISK_RATES)
def by_response(study: Study, device: str, rates: Sequence[float]) -> Finding:
    """Figures 11(a) and 12(a)."""
    runs = at_rates(study, rates, device=device)
    loads = ", ".join(f"{rate:.0f}" for rate in rates)
    count = study.requests(200_000, 50_000)
    how = f"`{device}`, random workload, Poisson {loads} requests/s, {count:,} each: the order at every one of them."
    scenarios = tuple(random(poisson(rates[-1]), count, name, device=device) for name in SCHEDULERS)
    return Finding(common_order(runs), how, curve=response_rows(runs), scenarios=scenarios)


@experiment("griffin1999.mems-fairness", DEVICE, DEVICE_RATES)
@experiment("griffin1999.disk-fairness", DISK, DISK_RATES)
def fairness(study: Study, device: str, rates: Sequence[float]) -> Finding:
    """Figures 11(b) and 12(b)."""
    runs = at_rates(study, rates, device=device)
    scv = {name: float(runs[name, rates[-1]]["response"]["scv"]) for name in SCHEDULERS[1:]}
    said = ", ".join(f"{NAMES[name]} {value:.3f}" for name, value in scv.items())
    how = f"Squared coefficient of variation of responses on `{device}` at {rates[-1]:.0f} requests/s: {said}."
    count = study.requests(200_000, 50_000)
    scenarios = tuple(random(poisson(rates[-1]), count, name, device=device) for name in scv)
    return Finding(order(scv), how, curve=response_rows(runs), scenarios=scenarios)


def _saturated(study: Study, device: str, **changes: Any) -> "dict[str, Result]":
    """Return runs with a hundred outstanding requests, which show the maximum throughput."""
    runs = study.runs([_saturating(study, name, device, **changes) for name in LEAST_AND_MOST])
    return dict(zip(LEAST_AND_MOST, runs, strict=True))


#: Throughputs compared in section 5.2.
LEAST_AND_MOST = ("fcfs", "sstf_lbn")


def _saturating(study: Study, scheduler: str, device: str, **changes: Any) -> dict[str, Any]:
    return random(closed(100), study.requests(200_000, 50_000), scheduler, device=device, **changes)


def _gain(runs: "Mapping[str, Result]") -> float:
    rates = {name: float(run["throughput"]["requests_per_s"]) for name, run in runs.items()}
    return rates["sstf_lbn"] / rates["fcfs"]


def _wider(mems: float, disk: float) -> tuple[str, ...]:
    return order({"mems": -mems, "disk": -disk})


@experiment("griffin1999.fcfs-gap-wider-than-disk")
def fcfs_gap(study: Study) -> Finding:
    """Section 5.2: gain of SSTF_LBN over FCFS."""
    mems, disk = _saturated(study, DEVICE), _saturated(study, DISK)
    changes: dict[str, dict[str, Any]] = {
        "no settling": {"settle_constants": 0.0},
        "a seek along Y of next to nothing": AT_ONCE_ALONG_Y,
        "neither settling nor a seek along Y": {"settle_constants": 0.0, **AT_ONCE_ALONG_Y},
    }
    # Probes are rows of the curve too, which a view without probes does not need.
    changed = {name: _saturated(study, DEVICE, **each) for name, each in changes.items()} if study.probing else {}
    cases = {DEVICE: mems, DISK: disk, **{f"{DEVICE}, {change}": runs for change, runs in changed.items()}}
    rows = tuple(
        {
            "device": device,
            "scheduler": NAMES[name],
            "requests/s": run["throughput"]["requests_per_s"],
            "mean seek, ms": run["seek"]["mean_ms"],
            "mean service, ms": run["service"]["mean_ms"],
        }
        for device, runs in cases.items()
        for name, run in runs.items()
    )
    seek_ms = {
        (device, name): run["seek"]["mean_ms"] for device in (DEVICE, DISK) for name, run in cases[device].items()
    }
    sorted_run = mems["sstf_lbn"]
    return Finding(
        _wider(_gain(mems), _gain(disk)),
        f"Throughput of SSTF_LBN over that of FCFS with 100 requests outstanding: {_gain(mems):.2f} on the device, "
        f"{_gain(disk):.2f} on `{DISK}`.",
        curve=rows,
        scenarios=tuple(_saturating(study, name, device) for device in (DEVICE, DISK) for name in LEAST_AND_MOST),
        cause=f"Sorting shortens mean seeks from {seek_ms[DEVICE, 'fcfs']:.2f} to {seek_ms[DEVICE, 'sstf_lbn']:.2f} "
        f"ms on the device, where settling ({sorted_run['settle']['mean_ms']:.2f} ms) and the seek along Y "
        f"({sorted_run['seek_y']['mean_ms']:.2f} ms) remain, and from {seek_ms[DISK, 'fcfs']:.2f} to "
        f"{seek_ms[DISK, 'sstf_lbn']:.2f} ms on the disk.",
        probes=tuple(
            Probe(f"{change}: {_gain(runs):.2f} on the device", _wider(_gain(runs), _gain(disk)))
            for change, runs in changed.items()
        ),
    )


def rate_at_utilisation(study: Study, device: str) -> float:
    """Return the arrival rate at which SSTF_LBN keeps a device busy for 90 % of the time, 1/s."""

    def search(study: Study) -> float:
        low, high = 10.0, 1_000.0
        for _ in range(STEPS):
            rate = 0.5 * (low + high)
            run = study.run(random(poisson(rate), study.requests(400_000, 100_000), "sstf_lbn", device=device))
            if run["utilisation"]["fraction"] <= BUSY:
                low = rate
            else:
                high = rate
        return low

    return study.once(f"griffin1999 rate on {device}", search)


def margin(study: Study, device: str, rate_per_s: float, slower: str, faster: str) -> float:
    """Return how much longer one scheduler's mean response is than another's, at such a rate."""
    count = study.requests(400_000, 100_000)
    runs = study.runs([random(poisson(rate_per_s), count, name, device=device) for name in (slower, faster)])
    return mean_ms(runs[0]) / mean_ms(runs[1]) - 1


@experiment("griffin1999.clook-sstf-gap-narrower-than-disk")
def clook_gap(study: Study) -> Finding:
    """Section 5.2: C-LOOK beside SSTF_LBN."""
    study.map(lambda device: rate_at_utilisation(study, device), (DEVICE, DISK))
    rates = {device: rate_at_utilisation(study, device) for device in (DEVICE, DISK)}
    gaps = {device: margin(study, device, rate, "clook", "sstf_lbn") for device, rate in rates.items()}
    how = (
        f"At the rates at which SSTF_LBN keeps the device busy for 90 % of the time ({rates[DEVICE]:.0f}/s and "
        f"{rates[DISK]:.0f}/s) C-LOOK's mean response is longer by {gaps[DEVICE]:.1%} on the device, {gaps[DISK]:.1%} "
        f"on `{DISK}`."
    )
    rows = tuple(
        {"device": name, "requests/s": rates[name], "C-LOOK over SSTF_LBN, less 1": gaps[name]} for name in gaps
    )
    count = study.requests(400_000, 100_000)
    scenarios = tuple(
        random(poisson(rate), count, name, device=device)
        for device, rate in rates.items()
        for name in ("clook", "sstf_lbn")
    )
    return Finding(order({"mems": gaps[DEVICE], "disk": gaps[DISK]}), how, curve=rows, scenarios=scenarios)


def _held(study: Study, settle_constants: float, scheduler: str) -> tuple[float, float]:
    """Return the rate that a scheduler holds at twice FCFS's response under light load, 1/s, and that response, ms."""
    light = random(poisson(1.0), study.requests(100_000, 20_000), settle_constants=settle_constants)
    limit_ms = 2.0 * mean_ms(study.run(light))
    low, high = 100.0, 1_000.0
    for _ in range(STEPS + 1):
        rate = 0.5 * (low + high)
        if mean_ms(study.run(_trial(study, rate, settle_constants, scheduler))) <= limit_ms:
            low = rate
        else:
            high = rate
    return low, limit_ms


def _trial_requests(study: Study) -> int:
    return study.requests(400_000, 100_000)


def _trial(study: Study, rate_per_s: float, settle_constants: float, scheduler: str) -> dict[str, Any]:
    # Shorter trials could not distinguish rates that differ by a percent.
    requests = _trial_requests(study)
    return random(poisson(rate_per_s), requests, scheduler, settle_constants=settle_constants)


@experiment("griffin1999.settle-0-sptf", 0.0)
@experiment("griffin1999.settle-2-sptf", 2.0)
def held_ratio(study: Study, settle_constants: float) -> Finding:
    """Figure 14."""
    (ratio, sptf, sstf, limit_ms), (around, *_) = over_seeds(study, lambda each: _ratio(each, settle_constants))
    how = (
        f"SPTF holds {sptf:.0f}/s and SSTF_LBN {sstf:.0f}/s at a mean response of {limit_ms:.3f} ms, twice that of "
        f"FCFS at 1/s; {_trial_requests(study):,} requests a trial; means over {SEEDS_SAID}, the interval is "
        "theirs."
    )
    scenarios = tuple(
        _trial(study, rate, settle_constants, name) for name, rate in (("sptf", sptf), ("sstf_lbn", sstf))
    )
    return Finding(ratio, how, intervals=(around,), scenarios=scenarios)


def _ratio(study: Study, settle_constants: float) -> tuple[float, float, float, float]:
    """Return the rate that SPTF holds over that which SSTF_LBN does, both rates, 1/s, and at what response, ms."""
    names = ("sptf", "sstf_lbn")
    (sptf, limit_ms), (sstf, _) = study.map(lambda name: _held(study, settle_constants, name), names)
    return sptf / sstf, sptf, sstf, limit_ms


#: Settling time constants of Figures 14(a), 12 and 14(b).
FEWER_TO_MORE = (0.0, 1.0, 2.0)


@experiment("griffin1999.sptf-margin-by-settling")
def margin_by_settling(study: Study) -> Finding:
    """Figures 12 and 14: SPTF's rate over SSTF_LBN's."""
    found = [over_seeds(study, partial(_ratio, settle_constants=constants))[0] for constants in FEWER_TO_MORE]
    ratios = [ratio for ratio, *_ in found]
    rows = tuple(
        {"settling time constants": constants, "SPTF, 1/s": sptf, "over SSTF_LBN": ratio}
        for constants, (ratio, sptf, *_) in zip(FEWER_TO_MORE, found, strict=True)
    )
    said = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return Finding(
        trend(ratios),
        f"The rates of settle-0-sptf and settle-2-sptf, and those with one constant, over {SEEDS_SAID}: {said}.",
        curve=rows,
        scenarios=tuple(
            _trial(study, rate, constants, name)
            for constants, (_, sptf, sstf, _) in zip(FEWER_TO_MORE, found, strict=True)
            for name, rate in (("sptf", sptf), ("sstf_lbn", sstf))
        ),
    )
