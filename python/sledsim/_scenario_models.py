"""The tables of a scenario as typed classes.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim._model import Model

__all__ = [
    "Arrival",
    "DeviceSpec",
    "Layout",
    "OnOffArrival",
    "PoissonArrival",
    "Run",
    "ScenarioModel",
    "SyntheticWorkload",
    "System",
    "TraceWorkload",
    "Workload",
]


class PoissonArrival(Model):
    """Keys of PoissonArrival.

    Attributes
    ----------
    kind
        Always poisson.
    rate_per_s
        See its type (1/s; at least 0).
    """

    kind: Literal["poisson"] = "poisson"
    rate_per_s: float


class OnOffArrival(Model):
    """Keys of OnOffArrival.

    Attributes
    ----------
    kind
        Always on-off.
    """

    kind: Literal["on-off"] = "on-off"


Arrival = PoissonArrival | OnOffArrival


class SyntheticWorkload(Model):
    """Generated.

    Attributes
    ----------
    kind
        Always synthetic.
    read_fraction
        Share of reads (at least 0, at most 1).
    arrival
        See its type.
    """

    kind: Literal["synthetic"] = "synthetic"
    read_fraction: float | None = None
    arrival: Arrival | None = None


class TraceWorkload(Model):
    """Replay.

    Attributes
    ----------
    kind
        Always trace.
    path
        See its type.
    """

    kind: Literal["trace"] = "trace"
    path: str


Workload = SyntheticWorkload | TraceWorkload

Layout = Literal["serpentine", "simple"]


class DeviceSpec(Model):
    """Keys of DeviceSpec.

    Attributes
    ----------
    name
        See its type.
    settle_constants
        See its type.
    layout
        See its type.
    """

    name: str | None = None
    settle_constants: float | None = None
    layout: Layout | None = None


class System(Model):
    """Keys of System.

    Attributes
    ----------
    device
        See its type.
    scheduler
        See its type.
    batch_max
        See its type.
    """

    device: str | DeviceSpec | None = None
    scheduler: str | None = None
    batch_max: int | None = None


class Run(Model):
    """Keys of Run.

    Attributes
    ----------
    requests
        See its type (at least 1).
    """

    requests: int | None = None


class ScenarioModel(Model):
    """A scenario.

    Attributes
    ----------
    title
        Title.
    seed
        Seed (at least 0; default 1).
    workload
        See its type.
    system
        See its type.
    run
        See its type.
    """

    title: str | None = None
    seed: int | None = None
    workload: Workload | None = None
    system: System | None = None
    run: Run | None = None
