"""Continuous-time Markov chains that end in data loss: states, rates and counted transitions."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sledsim.reliability.description import ReliabilityError
from sledsim.show.faults import make_error
from sledsim.show.frames import install_command

if TYPE_CHECKING:
    import scipy.sparse
    from numpy.typing import NDArray

__all__ = ["LOSS", "MAX_STATES", "Chain", "Transition"]

#: Maximum number of states: the matrices are dense, and the solution needs powers of them.
MAX_STATES = 300


class _Loss:
    """The absorbing state, in which data is lost."""

    def __repr__(self) -> str:
        return "LOSS"


#: The absorbing state of every chain.
LOSS = _Loss()

#: Source state, target state and rate per hour.
Transition = tuple[Hashable, Hashable, float]


@dataclass(frozen=True, eq=False)
class Chain:
    """A continuous-time Markov chain with the absorbing state :data:`LOSS`; created by :meth:`of`.

    Parameters
    ----------
    states
        The transient states, in which no data is lost; the chain starts in the first one.
    rates_per_h
        Transition rates per hour from each transient state (row) to each transient state (column), zero or above; the
        diagonal is zero.
    loss_per_h
        Transition rate per hour from each transient state to loss of data.
    counts_per_h
        Rates of counted events, such as repairs, in each transient state, by name of the event.
        :class:`~sledsim.reliability.Transient` and :class:`~sledsim.reliability.MarkovModel` integrate them.
    """

    states: tuple[Hashable, ...]
    rates_per_h: "NDArray[np.float64]"
    loss_per_h: "NDArray[np.float64]"
    counts_per_h: Mapping[str, "NDArray[np.float64]"]

    @classmethod
    def of(
        cls,
        start: Hashable,
        transitions: Iterable[Transition],
        counts_per_h: Mapping[str, Mapping[Hashable, float]] | None = None,
    ) -> "Chain":
        """Build a chain from its transitions.

        Parameters
        ----------
        start
            The initial state.
        transitions
            Source state, target state and rate per hour of each transition; the target :data:`LOSS` means loss of
            data. Rates of several transitions between the same states are added. Transitions from a state to itself
            have no effect. States that cannot be reached from the start are left out.
        counts_per_h
            Rates per hour of counted events: by name of the event, then by state; 0 for states not given.

        Raises
        ------
        ReliabilityError
            If a rate is negative or not finite, a transition leaves :data:`LOSS`, a state has no path to loss, or
            there are too many states.

        Examples
        --------
        Two mirrored devices that fail every 1,000 h on average and are replaced within 10 h:

        >>> mirror = Chain.of("both", [("both", "one", 2e-3), ("one", "both", 0.1), ("one", LOSS, 1e-3)])
        >>> mirror.states
        ('both', 'one')
        """
        given = [(a, b, _require_rate(a, b, rate)) for a, b, rate in transitions]
        leaving: dict[Hashable, dict[Hashable, float]] = {}
        for a, b, rate in given:
            if rate > 0 and a != b:
                targets = leaving.setdefault(a, {})
                targets[b] = targets.get(b, 0.0) + rate
        states = _reachable_states(start, leaving)
        _require_loss(states, leaving)
        index = {state: i for i, state in enumerate(states)}
        rates = np.zeros((len(states), len(states)))
        loss = np.zeros(len(states))
        for a in states:
            for b, rate in leaving.get(a, {}).items():
                if b is LOSS:
                    loss[index[a]] = rate
                else:
                    rates[index[a], index[b]] = rate
        counts = {
            name: np.array([_require_rate(state, name, per_state.get(state, 0.0)) for state in states])
            for name, per_state in (counts_per_h or {}).items()
        }
        return cls(tuple(states), rates, loss, counts)

    @property
    def exits_per_h(self) -> "NDArray[np.float64]":
        """Total rate of leaving each state, per hour."""
        return np.asarray(self.rates_per_h.sum(axis=1) + self.loss_per_h)

    @property
    def steps_to_loss(self) -> int:
        """Fewest transitions from the start to loss of data."""
        front, steps = {0}, 1
        seen = set(front)
        while not any(self.loss_per_h[i] > 0 for i in front):
            front = {int(j) for i in front for j in np.flatnonzero(self.rates_per_h[i])} - seen
            seen |= front
            steps += 1
        return steps

    def generator(self) -> "scipy.sparse.csr_array[Any, tuple[int, int]]":
        """Return the generator matrix Q (per hour) as a sparse SciPy array; loss is the last state.

        Raises
        ------
        ReliabilityError
            If SciPy is not installed.
        """
        sparse = _sparse()
        size = len(self.states) + 1
        dense = np.zeros((size, size))
        dense[:-1, :-1] = self.rates_per_h
        dense[:-1, -1] = self.loss_per_h
        np.fill_diagonal(dense[:-1, :-1], -self.exits_per_h)
        generator: scipy.sparse.csr_array[Any, tuple[int, int]] = sparse.csr_array(dense)
        return generator

    def __repr__(self) -> str:
        return f"<Chain of {len(self.states)} states and loss, from {self.states[0]!r}>"


def _sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError:
        raise missing_scipy() from None
    return sparse


def missing_scipy() -> ReliabilityError:
    """Return the error for an installation without SciPy."""
    message = f"this needs SciPy: {install_command('reliability', 'scipy')}"
    return make_error(ReliabilityError, "unsupported", message, value="scipy")


def _require_rate(start: object, end: object, rate: float) -> float:
    """Return a transition rate as a float, and raise if it is invalid."""
    if start is LOSS:
        message = f"transition from {start!r} to {end!r}: LOSS is absorbing; leave the transition out"
        raise make_error(ReliabilityError, "conflict", message, value=end)
    value = float(rate)
    if not (value >= 0 and np.isfinite(value)):
        message = f"rate from {start!r} to {end!r}: expected a number an hour from 0 up (got {rate!r})"
        raise make_error(ReliabilityError, "out-of-range", message, value=rate, allowed={"least": 0})
    return value


def _reachable_states(start: Hashable, leaving: Mapping[Hashable, Mapping[Hashable, float]]) -> list[Hashable]:
    """Return the transient states reachable from the start, in breadth-first order."""
    states, seen = [start], {start}
    for state in states:
        for target in leaving.get(state, {}):
            if target is not LOSS and target not in seen:
                seen.add(target)
                states.append(target)
                if len(states) > MAX_STATES:
                    message = f"more than {MAX_STATES:,} states: take fewer"
                    raise make_error(ReliabilityError, "out-of-range", message, allowed={"most": MAX_STATES})
    return states


def _require_loss(states: list[Hashable], leaving: Mapping[Hashable, Mapping[Hashable, float]]) -> None:
    """Raise if a state has no path to loss of data."""
    reaches_loss: set[Hashable] = {LOSS}
    entering: dict[Hashable, list[Hashable]] = {}
    for a in states:
        for b in leaving.get(a, {}):
            entering.setdefault(b, []).append(a)
    pending: list[Hashable] = [LOSS]
    while pending:
        for a in entering.get(pending.pop(), []):
            if a not in reaches_loss:
                reaches_loss.add(a)
                pending.append(a)
    for state in states:
        if state not in reaches_loss:
            message = f"state {state!r} has no path to loss of data: give a rate that leads there"
            raise make_error(ReliabilityError, "conflict", message, value=state)
