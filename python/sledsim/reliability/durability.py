"""Probabilities of numbers of failures and repairs within a time: equation 1 of hong2006 (section 3.3).

Rebuilds and repairs are assumed instantaneous, so that failures are a Poisson process of rate λ_N = Nλ. Unlike in
section 3.2 of the paper, N is the number of data and parity devices together.
"""

import math
from typing import TYPE_CHECKING, Literal, overload

from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import LONGEST_H, hours
from sledsim.reliability.reading import DescriptionLike, load
from sledsim.reliability.table import MAX_DEVICES
from sledsim.show.arguments import require_flag, require_integer, require_number, require_word
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.reliability.duration import Time, Times

__all__ = ["failures_at_most", "failures_tolerated", "more_repairs_than", "unrepaired_survival"]

#: Limits on devices and failures: the time to compute a probability grows with the square root of their number.
MOST_DEVICES = 10 * MAX_DEVICES
MOST_FAILURES = (MAX_DEVICES + 1) ** 2


@overload
def failures_at_most(
    failures: int, devices: int, device_mttf_h: float, times: "Time", *, complement: bool = False
) -> float: ...
@overload
def failures_at_most(
    failures: int, devices: int, device_mttf_h: float, times: "Times", *, complement: bool = False
) -> "NDArray[np.float64]": ...
def failures_at_most(
    failures: int, devices: int, device_mttf_h: float, times: "Time | Times", *, complement: bool = False
) -> "float | NDArray[np.float64]":
    """Return P_k(t), the probability of at most k failures by time t: equation 1.

    Parameters
    ----------
    failures
        k, from 0 up.
    devices
        N, data and parity devices.
    device_mttf_h
        1/λ, mean time to failure of a device, in hours.
    times
        A time or several: texts such as ``"3 years"``, or hours from 0 up.
    complement
        True to return 1 - P_k(t), the probability of more than k failures, computed without cancellation.

    Examples
    --------
    An enclosure with two spares survives a year without repair if no more than three devices fail:

    >>> round(failures_at_most(failures_tolerated(spares=2), 20, 200_000, "1 year"), 3)
    0.988
    """
    failures = require_integer(ReliabilityError, "failures", failures, 0, MOST_FAILURES)
    devices = require_integer(ReliabilityError, "devices", devices, 1, MOST_DEVICES)
    mttf_h = require_number(ReliabilityError, "device_mttf_h", device_mttf_h, above=0, most=LONGEST_H, unit="hours")
    complement = require_flag(ReliabilityError, "complement", complement)
    times_h = hours(times)
    values = times_h.astype(float)
    for place, time_h in enumerate(times_h.flat):
        expected = devices / mttf_h * float(time_h) if time_h else 0.0
        values.flat[place] = _poisson(failures, expected, complement=complement)
    return values if times_h.ndim else float(values)


def _poisson(most: int, expected: float, *, complement: bool) -> float:
    """Return the probability of at most ``most`` events of a Poisson distribution with mean ``expected``, or of more.

    The function sums the tail that does not contain the mode, from its largest term on; the other tail is 1 minus it.
    """
    if expected == 0 or math.isinf(expected):
        return float(complement == (expected > 0))
    above = most + 1 > expected
    number = most + 1 if above else most
    term = math.exp(number * math.log(expected) - expected - math.lgamma(number + 1))
    tail = 0.0
    while term > tail * 1e-17:
        tail += term
        number += 1 if above else -1
        term *= expected / number if above else (number + 1) / expected
    return tail if above == complement else 1 - tail


def failures_tolerated(
    spares: int,
    repairs: int = 0,
    strategy: Literal["none", "preventive", "mandatory"] = "none",
    parity: int = 1,
) -> int:
    """Return the number of failures an enclosure tolerates without repairs, or before the repair after ``repairs``.

    As in hong2006, with k spares and m repairs: k + 1 without repair, k (m + 1) under preventive and (k + 1) (m + 1)
    under mandatory replacement. The failure that uses up the last spare already requires the next repair; the paper
    counts the repair from the failure after it.

    Parameters
    ----------
    spares
        k, from 0 up.
    repairs
        m, from 1 up with a strategy, else 0.
    strategy
        Repair strategy. Without spares, preventive replacement is the same as mandatory.
    parity
        Failures tolerated without a spare. A repair is due from the first of them.
    """
    spares, repairs, parity = (
        require_integer(ReliabilityError, name, count, 0, MAX_DEVICES)
        for name, count in (("spares", spares), ("repairs", repairs), ("parity", parity))
    )
    require_word(ReliabilityError, "strategy", strategy, ("none", "preventive", "mandatory"))
    if strategy == "none":
        if repairs:
            message = f"repairs: {repairs} needs a strategy; use preventive or mandatory"
            raise make_error(ReliabilityError, "conflict", message, path="repairs", value=repairs)
        return spares + parity
    between = spares if strategy == "preventive" and spares else spares + 1
    return between * (repairs + 1)


@overload
def unrepaired_survival(description: DescriptionLike, times: "Time") -> float: ...
@overload
def unrepaired_survival(description: DescriptionLike, times: "Times") -> "NDArray[np.float64]": ...
def unrepaired_survival(description: DescriptionLike, times: "Time | Times") -> "float | NDArray[np.float64]":
    """Return the probability that an enclosure survives until a time without repair, by equation 1.

    Parameters
    ----------
    description
        The enclosure, as for :func:`sledsim.reliability.load`; its rebuilds and repairs are ignored.
    times
        A time or several: texts such as ``"3 years"``, or hours from 0 up.
    """
    description = load(description)
    _require_poisson(description)
    enclosure = description.enclosure
    tolerated = failures_tolerated(enclosure.spares, parity=enclosure.parity)
    return failures_at_most(tolerated, enclosure.devices, description.device.mttf.h, times)


@overload
def more_repairs_than(description: DescriptionLike, repairs: int, times: "Time") -> float: ...
@overload
def more_repairs_than(description: DescriptionLike, repairs: int, times: "Times") -> "NDArray[np.float64]": ...
def more_repairs_than(
    description: DescriptionLike, repairs: int, times: "Time | Times"
) -> "float | NDArray[np.float64]":
    """Return the probability that an enclosure needs more than ``repairs`` repairs by a time, by equation 1.

    Parameters
    ----------
    description
        The enclosure and its strategy, as for :func:`sledsim.reliability.load`; the times of rebuilds and repairs are
        ignored.
    repairs
        m, from 1 up.
    times
        A time or several: texts such as ``"3 years"``, or hours from 0 up.
    """
    description = load(description)
    _require_poisson(description)
    enclosure, strategy = description.enclosure, description.repair.strategy
    if strategy == "none":
        message = 'repair.strategy: "none" makes no repairs; take preventive or mandatory'
        raise make_error(
            ReliabilityError,
            "conflict",
            message,
            path="repair.strategy",
            value="none",
            allowed=["preventive", "mandatory"],
        )
    tolerated = failures_tolerated(enclosure.spares, repairs, strategy)
    return failures_at_most(tolerated, enclosure.devices, description.device.mttf.h, times, complement=True)


def _require_poisson(description: Description) -> None:
    """Raise if the number of devices that can fail is not constant."""
    enclosure = description.enclosure
    if enclosure.spares and (enclosure.sparing == "distributed" or enclosure.spares_fail):
        key = "sparing" if enclosure.sparing == "distributed" else "spares_fail"
        message = f"enclosure.{key}: equation 1 holds for dedicated spares that do not fail"
        raise make_error(ReliabilityError, "unsupported", message, path=f"enclosure.{key}")
