"""Markov chains of enclosures: Figure 2 of hong2006, for any number of parity devices and spares.

The chain of N data devices, one parity device and one dedicated spare; the digit is the number of spares left::

      ┌─────────────── ρ1 ───────────────┐
      ▼                                  │
    ┌────┐ (N+1)λ ┌────┐      μ       ┌──┴─┐ (N+1)λ ┌────┐
    │ N1 ├───────▶│ D1 ├─────────────▶│ N0 ├───────▶│ D0 │
    └────┘        └─┬──┘              └────┘        └┬──┬┘
      ▲             │ Nλ      ┌────┐            Nλ   │  │
      │             └────────▶│ DL │◀────────────────┘  │
      │                       └────┘                    │
      └─────────────────────── ρ0 ──────────────────────┘

========================================  =============  ==============================
here                                      the paper      meaning
========================================  =============  ==============================
``State(failed=0, spares=s)``             N s            normal mode, s spares left
``State(failed=1, spares=s)``             D s            degraded mode, s spares left
``LOSS``                                  DL             data loss
``1 / device.mttf``                       λ              failures of a device
``1 / rebuild.time``                      μ              rebuilds onto a spare
``repair.preventive_rate_per_h``          ρ1             repairs from N0
``repair.mandatory_rate_per_h``           ρ0             repairs from D0
========================================  =============  ==============================

Lifetimes, rebuild times and repair times are exponential and independent. More parity adds rows of states with more
failed devices; more spares add columns.

- In a state with ``failed`` failed devices, ``data + parity - failed`` devices can fail; one failure more than
  ``parity`` loses data. With ``spares_fail``, dedicated spares fail too, also during a rebuild onto them.
- A rebuild uses one spare. Up to ``rebuild.at_once`` rebuilds run at a time.
- A repair replaces all failed devices and spares, and is pending only while no spare is left. The preventive strategy
  has rate ρ1 if no device has failed and ρ0 otherwise; the mandatory strategy has only rate ρ0. Without spares the
  strategies are the same.
- Under distributed sparing, all ``data + parity + spares`` devices store data and can fail. Each of n devices uses
  ``(data + parity) / n`` of its capacity. A rebuilt unit takes ``data`` reads and one write, shared by n - 1 devices;
  with a dedicated spare, all writes go to one device. Rebuilds are faster by
  ``n (n - 1) / ((data + parity) (data + 1))``, unless ``rebuild.spread`` is false.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from sledsim.reliability.beyond_chains import needs_simulation
from sledsim.reliability.chain import LOSS, MAX_STATES, Chain, Transition
from sledsim.reliability.description import Description, ReliabilityError
from sledsim.reliability.duration import YEAR_H, hours
from sledsim.reliability.reading import DescriptionLike, load
from sledsim.reliability.rebuild import mean_rebuild_h
from sledsim.reliability.solve import MOST_EVENTS, Transient, stationary, times_in_states_h
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sledsim.reliability.duration import Time, Times

    Reading = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

__all__ = [
    "LongRun",
    "MarkovModel",
    "State",
    "enclosure_chain",
    "mttf_h",
]

#: If a horizon with too many events is longer than this (years), the error names the horizon instead of a rate.
MANY_YEARS = 1e6
# Names of the counted events of an enclosure's chain.
REPAIRS, REPLACED = "repairs", "replaced devices"


class State(NamedTuple):
    """A transient state of an enclosure's chain."""

    failed: int
    """Failed devices that are not rebuilt yet."""
    spares: int
    """Remaining spares."""


@dataclass(frozen=True)
class LongRun:
    """Steady-state measures, if each enclosure that loses data is replaced by a new one.

    Parameters
    ----------
    shares
        Share of time in each state.
    degraded
        Share of time with a failed device that is not rebuilt yet.
    without_spares
        Share of time without a spare.
    repairs_per_year, replaced_per_year, losses_per_year
        Repairs, replaced devices and losses of data per year of 8,760 h.
    """

    shares: dict[State, float]
    degraded: float
    without_spares: float
    repairs_per_year: float
    replaced_per_year: float
    losses_per_year: float


def enclosure_chain(description: DescriptionLike) -> Chain:
    """Return the Markov chain of an enclosure; it counts ``"repairs"`` and ``"replaced devices"``.

    :class:`MarkovModel` documents the states and rates with the symbols of hong2006.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Raises
    ------
    ReliabilityError
        If the description has keys that a Markov chain cannot represent, or needs too many states.
    """
    description = load(description)
    _require_memoryless(description)
    enclosure, repair = description.enclosure, description.repair
    count = (enclosure.parity + 1) * (enclosure.spares + 1)
    if count > MAX_STATES:
        message = (
            f"enclosure.spares: {enclosure.spares} spares and a parity of {enclosure.parity} make {count:,} states; "
            f"at most {MAX_STATES:,} are possible"
        )
        raise make_error(ReliabilityError, "out-of-range", message, path="enclosure.spares", value=enclosure.spares)
    start = State(0, enclosure.spares)
    repairs: dict[State, float] = {}
    for failed in range(enclosure.parity + 1):
        state = State(failed, 0)
        if state != start:
            repairs[state] = repair.mandatory_rate_per_h if failed else repair.preventive_rate_per_h
    replaced = {state: rate * (state.failed + enclosure.spares) for state, rate in repairs.items()}
    transitions = [*_failures_and_rebuilds(description), *((state, start, rate) for state, rate in repairs.items())]
    return Chain.of(start, transitions, {REPAIRS: dict(repairs), REPLACED: dict(replaced)})


