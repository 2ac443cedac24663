"""Solutions of Markov chains: mean time to loss, transient probabilities and counts, steady state.

Every step adds, multiplies or divides non-negative numbers without cancellation. A probability of 1e-15 or 1e-200
therefore has as many correct digits as one of 0.5, and rates may range from minutes to centuries.

- Mean times: state elimination by Grassmann, Taksar and Heyman (1985), whose pivots are sums.
- Transient probabilities: the exponential of the generator over a short step by uniformisation, a sum of non-negative
  terms, then repeated squaring (after Xue and Ye 2013) with rows normalised to the sum 1.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from sledsim.reliability.chain import Chain
from sledsim.reliability.description import ReliabilityError
from sledsim.reliability.duration import LONGEST_H
from sledsim.show.arguments import require_kind, require_number
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_EVENTS", "Transient", "mean_time_to_loss_h", "stationary", "times_in_states_h"]

#: Terms of the uniformisation series beyond the first that reaches loss. A step has at most one expected event, so the
#: truncation error is below 1/30! ≈ 4e-33 of the sum.
TERMS = 30

#: Maximum expected number of events within a horizon: a double counts no more steps exactly.
MOST_EVENTS = 2.0**53


def times_in_states_h(chain: Chain) -> "NDArray[np.float64]":
    """Return the mean time spent in each state until data is lost, in hours.

    Parameters
    ----------
    chain
        The chain.

    Raises
    ------
    ReliabilityError
        If loss is so rare that the time exceeds the largest double, 1.8e308.
    """
    require_kind(ReliabilityError, "chain", chain, Chain, "a chain")
    rates, loss = chain.rates_per_h.copy(), chain.loss_per_h.copy()
    count = len(loss)
    exits = np.empty(count)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for j in range(count - 1, -1, -1):
            exits[j] = rates[j, :j].sum() + loss[j]
            # Eliminate state j: redistribute the rates into j over the targets of j.
            weights = rates[:j, j] / exits[j]
            rates[:j, :j] += np.outer(weights, rates[j, :j])
            loss[:j] += weights * loss[j]
        times = np.empty(count)
        times[0] = 1 / exits[0]
        for j in range(1, count):
            times[j] = times[:j] @ rates[:j, j] / exits[j]
        total = times.sum()
    if not math.isfinite(total):
        message = "the mean time to loss of data is beyond 1.8e308 h: take less parity or slower rebuilds"
        raise make_error(
            ReliabilityError,
            "out-of-range",
            message,
        )
    return times


def mean_time_to_loss_h(chain: Chain) -> float:
    """Return the mean time from the start until data is lost, in hours.

    Parameters
    ----------
    chain
        The chain.
    """
    return float(times_in_states_h(chain).sum())


def stationary(chain: Chain) -> "NDArray[np.float64]":
    """Return the steady-state share of time in each state, if the chain restarts at once after each loss.

    Parameters
    ----------
    chain
        The chain.
    """
    times = times_in_states_h(chain)
    return np.asarray(times / times.sum())


class Transient:
    """Transient solution of a chain up to a horizon: state probabilities and mean counts.

    Parameters
    ----------
    chain
        The chain.
    horizon_h
        The longest time of the solution, in hours.
    """

    def __init__(self, chain: Chain, horizon_h: float) -> None:
        require_kind(ReliabilityError, "chain", chain, Chain, "a chain")
        horizon_h = require_number(ReliabilityError, "horizon_h", horizon_h, most=LONGEST_H, unit="hours")
        self.chain = chain
        self.horizon_h = horizon_h
        exits = chain.exits_per_h
        self._rate_per_h = exits.max()
        self._jump = np.zeros((len(exits) + 1, len(exits) + 1))
        self._jump[:-1, :-1] = chain.rates_per_h / self._rate_per_h
        self._jump[:-1, -1] = chain.loss_per_h / self._rate_per_h
        np.fill_diagonal(self._jump, [*(1 - exits / self._rate_per_h), 1.0])
        self._counts_per_h = np.zeros((len(exits) + 1, len(chain.counts_per_h)))
        for column, per_h in enumerate(chain.counts_per_h.values()):
            self._counts_per_h[:-1, column] = per_h
        self._terms = TERMS + chain.steps_to_loss
        self._steps, self._counted = self._tables()

    def probabilities(self, times_h: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return the probabilities of the states, with loss last, and the mean counts, with a row for each time.

        Parameters
        ----------
        times_h
            Times in hours, from 0 to the horizon.
        """
        for time_h in times_h:
            if not 0 <= time_h <= self.horizon_h:
                message = f"time {time_h} h: expected a number of hours from 0 to {self.horizon_h}"
                raise make_error(
                    ReliabilityError,
                    "out-of-range",
                    message,
                    path="time",
                    value=time_h,
                    allowed={"least": 0, "most": self.horizon_h, "unit": "h"},
                )
        states = np.zeros((len(times_h), len(self._jump)))
        states[:, 0] = 1.0
        counts = np.zeros((len(times_h), self._counts_per_h.shape[1]))
        if self.horizon_h == 0:
            return states, counts
        whole = np.floor(times_h / self._step_h).astype(np.int64)
        for bit, (step, counted) in enumerate(zip(self._steps, self._counted, strict=True)):
            taken = (whole >> bit & 1).astype(bool)
            counts[taken] += states[taken] @ counted
            states[taken] = _stochastic(states[taken] @ step)
        poisson, durations_h = self._weights(np.maximum(times_h - whole * self._step_h, 0.0))
        counts += _series(self._jump.T, states.T, durations_h).T @ self._counts_per_h
        return _stochastic(_series(self._jump.T, states.T, poisson).T), counts

    def _tables(self) -> "tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]":
        """Return the transition matrices of steps of doubling length, and the mean counts by initial state."""
        events = float(self._rate_per_h) * self.horizon_h
        if events > MOST_EVENTS:
            message = (
                f": {self.horizon_h:g} h span {events:.2g} of the chain's fastest events; at most {MOST_EVENTS:.2g}"
            )
            raise make_error(ReliabilityError, "out-of-range", message, path="horizon_h", value=self.horizon_h)
        doublings = max(0, math.ceil(math.log2(events))) if events > 0 else 0
        self._step_h = self.horizon_h / 2.0**doublings
        poisson, durations_h = self._weights(np.array([self._step_h]))
        step = _polynomial(self._jump, poisson)
        steps, counted = [_stochastic(step)], [_series(self._jump, self._counts_per_h, durations_h)]
        for _ in range(doublings):
            steps.append(_stochastic(steps[-1] @ steps[-1]))
            counted.append(counted[-1] + steps[-2] @ counted[-1])
        return steps, counted

    def _weights(self, steps_h: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return the Poisson probabilities of k events within each step, and the mean times (h) after exactly k events.

        Rows are k, columns are steps.
        """
        means = self._rate_per_h * steps_h
        # The sums of tails need more terms than the series.
        weights = [np.exp(-means)]
        for k in range(1, self._terms + TERMS):
            weights.append(weights[-1] * means / k)
        poisson = np.array(weights)
        tails = np.cumsum(poisson[::-1], axis=0)[::-1]
        return poisson[: self._terms], tails[1 : self._terms + 1] / self._rate_per_h


def _polynomial(matrix: "NDArray[np.float64]", weights: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the sum of weights[k] matrix^k with about 2 √n products for n terms (Paterson and Stockmeyer, 1973).

    There are no subtractions, and the smallest terms are added first, so that small elements stay exact.
    """
    size = math.ceil(math.sqrt(len(weights)))
    powers = [np.eye(len(matrix)), matrix]
    while len(powers) <= size:
        powers.append(matrix @ powers[-1])
    leap, powers = powers[size], powers[:size]
    total = np.zeros_like(matrix)
    for first in reversed(range(0, len(weights), size)):
        total = total @ leap
        for weight, power in reversed(list(zip(weights[first : first + size], powers, strict=False))):
            total += weight * power
    return total


def _series(
    matrix: "NDArray[np.float64]", block: "NDArray[np.float64]", weights: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return the sum of weights[k] matrix^k block, smallest terms first."""
    terms = [block]
    while len(terms) < len(weights):
        terms.append(matrix @ terms[-1])
    total = np.zeros_like(block)
    for weight, term in zip(weights[::-1], reversed(terms), strict=True):
        total += weight * term
    return total


def _stochastic(rows: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Normalise each row to the sum 1, which removes rounding errors."""
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
