"""The tables of a scenario as typed classes: workload.

Written by tools/generate_scenario.py from the core's schema: change the definitions there, not here.
Ranges and defaults stand in the docstrings; the core checks the values.
"""

from typing import Literal

from sledsim.scenario.models.distribution import Distribution
from sledsim.scenario.models.model import Model
from sledsim.scenario.models.trace import LastBlock, Metadata, TraceWorkload

__all__ = [
    "Arrival",
    "ClosedArrival",
    "ConstantArrival",
    "Continuation",
    "HotSpot",
    "HotSpotsLocation",
    "LbnRange",
    "LocalWalkLocation",
    "Location",
    "MixWorkload",
    "OnOffArrival",
    "PoissonArrival",
    "RenewalArrival",
    "SequentialLocation",
    "SessionWorkload",
    "Synthetic",
    "SyntheticWorkload",
    "UniformLocation",
    "Workload",
    "ZipfLocation",
]


class PoissonArrival(Model):
    """Independent arrivals: exponential interarrival times.

    Attributes
    ----------
    rate_per_s
        Mean number of requests per second (above 0, at most 1e+09).
    """

    kind: Literal["poisson"] = "poisson"
    rate_per_s: float | str


class ConstantArrival(Model):
    """Evenly spaced arrivals, the first one interval after the start.

    Attributes
    ----------
    rate_per_s
        Number of requests per second (above 0, at most 1e+09).
    """

    kind: Literal["constant"] = "constant"
    rate_per_s: float | str


class RenewalArrival(Model):
    """Independent interarrival times of any distribution.

    Attributes
    ----------
    interarrival_ms
        Interarrival time, ms. Its mean must be above 0.
    """

    kind: Literal["renewal"] = "renewal"
    interarrival_ms: Distribution


class OnOffArrival(Model):
    """Poisson arrivals during bursts, none in the idle times between; the run starts with a burst.

    Attributes
    ----------
    burst_ms
        Mean length of a burst, ms (exponential) (above 0, at most 1e+12).
    idle_ms
        Mean time between bursts, ms (exponential) (at least 0, at most 1e+12).
    rate_per_s
        Mean number of requests per second during a burst; at least 0.001 per burst (above 0, at most 1e+09).
    """

    kind: Literal["on-off"] = "on-off"
    burst_ms: float | str
    idle_ms: float | str
    rate_per_s: float | str


class ClosedArrival(Model):
    """A fixed number of users: each sends a request at the start and another one a think time after each completion.

    Attributes
    ----------
    outstanding
        Number of users: the most requests that are outstanding at the same time (at least 1, at most 1,000,000).
    think_ms
        Time from a completion until the user's next request, ms (default {"kind": "fixed", "value": 0.0}).
    """

    kind: Literal["closed"] = "closed"
    outstanding: int
    think_ms: Distribution | None = None


# When requests arrive.
Arrival = PoissonArrival | ConstantArrival | RenewalArrival | OnOffArrival | ClosedArrival


class UniformLocation(Model):
    """Every position with equal probability.

    Attributes
    ----------
    align_bytes
        Offsets are multiples of this, itself a multiple of the block size; any block when absent (at least 1).
    """

    kind: Literal["uniform"] = "uniform"
    align_bytes: int | None = None


class SequentialLocation(Model):
    """Each request starts where the previous one ended, and after the end of the range at its start.

    Attributes
    ----------
    run_requests
        Mean number of requests (geometric) until a new run starts at a random position; one endless run from the
        start of the range when absent (at least 1, at most 1e+12).
    """

    kind: Literal["sequential"] = "sequential"
    run_requests: float | str | None = None


class LocalWalkLocation(Model):
    """A random walk: each request starts a random distance, up or down, from the end of the previous one.

    Steps beyond the ends of the range are reflected.

    Attributes
    ----------
    scale_bytes
        Mean distance (exponential), bytes (at least 0, at most 1e+15).
    """

    kind: Literal["local-walk"] = "local-walk"
    scale_bytes: float | str


class ZipfLocation(Model):
    """Equal regions, the k-th most popular with a probability proportional to k to the power of minus `exponent`.

    Positions within a region are uniform.

    Attributes
    ----------
    exponent
        Skew: 0 is uniform (at least 0, at most 10).
    regions
        Number of regions (at least 1, at most 1,048,576).
    shuffle
        True for regions in random order (a permutation drawn from the seed), false for regions by popularity from
        the start (default false).
    align_bytes
        Offsets are multiples of this, itself a multiple of the block size: drawn positions are rounded down to
        one. Any block when absent (at least 1).
    """

    kind: Literal["zipf"] = "zipf"
    exponent: float | str
    regions: int
    shuffle: bool | None = None
    align_bytes: int | None = None


class HotSpot(Model):
    """A part of the range that gets additional requests.

    Attributes
    ----------
    start_fraction
        Start, as a fraction of the range (at least 0, at most 1).
    end_fraction
        End, as a fraction of the range; above the start (at least 0, at most 1).
    probability
        Probability that a request is drawn from this spot (at least 0, at most 1).
    """

    start_fraction: float | str
    end_fraction: float | str
    probability: float | str


class HotSpotsLocation(Model):
    """Hot spots with given probabilities; the remaining requests go anywhere in the range, the spots included.

    Attributes
    ----------
    spots
        The spots. Their probabilities add up to at most 1.
    align_bytes
        As for `zipf` (at least 1).
    """

    kind: Literal["hot-spots"] = "hot-spots"
    spots: list[HotSpot]
    align_bytes: int | None = None