def _failures_and_rebuilds(description: Description) -> Iterator[Transition]:
    enclosure, rebuild = description.enclosure, description.rebuild
    distributed = enclosure.sparing == "distributed"
    failures_per_h = 1 / description.device.mttf.h
    rebuilds_per_h = 1 / mean_rebuild_h(description)
    for spares in range(enclosure.spares + 1):
        devices = enclosure.devices + (spares if distributed else 0)
        faster = 1.0
        if distributed and rebuild.spread:
            faster = devices * (devices - 1) / (enclosure.devices * (enclosure.data + 1))
        for failed in range(enclosure.parity + 1):
            state = State(failed, spares)
            worse = State(failed + 1, spares) if failed < enclosure.parity else LOSS
            yield state, worse, (devices - failed) * failures_per_h
            if enclosure.spares_fail and not distributed and spares:
                yield state, State(failed, spares - 1), spares * failures_per_h
            if failed and spares:
                at_once = min(failed, spares, rebuild.at_once)
                yield state, State(failed - 1, spares - 1), at_once * rebuilds_per_h * faster


def _require_memoryless(description: Description) -> None:
    """Raise if a description has keys that a Markov chain cannot represent."""
    for key in needs_simulation(description):
        message = (
            f"{key}: a Markov chain needs constant rates of failures, rebuilds and repairs; leave the key out, or use "
            "simulate()"
        )
        raise make_error(ReliabilityError, "unsupported", message, path=key)


