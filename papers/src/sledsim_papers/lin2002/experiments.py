"""Lin et al. 2002: the power model, and where the joules of the trace of a disk go."""

from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, Probe, order, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002 import snake  # noqa: F401  register claims
from sledsim_papers.lin2002.workload import TIMEOUT_MS, day, joules, mean_ms, saved, seagate

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["TIMEOUTS_MS", "table_1", "timeouts"]

#: Idle timeouts of Figure 5.
TIMEOUTS_MS = (0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40)

#: Requests of 8000 B that use a thousand tips each, on a device made for them.
THOUSAND_TIPS = {"name": "g2", "block_bytes": 8000, "tips": 6000, "active_tips": 1000}

TABLE_RUN = (
    "`g2`, the paper's trace of the disk ST41601N, timeout 1 s; the idle sled sweeps, the last tips read servo bursts."
)


@experiment("lin2002.access-power")
def access_power(study: Study) -> Finding:
    """Joules over seconds of accessing."""
    size = {"kind": "fixed", "value": 8000}
    scenario = {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}, "size_bytes": size},
        "system": {"device": THOUSAND_TIPS},
        "run": {"requests": 1000},
    }
    run = study.run(scenario)
    time = run["state_time"]
    power_w = (joules(run, "servo") + joules(run, "data")) / (time["servo_s"] + time["data_s"])
    how = "Joules of servo bursts and data over their time, of 1,000 requests that use 1,000 tips each."
    return Finding(1e3 * power_w, how, decimals=1, scenarios=(scenario,))


@experiment("lin2002.startup-energy")
def startup_energy(study: Study) -> Finding:
    """Joules of start-ups over their number."""
    scenario = {
        "workload": {"arrival": {"kind": "constant", "rate_per_s": 10}},
        "system": {"device": "g2", "spin_down": "immediate"},
        "run": {"requests": 1000},
    }
    run = study.run(scenario)
    startups = run["energy"]["startups"]
    how = f"{startups:,} start-ups of `g2`: a request every 100 ms, of which each finds the device stopped."
    return Finding(joules(run, "startup") / startups, how, decimals=6, scenarios=(scenario,))


def table_1(study: Study) -> "Result":
    """Return the run behind the left half of Table 1."""
    return study.run(seagate(study, TIMEOUT_MS))


@experiment("lin2002.seagate-idle", "idle", decimals=2)
@experiment("lin2002.seagate-seek", "seek")
@experiment("lin2002.seagate-servo-to-data", "servo", "data", decimals=4)
@experiment("lin2002.seagate-inactive", "inactive", decimals=6)
@experiment("lin2002.seagate-servo", "servo")
@experiment("lin2002.seagate-servicing", "servicing")
@experiment("lin2002.seagate-total", "total")
@experiment("lin2002.seagate-transfer", "data")
@experiment("lin2002.seagate-idle-share", "idle", "total")
def of_table_1(study: Study, part: str, over: str | None = None, decimals: int = 3) -> Finding:
    """Energy of a part of the run, or that over another's."""
    run = table_1(study)
    ours = joules(run, part) / (joules(run, over) if over else 1.0)
    return Finding(ours, TABLE_RUN, decimals=decimals, scenarios=(seagate(study, TIMEOUT_MS),))


def timeouts(study: Study, **changes: Any) -> "list[Result]":
    """Return the runs behind Figure 5, in the order of :data:`TIMEOUTS_MS`.

    Parameters
    ----------
    study
        Where they are made.
    **changes
        Values that replace those of the device.
    """
    return study.runs([seagate(study, timeout_ms, **changes) for timeout_ms in TIMEOUTS_MS])


TIMEOUT_RUNS = (
    "`g2`, the paper's trace, timeouts from 0 to 40 ms; idle as for Table 1, stopped where it is. Responses are "
    "without the command overhead of 0.2 ms of DiskSim's parameter file."
)