# Location of requests, within the range of the device in use. Each request lies completely inside that range.
Location = UniformLocation | SequentialLocation | LocalWalkLocation | ZipfLocation | HotSpotsLocation


class LbnRange(Model):
    """A part of the device, from one fraction of its capacity to another; the whole device by default.

    Attributes
    ----------
    start_fraction
        Start, as a fraction of the capacity (at least 0, at most 1; default 0.0).
    end_fraction
        End, as a fraction of the capacity; above the start (at least 0, at most 1; default 1.0).
    """

    start_fraction: float | str | None = None
    end_fraction: float | str | None = None


class Continuation(Model):
    """Continuations: requests that start where the one before ends and have the same operation.

    They do not change the share of reads.

    Attributes
    ----------
    reads
        Share of the reads that continue a read (at least 0, at most 1; default 0.0).
    writes
        Share of the writes that continue a write (at least 0, at most 1; default 0.0).
    """

    reads: float | str | None = None
    writes: float | str | None = None


class SyntheticWorkload(Model):
    """A synthetic workload.

    Arrivals, sizes, locations and operations are independent, and each has its own random stream. Only
    `continuation` correlates operations and locations.

    Attributes
    ----------
    name
        Workload of the catalogue, or path of a workload file, that gives the values which are absent here.
    arrival
        When requests arrive.
    time_scale
        Factor on all times between requests: 0.5 is twice as fast (above 0, at most 1e+09; default 1.0).
    size_bytes
        Sizes in bytes, rounded up to whole blocks, from one block to the range of the device in use. Subsector
        accesses leave out the bytes that the rounding adds (default {"kind": "fixed", "value": 4096.0}).
    location
        Start of the requests (default {"kind": "uniform"}).
    range
        The part of the device in use (default {"start_fraction": 0.0, "end_fraction": 1.0}).
    read_fraction
        Probability that a request is a read (at least 0, at most 1; default 1.0).
    continuation
        Requests that start where the one before ends; none when absent.
    synchronous_fraction
        Share of the requests that are synchronous (a process waits for them), drawn at random (at least 0, at
        most 1; default 0.0).
    last_block
        The bytes that a request needs in its last block (default "whole").
    metadata
        Metadata requests, which need only a few bytes; none when absent.
    """

    kind: Literal["synthetic"] = "synthetic"
    name: str | None = None
    arrival: Arrival | None = None
    time_scale: float | str | None = None
    size_bytes: Distribution | None = None
    location: Location | None = None
    range: LbnRange | None = None
    read_fraction: float | str | None = None
    continuation: Continuation | None = None
    synchronous_fraction: float | str | None = None
    last_block: LastBlock | None = None
    metadata: Metadata | None = None


class Synthetic(Model):
    """A synthetic workload.

    Arrivals, sizes, locations and operations are independent, and each has its own random stream. Only
    `continuation` correlates operations and locations.

    Attributes
    ----------
    name
        Workload of the catalogue, or path of a workload file, that gives the values which are absent here.
    arrival
        When requests arrive.
    time_scale
        Factor on all times between requests: 0.5 is twice as fast (above 0, at most 1e+09; default 1.0).
    size_bytes
        Sizes in bytes, rounded up to whole blocks, from one block to the range of the device in use. Subsector
        accesses leave out the bytes that the rounding adds (default {"kind": "fixed", "value": 4096.0}).
    location
        Start of the requests (default {"kind": "uniform"}).
    range
        The part of the device in use (default {"start_fraction": 0.0, "end_fraction": 1.0}).
    read_fraction
        Probability that a request is a read (at least 0, at most 1; default 1.0).
    continuation
        Requests that start where the one before ends; none when absent.
    synchronous_fraction
        Share of the requests that are synchronous (a process waits for them), drawn at random (at least 0, at
        most 1; default 0.0).
    last_block
        The bytes that a request needs in its last block (default "whole").
    metadata
        Metadata requests, which need only a few bytes; none when absent.
    """

    name: str | None = None
    arrival: Arrival
    time_scale: float | str | None = None
    size_bytes: Distribution | None = None
    location: Location | None = None
    range: LbnRange | None = None
    read_fraction: float | str | None = None
    continuation: Continuation | None = None
    synchronous_fraction: float | str | None = None
    last_block: LastBlock | None = None
    metadata: Metadata | None = None


class MixWorkload(Model):
    """Several synthetic workloads at the same time.

    Each has its own arrivals, part of the device, sizes and share of reads. The origin of a request is the number
    of its stream, from 0.

    Attributes
    ----------
    name
        Workload of the catalogue, or path of a workload file, that gives the values which are absent here.
    time_scale
        Factor on all times between requests, in addition to that of each stream: 0.5 is twice as fast (above 0,
        at most 1e+09; default 1.0).
    footprint_bytes
        Bytes that the streams use, from the start of the system, rounded down to whole blocks; their ranges are
        fractions of it. The whole system when absent (B; at least 1).
    streams
        The workloads, without a name.
    """

    kind: Literal["mix"] = "mix"
    name: str | None = None
    time_scale: float | str | None = None
    footprint_bytes: int | str | None = None
    streams: list[Synthetic] | None = None


class SessionWorkload(Model):
    """Requests come from the program that drives a session with the system. A run cannot use it."""

    kind: Literal["session"] = "session"


# The requests that are sent to the system.
Workload = SyntheticWorkload | MixWorkload | TraceWorkload | SessionWorkload | str
