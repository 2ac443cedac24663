"""Enclosures as Markov chains: Figure 2 of hong2006, for any number of parity devices and spares.

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

Lifetimes, rebuilds and repairs are exponential and independent. More parity adds rows of more failed devices; more
spares add columns.

- A failure leaves ``data + parity - failed`` devices; one failure more than ``parity`` loses data. Dedicated spares
  fail too where ``spares_fail``, the one that is being rebuilt onto among them.
- A rebuild takes one spare. Up to ``rebuild.at_once`` go on at a time.
- A repair replaces everything that has failed, and is under way only while no spare is left. The preventive strategy
  takes ρ1 where no device has failed and ρ0 where one has; the mandatory strategy knows only ρ0. Without spares they
  are the same.
- Under distributed sparing, all ``data + parity + spares`` devices hold data and so can fail. Each of n devices holds
  ``(data + parity) / n`` of what it could. A unit rebuilt takes ``data`` reads and a write, which n - 1 devices
  share; on a dedicated spare all writes fall on one device. Rebuilds are faster by
  ``n (n - 1) / ((data + parity) (data + 1))``, except where ``rebuild.spread`` is off.
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

#: Longer times, in years, are themselves why too much happens within them.
MANY_YEARS = 1e6
# The counts that make a state of an enclosure's chain.
REPAIRS, REPLACED = "repairs", "replaced devices"


class State(NamedTuple):
    """A state in which data is safe."""

    failed: int
    """Devices that have failed and are not rebuilt."""
    spares: int
    """Spares left."""


@dataclass(frozen=True)
class LongRun:
    """Stationary measures, where a new enclosure takes the place of each one that loses data.

    Parameters
    ----------
    shares
        Share of time in each state.
    degraded
        Share of time with a device that has failed and is not rebuilt.
    without_spares
        Share of time without a spare.
    repairs_per_year, replaced_per_year, losses_per_year
        Repairs, devices that they replace, and losses of data, in a year of 8,760 h.
    """

    shares: dict[State, float]
    degraded: float
    without_spares: float
    repairs_per_year: float
    replaced_per_year: float
    losses_per_year: float


def enclosure_chain(description: DescriptionLike) -> Chain:
    """Return the chain of an enclosure; it counts ``"repairs"`` and ``"replaced devices"``.

    :class:`MarkovModel` has it drawn, with the symbols of hong2006.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Raises
    ------
    ReliabilityError
        Where the description asks for what a chain cannot say, or makes too many states.
    """
    description = load(description)
    _require_memoryless(description)
    enclosure, repair = description.enclosure, description.repair
    count = (enclosure.parity + 1) * (enclosure.spares + 1)
    if count > MAX_STATES:
        says = (
            f"enclosure.spares: {enclosure.spares} spares and a parity of {enclosure.parity} make {count:,} states; "
            f"at most {MAX_STATES:,} are possible"
        )
        raise make_error(ReliabilityError, "out-of-range", says, path="enclosure.spares", value=enclosure.spares)
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
    """Raise for an enclosure whose future depends on more than its state."""
    for key in needs_simulation(description):
        says = (
            f"{key}: a Markov chain knows only devices that fail at a constant rate, and rebuilds and repairs that end "
            "at one; leave the key out, or use simulate()"
        )
        raise make_error(ReliabilityError, "unsupported", says, path=key)


class MarkovModel:
    """An enclosure as a Markov chain, and what follows from it.

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

    N is the normal and D the degraded mode, the digit the number of spares left, k at first; data is lost in DL.
    1/λ is ``device.mttf``, 1/μ ``rebuild.time``, 1/ρ1 ``repair.preventive`` and 1/ρ0 ``repair.mandatory``, or
    ``repair.preventive`` where that is left out; without a strategy both rates are 0, under the mandatory one ρ1 is.

    More spares add columns: from N_s over D_s to N_(s-1), down to N0, which alone, with D0, is repaired. More parity
    adds rows: with f devices failed the next one fails at the rate (N + parity - f) λ, and one more than the parity
    leads to DL. Spares that fail take N_s to N_(s-1) at sλ. Under distributed sparing N + parity + s - f devices can
    fail.

    Parameters
    ----------
    description
        The enclosure and its maintenance, as for :func:`sledsim.reliability.load`.

    Attributes
    ----------
    description : Description
        The same, checked.
    chain : Chain
        The chain.

    Raises
    ------
    ReliabilityError
        Where the description asks for what a chain cannot say.

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
        """Mean number of devices that repairs replace until data is lost."""
        return float(self._times_h @ self.chain.counts_per_h[REPLACED])

    @overload
    def survival(self, times: "Time") -> float: ...
    @overload
    def survival(self, times: "Times") -> "NDArray[np.float64]": ...
    def survival(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return R(t), the probability that no data is lost until then: from 0 to 1, and never rising with time.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """

        def read(states: "NDArray[np.float64]", _: "NDArray[np.float64]") -> "NDArray[np.float64]":
            # Rounding may move a sum past 1, or past that of an earlier time.
            return np.asarray(np.minimum.accumulate(np.minimum(states[:, :-1].sum(axis=1), 1.0)))

        return self._over(times, read)

    @overload
    def loss_probability(self, times: "Time") -> float: ...
    @overload
    def loss_probability(self, times: "Times") -> "NDArray[np.float64]": ...
    def loss_probability(self, times: "Time | Times") -> "float | NDArray[np.float64]":
        """Return 1 - R(t), the probability that data is lost by then; found as itself, it may be tiny.

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
        """Return the mean number of repairs until then, or until data is lost.

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
        """Return the mean number of devices that repairs replace until then, or until data is lost.

        Parameters
        ----------
        times
            A time or several: texts such as ``"3 years"``, or hours from 0 up.
        """
        return self._over(times, lambda _, counts: counts[:, self._column(REPLACED)])

    def long_run(self) -> LongRun:
        """Return stationary measures, where a new enclosure takes the place of each one that loses data."""
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
        """Read something off the chain at the times, which it gets in rising order."""
        given_h = hours(times)
        # The same time gets the same value.
        times_h, where = np.unique(given_h.ravel(), return_inverse=True)
        horizon_h = float(times_h.max(initial=0.0))
        self._require_countable(horizon_h)
        if self._transient is None or self._transient.horizon_h != horizon_h:
            self._transient = Transient(self.chain, horizon_h)
        values = read(*self._transient.probabilities(times_h))
        return values[where] if given_h.ndim else float(values[0])

    def _require_countable(self, horizon_h: float) -> None:
        """Raise for times within which more events happen than can be counted."""
        if float(self.chain.exits_per_h.max()) * horizon_h <= MOST_EVENTS:
            return
        years, repair = horizon_h / YEAR_H, self.description.repair
        rates = {"preventive": repair.preventive_rate_per_h, "mandatory": repair.mandatory_rate_per_h}
        times_h = {f"repair.{key}": 1 / rate for key, rate in rates.items() if rate}
        times_h |= {"rebuild": mean_rebuild_h(self.description), "device.mttf": self.description.device.mttf.h}
        key = min(times_h, key=lambda key: times_h[key])
        most = f"than can be counted, {MOST_EVENTS:.2g}"
        if years > MANY_YEARS:
            says = f": {years:g} years span more failures, rebuilds or repairs {most}"
            raise make_error(ReliabilityError, "out-of-range", says, path="time", value=horizon_h)
        says = f": {times_h[key]:.3g} h are so short that {years:g} years span more of them {most}"
        raise make_error(ReliabilityError, "out-of-range", says, path=key, value=times_h[key])

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