def _of_timeouts(study: Study, ours: Any, **more: Any) -> Finding:
    rows = tuple(
        {
            "timeout, ms": timeout_ms,
            "energy, J": joules(run),
            "idle, J": joules(run, "idle"),
            "inactive, J": joules(run, "inactive"),
            "start-up, J": joules(run, "startup"),
            "servicing, J": joules(run, "servicing"),
            "start-ups": run["energy"]["startups"],
            "mean response, ms": mean_ms(run),
            "mean seek, ms": run["seek"]["mean_ms"],
            "requests/s": run["throughput"]["requests_per_s"],
        }
        for timeout_ms, run in zip(TIMEOUTS_MS, timeouts(study), strict=True)
    )
    ends = tuple(seagate(study, timeout_ms) for timeout_ms in (TIMEOUTS_MS[0], TIMEOUTS_MS[-1]))
    return Finding(ours, TIMEOUT_RUNS, curve=rows, scenarios=ends, **more)


@experiment("lin2002.timeout-monotone")
def timeout_monotone(study: Study) -> Finding:
    """Figure 5(a)."""
    return _of_timeouts(study, trend([joules(run) for run in timeouts(study)]))


@experiment("lin2002.timeout-energy")
def timeout_energy(study: Study) -> Finding:
    """Figure 5(a): its ends."""
    runs, still = timeouts(study), timeouts(study, idle_tips="none")
    idle_mw, sled_mw = (1e3 * joules(each[-1], "idle") / each[-1]["state_time"]["idle_s"] for each in (runs, still))
    return _of_timeouts(
        study,
        joules(runs[0]) / joules(runs[-1]),
        cause=f"An idle sled draws {idle_mw:.0f} mW, {idle_mw - sled_mw:.0f} mW of them for tips that keep reading "
        "servo bursts.",
        probes=(Probe("no tips read while the sled is idle", joules(still[0]) / joules(still[-1])),),
    )


@experiment("lin2002.timeout-response")
def timeout_response(study: Study) -> Finding:
    """Figure 5(b): its ends."""
    runs, central = timeouts(study), timeouts(study, stop_at="centre")
    at_once, last = runs[0], runs[-1]
    startups_ms = float(at_once["startup"]["mean_ms"] - last["startup"]["mean_ms"])
    return _of_timeouts(
        study,
        mean_ms(at_once) - mean_ms(last),
        cause=f"The start-up makes {startups_ms:.3f} ms of it; the rest is seeks, {at_once['seek']['mean_ms']:.3f} in "
        f"place of {last['seek']['mean_ms']:.3f} ms.",
        probes=(
            Probe("start-ups alone", startups_ms),
            Probe(
                "a sled that stops at the centre, and starts from there at rest", mean_ms(central[0]) - mean_ms(last)
            ),
        ),
    )


@experiment("lin2002.timeout-throughput")
def timeout_throughput(study: Study) -> Finding:
    """Figure 5(c): its ends."""
    runs, central = timeouts(study), timeouts(study, stop_at="centre")
    rates = [run["throughput"]["requests_per_s"] for run in (runs[0], central[0], runs[-1])]
    each_ms = 1e3 / rates[-1]

    def every_12_ms() -> float:
        ends = (seagate(study, timeout_ms) for timeout_ms in (TIMEOUTS_MS[0], TIMEOUTS_MS[-1]))
        near = [{**each, "workload": {**each["workload"], "time_scale": 12 / each_ms}} for each in ends]
        at_once, last = (run["throughput"]["requests_per_s"] for run in study.runs(near))
        return saved(last, at_once)

    return _of_timeouts(
        study,
        saved(rates[-1], rates[0]),
        decimals=4,
        cause=f"The printed 0.5 ms and 4 % fit a request every 12 ms, but in the trace one arrives every "
        f"{each_ms:.1f} ms.",
        probes=study.probes(
            lambda: (
                Probe("the trace's times shorter, so that a request comes every 12 ms", every_12_ms()),
                Probe("a sled that stops at the centre, and starts from there at rest", saved(rates[-1], rates[1])),
            )
        ),
    )