class MarkovModel:
    """The Markov chain of an enclosure, and the measures computed from it.

    With N data devices, one parity device and one dedicated spare (Figure 2 of hong2006)::

          ┌─────────────── ρ1 ───────────────┐
          ▼                                  │
        ┌────┐ (N+1)λ ┌────┐      μ       ┌──┴─┐ (N+1)λ ┌────┐
        │ N1 ├───────▶│ D1 ├─────────────▶│ N0 ├───────▶│ D0 │
        └────┘        └─┬──┘              └────┘        └┬──┬┘
          ▲             │ Nλ      ┌────┐            Nλ   │  │
          │             └────────▶│ DL │◀────────────────┘  │
          │                       └────┘                    │
          └─────────────────────── ρ0 ──────────────────────┘

    N is the normal mode, D the degraded mode and DL data loss; the digit is the number of spares left, initially k.
    1/λ is ``device.mttf``, 1/μ ``rebuild.time``, 1/ρ1 ``repair.preventive`` and 1/ρ0 ``repair.mandatory`` (by default
    ``repair.preventive``). Without a strategy both repair rates are 0; under the mandatory strategy ρ1 is 0.

    More spares add columns: N_s, D_s, N_(s-1) and so on down to N0 and D0, the only states that are repaired. More
    parity adds rows: with f failed devices the next one fails at the rate (N + parity - f) λ, and one failure more than
    the parity leads to DL. With ``spares_fail``, N_s goes to N_(s-1) at the rate sλ. Under distributed sparing,
    N + parity + s - f devices can fail.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Attributes
    ----------
    description : Description
        The validated description.
    chain : Chain
        The chain.

    Raises
    ------
    ReliabilityError
        If the description has keys that a Markov chain cannot represent.

    Examples
    --------
    The enclosure of hong2006 with five spares and no repair:

    >>> model = MarkovModel({
    ...     "enclosure": {"data": 19, "parity": 1, "spares": 5},
    ...     "device": {"mttf": "200000 h"},
    ...     "rebuild": {"time": "15 min"},
    ... })
    >>> round(model.mttf_years, 2), round(model.loss_probability("3 years"), 4)
    (8.05, 0.0175)
    """

    def __init__(self, description: DescriptionLike) -> None:
        self.description = load(description)
        self.chain = enclosure_chain(self.description)
        self._times_h = times_in_states_h(self.chain)
        self._transient: Transient | None = None

    @property
    def mttf_h(self) -> float:
        """Mean time until data is lost, in hours."""
        return float(self._times_h.sum())

    @property
    def mttf_years(self) -> float:
        """Mean time until data is lost, in years of 8,760 h."""
        return self.mttf_h / YEAR_H

    @property
    def repairs_until_loss(self) -> float:
        """Mean number of repairs until data is lost."""
        return float(self._times_h @ self.chain.counts_per_h[REPAIRS])

    @property
    def replaced_until_loss(self) -> float:
        """Mean number of devices replaced by repairs until data is lost."""
        return float(self._times_h @ self.chain.counts_per_h[REPLACED])

    @overload
    def survival(self, times: "Time") -> float: ...
    @overload
    def survival(self, times: "Times") -> "NDArray[np.float64]": ...
    def survival(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return R(t), the probability that no data is lost by time t: from 0 to 1, non-increasing in t.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """

        def read(states: "NDArray[np.float64]", _: "NDArray[np.float64]") -> "NDArray[np.float64]":
            # Rounding errors could raise a sum above 1, or above that of an earlier time.
            return np.asarray(np.minimum.accumulate(np.minimum(states[:, :-1].sum(axis=1), 1.0)))

        return self._over(times, read)

    @overload
    def loss_probability(self, times: "Time") -> float: ...
    @overload
    def loss_probability(self, times: "Times") -> "NDArray[np.float64]": ...
    def loss_probability(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return 1 - R(t), the probability that data is lost by time t, computed without cancellation.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """
        return self._over(times, lambda states, _: np.maximum.accumulate(states[:, -1]))

    @overload
    def repairs(self, times: "Time") -> float: ...
    @overload
    def repairs(self, times: "Times") -> "NDArray[np.float64]": ...
    def repairs(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return the mean number of repairs by a time, or until data is lost.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """
        return self._over(times, lambda _, counts: counts[:, self._column(REPAIRS)])

    @overload
    def replaced(self, times: "Time") -> float: ...
    @overload
    def replaced(self, times: "Times") -> "NDArray[np.float64]": ...
    def replaced(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return the mean number of devices replaced by repairs by a time, or until data is lost.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """
        return self._over(times, lambda _, counts: counts[:, self._column(REPLACED)])

    def long_run(self) -> LongRun:
        """Return steady-state measures, if each enclosure that loses data is replaced by a new one."""
        shares = stationary(self.chain)
        states = [state for state in self.chain.states if isinstance(state, State)]
        per_year = {name: float(shares @ per_h) * YEAR_H for name, per_h in self.chain.counts_per_h.items()}
        by_state = {state: float(share) for state, share in zip(states, shares, strict=True)}
        return LongRun(
            shares=by_state,
            degraded=math.fsum(share for state, share in by_state.items() if state.failed),
            without_spares=math.fsum(share for state, share in by_state.items() if not state.spares),
            repairs_per_year=per_year[REPAIRS],
            replaced_per_year=per_year[REPLACED],
            losses_per_year=YEAR_H / self.mttf_h,
        )

    def _column(self, name: str) -> int:
        return list(self.chain.counts_per_h).index(name)

    def _over(self, times: "Time | Times", read: "Reading") -> "float | NDArray[np.float64]":
        """Evaluate the chain at each time with ``read``, which gets state probabilities and counts in order of time."""
        given_h = hours(times)
        # Equal times get equal values.
        times_h, where = np.unique(given_h.ravel(), return_inverse=True)
        horizon_h = float(times_h.max(initial=0.0))
        self._require_countable(horizon_h)
        if self._transient is None or self._transient.horizon_h != horizon_h:
            self._transient = Transient(self.chain, horizon_h)
        values = read(*self._transient.probabilities(times_h))
        return values[where] if given_h.ndim else float(values[0])

    def _require_countable(self, horizon_h: float) -> None:
        """Raise if the expected number of events within the horizon exceeds the limit of the solver."""
        if float(self.chain.exits_per_h.max()) * horizon_h <= MOST_EVENTS:
            return
        years, repair = horizon_h / YEAR_H, self.description.repair
        rates = {"preventive": repair.preventive_rate_per_h, "mandatory": repair.mandatory_rate_per_h}
        times_h = {f"repair.{key}": 1 / rate for key, rate in rates.items() if rate}
        times_h |= {"rebuild": mean_rebuild_h(self.description), "device.mttf": self.description.device.mttf.h}
        key = min(times_h, key=lambda key: times_h[key])
        most = f"than can be counted, {MOST_EVENTS:.2g}"
        if years > MANY_YEARS:
            message = f": {years:g} years span more failures, rebuilds or repairs {most}"
            raise make_error(ReliabilityError, "out-of-range", message, path="time", value=horizon_h)
        message = f": {times_h[key]:.3g} h are so short that {years:g} years span more of them {most}"
        raise make_error(ReliabilityError, "out-of-range", message, path=key, value=times_h[key])

    def __repr__(self) -> str:
        return f"<MarkovModel of {len(self.chain.states)} states, MTTF {self.mttf_years:.4g} years>"


def mttf_h(description: DescriptionLike) -> float:
    """Return the mean time until an enclosure loses data, in hours: :attr:`MarkovModel.mttf_h`.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.
    """
    return MarkovModel(description).mttf_h
