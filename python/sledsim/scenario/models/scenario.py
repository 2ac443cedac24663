"""The tables of a scenario as typed classes: scenario.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.system import System
from sledsim.scenario.models.workload import Workload

__all__ = [
    "PowerCuts",
    "Precision",
    "Run",
    "ScenarioModel",
    "WarmupRule",
]

# The rule that sets the warm-up of a run.
WarmupRule = Literal["fixed", "auto"]


class Precision(Model):
    """The precision at which a run ends.

    The largest half-width of the 95 % confidence interval as a fraction of the result, such as "1%". The run ends
    when each result given here has this precision, or after `requests`; a note then names the results that do not
    have it.

    Attributes
    ----------
    response
        Precision of the mean response time (fraction; at least 0.0001, at most 1).
    p50
        Precision of the median of response times (fraction; at least 0.0001, at most 1).
    p90
        Precision of the 0.9-quantile of response times (fraction; at least 0.0001, at most 1).
    p95
        Precision of the 0.95-quantile of response times (fraction; at least 0.0001, at most 1).
    p99
        Precision of the 0.99-quantile of response times (fraction; at least 0.0001, at most 1).
    p99_9
        Precision of the 0.999-quantile of response times (fraction; at least 0.0001, at most 1).
    energy
        Precision of the energy per request (fraction; at least 0.0001, at most 1).
    utilisation
        Precision of the utilisation (fraction; at least 0.0001, at most 1).
    hit_ratio
        Precision of the hit ratio of the topmost cache (fraction; at least 0.0001, at most 1).
    control_variates
        True to estimate the mean response with control variates, where they apply: for Poisson arrivals at a
        single drive (default true).
    """

    response: float | str | None = None
    p50: float | str | None = None
    p90: float | str | None = None
    p95: float | str | None = None
    p99: float | str | None = None
    p99_9: float | str | None = None
    energy: float | str | None = None
    utilisation: float | str | None = None
    hit_ratio: float | str | None = None
    control_variates: bool | None = None


class PowerCuts(Model):
    """Power failures.

    Power returns at once; requests in flight are lost, and the recovery takes time. The run keeps the content of
    all written blocks. For each failure a further run ends there and reads all blocks, to find the lost writes.

    Attributes
    ----------
    times_s
        At these times (s; default []).
    random
        Number of further failures at random moments: after a random one of `run.requests`, between two random
        events; or at random times before `run.time_s`. Those after the end of the run are left out (at least 0,
        at most 1,000; default 0).
    """

    times_s: list[float | str] | None = None
    random: int | None = None


class Run(Model):
    """The length of a run and its warm-up.

    Without a limit, a trace runs to its end and a generator for 100,000 requests; with `precision`, a generator
    runs until its results are precise enough.

    Attributes
    ----------
    requests
        Submit this many requests, warm-up included, and wait for all of them. With `precision` this is the
        maximum, by default 10,000,000 (at least 1).
    time_s
        Stop at this simulated time (s; at least 0, at most 1e+10).
    warmup_requests
        Start measuring at the arrival that follows this many requests (at least 0; default 0).
    warmup_s
        Start measuring at this time; with `warmup_requests` too, at the first arrival that meets both (s; at
        least 0, at most 1e+10; default 0.0).
    warmup
        The rule that sets the warm-up. By default `fixed`, but `auto` if `precision` is given without
        `warmup_requests` and `warmup_s`.
    precision
        The precision at which a run of generated requests ends; absent for a run of a fixed length.
    power_cuts
        The power failures; none when absent.
    """

    requests: int | None = None
    time_s: float | str | None = None
    warmup_requests: int | None = None
    warmup_s: float | str | None = None
    warmup: WarmupRule | None = None
    precision: Precision | None = None
    power_cuts: PowerCuts | None = None


class ScenarioModel(Model):
    """A scenario with every key: workload, system, and length of the run.

    Attributes
    ----------
    title
        Heading for the result.
    seed
        Seed of every random stream of the run (at least 0; default 1).
    workload
        The requests.
    system
        The system: components and devices.
    run
        The length of the run and its warm-up (default {"requests": null, "time_s": null, "warmup_requests": 0,
        "warmup_s": 0.0}).
    missing
        Features of the imported description that affect results and are not supported. A run needs
        `accept_missing`.
    accept_missing
        True to run although features are `missing`.
    components
        Components by name, to be named where one is expected, each in one place.
    """

    title: str | None = None
    seed: int | None = None
    workload: Workload
    system: System
    run: Run | None = None
    missing: list[str] | None = None
    accept_missing: bool | None = None
    components: dict[str, System] | None = None