def _with_overhead(run: "Result") -> float:
    return float(run["response"]["mean_ms"])


@experiment("lin2002.timeout-response-share")
def timeout_response_share(study: Study) -> Finding:
    """Figure 5(b): its ends, one over the other."""
    runs, central = timeouts(study), timeouts(study, stop_at="centre")
    at_once, last = mean_ms(runs[0]), mean_ms(runs[-1])
    startups_ms = float(runs[0]["startup"]["mean_ms"] - runs[-1]["startup"]["mean_ms"])
    return _of_timeouts(
        study,
        at_once / last - 1,
        cause=f"The paper's two figures put the response at 40 ms near 0.76 ms; here it is {last:.3f} ms, of which "
        f"seeks are {runs[-1]['seek']['mean_ms']:.3f}: the sled that sweeps is somewhere in its column when the next "
        "request comes.",
        probes=(
            Probe("with the command overhead of 0.2 ms", _with_overhead(runs[0]) / _with_overhead(runs[-1]) - 1),
            Probe("start-ups alone", startups_ms / last),
            Probe("a sled that stops at the centre, and starts from there at rest", mean_ms(central[0]) / last - 1),
        ),
    )


@experiment("lin2002.subsector-access-energy")
def subsector_access_energy(study: Study) -> Finding:
    """Section 6.3: the energy of accessing data alone."""
    scenarios = tuple(_reads(study, needed) for needed in ("whole", "uniform"))

    def save(*settings: str) -> float:
        runs = study.runs(scenarios, settings)
        whole, part = (joules(run, "servo") + joules(run, "data") for run in runs)
        return saved(whole, part)

    how = (
        "`g3`, random reads of 8 KB, 100/s, of whose last block a uniformly distributed part is needed: joules of "
        "servo bursts and data."
    )
    return Finding(
        save(),
        how,
        decimals=4,
        scenarios=scenarios,
        cause="The sled's 100 mW are drawn for as long as data is accessed, whichever tips are on: the paper's share "
        "is one of the tips' energy.",
        probes=(Probe("a sled that draws no power", save("system.device.sled_mw=0")),),
    )


def _reads(study: Study, needed: str) -> dict[str, Any]:
    """Return a scenario with random reads of 8 KB, of whose last block the whole or a part is needed."""
    size = {"kind": "fixed", "value": 8192}
    arrival = {"kind": "poisson", "rate_per_s": 100.0}
    return {
        "workload": {"arrival": arrival, "size_bytes": size, "last_block": needed},
        "system": {"device": "g3", "subsector": True},
        "run": {"requests": study.requests(100_000, 20_000)},
    }


@experiment("lin2002.request-tips", 8192)
@experiment("lin2002.inode-tips", 128)
def tips(study: Study, size_bytes: int) -> Finding:
    """Sections 6.2 and 6.3: with how many tips metadata is read, by the energy that it takes beyond the sled's."""
    whole = -(-size_bytes // 512) * 512
    scenario = {
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": 20.0},
            # From the first of a row's blocks on, so that it lies in one row.
            "location": {"kind": "uniform", "align_bytes": study.sled("g3").blocks_per_row * 512},
            "size_bytes": {"kind": "fixed", "value": whole},
            "metadata": {"share": 1.0, "read_bytes": size_bytes, "write_bytes": size_bytes},
        },
        "system": {"device": {"name": "g3", "sled_mw": 0.0}, "subsector": True},
        "run": {"requests": 1000},
    }
    run = study.run(scenario)
    tips = (joules(run, "servo") + joules(run, "data")) / (run["state_time"]["servo_s"] + run["state_time"]["data_s"])
    how = (
        f"`g3` with subsector access, 1,000 random requests of which {size_bytes:,} bytes are needed: power of servo "
        "bursts and data of a sled that takes none, over 1 mW a tip."
    )
    return Finding(tips / TIP_W, how, decimals=1, scenarios=(scenario,))


