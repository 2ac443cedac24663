"""The tables of a scenario as typed classes: scenario.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from sledsim.scenario.models.model import Model
from sledsim.scenario.models.system import System
from sledsim.scenario.models.workload import Workload

__all__ = [
    "PowerCuts",
    "Run",
    "ScenarioModel",
]


class PowerCuts(Model):
    """When power fails, and comes back in the same instant.

    What was under way then never comes back; what the system does to recover takes time. The run holds the bytes
    of all blocks that are written, and what each cut took is found by running the same again as far as that and
    reading them all: it takes as many runs more as there are cuts, each as far as its cut.

    Attributes
    ----------
    times_s
        At these times (s; default []).
    random
        At so many random moments besides: after a random one of `run.requests`, between any two steps of what
        follows; or at random times before `run.time_s`. One that would come after the end of the run does not (at
        least 0, at most 1,000; default 0).
    """

    times_s: list[float | str] | None = None
    random: int | None = None


class Run(Model):
    """When the run ends and what it leaves out.

    Without a limit, a trace runs to its end and a generator for 100,000 requests.

    Attributes
    ----------
    requests
        Submit this many requests, warm-up included, and wait for all of them (at least 1).
    time_s
        Stop at this simulated time, whatever is under way (s; at least 0, at most 1e+10).
    warmup_requests
        Start measuring when the request arrives that this many precede (at least 0; default 0).
    warmup_s
        Start measuring at this time; with `warmup_requests` too, at the first arrival that meets both (s; at
        least 0, at most 1e+10; default 0.0).
    power_cuts
        When power fails; never when absent.
    """

    requests: int | None = None
    time_s: float | str | None = None
    warmup_requests: int | None = None
    warmup_s: float | str | None = None
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
        What is asked of the system.
    system
        The system: components and devices.
    run
        When the run ends and what it leaves out (default {"requests": null, "time_s": null, "warmup_requests": 0,
        "warmup_s": 0.0}).
    missing
        What decides results of the description that this was imported from, and is not carried over; a run has to
        accept that.
    accept_missing
        Whether to run without what is `missing`.
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
