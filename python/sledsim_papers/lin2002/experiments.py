"""Lin et al. 2002: the power model, and where the joules of the trace of a disk go."""

from typing import TYPE_CHECKING, Any

from sledsim_papers.harness.finding import Finding, Probe, trend
from sledsim_papers.harness.registry import experiment
from sledsim_papers.harness.study import Study
from sledsim_papers.lin2002 import snake
from sledsim_papers.lin2002.workload import TIMEOUT_MS, joules, mean_ms, saved, seagate

if TYPE_CHECKING:
    from sledsim.runs import Result

__all__ = ["TIMEOUTS_MS", "snake", "table_1", "timeouts"]

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


def _of_table_1(study: Study, ours: float, decimals: int = 3, **more: Any) -> Finding:
    return Finding(ours, TABLE_RUN, decimals=decimals, scenarios=(seagate(study, TIMEOUT_MS),), **more)


@experiment("lin2002.seagate-idle")
def seagate_idle(study: Study) -> Finding:
    """Energy while nothing is to do."""
    return _of_table_1(study, joules(table_1(study), "idle"), 2)


@experiment("lin2002.seagate-seek")
def seagate_seek(study: Study) -> Finding:
    """Energy of seeks."""
    return _of_table_1(study, joules(table_1(study), "seek"))


@experiment("lin2002.seagate-servo-to-data")
def seagate_servo_to_data(study: Study) -> Finding:
    """Energy of servo bursts over that of data."""
    run = table_1(study)
    return _of_table_1(study, joules(run, "servo") / joules(run, "data"), 4)


@experiment("lin2002.seagate-transfer")
def seagate_transfer(study: Study) -> Finding:
    """Energy of data."""
    return _of_table_1(study, joules(table_1(study), "data"))


@experiment("lin2002.seagate-idle-share")
def seagate_idle_share(study: Study) -> Finding:
    """Share of the idle energy."""
    run = table_1(study)
    return _of_table_1(study, joules(run, "idle") / joules(run))


def timeouts(study: Study, **changes: Any) -> "list[Result]":
    """Return the runs behind Figure 5, in the order of :data:`TIMEOUTS_MS`.

    Parameters
    ----------
    study
        Where they are made.
    **changes
        Values that replace those of the device.
    """
    return study.runs([(seagate(study, timeout_ms, **changes), ()) for timeout_ms in TIMEOUTS_MS])


TIMEOUT_RUNS = "`g2`, the paper's trace, timeouts from 0 to 40 ms; idle as for Table 1."


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
    runs = timeouts(study)
    return _of_timeouts(study, joules(runs[0]) / joules(runs[-1]))


@experiment("lin2002.timeout-response")
def timeout_response(study: Study) -> Finding:
    """Figure 5(b): its ends."""
    runs = timeouts(study)
    at_once, last = runs[0], runs[-1]
    longer_ms = mean_ms(at_once) - mean_ms(last)

    def phase_ms(name: str) -> float:
        return float(at_once[name]["mean_ms"] - last[name]["mean_ms"])

    cause = (
        f"The start-up makes {phase_ms('startup'):.3f} ms of it. The rest is seeks, {at_once['seek']['mean_ms']:.3f} "
        f"in place of {last['seek']['mean_ms']:.3f} ms: a sled that stopped starts from the centre, at rest, while "
        "one that runs is near the last request, where a quarter of the trace's requests go on. The paper's figure "
        "is a sled that starts again where it stopped."
    )
    probes = (
        Probe("start-ups alone", phase_ms("startup")),
        Probe("seeks as short as those of a sled that did not stop", longer_ms - phase_ms("seek")),
    )
    return _of_timeouts(study, longer_ms, cause=cause, probes=probes)


@experiment("lin2002.timeout-throughput")
def timeout_throughput(study: Study) -> Finding:
    """Figure 5(c): its ends."""
    rates = [run["throughput"]["requests_per_s"] for run in timeouts(study)]
    return _of_timeouts(study, saved(rates[-1], rates[0]), decimals=4)


@experiment("lin2002.subsector-last-block")
def subsector_last_block(study: Study) -> Finding:
    """Figure 7(a)."""
    whole, part = _last_blocks(study)
    free_whole, free_part = _last_blocks(study, sled_mw=0.0)

    def accessing_j(run: "Result") -> float:
        return joules(run, "servo") + joules(run, "data")

    of_access = saved(accessing_j(whole), accessing_j(part))
    return Finding(
        saved(joules(whole, "servicing"), joules(part, "servicing")),
        "`g3`, random reads of 8 KB, 100/s, of whose last block a uniformly distributed part is needed.",
        decimals=4,
        scenarios=tuple(_reads(study, needed) for needed in ("whole", "uniform")),
        cause=f"Servo bursts and data take {of_access:.1%} less, one in 32 of their tips: that is the paper's own "
        "reckoning, which speaks of the energy of accessing data. Seeks, "
        f"{joules(whole, 'seek') / joules(whole, 'servicing'):.0%} of servicing here, save nothing.",
        probes=(
            Probe("servo bursts and data alone", of_access),
            Probe("a sled that draws no power", saved(joules(free_whole, "servicing"), joules(free_part, "servicing"))),
        ),
    )


@experiment("lin2002.subsector-response")
def subsector_response(study: Study) -> Finding:
    """Figure 7(b)."""
    times = [mean_ms(run) for run in _last_blocks(study)]
    how = f"The runs of subsector-last-block: {times[0]:.3f} and {times[1]:.3f} ms."
    return Finding(trend(times), how, scenarios=tuple(_reads(study, needed) for needed in ("whole", "uniform")))


def _reads(study: Study, needed: str, **changes: Any) -> dict[str, Any]:
    """Return a scenario with random reads of 8 KB, of whose last block the whole or a part is needed."""
    size = {"kind": "fixed", "value": 8192}
    arrival = {"kind": "poisson", "rate_per_s": 100.0}
    return {
        "workload": {"arrival": arrival, "size_bytes": size, "last_block": needed},
        "system": {"device": {"name": "g3", **changes}, "subsector": True},
        "run": {"requests": study.requests(100_000, 20_000)},
    }


def _last_blocks(study: Study, **changes: Any) -> "list[Result]":
    return study.runs([(_reads(study, needed, **changes), ()) for needed in ("whole", "uniform")])