#: Power of a tip.
TIP_W = 1e-3


@experiment("lin2002.break-even")
def break_even(study: Study) -> Finding:
    """Section 5.1: the device."""
    found = study.sled("g2").break_even()
    idle_s, span_s = found.idle_s, found.fixed_span_s
    assert idle_s is not None
    assert span_s is not None
    return Finding(
        1e3 * idle_s,
        "`g2`: energy of a start-up over the power saved while stopped.",
        decimals=2,
        cause="The printed time is explained as that of a start-up, which takes a hundredth of it elsewhere in the "
        "paper.",
        probes=(
            Probe("a start-up that lasts for 50 ms, at the same power", _slow_start_ms(study)),
            Probe("within a fixed span, in which the start-up would be time spent inactive otherwise", 1e3 * span_s),
        ),
    )


#: A disk that takes 6 J to spin up, within a second, draws 1 W while idle, and nothing while stopped (section 5.1).
STOPPING: dict[str, Any] = {
    "active_read_w": 2.0,
    "active_write_w": 2.0,
    "idle_modes": [
        {"name": "idle", "power_w": 1.0, "wake_ms": 0.0},
        {"name": "standby", "power_w": 0.0, "after_s": 1.0, "wake_ms": 1000.0, "wake_w": 6.0},
    ],
}


@experiment("lin2002.disk-break-even")
def disk_break_even(study: Study) -> Finding:
    """Section 5.1: a disk."""
    idle_s = study.disk("travelstar", power=STOPPING).break_even().idle_s
    assert idle_s is not None
    how = (
        "A disk that takes 6 J to spin up and draws 1 W idle, nothing stopped: the idle time from which on stopping "
        "saves."
    )
    return Finding(idle_s, how, decimals=2)


#: A disk that takes 6 J and 2 s to spin up and draws 1 W idle; timeouts between the shortest and the longest, s.
SPIN_UP_S, BETWEEN_S = 2.0, (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


def _stopped_after(timeout_s: float | None) -> dict[str, Any]:
    """Return a scenario of the day as recorded on a disk that stops after a timeout, or never."""
    idle = [STOPPING["idle_modes"][0]]
    if timeout_s is not None:
        spun_down = {"wake_ms": 1e3 * SPIN_UP_S, "wake_w": 6.0 / SPIN_UP_S, "after_s": timeout_s}
        idle.append({**STOPPING["idle_modes"][1], **spun_down})
    return day(1.0, device={"name": "travelstar", "power": {**STOPPING, "idle_modes": idle}})


@experiment("lin2002.disk-timeout-extremes")
def disk_timeout_extremes(study: Study) -> Finding:
    """Section 6.1: energy of a disk by its timeout."""
    shortest_s = 1e-3
    timeouts_s = (shortest_s, *BETWEEN_S, None)
    found = [joules(run) for run in study.runs([_stopped_after(each) for each in timeouts_s])]
    shortest, *between, longest = found
    said = ", ".join(f"{each:,.0f}" for each in found)
    return Finding(
        order({"intermediate": min(between), "shortest": shortest, "longest": longest}),
        "Stand-in `snake-like` as recorded on a disk that takes 6 J and 2 s to spin up and draws 1 W idle, nothing "
        f"stopped; timeouts of 1 ms, {', '.join(f'{each:g}' for each in BETWEEN_S)} s and never: {said} J. Of those in "
        "between the least counts, because energy changes continuously towards either end.",
        scenarios=(_stopped_after(shortest_s), _stopped_after(None)),
        curve=tuple(
            {"timeout, s": "never" if each is None else each, "energy, J": energy}
            for each, energy in zip(timeouts_s, found, strict=True)
        ),
    )


def _slow_start_ms(study: Study) -> float:
    found = study.sled("g2", startup_ms=50.0).break_even().idle_s
    assert found is not None
    return 1e3 * found
