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

#: Most states that a chain may have: the matrices are dense, and powers of them are taken.
MAX_STATES = 300


class _Loss:
    """The state in which data is lost; nothing leaves it."""

    def __repr__(self) -> str:
        return "LOSS"


#: Where data is lost.
LOSS = _Loss()

#: From, to, and how often an hour.
Transition = tuple[Hashable, Hashable, float]


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain that starts in its first state and ends when data is lost; made by :meth:`of`.

    Parameters
    ----------
    states
        The states in which data is safe; the first one is where the chain starts.
    rates_per_h
        Rate from each of these states (row) to each (column), an hour, zero or above; the diagonal is zero.
    loss_per_h
        Rate from each of these states to loss of data.
    counts_per_h
        What happens at what rate in each of these states, by name: what :func:`~sledsim.reliability.solve.counted`
        adds up.
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
        """Return a chain with these transitions.

        Parameters
        ----------
        start
            Where it starts.
        transitions
            From, to, rate an hour; :data:`LOSS` is where data is lost. Several between the same states add up,
            one from a state to itself changes nothing. States that the start does not lead to are left out.
        counts_per_h
            By name, the rate an hour at which something to be counted happens in each state; 0 where not given.

        Raises
        ------
        ReliabilityError
            Where a rate is negative or not finite, a transition leaves :data:`LOSS`, a state has no path to loss, or
            there are too many states.

        Examples
        --------
        Two mirrored devices that fail every 1,000 h on average and are replaced within 10 h:

        >>> mirror = Chain.of("both", [("both", "one", 2e-3), ("one", "both", 0.1), ("one", LOSS, 1e-3)])
        >>> mirror.states
        ('both', 'one')
        """
        given = [(a, b, _require_rate(a, b, rate)) for a, b, rate in transitions]
        # A rate of zero is no transition.
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
        """Rate at which each state is left."""
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
        """Return the generator matrix Q, an hour, as a sparse SciPy array: the states in their order, then loss.

        Raises
        ------
        ReliabilityError
            Where SciPy is not installed.
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
    """Return the error of an installation without SciPy."""
    says = f"this needs SciPy: {install_command('reliability', 'scipy')}"
    return make_error(ReliabilityError, "unsupported", says, value="scipy")


def _require_rate(start: object, end: object, rate: float) -> float:
    """Raise for a value that is no rate."""
    if start is LOSS:
        says = f"transition from {start!r} to {end!r}: lost data does not come back"
        raise make_error(ReliabilityError, "conflict", says, value=end)
    value = float(rate)
    if not (value >= 0 and np.isfinite(value)):
        says = f"rate from {start!r} to {end!r}: expected a number an hour from 0 up (got {rate!r})"
        raise make_error(ReliabilityError, "out-of-range", says, value=rate, allowed={"least": 0})
    return value


def _reachable_states(start: Hashable, leaving: Mapping[Hashable, Mapping[Hashable, float]]) -> list[Hashable]:
    """Return the states that the start reaches, in breadth-first order, without the loss."""
    states, seen = [start], {start}
    for state in states:
        for target in leaving.get(state, {}):
            if target is not LOSS and target not in seen:
                seen.add(target)
                states.append(target)
                if len(states) > MAX_STATES:
                    says = f"more than {MAX_STATES:,} states: take fewer"
                    raise make_error(ReliabilityError, "out-of-range", says, allowed={"most": MAX_STATES})
    return states


def _require_loss(states: list[Hashable], leaving: Mapping[Hashable, Mapping[Hashable, float]]) -> None:
    """Raise for a chain with a state from which data is never lost."""
    leads: set[Hashable] = {LOSS}
    entering: dict[Hashable, list[Hashable]] = {}
    for a in states:
        for b in leaving.get(a, {}):
            entering.setdefault(b, []).append(a)
    pending: list[Hashable] = [LOSS]
    while pending:
        for a in entering.get(pending.pop(), []):
            if a not in leads:
                leads.add(a)
                pending.append(a)
    for state in states:
        if state not in leads:
            says = f"state {state!r} has no path to loss of data: give a rate that leads there"
            raise make_error(ReliabilityError, "conflict", says, value=state)
