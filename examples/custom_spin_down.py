"""Spin-down policies written by hand: those that are built in, as classes, but for hindsight, which nobody has.

    sledsim run power.toml --set spin_down=custom_spin_down:Adaptive
    sledsim plugin-check custom_spin_down:Adaptive

They decide as the built-in ones do, idle period by idle period.
"""

from itertools import accumulate
from math import exp, ldexp, log1p

from sledsim.spin_down import Modes, SpinDown


class Never(SpinDown):
    """The device stays ready."""

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int | None:
        """Enter no mode."""
        return None


class Timeout(SpinDown):
    """Stops after a fixed idle time, and enters modes between at their own times, but no later."""

    after_ms: float

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int | None:
        """Enter the lowest mode after the timeout."""
        return round(self.after_ms * 1e6) if mode == len(modes) - 1 else own_time(mode, modes)


class Immediate(SpinDown):
    """Stops as soon as nothing is left to do."""

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int | None:
        """Enter the lowest mode at once."""
        return 0 if mode == len(modes) - 1 else own_time(mode, modes)


def own_time(mode: int, modes: Modes) -> int | None:
    """Return after how long a device enters a mode by itself."""
    after_ns = int(modes.after_ns[mode])
    return None if after_ns < 0 else after_ns


class Ladder:
    """What idle modes take above the lowest one's power.

    Parameters
    ----------
    modes
        The modes.
    """

    def __init__(self, modes: Modes) -> None:
        powers_w, self.lowest = modes.power_w.tolist(), len(modes) - 1
        least_w = min(powers_w)
        self.after_ns = modes.after_ns.tolist()
        self.above_w: list[float] = [power_w - least_w for power_w in powers_w]
        returns = zip(modes.wake_w.tolist(), modes.wake_ns.tolist(), strict=True)
        self.return_j: list[float] = [max((wake_w - least_w) * wake_ns * 1e-9, 0.0) for wake_w, wake_ns in returns]

    def least_j(self, idle_ns: int) -> float:
        """Return what the best mode for an idle period takes."""
        modes = zip(self.above_w, self.return_j, strict=True)
        return min(above_w * idle_ns * 1e-9 + return_j for above_w, return_j in modes)

    def descent(self, idle_ns: float) -> tuple[float, float]:
        """Return what the way down takes through the modes above the lowest at their own times, and the way back."""
        spent_j, until_ns, reached = 0.0, idle_ns, None
        for mode in reversed(range(max(self.lowest, 1))):
            after_ns = self.after_ns[mode]
            from_ns = min(idle_ns if after_ns < 0 else float(after_ns), until_ns)
            if from_ns < idle_ns and reached is None:
                reached = mode
            spent_j += self.above_w[mode] * (until_ns - from_ns) * 1e-9
            until_ns = from_ns
        return spent_j, self.return_j[reached or 0]


class Adaptive(SpinDown):
    """The share algorithm of Helmbold, Long & Sherrod (MobiCom 1996) over fixed timeouts, each twice the one before."""

    experts: int = 12
    longest_ms: float | None = None
    learning_rate: float = 4.0
    sharing: float = 0.08

    def __post_init__(self) -> None:
        self.timeouts_ns: list[float] = []
        self.average_ns = 0.0

    def begin(self, modes: Modes) -> None:
        """Give all experts one weight."""
        longest_ms = self.longest_ms
        if longest_ms is None:
            ladder = Ladder(modes)
            saves = ladder.above_w[0] > 0
            longest_ms = 2.0 * (ladder.return_j[ladder.lowest] / ladder.above_w[0] * 1e9 / 1e6) if saves else 1e9
        self.longest_ns = min(longest_ms, 1e9) * 1e6
        halvings = range(self.experts - 2, -1, -1)
        self.timeouts_ns = [0.0, *(ldexp(self.longest_ns, -halving) for halving in halvings)]
        *_, self.total_ns = accumulate(self.timeouts_ns)
        self.weigh_evenly()

    def weigh_evenly(self) -> None:
        """Forget what was learnt."""
        self.kept = [0.0] * self.experts
        self.portion, self.scale = 1.0 / self.experts, 1.0
        self.average_ns = self.total_ns * self.portion

    def after_ns(self, now_ns: int, mode: int, modes: Modes) -> int | None:
        """Enter the lowest mode after the average of the timeouts."""
        if not self.timeouts_ns:
            self.begin(modes)
        if mode < len(modes) - 1:
            return own_time(mode, modes)
        return int(min(self.average_ns, self.longest_ns) + 0.5)

    def ended(self, now_ns: int, idle_ns: int, modes: Modes) -> None:
        """Weigh experts by what each lost."""
        ladder = Ladder(modes)
        returning_j = ladder.return_j[ladder.lowest]
        most_j = ladder.above_w[0] * min(float(idle_ns), self.longest_ns) * 1e-9 + returning_j
        if most_j <= 0:
            return
        per_j, best_j = 1.0 / most_j, ladder.least_j(idle_ns)
        waited_j, left_j = ladder.descent(float(idle_ns))
        late = self.verdict(clamped((waited_j + left_j - best_j) * per_j))
        rest = (returning_j - best_j) * per_j
        waits_j = [ladder.descent(timeout_ns)[0] for timeout_ns in self.timeouts_ns]
        if ladder.lowest <= 1:
            stopped = self.doubling(rest, waits_j[1] * per_j)
        else:
            stopped = [self.verdict(clamped(rest + wait_j * per_j)) for wait_j in waits_j]
        stops = [timeout_ns < idle_ns for timeout_ns in self.timeouts_ns]
        self.follow([early if stop else late for stop, early in zip(stops, stopped, strict=True)])

    def verdict(self, loss: float) -> tuple[float, float]:
        """Return the factor on the weight of an expert with a loss, and the fraction that it keeps of it then."""
        if loss == 0:
            return 1.0, 1.0
        return exp(-self.learning_rate * loss), exp(log1p(-self.sharing) * loss)

    def doubling(self, rest: float, wait: float) -> list[tuple[float, float]]:
        """Return the verdicts on experts each of which waits twice as long as the one before it."""
        first, waiting = self.verdict(rest), self.verdict(wait)
        found = [first]
        for _ in self.timeouts_ns[1:]:
            found.append((first[0] * waiting[0], first[1] * waiting[1]))
            waiting = (waiting[0] * waiting[0], waiting[1] * waiting[1])
        return found

    def follow(self, verdicts: list[tuple[float, float]]) -> None:
        """Take the verdicts into the weights. Four sums run side by side, as rounding depends on their order."""
        weights, kepts, kept_ns = [0.0] * 4, [0.0] * 4, [0.0] * 4
        for expert, (factor, keep) in enumerate(verdicts):
            weight = (self.kept[expert] + self.portion) * self.scale * factor
            self.kept[expert] = weight * keep
            weights[expert % 4] += weight
            kepts[expert % 4] += self.kept[expert]
            kept_ns[expert % 4] += self.kept[expert] * self.timeouts_ns[expert]
        weight, kept, sum_ns = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) for lanes in (weights, kepts, kept_ns))
        if weight < 2.2250738585072014e-308:
            self.weigh_evenly()
            return
        self.portion, self.scale = (weight - kept) / self.experts, 1.0 / weight
        self.average_ns = (sum_ns + self.portion * self.total_ns) * self.scale


def clamped(loss: float) -> float:
    """Return a loss from 0 to 1."""
    return min(max(loss, 0.0), 1.0)
