"""The devices and the random workload that the experiments of Griffin et al. 1999 share."""

from collections.abc import Mapping, Sequence
from typing import Any

from sledsim.runs import Result
from sledsim_papers.harness.study import Study

__all__ = [
    "DEVICE",
    "DISK",
    "NAMES",
    "SCHEDULERS",
    "acceleration",
    "access",
    "access_ms",
    "closed",
    "mean_ms",
    "poisson",
    "random",
    "speed",
]

#: The default device of Table 1, and the disk with its buffer on.
DEVICE, DISK = "griffin1999", "cheetah4LP"

#: The schedulers of section 5.1, and what the paper calls them.
SCHEDULERS = ("fcfs", "clook", "sstf_lbn", "sptf")
NAMES = {"fcfs": "FCFS", "clook": "C-LOOK", "sstf_lbn": "SSTF_LBN", "sptf": "SPTF"}


def poisson(rate_per_s: float) -> dict[str, Any]:
    """Return arrivals at a rate, with exponential times between them."""
    return {"kind": "poisson", "rate_per_s": rate_per_s}


def closed(outstanding: int = 1) -> dict[str, Any]:
    """Return a closed workload with this many outstanding requests and no think time."""
    return {"kind": "closed", "outstanding": outstanding}


def random(
    arrival: Mapping[str, Any], requests: int, scheduler: str = "fcfs", *, device: str = DEVICE, **changes: Any
) -> dict[str, Any]:
    """Return a scenario with the paper's random workload (section 3).

    Parameters
    ----------
    arrival
        When requests arrive.
    requests
        How many.
    scheduler
        Which policy picks.
    device
        Entry of the catalogue.
    **changes
        Values that replace those of the device.
    """
    size = {"kind": "exponential", "mean": 4096}
    return {
        "workload": {"arrival": arrival, "size_bytes": size, "read_fraction": 0.67},
        "system": {"device": {"name": device, **changes}, "scheduler": scheduler},
        "run": {"requests": requests},
    }


def acceleration(value_m_s2: float) -> dict[str, float]:
    """Return the values of a device with this acceleration along both axes."""
    return {"acceleration_x_m_s2": value_m_s2, "acceleration_y_m_s2": value_m_s2}


def speed(mm_s: float, bit_nm: float = 50.0) -> dict[str, float]:
    """Return the bit rate at which a tip reads bits of a width while the sled moves at a speed."""
    return {"bit_rate_kbit_s": mm_s * 1e3 / bit_nm}


def mean_ms(result: Result) -> float:
    """Return the mean response time of a run, ms."""
    return float(result["response"]["mean_ms"])


def access(study: Study, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario of a changed device that serves one request at a time.

    Parameters
    ----------
    study
        Quick or full.
    changes
        Values that replace those of the default device.
    """
    return random(closed(), study.requests(100_000, 20_000), **changes)


def access_ms(study: Study, changes: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return mean access times of changed devices that serve one request at a time, ms.

    Parameters
    ----------
    study
        Where they are run.
    changes
        For each device the values that replace those of the default.
    """
    return [mean_ms(run) for run in study.runs([access(study, each) for each in changes])]
